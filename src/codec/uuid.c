/* uuid.c: see uuid.h. */
#include "codec/uuid.h"

static int hex_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool uuid_read(struct str name, uint8_t ret[UUID_BYTES])
{
    static const char form[] = "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    size_t digits = 0;

    if (name.len != sizeof(form) - 1)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        int hex = hex_of(name.p[i]);
        if (form[i] != 'x' ? name.p[i] != form[i] : hex < 0)
            return false;
        if (form[i] != 'x')
            continue;
        ret[digits / 2] = (uint8_t)(digits % 2 ? ret[digits / 2] << 4 | hex : hex);
        digits++;
    }
    return true;
}

struct str uuid_write(const uint8_t bytes[UUID_BYTES], char to[UUID_TEXT])
{
    static const char hex[] = "0123456789abcdef";
    char *at = to;

    for (const char *word = "GPU-"; *word; word++)
        *at++ = *word;
    for (size_t i = 0; i < UUID_BYTES; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *at++ = '-';
        *at++ = hex[bytes[i] >> 4];
        *at++ = hex[bytes[i] & 15];
    }
    return str_n(to, UUID_TEXT);
}
