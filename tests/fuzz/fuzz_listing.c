/* A folder's page on the web: any bytes. */
#include <stdlib.h>

#include "compat/listing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = str_n(data, size);
    char name[LISTING_NAME_MAX + 1];
    while (listing_next(&rest, name)) {
        size_t n = strlen(name);
        if (n == 0 || n > LISTING_NAME_MAX || strchr(name, '/') || rest.len > size)
            abort();
    }
    listing_date_ms(str_n(data, size));
    return 0;
}
