/* Samples of system metrics: any bytes, one sample a line. A sample that is taken is JSON to others as well, but for
 * NaN and the like; means lie below maxima. */
#include <assert.h>
#include <stdlib.h>

#include "usage/report.h"
#include "wandb/fold.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct zone *z;
    struct str rest = str_n(data, size), line;
    struct fold_day d;
    size_t at = 0, lines = 0;
    int32_t last = -1;
    if (!z && zone_load("JST-9", &z, NULL) < 0)
        abort();
    struct fold *f = fold_new(z, 19000, 21000);
    for (; str_line(&rest, &line); lines++)
        fold_add(f, line);
    assert(fold_samples(f) <= lines);
    while (fold_next(f, &at, &d)) {
        struct fold_day again;
        assert(d.day > last && d.day >= 19000 && d.day <= 21000 && d.have && d.n);
        assert(d.util_avg >= 0 && d.util_avg <= d.util_max && d.mem_avg >= 0 && d.mem_avg <= d.mem_max);
        assert(fold_get(f, d.day, &again) && again.n == d.n);
        last = d.day;
    }
    fold_reset(f);
    at = 0;
    assert(!fold_next(f, &at, &d));
    fold_free(f);
    return 0;
}
