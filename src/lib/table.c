/*
 * table.c: writes samples as CSV in the format of dask-metrics, and the companion file that describes it. Formats
 * numbers itself, since printf would use the locale's decimal point.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/utsname.h>

#include "base/clock.h"
#include "base/csv.h"
#include "base/file.h"
#include "base/json.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/rand.h"
#include "lib/sampler.h"

#define TEXT_MAX    (1u << 30) /* of one muster_csv_text call */
#define ROW_MAX     (2u << 20)
#define ABOUT_MAX   (4u << 20)
#define WRITE_BYTES (256u << 10)

/* ---- columns ---- */

enum cell_kind { CELL_JOB, CELL_TIME, CELL_METRIC, CELL_LABEL, CELL_OWN };

struct cell {
    enum cell_kind kind;
    size_t at; /* which metric, or which mark */
    bool each;
    char name[TAPE_NAME_MAX];
};

#define NO_MARK SIZE_MAX

struct layout {
    size_t n;
    struct cell cells[3 + PICK_METRICS + 1 + TAPE_MARKS];
};

static void add_cell(struct layout *l, enum cell_kind kind, size_t at, bool each, const char *name)
{
    struct cell *c = &l->cells[l->n++];

    c->kind = kind;
    c->at = at;
    c->each = each;
    mem_copy_str(c->name, sizeof(c->name), name);
}

static size_t mark_at(const muster_sampler *s, const char *name)
{
    const struct mark *m = tape_mark(&s->now, name);
    return m && m->kind == MARK_LABEL ? (size_t)(m - s->now.marks) : NO_MARK;
}

/* Marks are never removed and keep their places, also on the tape; so a layout is valid for all samples. */
static void lay_out(muster_sampler *s, struct layout *l)
{
    l->n = 0;
    LOCKED(&s->keep.lock);
    add_cell(l, CELL_JOB, mark_at(s, "job"), false, "job");
    add_cell(l, CELL_JOB, mark_at(s, "dag"), false, "dag");
    add_cell(l, CELL_TIME, 0, false, "timestamp");
    for (size_t i = 0; i < s->pick.n; i++)
        if (s->pick.columns[i].rank)
            add_cell(l, CELL_METRIC, i, true, s->pick.columns[i].name);
    if (mark_at(s, "tasks") != NO_MARK)
        add_cell(l, CELL_LABEL, mark_at(s, "tasks"), false, "tasks");
    for (size_t i = 0; i < s->pick.n; i++)
        if (!s->pick.columns[i].rank)
            add_cell(l, CELL_METRIC, i, true, s->pick.columns[i].name);
    for (size_t i = 0; i < s->now.n_marks; i++)
        if (s->now.marks[i].kind == MARK_LABEL && !str_listed("job,dag,tasks", str_of(s->now.marks[i].name)))
            add_cell(l, CELL_LABEL, i, false, s->now.marks[i].name);
    for (size_t i = 0; i < s->now.n_marks; i++)
        if (s->now.marks[i].kind != MARK_LABEL)
            add_cell(l, CELL_OWN, i, s->now.marks[i].kind == MARK_EACH, s->now.marks[i].name);
}

/* ---- cells ---- */

/* The shortest text that reads back as v, whole numbers without a point. */
static void add_number(struct buf *out, double v)
{
    char text[40];

    if (v == (double)(int64_t)MAX(-1e15, MIN(v, 1e15))) {
        buf_addi(out, (int64_t)v);
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    for (const char *p = text; *p; p++) { /* whatever the locale's point is */
        bool known = (*p >= '0' && *p <= '9') || strchr("+-einfa", *p);
        if (known || p == text || (p[-1] >= '0' && p[-1] <= '9'))
            buf_addc(out, known ? *p : '.');
    }
}

/* Microseconds as seconds, as cudf wrote them: ten digits at most, no zeros at the end but the one behind the point;
 * 6.2e-05 when small. */
static void add_time(struct buf *out, int64_t us)
{
    uint64_t scale = 1000000, whole, left;

    if (us > 0 && us < 100) {
        buf_addi(out, us < 10 ? us : us / 10);
        if (us >= 10 && us % 10)
            buf_addf(out, ".%d", (int)(us % 10));
        buf_adds(out, us < 10 ? "e-06" : "e-05");
        return;
    }
    uint64_t u = us < 0 ? 0 : (uint64_t)us;
    for (uint64_t top = 10000; u / 1000000 >= top && scale > 10; top *= 10)
        scale /= 10; /* a digit more before the point is one less behind it */
    uint64_t unit = 1000000 / scale;
    u = (u + unit / 2) / unit;
    whole = u / scale;
    left = u % scale;
    buf_addu(out, whole);
    buf_addc(out, '.');
    do {
        scale /= 10;
        buf_addc(out, (char)('0' + left / scale));
        left %= scale;
    } while (left);
}

static void add_metric(struct buf *out, const muster_sampler *s, const struct tape_state *now, size_t metric)
{
    size_t n = now->devices;
    int64_t per = s->pick.columns[metric].per;

    if (n > 1)
        buf_addc(out, '"');
    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_add(out, ", ", 2);
        if (now->have[metric * n + i])
            buf_fixed(out, now->v[metric * n + i], per);
    }
    if (n > 1)
        buf_addc(out, '"');
}

