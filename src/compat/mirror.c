/*
 * mirror.c: follows comments.json: looks at it now and then, compares three ways for each GPU (the file, the bookings,
 * what both last said), and writes it.
 */
#include "compat/mirror.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/log.h"
#include "base/rand.h"
#include "base/time_text.h"
#include "base/workers.h"
#include "book/feature.h"
#include "book/pick.h"
#include "compat/comments.h"
#include "hub/hub.h"

#define POLL_MS    1000
#define LOOK_MS    30000 /* nodes come and go */
#define IO_MS      60000
#define BY         "comments.json"
#define AGREED     "mirror-%08x.json" /* in the data folder: what both last said, by the file's path */
#define AGREED_MAX (4u << 20)

struct stamp { /* which file it was */
    bool there;
    int64_t at_s, at_ns, size;
    uint64_t inode;
};
/* Neither of a file nor of none: the next look reads what there is. */
#define STAMP_UNREAD ((struct stamp){.size = -1})

enum io { IO_NONE, IO_READ, IO_WRITE };

struct mirror {
    struct work_job job; /* first: the one thing done beside the loop at a time */
    struct hub *h;
    char *path;              /* NULL: none */
    struct comments *file;   /* as read, with what is to be written; NULL: not read yet */
    struct comments *agreed; /* NULL: not read yet */
    struct stamp stamp;      /* of what was read */
    bool look, unsaved, unwritten;
    bool blank;     /* the file was empty when it was last read: it may be under somebody's hands */
    size_t pending; /* bookings on their way to the disk */
    int64_t next_ms, look_ms;
    char said[480]; /* the last error that was logged */
    /* of the job: its own while it runs */
    enum io doing;
    char *job_path, *agreed_path;
    struct stamp job_stamp;
    struct buf text, agreed_text; /* what was read, or is to be written; cap 0: nothing */
    bool changed, read_agreed;
    int result;
    struct err err;
};

struct mirror *mirror_new(struct hub *h)
{
    return NEW(struct mirror, .h = h);
}

static void forget(struct mirror *m)
{
    comments_free(m->file);
    comments_free(m->agreed);
    m->file = m->agreed = NULL;
    m->stamp = STAMP_UNREAD;
    m->look = m->unsaved = m->unwritten = false;
}

void mirror_free(struct mirror *m)
{
    if (!m)
        return;
    forget(m);
    buf_fini(&m->text);
    buf_fini(&m->agreed_text);
    FREE_ALL(m->path, m->job_path, m->agreed_path);
    free(m);
}

void mirror_set(struct mirror *m, const char *path)
{
    path = path && path[0] ? path : NULL;
    if (str_same(path, m->path))
        return;
    forget(m);
    free(m->path);
    m->path = mem_str(path);
    m->next_ms = 0;
}

void mirror_update(void *mirror)
{
    struct mirror *m = mirror;
    m->look = true;
    m->next_ms = 0;
}

static void say(struct mirror *m, const char *what)
{
    if (strcmp(m->said, what) == 0)
        return;
    mem_copy_str(m->said, sizeof(m->said), what);
    if (what[0])
        log_warn("book", "%s: %s", m->path ? m->path : "", what);
}

/* ---- beside the loop ---- */

static struct stamp stamp_of_stat(const struct stat *st)
{
    return (struct stamp){true, st->st_mtim.tv_sec, st->st_mtim.tv_nsec, st->st_size, st->st_ino};
}

static struct stamp stamp_of(const char *path)
{
    struct stat st;
    return stat(path, &st) < 0 ? (struct stamp){0} : stamp_of_stat(&st);
}

static bool stamp_same(const struct stamp *a, const struct stamp *b)
{
    return a->there == b->there && a->at_s == b->at_s && a->at_ns == b->at_ns && a->size == b->size &&
           a->inode == b->inode;
}

