/* watch.c: watches a folder: looks now and then, and at once when the kernel says that a file has been written. */
#include "compat/watch.h"

#include <dirent.h>
#include <errno.h>
#include <event2/event.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/order.h"
#include "base/timer.h"

#define LOOK_MS   3000
#define ROUND_MS  300 /* after the last file of a machine: they come together */
#define FILES_MAX ((size_t)FILEHOSTS_MAX * READINGS_FILES)

struct file {
    char name[256];
    int64_t size, written_ns; /* as it was at the last look */
    bool whole, read, there;  /* whole: closed since; read: as it is now */
};

struct watch {
    struct event_base *loop;
    struct filehosts *all;
    char *dir, why[200];
    int64_t since_ms; /* why is so */
    int fd;           /* inotify; -1: none */
    struct event *news;
    struct timer *look, *round;
    size_t n, cap;
    struct file *files; /* sorted by name */
};

/* ---- files ---- */

static struct file *file_of(struct watch *w, const char *name, bool make)
{
    size_t at = COUNT_BEFORE(w->n, i, strcmp(w->files[i].name, name) < 0);
    if (at < w->n && strcmp(w->files[at].name, name) == 0)
        return &w->files[at];
    if (!make || w->n == FILES_MAX || strlen(name) >= sizeof(w->files->name))
        return NULL;
    VEC_INSERT(w->files, w->n, w->cap, at, (struct file){.size = -1});
    mem_copy_str(w->files[at].name, sizeof(w->files->name), name);
    return &w->files[at];
}

static void read_file(struct watch *w, struct file *f, struct str host, enum readings_file which)
{
    AUTO_FREE char *path = mem_fmt("%s/%s", w->dir, f->name);
    AUTO_BUF text = {0};
    struct err err = {0};
    struct filehost *l = filehosts_get(w->all, host, w);
    f->read = true;
    if (!l)
        return; /* somebody else's */
    if (file_read(path, READINGS_FILE_MAX, &text, &err) < 0) {
        log_warn("relay", "%s", err.msg);
        return;
    }
    filehost_take(l, which, buf_str(&text), f->written_ns / 1000000);
    if (!timer_is_set(w->round))
        timer_after(w->round, ROUND_MS);
}

/* As it is now; read when nobody is writing it any more. W1 */
static void look_at(struct watch *w, const char *name, bool closed)
{
    struct str host;
    enum readings_file which;
    struct stat st;
    if (!readings_name(str_of(name), &host, &which))
        return;
    AUTO_FREE char *path = mem_fmt("%s/%s", w->dir, name);
    struct file *f = file_of(w, name, true);
    if (!f || stat(path, &st) < 0 || !S_ISREG(st.st_mode))
        return;
    int64_t written = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    bool same = st.st_size == f->size && written == f->written_ns;
    bool rests = f->size < 0 && clock_wall_ms() - written / 1000000 > LOOK_MS; /* it was there before us */
    f->there = true;
    f->size = st.st_size;
    f->written_ns = written;
    if (!same)
        f->read = false;
    if (!f->read && (same || closed || rests))
        read_file(w, f, host, which);
}

static void on_round(void *arg)
{
    struct watch *w = arg;
    size_t at = 0;
    for (struct filehost *l; (l = filehosts_next(w->all, w, &at));)
        filehost_round(l);
}

/* ---- the folder ---- */

static bool has_files(const struct watch *w, const char *name)
{
    size_t n = strlen(name);
    struct str host;
    enum readings_file which;
    return ANY(w->n, i,
               strncmp(w->files[i].name, name, n) == 0 && readings_name(str_of(w->files[i].name), &host, &which) &&
                   host.len == n);
}

