/* address.c: IPv4 and IPv6 addresses as text, and blocks of them. No names are resolved. */
#include "http/address.h"

#include <arpa/inet.h>

#include "base/mem.h"

struct addr {
    int bits; /* 32 or 128 */
    uint8_t b[16];
};

static bool addr_parse(struct str s, struct addr *ret)
{
    char text[64];
    struct in6_addr six;
    struct in_addr four;
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    if (s.len == 0 || s.len >= sizeof(text))
        return false;
    memcpy(text, s.p, s.len);
    text[s.len] = 0;
    char *zone = strchr(text, '%');
    if (zone)
        *zone = 0;
    *ret = (struct addr){0};
    if (inet_pton(AF_INET, text, &four) == 1) {
        ret->bits = 32;
        memcpy(ret->b, &four, 4);
        return true;
    }
    if (inet_pton(AF_INET6, text, &six) != 1)
        return false;
    if (memcmp(&six, mapped, sizeof(mapped)) == 0) { /* an IPv4 peer on an IPv6 socket */
        ret->bits = 32;
        memcpy(ret->b, (uint8_t *)&six + 12, 4);
        return true;
    }
    ret->bits = 128;
    memcpy(ret->b, &six, 16);
    return true;
}

bool address_ok(struct str text)
{
    struct addr a;
    return addr_parse(text, &a);
}

static bool block_parse(const char *block, struct addr *ret, int64_t *ret_bits)
{
    struct str rest = str_of(block), head;
    if (!str_cut(&rest, '/', &head) || !addr_parse(head, ret))
        return false;
    *ret_bits = ret->bits;
    if (!strchr(block, '/'))
        return true;
    return str_int(rest, ret_bits) && *ret_bits >= 0 && *ret_bits <= ret->bits;
}

bool address_block_ok(const char *block)
{
    struct addr a;
    int64_t bits;
    return block_parse(block, &a, &bits);
}

bool address_in(const char *address, const char *const *blocks, size_t n)
{
    struct addr a, b;
    int64_t bits;
    if (!addr_parse(str_of(address), &a))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!block_parse(blocks[i], &b, &bits) || b.bits != a.bits)
            continue;
        size_t whole = (size_t)bits / 8;
        unsigned left = (unsigned)bits % 8;
        if (memcmp(a.b, b.b, whole) == 0 && (left == 0 || ((a.b[whole] ^ b.b[whole]) >> (8 - left)) == 0))
            return true;
    }
    return false;
}

bool address_is_loopback(const char *address)
{
    static const char *const loopback[] = {"127.0.0.0/8", "::1"};
    return address_in(address, loopback, ARRAY_LEN(loopback));
}

struct address_client address_client(const char *address)
{
    struct address_client ret = {0};
    struct addr a;

    mem_copy_str(ret.text, sizeof(ret.text), address);
    if (!strchr(address, ':') || !addr_parse(str_of(address), &a))
        return ret;
    if (a.bits == 128)
        memset(a.b + 8, 0, 8);
    inet_ntop(a.bits == 128 ? AF_INET6 : AF_INET, a.b, ret.text, sizeof(ret.text));
    return ret;
}

bool address_same_client(const char *a, const char *b)
{
    if (strcmp(a, b) == 0)
        return true;
    if (!strchr(a, ':') && !strchr(b, ':')) /* IPv4: no parsing, as connections are compared with each other */
        return false;
    return strcmp(address_client(a).text, address_client(b).text) == 0;
}
