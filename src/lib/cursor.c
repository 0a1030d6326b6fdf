/* cursor.c: reads samples back one by one, from disk and memory alike, and as columns. */
#include <errno.h>
#include <math.h>

#include "base/mem.h"
#include "lib/sampler.h"

struct muster_cursor {
    muster_sampler *s;
    struct keep_copy copy;
    size_t at;             /* bytes of the copy that were read */
    struct tape_state now; /* the current sample */
    int64_t from, next;    /* the first one requested; the number of the next on the copy */
    bool on;
};

int muster_cursor_open(muster_sampler *s, int64_t from, muster_cursor **ret)
{
    if (sampler_dead(s))
        return sampler_check(s);
    if (from < 0 || !ret)
        return -EINVAL;
    muster_cursor *c = mem_zero(1, sizeof(*c));
    c->s = s;
    c->from = c->next = from;
    c->copy = (struct keep_copy){.first = -1, .bytes = BUF_INIT(TAPE_BLOCK_MAX)};
    tape_state_init(&c->now, s->n_devices, s->pick.n);
    pthread_mutex_lock(&s->keep.lock);
    c->copy.clears = s->keep.clears;
    pthread_mutex_unlock(&s->keep.lock);
    *ret = c;
    return 0;
}

void muster_cursor_close(muster_cursor *c)
{
    if (!c)
        return;
    tape_state_fini(&c->now);
    buf_fini(&c->copy.bytes);
    free(c);
}

/* 1: the next sample of the copy is in c->now; 0: it is used up. */
static int next_on_copy(muster_cursor *c)
{
    struct rd in = rd_of(buf_str(&c->copy.bytes).p + c->at, c->copy.bytes.len - c->at);
    int r = tape_next(&in, &c->now);

    c->at = c->copy.bytes.len - (size_t)(in.end - in.p);
    c->next += r == 1;
    return r;
}

int muster_cursor_next(muster_cursor *c)
{
    if (!c || sampler_dead(c->s))
        return c ? -ECHILD : -EINVAL;
    c->on = false;
    for (;;) {
        int r = next_on_copy(c);
        if (r < 0)
            return r;
        if (r == 1 && c->next > c->from) {
            c->on = true;
            return 1;
        }
        if (r == 1)
            continue; /* before the first one requested */
        r = keep_fetch(&c->s->keep, MAX(c->next, c->from), &c->copy);
        if (r <= 0)
            return r;
        if (r == 1) { /* another block */
            tape_state_reset(&c->now);
            c->at = 0;
            c->next = c->copy.first;
        }
    }
}

const struct tape_state *cursor_state(const muster_cursor *c)
{
    return &c->now;
}

int64_t muster_cursor_number(const muster_cursor *c)
{
    return c && c->on ? c->next - 1 : -EINVAL;
}

double muster_cursor_time(const muster_cursor *c)
{
    return c && c->on ? (double)c->now.at_us / 1e6 : (double)NAN;
}

double muster_cursor_wall(const muster_cursor *c)
{
    return c && c->on ? (double)(c->s->origin_wall_us + c->now.at_us) / 1e6 : (double)NAN;
}

int muster_cursor_metric(const muster_cursor *c, int metric, int device, double *ret)
{
    if (!c || !c->on || !ret || metric < 0 || (size_t)metric >= c->now.metrics || device < 0 ||
        (size_t)device >= c->now.devices)
        return -EINVAL;
    size_t cell = (size_t)metric * c->now.devices + (size_t)device;
    if (!c->now.have[cell])
        return -ENODATA;
    *ret = sampler_number(c->s, (size_t)metric, c->now.v[cell]);
    return 0;
}

const char *muster_cursor_label(const muster_cursor *c, const char *name)
{
    const struct mark *m = c && c->on && name ? tape_mark(&c->now, name) : NULL;

    if (m && m->kind == MARK_LABEL && m->v[0].what == MARK_TEXT)
        return m->v[0].text;
    return c && c->on && name && (!strcmp(name, "job") || !strcmp(name, "dag")) ? "0" : NULL;
}

static const struct mark_value *own_value(const muster_cursor *c, const char *name, int device)
{
    const struct mark *m = c && c->on && name ? tape_mark(&c->now, name) : NULL;

    if (!m || m->kind == MARK_LABEL || device < -1 || (device == -1) != (m->kind == MARK_ONE) || device >= (int)m->n)
        return NULL;
    return &m->v[MAX(device, 0)];
}

int muster_cursor_value(const muster_cursor *c, const char *name, int device, double *ret)
{
    const struct mark_value *v = own_value(c, name, device);

    if (!ret || !v || v->what != MARK_NUMBER)
        return -ENODATA;
    *ret = v->number;
    return 0;
}

const char *muster_cursor_text(const muster_cursor *c, const char *name, int device)
{
    const struct mark_value *v = own_value(c, name, device);

    return v && v->what == MARK_TEXT ? v->text : NULL;
}

int64_t muster_read(muster_sampler *s, int metric, int device, int64_t from, int64_t max, double *times, double *values,
                    int64_t *next)
{
    muster_cursor *c = NULL;
    int64_t n = 0;

    if (!values || metric < 0 || metric >= muster_metrics(s) || device < 0 || device >= muster_devices(s))
        return s && sampler_dead(s) ? -ECHILD : -EINVAL;
    int r = muster_cursor_open(s, from, &c);
    if (!c)
        return r;
    while (n < max && (r = muster_cursor_next(c)) == 1) {
        if (muster_cursor_metric(c, metric, device, &values[n]) < 0)
            values[n] = (double)NAN;
        if (times)
            times[n] = muster_cursor_time(c);
        n++;
    }
    if (next)
        *next = MAX(c->next, from);
    muster_cursor_close(c);
    return r < 0 ? r : n;
}
