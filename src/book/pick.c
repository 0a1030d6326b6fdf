/* pick.c: finds devices by name, and chooses among them when any will do. */
#include "book/pick.h"

#include <errno.h>
#include <inttypes.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"
#include "now/sites.h"

#define NEAR_MS 600000 /* a booking that starts within this time counts as one from now on */

static int take(const struct node_now *n, const struct device_now *d, struct buf *ret, struct err *err)
{
    if (device_is_parent(n, d))
        return err_set(err, -EINVAL, "%s:%d is split into MIG instances: book those, as %s:%d.0", n->name,
                       (int)d->fact.index, n->name, (int)d->fact.index);
    if (str_listed(ret->p, str_of(d->fact.uuid)))
        return 0;
    buf_addf(ret, "%s%s", ret->len ? "," : "", d->fact.uuid);
    return ret->err ? err_set(err, -E2BIG, "a booking has at most %d GPUs", BOOKING_DEVICES) : 0;
}

/* ---- by name ---- */

struct span_of {
    bool all;
    int64_t first, last, mig; /* mig -1: whole ones */
};

/* "3", "0-3", "0.1", "*" */
static bool span_parse(struct str s, struct span_of *ret)
{
    struct str first = {0};
    *ret = (struct span_of){.mig = -1};
    s = str_trim(s);
    if (str_eq(s, "*") || str_eq(s, "all")) {
        ret->all = true;
        return true;
    }
    bool range = str_find(s, "-") > 0, instance = !range && str_find(s, ".") > 0;
    str_cut(&s, range ? '-' : '.', &first);
    if (!str_int(first, &ret->first) || ret->first < 0)
        return false;
    ret->last = ret->first;
    if (range)
        return str_int(s, &ret->last) && ret->first <= ret->last && ret->last < DEVICES_MAX;
    return !instance || (str_int(s, &ret->mig) && ret->mig >= 0);
}

static int take_span(const struct node_now *n, const struct span_of *s, struct str said, struct buf *ret,
                     struct err *err)
{
    int64_t want = s->all ? 1 : s->last - s->first + 1, found = 0;
    int r = 0;

    for (size_t i = 0; i < n->n_devices && r == 0; i++) {
        const struct device_now *d = &n->devices[i];
        bool fits = s->all ? !d->fact.lost && !device_is_parent(n, d)
                           : d->fact.index >= s->first && d->fact.index <= s->last &&
                                 (s->mig >= 0 ? d->fact.mig == s->mig && d->fact.parent[0] : !d->fact.parent[0]);
        if (!fits)
            continue;
        found++;
        r = take(n, d, ret, err);
    }
    if (r == 0 && found < want)
        r = err_set(err, -ENOENT, "%s has no GPU %.*s; it has %zu", n->name, (int)MIN(said.len, 40u), said.p,
                    n->n_devices);
    return r;
}

/* One word between commas: "dgx2:0", or "1" of the node named before, or a UUID. */
static int take_word(struct live *l, struct str w, const struct node_now **node, struct buf *ret, struct err *err)
{
    const struct node_now *n;
    const struct device_now *d = live_find_device(l, w, &n);
    struct span_of s;
    int colon = str_rfind(w, ":");

    if (d)
        return take(n, d, ret, err);
    int r = site_refuse(l, w, err);
    if (r < 0)
        return r;
    if (colon > 0) {
        char name[NAME_MAX_LEN] = "";
        snprintf(name, sizeof(name), "%.*s", MIN(colon, (int)sizeof(name) - 1), w.p);
        *node = live_find(l, name);
        if (!*node || (*node)->retired)
            return err_set(err, -ENOENT, "no node is called '%s'; /api/v1/nodes lists them", name);
        w = str_n(w.p + colon + 1, w.len - (size_t)colon - 1);
    }
    if (!*node || !span_parse(w, &s))
        return err_set(err, -EINVAL, "'%.*s' is no GPU: write NODE:INDEX as dgx2:0,1, dgx2:0-3, dgx2:*, or a UUID",
                       (int)MIN(w.len, 60u), w.p);
    return take_span(*node, &s, w, ret, err);
}

int pick_named(struct live *l, struct str words, struct buf *ret, struct err *err)
{
    const struct node_now *node = NULL;
    struct str list, w;
    int r = 0;

    while (r == 0 && str_word(&words, &list))
        while (r == 0 && str_cut(&list, ',', &w))
            if (str_trim(w).len)
                r = take_word(l, str_trim(w), &node, ret, err);
    if (r == 0 && !ret->len)
        r = err_set(err, -EINVAL, "no GPU is named: write NODE:INDEX as dgx2:0,1");
    return r;
}

