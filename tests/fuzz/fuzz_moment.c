/* Moments and spans as people type them: any bytes, in UTC and in a zone with summer time. */
#include <stdlib.h>

#include "base/time_text.h"
#include "base/zone.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
    if (!ok)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct zone *zone;
    const int64_t now_ms = 1794733200000ll;
    struct str text = str_n(data, size);
    char out[MOMENT_TEXT];
    int64_t v;

    if (!zone)
        check(zone_load("CET-1CEST,M3.5.0,M10.5.0/3", &zone, NULL) == 0);
    for (int local = 0; local < 2; local++)
        if (time_parse(text, "x", now_ms, local ? zone : NULL, &v, NULL) == 0) {
            int64_t again;
            check(v >= 0 && v <= MOMENT_END_MS);
            time_text_zoned(v, local ? zone : NULL, out);
            /* what is printed is read back, to the minute; years beyond what is taken aside */
            if (v < 7000000000000ll) {
                check(time_parse(str_of(time_text(v, NULL, out)), "x", now_ms, NULL, &again, NULL) == 0);
                check(again == v / 60000 * 60000);
            }
        }
    if (duration_parse(text, "x", &v, NULL) == 0)
        check(v > 0 && v <= MOMENT_END_MS);
    return 0;
}
