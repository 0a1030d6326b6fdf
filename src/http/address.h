/* address.h: addresses of peers and blocks of them, as people and sockets write them. */
#pragma once

#include "base/str.h"

bool address_ok(struct str text);         /* IPv4, or IPv6 without brackets */
bool address_block_ok(const char *block); /* "10.0.0.0/8", "::1", for checking a configuration */
/* In one of these blocks or addresses? */
bool address_in(const char *address, const char *const *blocks, size_t n);
bool address_is_loopback(const char *address);

/* What limits per client count by: an IPv4 address (also one mapped to IPv6), the /64 of an IPv6 address, which one
 * machine can have whole, or another text as it is. */
struct address_client {
    char text[64];
};
struct address_client address_client(const char *address);
bool address_same_client(const char *a, const char *b);