static void do_read(struct mirror *m)
{
    struct stamp now = stamp_of(m->job_path);
    struct err ignored = {0};
    m->changed = !stamp_same(&now, &m->job_stamp);
    if (m->read_agreed) /* none yet: they never agreed on anything */
        file_read(m->agreed_path, AGREED_MAX, &m->agreed_text, &ignored);
    if (!m->changed && !m->read_agreed)
        return;
    if (now.there)
        m->result = file_read(m->job_path, COMMENTS_BYTES, &m->text, &m->err);
    m->job_stamp = now;
}

/* The old page must be able to write it after us. */
static void do_write(struct mirror *m)
{
    struct stamp now = stamp_of(m->job_path);
    if (m->text.len && !stamp_same(&now, &m->job_stamp)) {
        m->result = -ESTALE; /* somebody wrote meanwhile: read first */
        return;
    }
    if (m->text.len) {
        struct stat st;
        m->result = file_write_over(m->job_path, 0664, m->text.p, m->text.len, &st, &m->err);
        if (m->result == 0) /* of what we wrote: it may be another's already, or gone */
            m->job_stamp = stamp_of_stat(&st);
    }
    if (m->result == 0 && m->agreed_text.len)
        m->result = file_write(m->agreed_path, 0600, m->agreed_text.p, m->agreed_text.len, &m->err);
}

static void on_worker(struct work_job *j)
{
    struct mirror *m = (struct mirror *)j;
    m->result = 0;
    if (m->doing == IO_READ)
        do_read(m);
    else
        do_write(m);
}

/* ---- what a change in the file does ---- */

static void put_done(void *arg, int result)
{
    struct mirror *m = arg;
    m->pending--;
    m->look = true;
    m->next_ms = 0;
    if (result < 0)
        say(m, "a change of it could not be stored; trying again");
}

static int put(struct mirror *m, struct booking *h)
{
    int r = bookings_write(m->h, h, BY, put_done, m);
    m->pending += r == 0;
    return r;
}

/* One GPU where both sides meet. */
struct cell {
    char host[NAME_MAX_LEN]; /* as the file calls it */
    const struct node_now *n;
    const struct device_now *d;
    const struct booking *h; /* that has it now; NULL */
    int64_t now_ms;
};

/* The GPU is taken out of a booking, which ends with its last one. */
static int let_go(struct mirror *m, const struct cell *c)
{
    AUTO_FREE struct booking *to = pick_without(m->h->live, c->h, c->d->fact.uuid, c->now_ms);
    return put(m, to);
}

static int book_it(struct mirror *m, const struct cell *c, const struct remark *r)
{
    char place[NAME_MAX_LEN + 16];
    snprintf(place, sizeof(place), "%s:%d", c->n->name, (int)c->d->fact.index);
    struct booking h = {.kind = BOOKING_FIRM,
                        .from_ms = c->now_ms,
                        .until_ms = r->until_ms,
                        .created_ms = c->now_ms,
                        .changed_ms = c->now_ms,
                        .person = r->name,
                        .by = BY,
                        .devices = c->d->fact.uuid,
                        .places = place,
                        .model = "",
                        .where = "",
                        .comment = r->comment};
    return put(m, &h);
}

static int change_it(struct mirror *m, const struct cell *c, const struct remark *r)
{
    AUTO_FREE struct booking *copy = booking_copy(c->h);
    struct booking to = *copy;
    to.until_ms = r->until_ms;
    to.comment = r->comment;
    to.changes++;
    to.changed_ms = c->now_ms;
    return put(m, &to);
}

/* What the file says becomes so here. 0; 1: the first of two steps; -errno. */
static int take(struct mirror *m, const struct cell *c, const struct remark *r)
{
    struct remark ours = remark_of(c->h);
    if (!c->h)
        return book_it(m, c, r);
    if (!r->until_ms)
        return let_go(m, c);
    ours.until_ms = r->until_ms;
    mem_copy_str(ours.comment, sizeof(ours.comment), r->comment);
    bool alone = !strchr(c->h->devices, ',');
    if (alone && remark_same(&ours, r)) /* the same person */
        return change_it(m, c, r);
    int code = let_go(m, c);
    return code < 0 ? code : 1;
}

/* ---- the comparison ---- */

