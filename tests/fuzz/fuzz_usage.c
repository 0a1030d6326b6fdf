/* Counted hours as they are kept: any bytes are refused or read, and what was read is written as it was. Prices as they
 * are typed. */
#include <stdlib.h>

#include "base/buf.h"
#include "codec/usage_code.h"
#include "usage/tariff.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void again(const struct usage_span *s)
{
    AUTO_ARENA mem = {0};
    AUTO_BUF one = BUF_INIT(USAGE_BYTES_MAX);
    AUTO_BUF two = BUF_INIT(USAGE_BYTES_MAX);
    struct usage_names names = usage_text_names(&mem);
    struct usage_span back = {0};

    if (usage_encode(s, &names, &one) < 0)
        return;
    struct rd in = rd_of(one.p, one.len);
    if (usage_decode(&in, &names, &mem, &back) < 0 || usage_encode(&back, &names, &two) < 0 || one.len != two.len ||
        memcmp(one.p, two.p, one.len) != 0)
        abort();
    struct usage_sum_up sum = {.mem = &mem};
    usage_sum_add(&sum, s);
    usage_sum_add(&sum, s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_ARENA mem = {0};
    struct usage_names names = usage_text_names(&mem);
    struct usage_span s = {0};
    struct rd in = rd_of(data, size);
    struct tariff t;
    struct err err = {0};

    if (usage_decode(&in, &names, &mem, &s) == 0)
        again(&s);
    AUTO_FREE char *text = mem_strn((const char *)data, MIN(size, (size_t)200));
    tariff_parse(&text, 1, text, text, &t, &err);
    tariff_price(&t, "NVIDIA H200");
    tariff_fini(&t);
    return 0;
}
