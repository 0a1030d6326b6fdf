/* A mount table and the first lines of /proc/stat: any bytes. Paths end and each source comes once; a share is between
 * 0 and 100 %. */
#include <stdlib.h>

#include "base/mem.h"
#include "base/order.h"
#include "collect/host.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
    if (!ok)
        abort();
}

static void check_mounts(struct str text)
{
    struct host_disk d[8];
    size_t n = host_mounts(text, d, ARRAY_LEN(d));

    check(n <= ARRAY_LEN(d));
    for (size_t i = 0; i < n; i++) {
        check(memchr(d[i].source, 0, sizeof(d[i].source)) && memchr(d[i].path, 0, sizeof(d[i].path)));
        check(d[i].type[0] && memchr(d[i].type, 0, sizeof(d[i].type)));
        check(!ANY(i, k, strcmp(d[k].source, d[i].source) == 0));
    }
}

/* Each line is the next reading. */
static void check_cpu(struct str text)
{
    struct host_cpu before = {0};
    struct str line;

    while (str_line(&text, &line)) {
        struct sample s = {0};
        struct host_cpu was = before;
        if (!host_cpu_line(line, &before, &s))
            check(!sample_has(&s, M_cpu) && before.all == was.all);
        if (sample_has(&s, M_cpu))
            check(s.v[M_cpu] >= 0 && s.v[M_cpu] <= 10000);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_mounts(str_n(data, size));
    check_cpu(str_n(data, size));
    return 0;
}