static void words(const struct remark *r, const struct hub *h, char out[200])
{
    char until[MOMENT_TEXT];
    if (r->until_ms)
        snprintf(out, 200, "%s's until %s", r->name, time_text_zoned(r->until_ms, h->zone, until));
    else
        snprintf(out, 200, "free");
}

static void dropped(struct mirror *m, const struct cell *c, const struct remark *theirs, const struct remark *ours,
                    const char *why)
{
    char a[200], b[200];
    words(theirs, m->h, a);
    words(ours, m->h, b);
    log_warn("book", "%s contains %s:%d as %s, but it is %s: %s; correcting the file", m->path, c->host,
             (int)c->d->fact.index, a, b, why);
}

static void agree(struct mirror *m, const struct cell *c, const struct remark *r)
{
    comments_set(m->agreed, c->host, c->d->fact.index, r);
    m->unsaved = true;
}

static void give(struct mirror *m, const struct cell *c, const struct remark *ours)
{
    comments_set(m->file, c->host, c->d->fact.index, ours);
    m->unwritten = true;
    agree(m, c, ours);
}

static void merge_cell(struct mirror *m, const struct cell *c)
{
    int index = c->d->fact.index;
    struct remark raw, last, ours = remark_of(c->h);
    comments_get(m->file, c->host, index, c->now_ms, &raw);
    comments_get(m->agreed, c->host, index, c->now_ms, &last);
    struct remark theirs = remark_at(&raw, c->now_ms);
    last = remark_at(&last, c->now_ms);
    ours = remark_at(&ours, c->now_ms);
    if (remark_same(&theirs, &ours)) {
        if (theirs.until_ms && !raw.plain)
            give(m, c, &ours);
        else if (!remark_same(&last, &ours))
            agree(m, c, &ours);
    } else if (remark_same(&theirs, &last)) {
        give(m, c, &ours);
    } else if (!remark_same(&ours, &last)) {
        dropped(m, c, &theirs, &ours, "both were changed, and the booking stays");
        give(m, c, &ours);
    } else {
        int r = take(m, c, &theirs);
        if (r == 1) /* free first; then theirs is the only change */
            agree(m, c, &(struct remark){0});
        else if (r < 0) {
            dropped(m, c, &theirs, &ours,
                    r == -EEXIST ? "somebody has booked it for a part of that time" : store_error_text(r));
            give(m, c, &ours);
        }
    }
}

static bool has_host(const struct mirror *m, const char *host)
{
    const char *key;
    for (size_t i = 0; (key = comments_host(m->file, i)); i++)
        if (strcmp(key, host) == 0)
            return true;
    return false;
}

/* The old page's key of a node: its name, or what screens call it, or its name before the first dot. */
static void host_of(const struct mirror *m, const struct node_now *n, char out[NAME_MAX_LEN])
{
    bool full = has_host(m, n->name), shown = !full && n->display && has_host(m, n->display);
    snprintf(out, NAME_MAX_LEN, "%s", shown ? n->display : n->name);
    char *dot = full || shown ? NULL : strchr(out, '.');
    if (dot && dot != out)
        *dot = 0;
}

static void merge(struct mirror *m, int64_t now_ms)
{
    size_t n;
    const struct node_now *const *nodes = live_nodes(m->h->live, false, &n);
    for (size_t i = 0; i < n; i++) {
        struct cell c = {.n = nodes[i], .now_ms = now_ms};
        const struct booking *next;
        host_of(m, nodes[i], c.host);
        for (size_t k = 0; k < nodes[i]->n_devices; k++) {
            c.d = &nodes[i]->devices[k];
            if (c.d->fact.parent[0] || c.d->fact.index < 0 || c.d->fact.index >= COMMENTS_INDEX)
                continue;
            book_of_device(m->h->book, str_of(c.d->fact.uuid), now_ms, &c.h, &next);
            merge_cell(m, &c);
        }
    }
}

/* ---- back on the loop ---- */