/* "3", of a MIG instance "3.1" */
static void add_index(struct buf *out, const struct device_now *d)
{
    buf_addi(out, d->fact.index);
    if (d->fact.mig >= 0 && d->fact.parent[0])
        buf_addf(out, ".%d", (int)d->fact.mig);
}

/* ---- any of a kind ---- */

static void lower(struct buf *b)
{
    for (size_t i = 0; i < b->len; i++)
        b->p[i] = b->p[i] >= 'A' && b->p[i] <= 'Z' ? (char)(b->p[i] + 32) : b->p[i];
}

static bool fits_pattern(struct str pattern, const char *text, bool part)
{
    AUTO_BUF p = BUF_INIT(512);
    AUTO_BUF t = BUF_INIT(512);

    if (!pattern.len)
        return true;
    part &= !memchr(pattern.p, '*', pattern.len);
    buf_addf(&p, "%s%.*s%s", part ? "*" : "", STR_ARG(pattern), part ? "*" : "");
    buf_adds(&t, text);
    lower(&p);
    lower(&t);
    return str_glob(buf_str(&p), buf_str(&t));
}

/* Whether no other user is known to use it. */
static bool usable_now(const struct device_now *d, const char *person)
{
    if (d->state == DEV_FREE)
        return true;
    if ((d->state != DEV_HELD && d->state != DEV_BUSY) || !person || !person[0])
        return false;
    return d->n_procs > 0 && !ANY(d->n_procs, i, strcmp(d->procs[i].fact->user, person) != 0);
}

/* Whether it has been free for long enough. A booking of the person itself makes it held, not used. */
static bool idle_now(const struct device_now *d, const struct pick_request *w)
{
    bool own = d->booking && w->person && strcmp(d->booking->person, w->person) == 0;

    if (d->state == DEV_FREE)
        return w->now_ms - d->since_ms >= w->idle_ms;
    return d->state == DEV_HELD && own && d->n_procs == 0 && d->idle_since_ms &&
           w->now_ms - d->idle_since_ms >= w->idle_ms;
}

static bool has_room(const struct device_now *d, const struct pick_request *w)
{
    if (!w->mem)
        return true;
    return sample_has(&d->now, M_mem_total) &&
           d->now.v[M_mem_total] - (sample_has(&d->now, M_mem_used) ? d->now.v[M_mem_used] : 0) >= w->mem;
}

struct counts {
    size_t like, most; /* of that kind; on one node */
    size_t unbooked;   /* of these not booked then */
};

static bool like(const struct pick_request *w, const struct node_now *n, const struct device_now *d)
{
    return !d->fact.lost && !device_is_parent(n, d) && fits_pattern(w->model, d->fact.name, true) &&
           (!w->mem || (sample_has(&d->now, M_mem_total) && d->now.v[M_mem_total] >= w->mem));
}

static bool usable(const struct pick_request *w, const struct device_now *d)
{
    if (w->idle)
        return idle_now(d, w) && has_room(d, w);
    return w->from_ms - w->now_ms < NEAR_MS ? usable_now(d, w->person) : d->state != DEV_HUNG;
}

/* index: of "dgx2:3" the 3 */
static bool has_index(struct str index, const struct device_now *d)
{
    AUTO_BUF own = BUF_INIT(64);

    if (!index.len)
        return true;
    add_index(&own, d);
    return fits_pattern(index, buf_str(&own).p, false);
}

int64_t pick_until(const struct book *b, const struct pick_request *w, const struct device_now *d)
{
    return b ? book_free_until(b, str_of(d->fact.uuid), w->from_ms, w->except, w->idle ? w->person : NULL) : INT64_MAX;
}

struct candidate {
    const struct device_now *d;
    int64_t until_ms; /* it is not booked until then */
};

COMPARE(by_until, struct candidate, ORDER(y->until_ms, x->until_ms) ?: ORDER(x->d, y->d))

/* The devices of n that would do, into v: those without a booking to come first. */
static size_t candidates(const struct book *b, const struct pick_request *w, const struct node_now *n,
                         struct candidate *v, struct counts *c)
{
    size_t found = 0, alike = 0;
    struct str index = w->node, name = w->node;