static void add_own(struct buf *out, struct buf *scratch, const struct mark *m)
{
    buf_reset(scratch);
    for (size_t i = 0; i < m->n; i++) {
        if (i)
            buf_add(scratch, ", ", 2);
        if (m->v[i].what == MARK_NUMBER)
            add_number(scratch, m->v[i].number);
        else if (m->v[i].what == MARK_TEXT)
            buf_adds(scratch, m->v[i].text);
    }
    csv_add(out, buf_str(scratch).p);
}

static void add_cell_text(struct buf *out, struct buf *scratch, const muster_sampler *s, const struct tape_state *now,
                          const struct cell *c)
{
    const struct mark *m = c->at < now->n_marks && c->kind != CELL_METRIC ? &now->marks[c->at] : NULL;

    if (c->kind == CELL_TIME)
        add_time(out, now->at_us);
    else if (c->kind == CELL_METRIC)
        add_metric(out, s, now, c->at);
    else if (c->kind == CELL_OWN && m)
        add_own(out, scratch, m);
    else if (c->kind != CELL_OWN)
        csv_add(out, m && m->v[0].what == MARK_TEXT ? m->v[0].text : c->kind == CELL_JOB ? "0" : "");
}

static void add_header(struct buf *out, const struct layout *l)
{
    for (size_t i = 0; i < l->n; i++) {
        if (i)
            buf_addc(out, ',');
        csv_add(out, l->cells[i].name);
    }
    buf_addc(out, '\n');
}

static void add_row(struct buf *out, struct buf *scratch, const muster_sampler *s, const struct layout *l,
                    const muster_cursor *c)
{
    for (size_t i = 0; i < l->n; i++) {
        if (i)
            buf_addc(out, ',');
        add_cell_text(out, scratch, s, cursor_state(c), &l->cells[i]);
    }
    buf_addc(out, '\n');
}

/* ---- as text ---- */

int64_t muster_csv_text(muster_sampler *s, int64_t from, int64_t max, int header, char **ret, size_t *ret_len,
                        int64_t *next)
{
    AUTO_FREE struct layout *l = mem_alloc(sizeof(*l));
    AUTO_BUF out = BUF_INIT(TEXT_MAX), scratch = BUF_INIT(ROW_MAX);
    muster_cursor *c;
    int64_t n = 0, after = from;

    if (!ret || !ret_len)
        return -EINVAL;
    int r = muster_cursor_open(s, from, &c);
    if (r < 0)
        return r;
    lay_out(s, l);
    if (header)
        add_header(&out, l);
    while (n < max && (r = muster_cursor_next(c)) == 1) {
        size_t had = out.len;
        add_row(&out, &scratch, s, l, c);
        if (out.err && n > 0) { /* the rest is for the next call */
            out.err = 0;
            buf_cut(&out, had);
            break;
        }
        after = muster_cursor_number(c) + 1;
        n++;
    }
    muster_cursor_close(c);
    if (r < 0 || out.err)
        return r < 0 ? r : out.err;
    buf_adds(&out, ""); /* NUL-terminated, also if empty */
    *ret_len = out.len;
    *ret = out.p ? buf_take(&out) : mem_str("");
    if (next)
        *next = after;
    return n;
}

/* ---- the companion ---- */

static void add_columns(struct json *j, const muster_sampler *s, const struct layout *l)
{
    static const char *const kinds[] = {"label", "time", "metric", "label", "own"};

    json_arr(j, "columns");
    for (size_t i = 0; i < l->n; i++) {
        const struct cell *c = &l->cells[i];
        json_obj(j, NULL);
        json_cstr(j, "name", c->name);
        json_cstr(j, "kind", kinds[c->kind]);
        if (c->kind == CELL_METRIC || c->kind == CELL_TIME)
            json_cstr(j, "unit", c->kind == CELL_TIME ? "seconds" : s->pick.columns[c->at].unit);
        json_bool(j, "per_device", c->each);
        json_end_obj(j);
    }
    json_end_arr(j);
}

static void add_devices(struct json *j, const muster_sampler *s)
{
    json_arr(j, "devices");
    for (size_t i = 0; i < s->n_devices; i++) {
        json_obj(j, NULL);
        json_int(j, "index", s->devices[i].index);
        json_cstr(j, "uuid", s->devices[i].uuid);
        json_cstr(j, "name", s->devices[i].name);
        json_end_obj(j);
    }
    json_end_arr(j);
}

