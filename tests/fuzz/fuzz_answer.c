/* The hub's answer: any text; what is taken must be written and read back as the same. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct answer a, b;
    struct err err = {0};
    AUTO_BUF out = BUF_INIT(1 << 20);
    AUTO_BUF said = BUF_INIT(size + 1);
    int rc = answer_parse(str_n(data, size), &a, &err);

    answer_refusal(str_n(data, size), &said);
    if (said.len > size)
        abort();

    if (rc == -EBADMSG && err.msg[0])
        return 0;
    if (rc < 0 || answer_write(&out, &a) < 0 || answer_parse(buf_str(&out), &b, &err) < 0)
        abort();
    if (a.n_stored != b.n_stored || a.n_need != b.n_need || memcmp(a.stored, b.stored, sizeof(a.stored)) != 0 ||
        memcmp(a.need, b.need, sizeof(a.need)) != 0 || a.time_ms != b.time_ms || a.interval_ms != b.interval_ms ||
        a.phase_ms != b.phase_ms || a.retry_ms != b.retry_ms || strcmp(a.token, b.token) != 0)
        abort();
    return 0;
}
