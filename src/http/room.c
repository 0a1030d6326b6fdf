/* room.c: raises the limit of open files as far as it goes, and subtracts what the hub needs itself. */
#include "http/room.h"

#include <dirent.h>
#include <sys/resource.h>

#include "base/mem.h"

#define RESERVE 64u /* of a limit that is large: database, logs, listeners, children */
#define SPARE   16u /* of a small one: on top of those that are open now */
#define LEAST   8u

/* Descriptors that are open now. */
static size_t count_open(void)
{
    DIR *d = opendir("/proc/self/fd");
    size_t n = 0;
    if (!d)
        return RESERVE / 2;
    for (const struct dirent *e = readdir(d); e; e = readdir(d))
        n += e->d_name[0] != '.';
    closedir(d);
    return n - 1; /* the folder's own */
}

size_t room_connections(size_t want, size_t now, size_t *ret_limit)
{
    struct rlimit rl;
    *ret_limit = 0;
    if (getrlimit(RLIMIT_NOFILE, &rl) < 0)
        return want;
    struct rlimit more = {.rlim_cur = want + RESERVE, .rlim_max = MAX(rl.rlim_max, want + RESERVE)};
    if (rl.rlim_cur < more.rlim_cur && setrlimit(RLIMIT_NOFILE, &more) < 0) { /* beyond rlim_max only root may */
        more.rlim_cur = more.rlim_max = rl.rlim_max;
        setrlimit(RLIMIT_NOFILE, &more);
    }
    getrlimit(RLIMIT_NOFILE, &rl);
    if (rl.rlim_cur >= want + RESERVE)
        return want;
    size_t limit = (size_t)rl.rlim_cur, open = count_open(), own = (open > now ? open - now : 0) + SPARE;
    own = limit > (size_t)4 * RESERVE ? MAX(own, RESERVE) : own;
    *ret_limit = limit;
    return limit > own + LEAST ? limit - own : LEAST;
}
