/* Zone files and the rules at their end: any bytes; and whatever is taken for a zone has a local time for every moment,
 * and days that follow each other. */
#include <stdlib.h>

#include "base/mem.h"
#include "base/zone.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const struct zone *z)
{
    static const int64_t at[] = {INT64_MIN,       -62135596800000ll, 0,        1774746000000ll, 1792890000000ll,
                                 4102444800000ll, 253402300799999ll, INT64_MAX};
    struct civil c;
    char label[24];
    const char *abbr;

    for (size_t i = 0; i < ARRAY_LEN(at); i++) {
        int32_t offset = zone_offset(z, at[i], &abbr);
        if (offset < -26 * 3600 || offset > 26 * 3600 || strlen(abbr) > 7)
            abort();
        zone_civil(z, at[i], &c);
        if (c.month < 1 || c.month > 12 || c.day < 1 || c.day > 31 || c.hour < 0 || c.hour > 23)
            abort();
        zone_to_ms(z, &c);
        for (int p = 0; p < PERIODS; p++) {
            int64_t next_ms;
            int64_t from_ms = zone_period(z, (enum period)p, 0, at[i], &next_ms);
            zone_period_label(z, (enum period)p, 0, from_ms, label);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct zone *z = NULL;
    struct err err = {0};
    int32_t date;

    if (zone_read(str_n(size ? (const char *)data : "", size), "fuzz", &z, &err) == 0)
        use(z);
    zone_free(z);
    z = NULL;
    AUTO_FREE char *name = mem_strn((const char *)data, MIN(size, (size_t)100));
    if (name[0] && zone_load(name, &z, &err) == 0)
        use(z);
    zone_free(z);
    date_parse(str_n(name, strlen(name)), &date);
    return 0;
}
