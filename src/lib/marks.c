/*
 * marks.c: the program's labels and values, which apply from now on, and notes about the recording. These calls wait
 * for keep.lock at most, which is never held during a call to the driver or the disk (L3).
 */
#include <errno.h>
#include <math.h>

#include "base/lock.h"
#include "base/mem.h"
#include "base/order.h"
#include "lib/sampler.h"

static int check_name(const char *name)
{
    struct str n = str_of(name);
    return n.len && n.len < TAPE_NAME_MAX && str_utf8_ok(n) && !memchr(n.p, '\t', n.len) ? 0 : -EINVAL;
}

/* With keep.lock held: is there room for `more` bytes on every block from now on? */
static bool has_room(const muster_sampler *s, size_t more)
{
    return tape_need(&s->now, true) + more < SAMPLER_BLOCK / 2;
}

/* With keep.lock held. */
static int find_mark(muster_sampler *s, const char *name, enum mark_kind kind, struct mark **ret)
{
    struct mark *m = tape_mark(&s->now, name);

    if (!m && (!strcmp(name, "timestamp") || muster_metric_find(s, name) >= 0))
        return -EEXIST; /* a column of the CSV is one thing */
    if (!m)
        m = tape_mark_add(&s->now, str_of(name), kind);
    if (!m)
        return -ENOSPC;
    *ret = m;
    return m->kind == kind ? 0 : -EINVAL;
}

static bool same_text(const struct mark_value *v, struct str text)
{
    return v->what == MARK_TEXT && v->len == text.len && !memcmp(v->text, text.p, text.len);
}

/* text NULL: unset. */
static int set_text(muster_sampler *s, const char *name, enum mark_kind kind, size_t slot, const char *text, size_t max)
{
    char clean[TAPE_LABEL_MAX];
    struct str t = str_of(text);
    struct mark *m;

    if (t.len >= max)
        return -EMSGSIZE;
    if (text) {
        collect_text(clean, t.len + 1, t);
        t = str_of(clean);
    }
    LOCKED(&s->keep.lock);
    int r = find_mark(s, name, kind, &m);
    if (r == 0 && !text)
        mark_set_none(&m->v[slot]);
    else if (r == 0 && !same_text(&m->v[slot], t)) {
        if (has_room(s, t.len))
            mark_set_text(&m->v[slot], t);
        else
            r = -ENOSPC;
    }
    return r;
}

int muster_label(muster_sampler *s, const char *name, const char *value)
{
    if (sampler_dead(s))
        return sampler_check(s);
    int r = check_name(name);
    return r < 0 ? r : set_text(s, name, MARK_LABEL, 0, value, TAPE_LABEL_MAX);
}

static int check_own(const muster_sampler *s, const char *name, int device)
{
    if (sampler_dead(s))
        return sampler_check(s);
    if (device < -1 || device >= (int)s->n_devices)
        return -EINVAL;
    return check_name(name);
}

int muster_text(muster_sampler *s, const char *name, int device, const char *text)
{
    int r = check_own(s, name, device);
    if (r < 0)
        return r;
    return set_text(s, name, device < 0 ? MARK_ONE : MARK_EACH, (size_t)MAX(device, 0), text, TAPE_TEXT_MAX);
}

int muster_value(muster_sampler *s, const char *name, int device, double v)
{
    struct mark *m;
    int r = check_own(s, name, device);

    if (r < 0)
        return r;
    LOCKED(&s->keep.lock);
    r = find_mark(s, name, device < 0 ? MARK_ONE : MARK_EACH, &m);
    if (r == 0) {
        struct mark_value *slot = &m->v[MAX(device, 0)];
        if (isnan(v))
            mark_set_none(slot);
        else if (slot->what == MARK_NUMBER && slot->number == v)
            ; /* unchanged */
        else if (has_room(s, 8))
            mark_set_number(slot, v);
        else
            r = -ENOSPC;
    }
    return r;
}

int muster_note(muster_sampler *s, const char *name, const char *value)
{
    if (sampler_dead(s))
        return sampler_check(s);
    int r = check_name(name);
    struct str v = str_of(value ? value : "");
    if (r < 0 || v.len >= TAPE_LABEL_MAX)
        return r < 0 ? r : -EMSGSIZE;
    char *clean = mem_alloc(v.len + 1);
    collect_text(clean, v.len + 1, v);
    pthread_mutex_lock(&s->keep.lock);
    size_t i = FIRST(s->n_notes, k, strcmp(s->notes[k].name, name) == 0);
    if (i < SAMPLER_NOTES) {
        if (i == s->n_notes)
            mem_copy_str(s->notes[s->n_notes++].name, sizeof(s->notes[i].name), name);
        free(s->notes[i].value);
        s->notes[i].value = clean;
    }
    pthread_mutex_unlock(&s->keep.lock);
    if (i < SAMPLER_NOTES)
        return 0;
    free(clean);
    return -ENOSPC;
}
