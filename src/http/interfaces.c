/* interfaces.c: getifaddrs(), and what /sys/class/net has of each interface. */
#include "http/interfaces.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "http/address.h"

#define SYS        "/sys/class/net"
#define LOWER_MAX  8              /* interfaces on top of each other */
#define OUTSIDE_IP "198.51.100.1" /* documentation address (RFC 5737): for a query of the routing table */

static bool has(const char *sys, const char *name, const char *file)
{
    char path[512];
    return snprintf(path, sizeof(path), "%s/%s/%s", sys, name, file) < (int)sizeof(path) && access(path, F_OK) == 0;
}

/* Its own, or that of an interface below it: of a bond, a VLAN, a bridge with a network card. */
static bool has_hardware(const char *sys, const char *name, int depth)
{
    char path[512];
    bool found = has(sys, name, "device");
    snprintf(path, sizeof(path), "%s/%s", sys, name);
    DIR *dir = found || depth >= LOWER_MAX ? NULL : opendir(path);
    for (struct dirent *e; dir && !found && (e = readdir(dir));) {
        struct str lower = str_of(e->d_name);
        found = str_skip(&lower, "lower_") && has_hardware(sys, lower.p, depth + 1);
    }
    if (dir)
        closedir(dir);
    return found;
}

bool interface_leads_out(const char *sys, const char *name, bool contained)
{
    return has_hardware(sys, name, 0) || (!contained && !has(sys, name, "bridge"));
}

static bool is_contained(void)
{
    return access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0 ||
           getenv("KUBERNETES_SERVICE_HOST");
}

static bool text_of(const struct ifaddrs *i, char ret[ADDRESS_TEXT])
{
    const struct sockaddr *a = i->ifa_addr;
    const void *at = !a                        ? NULL
                     : a->sa_family == AF_INET ? (const void *)&((const struct sockaddr_in *)(const void *)a)->sin_addr
                     : a->sa_family == AF_INET6
                         ? (const void *)&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr
                         : NULL;
    return at && inet_ntop(a->sa_family, at, ret, ADDRESS_TEXT);
}

static bool reaches(const struct ifaddrs *i)
{
    const struct sockaddr *a = i->ifa_addr;
    bool up = i->ifa_flags & IFF_UP && !(i->ifa_flags & IFF_LOOPBACK);
    if (!up || !a || !interface_leads_out(SYS, i->ifa_name, is_contained()))
        return false;
    if (a->sa_family == AF_INET6)
        return !IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr);
    uint32_t ip = a->sa_family == AF_INET ? ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr) : 0;
    return a->sa_family == AF_INET && ip >> 16 != 0xa9fe; /* 169.254.0.0/16 */
}

/* Our address on the way to anywhere. Nothing is sent. */
static void default_address(char ret[ADDRESS_TEXT])
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9)}, from = {0};
    socklen_t len = sizeof(from);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ret[0] = 0;
    inet_pton(AF_INET, OUTSIDE_IP, &to.sin_addr);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0 &&
        getsockname(fd, (struct sockaddr *)&from, &len) == 0)
        inet_ntop(AF_INET, &from.sin_addr, ret, ADDRESS_TEXT);
    if (fd >= 0)
        close(fd);
}

/* The first of this family that leads out, or that of the default route. */
static bool find_outside(const struct ifaddrs *all, int family, char ret[ADDRESS_TEXT])
{
    char text[ADDRESS_TEXT], preferred[ADDRESS_TEXT] = "";
    bool found = false;
    if (family == AF_INET)
        default_address(preferred);
    for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
        if (!i->ifa_addr || i->ifa_addr->sa_family != family || !reaches(i) || !text_of(i, text))
            continue;
        if (!found || strcmp(text, preferred) == 0)
            mem_copy_str(ret, ADDRESS_TEXT, text);
        found = true;
    }
    return found;
}

bool interfaces_outside(bool ipv6, char ret[ADDRESS_TEXT])
{
    struct ifaddrs *all = NULL;
    if (getifaddrs(&all) < 0)
        return false;
    bool found = find_outside(all, AF_INET, ret) || (ipv6 && find_outside(all, AF_INET6, ret));
    freeifaddrs(all);
    return found;
}

static bool find_address(const char *address, bool outside)
{
    struct ifaddrs *all = NULL;
    char text[ADDRESS_TEXT];
    bool found = false;
    if (getifaddrs(&all) < 0)
        return false;
    for (const struct ifaddrs *i = all; i && !found; i = i->ifa_next)
        found = text_of(i, text) && address_in(text, &address, 1) && (!outside || reaches(i));
    freeifaddrs(all);
    return found;
}

bool interfaces_have(const char *address)
{
    return find_address(address, false);
}

bool interfaces_reach(const char *address)
{
    return find_address(address, true);
}