static void take_in(struct mirror *m)
{
    struct comments *file = NULL;
    struct err err = {0};
    if (m->result < 0) {
        say(m, m->err.msg);
        return;
    }
    if (m->read_agreed && !m->agreed && comments_parse(buf_str(&m->agreed_text), &m->agreed, &err) < 0)
        comments_parse(STR(""), &m->agreed, NULL);
    if (!m->changed && m->file)
        return;
    bool blank = !str_trim(buf_str(&m->text)).len;
    if (blank && m->job_stamp.there && !m->blank) { /* the old page empties it before it writes: look again */
        m->blank = true;
        m->stamp = STAMP_UNREAD;
        return;
    }
    if (blank) { /* gone, or empty for good: that releases nothing, it is written anew */
        comments_free(m->agreed);
        comments_parse(STR(""), &m->agreed, NULL);
    }
    m->blank = false;
    if (comments_parse(buf_str(&m->text), &file, &err) < 0) {
        say(m, err.msg); /* half of somebody's edit, perhaps: the next one will do */
        m->stamp = m->job_stamp;
        comments_free(m->file);
        m->file = NULL;
        return;
    }
    say(m, "");
    comments_free(m->file);
    m->file = file;
    m->unwritten = false;
    m->stamp = m->job_stamp;
    m->look = true;
}

static void wrote(struct mirror *m)
{
    if (m->result == -ESTALE) {
        m->stamp = STAMP_UNREAD; /* read it again; what was to be written is found again then */
        m->look = m->unsaved = true;
        comments_free(m->agreed); /* and what both said is what the disk says */
        m->agreed = NULL;
    } else if (m->result < 0) {
        say(m, m->err.msg);
        m->unwritten = m->unsaved = true;
    } else {
        say(m, "");
        m->stamp = m->job_stamp;
    }
}

static void on_done(struct work_job *j)
{
    struct mirror *m = (struct mirror *)j;
    bool ours = m->path && str_same(m->path, m->job_path); /* not another since */
    if (!j->ran)
        m->result = -ECANCELED;
    if (ours && j->ran && m->doing == IO_READ)
        take_in(m);
    else if (ours && j->ran)
        wrote(m);
    else if (ours && m->doing == IO_WRITE)
        m->unwritten = m->unsaved = true;
    m->doing = IO_NONE;
    buf_fini(&m->text);
    buf_fini(&m->agreed_text);
}

static bool start(struct mirror *m, enum io what)
{
    free(m->job_path);
    free(m->agreed_path);
    m->job_path = mem_str(m->path);
    m->agreed_path = mem_fmt("%s/" AGREED, m->h->data, crc32c(0, m->path, strlen(m->path)));
    m->job_stamp = m->stamp;
    m->read_agreed = !m->agreed;
    m->changed = false;
    m->doing = what;
    m->job.run = on_worker;
    m->job.done = on_done;
    if (work_add(m->h->work, &m->job, IO_MS) < 0)
        m->doing = IO_NONE; /* busy: next time */
    return m->doing != IO_NONE;
}

void mirror_tick(struct mirror *m, int64_t now_ms)
{
    if (!m->path || m->doing || m->pending || !hub_leads(m->h))
        return;
    if (m->file && m->agreed && (m->look || now_ms >= m->look_ms)) {
        m->look = false;
        m->look_ms = now_ms + LOOK_MS;
        merge(m, now_ms);
    }
    if (m->file && m->agreed && (m->unwritten || m->unsaved) && !m->pending) {
        if (m->unwritten) {
            m->text = BUF_INIT(2 * (size_t)COMMENTS_BYTES);
            comments_write(m->file, &m->text);
        }
        m->agreed_text = BUF_INIT(AGREED_MAX);
        comments_write(m->agreed, &m->agreed_text);
        bool unwritten = m->unwritten;
        m->unwritten = m->unsaved = false;
        if (start(m, IO_WRITE))
            return;
        m->unwritten = unwritten;
        m->unsaved = true;
        buf_fini(&m->text);
        buf_fini(&m->agreed_text);
    } else if (now_ms >= m->next_ms) {
        m->next_ms = now_ms + POLL_MS;
        start(m, IO_READ);
    }
}