static void look_all(struct watch *w)
{
    DIR *d = opendir(w->dir);
    size_t n = 0;
    if (!d) {
        char why[sizeof(w->why)];
        snprintf(why, sizeof(why), "cannot read the folder '%.100s': %.60s", w->dir, strerror(errno));
        if (strcmp(why, w->why) != 0) {
            log_warn("relay", "%s", why);
            w->since_ms = clock_wall_ms();
        }
        memcpy(w->why, why, sizeof(why));
        for (struct filehost *l; (l = filehosts_next(w->all, w, &n));)
            filehost_fail(l, w->why);
        for (size_t i = 0; i < w->n; i++)
            w->files[i].read = false; /* to be told again when they are back */
        return;
    }
    w->why[0] = 0;
    for (size_t i = 0; i < w->n; i++)
        w->files[i].there = false;
    for (struct dirent *e; (e = readdir(d));)
        look_at(w, e->d_name, false);
    closedir(d);
    for (size_t i = 0; i < w->n; i++)
        if (w->files[i].there)
            w->files[n++] = w->files[i];
    bool gone = n < w->n;
    w->n = n;
    size_t at = 0;
    for (struct filehost *l; gone && (l = filehosts_next(w->all, w, &at));)
        if (!has_files(w, filehost_name(l)))
            filehost_leave(l, UNLISTED "its files are no longer in the folder"); /* W3 */
}

static void forget_news(struct watch *w)
{
    if (w->news)
        event_free(w->news);
    w->news = NULL;
    mem_close_fd(&w->fd);
    w->fd = -1;
}

static void on_news(evutil_socket_t fd, UNUSED short what, void *arg)
{
    struct watch *w = arg;
    _Alignas(struct inotify_event) char buf[16384];
    ssize_t n = read(fd, buf, sizeof(buf));
    for (ssize_t at = 0; at + (ssize_t)sizeof(struct inotify_event) <= n;) {
        const struct inotify_event *e = (const void *)(buf + at);
        at += (ssize_t)sizeof(*e) + e->len;
        if (e->mask & (IN_IGNORED | IN_DELETE_SELF | IN_MOVE_SELF)) {
            forget_news(w); /* the folder went away; the next look begins anew */
            return;
        }
        if (e->len && !(e->mask & IN_Q_OVERFLOW))
            look_at(w, e->name, true);
    }
}

static void want_news(struct watch *w)
{
    w->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (w->fd < 0)
        return; /* looking now and then will do */
    if (inotify_add_watch(w->fd, w->dir, IN_CLOSE_WRITE | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR) <
        0) {
        forget_news(w);
        return;
    }
    w->news = event_new(w->loop, w->fd, EV_READ | EV_PERSIST, on_news, w);
    event_add(w->news, NULL);
}

static void on_look(void *arg)
{
    struct watch *w = arg;
    if (!w->news)
        want_news(w);
    look_all(w);
}

void watch_set(struct watch *w, const char *dir)
{
    if (strcmp(dir ? dir : "", w->dir ? w->dir : "") == 0)
        return;
    forget_news(w);
    timer_stop(w->look);
    size_t at = 0;
    for (struct filehost *l; (l = filehosts_next(w->all, w, &at));)
        filehost_leave(l, UNLISTED "the folder is no longer watched");
    free(w->dir);
    w->dir = mem_str(dir);
    w->n = 0;
    w->why[0] = 0;
    if (!dir)
        return;
    timer_every(w->look, LOOK_MS);
    on_look(w);
}

void watch_status_json(const struct watch *w, struct json *j)
{
    size_t n = 0, at = 0;
    if (!w->dir)
        return;
    AUTO_FREE char *source = mem_fmt("watch:%s", w->dir);
    while (filehosts_next(w->all, w, &at))
        n++;
    json_obj(j, NULL);
    json_cstr(j, "source", source);
    json_cstr(j, "way", "files");
    json_uint(j, "nodes", n);
    if (w->why[0]) {
        json_cstr(j, "error", w->why);
        json_int(j, "since", w->since_ms);
    }
    json_end_obj(j);
}

struct watch *watch_new(struct event_base *loop, struct filehosts *all)
{
    struct watch *w = NEW(struct watch, .loop = loop, .all = all, .fd = -1);
    w->look = timer_new(loop, on_look, w);
    w->round = timer_new(loop, on_round, w);
    return w;
}

void watch_free(struct watch *w)
{
    if (!w)
        return;
    forget_news(w);
    timer_free(w->look);
    timer_free(w->round);
    FREE_ALL(w->dir, w->files, w);
}
