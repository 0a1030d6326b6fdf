/* notify.c: sends one datagram to $NOTIFY_SOCKET. Written here so that libsystemd is not needed. */
#include "base/notify.h"

#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/mem.h"
#include "base/str.h"

void notify(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t n = path ? strlen(path) : 0;
    if (n < 2 || n >= sizeof(to.sun_path) || (path[0] != '/' && path[0] != '@'))
        return;
    AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    memcpy(to.sun_path, path, n);
    if (path[0] == '@')
        to.sun_path[0] = 0;
    if (fd >= 0) {
        ssize_t sent = sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&to,
                              (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
        (void)sent; /* no supervisor is reachable: ignore */
    }
}

int64_t notify_watchdog_ms(void)
{
    const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    int64_t v, whose;
    if (!usec || !str_int(str_of(usec), &v) || v < 2000)
        return 0;
    if (pid && str_int(str_of(pid), &whose) && whose != (int64_t)getpid())
        return 0;
    return v / 2000;
}
