/* feed_local.c: data of this machine: its collector into a live state, like `muster ls --watch`, without blocking. */
#include <errno.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "collect/proc_info.h"
#include "now/cmd_local.h"
#include "now/view.h"
#include "tui/feed.h"

#define EVENTS_MAX 200

struct nearby {
    struct local_view here;
    size_t n_events;
    struct feed_event events[EVENTS_MAX]; /* newest first */
    bool ended;
    char status[300];
};

static void keep_event(void *arg, const char *node, const struct node_event *e)
{
    struct nearby *h = arg;

    h->n_events = MIN(h->n_events + 1, (size_t)EVENTS_MAX);
    memmove(h->events + 1, h->events, (h->n_events - 1) * sizeof(*h->events));
    struct feed_event *to = &h->events[0];
    *to = (struct feed_event){.at_ms = e->at_ms};
    mem_copy_str(to->node, sizeof(to->node), node);
    mem_copy_str(to->kind, sizeof(to->kind), e->kind < EVENT_KINDS ? event_words[e->kind] : "?");
    AUTO_BUF about = BUF_INIT(sizeof(to->text));
    event_about(e, &about);
    mem_copy_str(to->text, sizeof(to->text), buf_str(&about).p);
}

static int here_fd(void *arg)
{
    struct nearby *h = arg;

    return h->ended ? -1 : local_fd(h->here.local);
}

static bool here_read(void *arg)
{
    struct nearby *h = arg;
    struct err err = {0};
    int r = 1;

    h->here.changed = false;
    while (!h->ended && r > 0) {
        r = local_next(h->here.local, 1, &err); /* 1 ms: only takes available data */
        if (r < 0) {
            h->ended = true;
            mem_copy_str(h->status, sizeof(h->status), err.msg);
        }
    }
    live_tick(h->here.live, clock_wall_ms());
    return h->here.changed;
}

static void here_view(void *arg, struct view *ret)
{
    struct nearby *h = arg;

    *ret = (struct view){0};
    view_of(h->here.live, &(struct view_query){.show_cmd = true}, clock_wall_ms(), ret);
}

static const char *here_status(void *arg)
{
    struct nearby *h = arg;

    return h->ended ? h->status : h->here.node && h->here.node->at_ms ? NULL : "reading the driver…";
}

static const struct feed_event *here_events(void *arg, size_t *ret_n)
{
    struct nearby *h = arg;

    *ret_n = h->n_events;
    return h->events;
}

/* ---- signals ---- */

static int here_aim(UNUSED void *arg, int32_t pid, int64_t start_ms)
{
    enum { NEAR_MS = 1500 }; /* the kernel's boot time shifts with the clock */
    char path[64];
    struct stat st;
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);

    if (fd < 0)
        return -errno;
    /* From here on fd refers to one process: check that it is the selected one. */
    int64_t began = proc_start_ms(pid);
    snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    int r = stat(path, &st) < 0 || began < 0 || (start_ms > 0 && llabs(began - start_ms) > NEAR_MS) ? -ESRCH : 0;
    if (r == 0 && geteuid() != 0 && st.st_uid != geteuid())
        r = -EPERM;
    if (r < 0)
        close(fd);
    return r < 0 ? r : fd;
}

static int here_fire(UNUSED void *arg, int fd, int sig)
{
    return syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0) < 0 ? -errno : 0;
}

static void close_here(void *arg)
{
    struct nearby *h = arg;

    local_view_close(&h->here);
    free(h);
}

int feed_local_open(struct feed *ret, int64_t tick_ms, struct err *err)
{
    struct nearby *h = mem_zero(1, sizeof(*h));

    h->here.arg = h;
    h->here.event = keep_event;
    int r = local_view_open(&h->here, tick_ms, err);
    if (r < 0)
        close_here(h);
    else
        *ret = (struct feed){h,           "this machine", true,     here_fd,   here_read, here_view, here_status,
                             here_events, NULL,           here_aim, here_fire, NULL,      close_here};
    return r;
}