    str_cut(&index, ':', &name);
    if (n->maintenance || !fits_pattern(name, n->name, false))
        return 0;
    for (size_t i = 0; i < n->n_devices; i++) {
        const struct device_now *d = &n->devices[i];
        if (!like(w, n, d) || !has_index(index, d))
            continue;
        alike++;
        int64_t until_ms = pick_until(b, w, d);
        if (until_ms < w->until_ms)
            continue;
        c->unbooked++;
        if (usable(w, d) && !(w->kept && str_listed(w->kept->p, str_of(d->fact.uuid))))
            v[found++] = (struct candidate){d, until_ms};
    }
    if (w->idle) /* what has an end fits as well where it is booked next */
        qsort(v, found, sizeof(*v), by_until);
    c->like += alike;
    c->most = MAX(c->most, alike);
    return found;
}

/* " like H200 on dgx*" */
static void wish_words(const struct pick_request *w, char out[200])
{
    char mem[40] = "";
    if (w->mem)
        snprintf(mem, sizeof(mem), " with %.4g GiB", (double)w->mem / (double)(1 << 30));
    snprintf(out, 200, "%s%.*s%s%s%.*s", w->model.len ? " like " : "", (int)MIN(w->model.len, 40u),
             w->model.p ? w->model.p : "", mem, w->node.len ? " on " : "", (int)MIN(w->node.len, 40u),
             w->node.p ? w->node.p : "");
}

static int too_few(const struct pick_request *w, const struct counts *c, size_t usable, struct err *err)
{
    char what[200];

    wish_words(w, what);
    if (!c->like)
        return err_set(err, -ENOENT, "there is no GPU%s", what);
    if (w->one_node && usable >= (size_t)w->count)
        return err_set(err, -EBUSY, "%zu GPUs%s are free, but no node has %" PRId64 " of them", usable, what, w->count);
    const char *many = c->like == 1 ? "" : "s", *are = usable == 1 || c->like == 1 ? "is" : "are";
    size_t more = c->unbooked - MIN(usable, c->unbooked);
    char asked[40] = "", span[24], lately[60] = "", rest[160] = "";
    if (w->count > 1 || usable)
        snprintf(asked, sizeof(asked), ", %" PRId64 " requested", w->count);
    if (w->idle && w->idle_ms)
        snprintf(lately, sizeof(lately), ", free for less than %s", clock_span(w->idle_ms, span));
    if (more)
        snprintf(rest, sizeof(rest), "; %zu more %s not booked, but in use%s or not reporting", more,
                 more == 1 ? "is" : "are", lately);
    return err_set(err, -EBUSY, "%zu of %zu GPU%s%s %s %s%s%s", usable, c->like, many, what, are,
                   w->idle ? "free"
                   : more  ? "free now and not booked then"
                           : "not booked then",
                   asked, rest);
}

struct node_room {
    const struct node_now *n;
    size_t free, calm; /* calm: as many of the count are not booked soon */
};

COMPARE(by_most, struct node_room,
        ORDER(y->calm, x->calm) ?: ORDER(y->free, x->free) ?: str_natural(x->n->name, y->n->name))

static struct node_room room_of(const struct node_now *n, const struct book *b, const struct pick_request *w,
                                struct counts *c)
{
    struct candidate v[DEVICES_MAX];
    struct node_room r = {.n = n, .free = candidates(b, w, n, v, c)};

    for (size_t i = 0; i < r.free && r.calm < (size_t)w->count; i++)
        r.calm += !w->idle || v[i].until_ms >= w->from_ms + PICK_SOON_MS;
    return r;
}

/* The node for all of them: the most that are not booked soon, then the fullest: large gaps stay whole. NULL: none. */
static const struct node_room *best_room(const struct node_room *v, size_t n, size_t count)
{
    const struct node_room *best = NULL;

    for (const struct node_room *r = v; r < v + n; r++)
        if (r->free >= count && (!best || r->calm > best->calm || (r->calm == best->calm && r->free < best->free)))
            best = r;
    return best;
}

int pick_among(const struct node_now *const *nodes, size_t n, const struct book *b, const struct pick_request *w,
               struct buf *ret, struct err *err)
{
    struct candidate v[DEVICES_MAX];
    struct counts c = {0};
    size_t total = 0, rooms = 0;
    int r = 0;

