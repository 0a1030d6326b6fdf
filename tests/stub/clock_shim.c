/* clock_shim.c: preloaded, the wall clock of a program is the real one plus as many milliseconds as a file holds (8
 * bytes, looked at each time): a test sets the clock of a running hub. CLOCK_SHIM names the file. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *offset_ms;

__attribute__((constructor)) static void shim_open(void)
{
    const char *path = getenv("CLOCK_SHIM");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *p = fd >= 0 ? mmap(NULL, sizeof(*offset_ms), PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;

    if (p != MAP_FAILED)
        offset_ms = p;
    if (fd >= 0)
        close(fd);
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *ts)
{
    int r = (int)syscall(SYS_clock_gettime, id, ts);

    if (r == 0 && id == CLOCK_REALTIME && offset_ms) {
        int64_t ms = (int64_t)ts->tv_sec * 1000 + ts->tv_nsec / 1000000 + *offset_ms;
        ts->tv_sec = (time_t)(ms / 1000);
        ts->tv_nsec = (long)(ms % 1000) * 1000000 + ts->tv_nsec % 1000000;
    }
    return r;
}