/* Names of notes are the program's: json.h wants keys that need no escapes. */
static void add_notes(struct json *j, const muster_sampler *s)
{
    AUTO_BUF key = BUF_INIT((size_t)8 * TAPE_NAME_MAX);

    json_obj(j, "notes");
    for (size_t i = 0; i < s->n_notes; i++) {
        buf_reset(&key);
        json_escape(&key, str_of(s->notes[i].name));
        buf_cut(&key, key.len - 1); /* its quotes */
        json_cstr(j, key.p + 1, s->notes[i].value);
    }
    json_end_obj(j);
}

static void add_about(muster_sampler *s, const struct layout *l, struct buf *out)
{
    struct json j = json_on(out);
    struct utsname host;
    char start[32];

    json_obj(&j, NULL);
    json_cstr(&j, "format", "muster-samples");
    json_int(&j, "version", 1);
    json_cstr(&j, "muster", MUSTER_VERSION);
    json_cstr(&j, "host", uname(&host) == 0 ? host.nodename : NULL);
    json_int(&j, "pid", s->pid);
    pthread_mutex_lock(&s->keep.lock);
    json_cstr(&j, "start", s->begun ? clock_iso(s->origin_wall_us / 1000, start) : NULL);
    json_fixed(&j, "interval_seconds", s->interval_us, 1000000);
    json_cstr(&j, "collector", s->collector);
    json_cstr(&j, "driver", s->driver);
    json_int(&j, "samples", keep_count(&s->keep));
    json_int(&j, "skipped", s->skipped);
    json_int(&j, "dropped", s->keep.dropped);
    json_cstr(&j, "error", s->error.msg[0] ? s->error.msg : NULL);
    add_notes(&j, s);
    pthread_mutex_unlock(&s->keep.lock);
    add_devices(&j, s);
    add_columns(&j, s, l);
    json_end_obj(&j);
    buf_addc(out, '\n');
}

int muster_about(muster_sampler *s, char **ret)
{
    AUTO_FREE struct layout *l = mem_alloc(sizeof(*l));
    AUTO_BUF out = BUF_INIT(ABOUT_MAX);

    if (sampler_dead(s))
        return sampler_check(s);
    if (!ret)
        return -EINVAL;
    lay_out(s, l);
    add_about(s, l, &out);
    if (out.err)
        return out.err;
    *ret = buf_take(&out);
    return 0;
}

/* ---- as files ---- */

static int write_out(int fd, struct buf *out)
{
    int r = file_put(fd, out->p, out->len);

    if (r == 0)
        r = out->err;
    buf_reset(out);
    return r;
}

static int write_rows(muster_sampler *s, const struct layout *l, int fd)
{
    AUTO_BUF out = BUF_INIT(WRITE_BYTES + ROW_MAX), scratch = BUF_INIT(ROW_MAX);
    muster_cursor *c;
    int r = muster_cursor_open(s, 0, &c), w = 0;

    if (r < 0)
        return r;
    add_header(&out, l);
    while (w == 0 && (r = muster_cursor_next(c)) == 1) {
        add_row(&out, &scratch, s, l, c);
        if (out.len >= WRITE_BYTES || out.err)
            w = write_out(fd, &out);
    }
    muster_cursor_close(c);
    if (w == 0)
        w = write_out(fd, &out);
    return w < 0 ? w : r;
}

static char *companion_of(const char *path)
{
    struct str p = str_of(path);

    return mem_fmt("%.*s.json", (int)(p.len - (str_ends(p, ".csv") ? 4 : 0)), path);
}

static int write_csv(muster_sampler *s, const struct layout *l, const char *path, struct err *err)
{
    AUTO_FREE char *tmp = mem_fmt("%s.tmp-%016llx", path, (unsigned long long)rand_u64());
    AUTO_CLOSE int fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

    if (fd < 0)
        return err_set(err, -errno, "cannot write '%s': %s", path, strerror(errno));
    int r = write_rows(s, l, fd);
    if (r == 0 && (fsync(fd) < 0 || rename(tmp, path) < 0))
        r = -errno;
    if (r < 0) {
        unlink(tmp);
        return err_set(err, r, "cannot write '%s': %s", path, strerror(-r));
    }
    return 0;
}

int muster_write_csv(muster_sampler *s, const char *path, char *err, size_t err_size)
{
    AUTO_FREE struct layout *l = mem_alloc(sizeof(*l));
    AUTO_BUF about = BUF_INIT(ABOUT_MAX);
    struct err e = {0};

    if (sampler_dead(s) || !path || !path[0])
        return sampler_fail(&e, s && sampler_dead(s) ? -ECHILD : -EINVAL, err, err_size);
    lay_out(s, l);
    int r = write_csv(s, l, path, &e);
    if (r == 0) {
        AUTO_FREE char *companion = companion_of(path);
        add_about(s, l, &about);
        r = about.err ? about.err : file_write(companion, 0666, about.p, about.len, &e);
    }
    return r < 0 ? sampler_fail(&e, r, err, err_size) : 0;
}