    if (w->count < 1 || w->count > BOOKING_DEVICES)
        return err_set(err, -EINVAL, "count must be from 1 to %d", BOOKING_DEVICES);
    AUTO_FREE struct node_room *s = mem_zero(MAX(n, 1u), sizeof(*s));
    for (size_t i = 0; i < n; i++) {
        s[rooms] = room_of(nodes[i], b, w, &c);
        total += s[rooms].free;
        if (s[rooms].free)
            rooms++;
    }
    const struct node_room *best = best_room(s, rooms, (size_t)w->count);
    if (total < (size_t)w->count || (!best && w->one_node))
        return too_few(w, &c, total, err);
    if (!best)
        qsort(s, rooms, sizeof(*s), by_most);
    size_t left = (size_t)w->count;
    for (const struct node_room *at = best ? best : s; left && at < s + rooms && r == 0; at++) {
        size_t have = candidates(b, w, at->n, v, &c);
        for (size_t k = 0; k < have && left && r == 0; k++, left--)
            r = take(at->n, v[k].d, ret, err);
    }
    return r;
}

int pick_any(struct live *l, const struct book *b, const struct pick_request *w, struct buf *ret, struct err *err)
{
    size_t n;
    const struct node_now *const *nodes = live_nodes(l, false, &n);

    return pick_among(nodes, n, b, w, ret, err);
}

void pick_every(const struct node_now *const *nodes, size_t n, const struct book *b, const struct pick_request *w,
                struct buf *ret)
{
    struct candidate v[DEVICES_MAX];
    struct counts c = {0};

    for (size_t i = 0; i < n; i++) {
        size_t have = candidates(b, w, nodes[i], v, &c);
        for (size_t k = 0; k < have; k++)
            buf_addf(ret, "%s%s", ret->len ? "," : "", v[k].d->fact.uuid);
    }
}

int pick_possible(const struct node_now *const *nodes, size_t n, const struct pick_request *w, struct err *err)
{
    struct candidate v[DEVICES_MAX];
    struct counts c = {0};
    char what[200];

    if (w->count < 1 || w->count > BOOKING_DEVICES)
        return err_set(err, -EINVAL, "count must be from 1 to %d", BOOKING_DEVICES);
    for (size_t i = 0; i < n; i++)
        candidates(NULL, w, nodes[i], v, &c);
    wish_words(w, what);
    if (c.like < (size_t)w->count)
        return err_set(err, -ENOENT, "%" PRId64 " requested: there are only %zu GPUs%s", w->count, c.like, what);
    if (w->one_node && c.most < (size_t)w->count)
        return err_set(err, -ENOENT, "%" PRId64 " requested on one node: none has more than %zu GPUs%s", w->count,
                       c.most, what);
    return 0;
}

/* ---- and back ---- */

bool pick_next(const struct live *l, struct pick_device *p)
{
    p->n = NULL;
    p->d = NULL;
    while (str_cut(&p->rest, ',', &p->uuid))
        if (p->uuid.len) {
            p->d = live_find_device(l, p->uuid, &p->n);
            return true;
        }
    return false;
}

const struct booking_now *pick_booking(const struct booking *h, struct booking_now *ret)
{
    if (!h)
        return NULL;
    memset(ret, 0, sizeof(*ret)); /* live compares them */
    ret->id = h->id;
    ret->from_ms = h->from_ms;
    ret->until_ms = h->until_ms;
    mem_copy_str(ret->person, sizeof(ret->person), h->person);
    mem_copy_str(ret->comment, sizeof(ret->comment), h->comment);
    return ret;
}

struct booking *pick_without(struct live *l, const struct booking *h, const char *uuid, int64_t now_ms)
{
    AUTO_BUF rest = BUF_INIT(BOOKING_DEVICES * (size_t)UUID_MAX), places = BUF_INIT(BOOKING_PLACES_MAX);
    struct booking to = *h;

    to.changes++;
    to.changed_ms = now_ms;
    booking_without(h, str_of(uuid), &rest);
    if (rest.len) {
        to.devices = rest.p;
        pick_places(l, buf_str(&rest), &places);
        to.places = buf_str(&places).p;
    } else {
        to.released_ms = now_ms;
    }
    return booking_copy(&to);
}

void pick_places(struct live *l, struct str devices, struct buf *ret)
{
    const struct node_now *last = NULL;

    for (struct pick_device p = {.rest = devices}; pick_next(l, &p); last = p.n) {
        if (!p.d) {
            buf_addf(ret, "%s%.*s", ret->len ? " " : "", STR_ARG(p.uuid));
            continue;
        }
        if (p.n == last)
            buf_addc(ret, ',');
        else
            buf_addf(ret, "%s%s:", ret->len ? " " : "", p.n->name);
        add_index(ret, p.d);
    }
}
