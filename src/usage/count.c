/*
 * count.c: counts minute by minute. Starts and ends of uses cut a minute into pieces. A piece is split among the uses
 * of the device in it; the minute's work and energy are split as its held time. Idle spells are found afterwards, over
 * all minutes of a login.
 */
#include "usage/count.h"

#include "base/order.h"

#define MEM_MAX  (1ll << 42) /* so that an hour of it fits 64 bits */
#define CUTS_MAX 256         /* per minute; after more, uses are extended from cut to cut */

int64_t count_ahead_ms(const struct count_rule *rule)
{
    return (rule->spell_ms + MINUTE_MS - 1) / MINUTE_MS * MINUTE_MS;
}

int64_t count_reach_ms(const struct count_rule *rule)
{
    return count_ahead_ms(rule) + (int64_t)COUNT_CARRY * MINUTE_MS;
}

void count_split(int64_t total, const int64_t *w, size_t n, int64_t *ret)
{
    __int128 all = 0;
    int64_t left = total;

    for (size_t i = 0; i < n; i++)
        all += w[i];
    for (size_t i = 0; i < n; i++) {
        ret[i] = all ? (int64_t)((__int128)total * w[i] / all) : 0;
        left -= ret[i];
    }
    if (!all)
        return;
    for (; left > 0; left--) { /* fewer than n */
        size_t best = n;
        __int128 most = 0;
        for (size_t i = 0; i < n; i++) {
            __int128 rest = (__int128)total * w[i] - (__int128)ret[i] * all;
            if (rest > most) {
                most = rest;
                best = i;
            }
        }
        if (best == n)
            return;
        ret[best]++;
    }
}

struct proc_info { /* a login of this device */
    const char *login;
    int32_t *idle; /* ms in each minute; -1: not held, or busy, or unknown */
    struct usage_sum *hours;
    uint64_t *mem; /* byte * ms, of each hour */
    bool any;
};

struct counting {
    const struct count_rule *rule;
    const struct count_input *in;
    const struct count_device *d;
    struct proc_info *who; /* by login; [0] is "" */
    size_t n_who;
    struct holder {
        const struct count_use *use;
        int64_t from_ms;
        int who;
    } * order; /* uses that hold the device, by start */
    size_t n_order, next;
    size_t *active, n_active; /* places in order */
    /* of one minute, by who */
    int64_t *held, *w, *part;
    int64_t *mem, *sm;
    bool *on;
    struct usage_device *ret;
};

COMPARE(by_start, struct holder, ORDER(x->from_ms, y->from_ms) ?: ORDER(x->use, y->use))

static bool does_hold(const struct count_rule *rule, const struct count_use *u)
{
    return !u->graphics || rule->graphics_mem <= 0 || u->mem >= rule->graphics_mem;
}

/* Whether samples start in this minute: no earlier sample counts for it. */
static bool has_begun(const struct counting *c, int64_t minute)
{
    int64_t carry = MIN(c->in->carry, COUNT_CARRY);

    return minute > carry && minute < (int64_t)c->in->n_minutes && c->d->minutes[minute].seen &&
           !ANY((size_t)carry, k, c->d->minutes[minute - 1 - (int64_t)k].seen);
}

/* A minute's first samples count for the whole minute. A process first seen in it, or in the next minute, that ran
 * before held the device for that time. */
static int64_t held_from(const struct counting *c, const struct count_use *u)
{
    int64_t minute = (u->from_ms - c->in->from_ms) / MINUTE_MS;

    if (u->began_ms <= 0 || u->from_ms < c->in->from_ms)
        return u->from_ms;
    minute -= has_begun(c, minute - 1);
    if (!has_begun(c, minute))
        return u->from_ms;
    return MIN(u->from_ms, MAX(u->began_ms, c->in->from_ms + minute * MINUTE_MS));
}

/* Who there is, and when they came. */
static void counting_people(struct counting *c)
{
    const struct count_device *d = c->d;
    const char **names = mem_zero(d->n_uses + 1, sizeof(*names));
    size_t n = 1;

    names[0] = "";
    for (size_t i = 0; i < d->n_uses; i++)
        names[n++] = d->uses[i].login;
    qsort(names, n, sizeof(*names), order_texts);
    c->who = mem_zero(n, sizeof(*c->who));
    for (size_t i = 0; i < n; i++)
        if (!c->n_who || strcmp(c->who[c->n_who - 1].login, names[i]) != 0)
            c->who[c->n_who++].login = names[i];
    c->order = mem_zero(d->n_uses + 1, sizeof(*c->order));
    c->active = mem_zero(d->n_uses + 1, sizeof(*c->active));
    for (size_t i = 0; i < d->n_uses; i++) {
        const struct count_use *u = &d->uses[i];
        if (u->to_ms <= u->from_ms || !does_hold(c->rule, u))
            continue;
        size_t who = COUNT_BEFORE(c->n_who - 1, k, strcmp(c->who[k].login, u->login) < 0);
        c->order[c->n_order++] = (struct holder){u, held_from(c, u), (int)who};
    }
    SORT(c->order, c->n_order, by_start);
    free(names);
}

/* Splits one piece of a minute, len long and starting at `at`. */
static void piece_split(struct counting *c, int64_t at, int64_t len)
{
    bool mem_known = true, sm_known = true;
    int64_t mem_all = 0, sm_all = 0;
    size_t holders = 0;

    for (size_t i = 0; i < c->n_active; i++) {
        const struct count_use *u = c->order[c->active[i]].use;
        int who = c->order[c->active[i]].who;
        if (c->order[c->active[i]].from_ms > at || u->to_ms <= at)
            continue;
        if (!c->on[who]) {
            c->on[who] = true;
            c->mem[who] = c->sm[who] = 0;
            holders++;
        }
        mem_known &= u->mem >= 0;
        sm_known &= u->sm >= 0;
        c->mem[who] += MAX(u->mem, 0);
        c->sm[who] += MAX(u->sm, 0);
        mem_all += MAX(u->mem, 0);
        sm_all += MAX(u->sm, 0);
    }
    if (!holders)
        return;
    bool by_sm = c->rule->split == SPLIT_SM && sm_known && sm_all > 0;
    bool by_mem = !by_sm && c->rule->split != SPLIT_EQUAL && mem_known && mem_all > 0;
    for (size_t i = 0; i < c->n_who; i++)
        c->w[i] = !c->on[i] ? 0 : by_sm ? c->sm[i] : by_mem ? c->mem[i] : 1;
    count_split(len, c->w, c->n_who, c->part);
    for (size_t i = 0; i < c->n_who; i++) {
        c->held[i] += c->part[i];
        c->on[i] = false;
    }
}

static bool is_booked(const struct counting *c, int64_t at)
{
    return ANY(c->d->n_booked, i, c->d->booked[i].from_ms <= at && at < c->d->booked[i].to_ms);
}

static void add_cut(int64_t *cuts, size_t *n, int64_t at, int64_t from, int64_t to)
{
    if (at > from && at < to && *n < CUTS_MAX)
        cuts[(*n)++] = at;
}

/* Fills c->held for the minute; returns the time it was not held, and how much of that was booked. */
static void minute_hold(struct counting *c, int64_t from, int64_t *ret_free, int64_t *ret_unused)
{
    int64_t cuts[CUTS_MAX + 2], to = from + MINUTE_MS, held = 0, unused = 0;
    size_t n = 0, kept = 0;

    while (c->next < c->n_order && c->order[c->next].from_ms < to)
        c->active[c->n_active++] = c->next++;
    for (size_t i = 0; i < c->n_active; i++)
        if (c->order[c->active[i]].use->to_ms > from)
            c->active[kept++] = c->active[i];
    c->n_active = kept;
    memset(c->held, 0, c->n_who * sizeof(*c->held));
    for (size_t i = 0; i < c->n_active; i++) {
        add_cut(cuts, &n, c->order[c->active[i]].from_ms, from, to);
        add_cut(cuts, &n, c->order[c->active[i]].use->to_ms, from, to);
    }
    for (size_t i = 0; i < c->d->n_booked; i++) {
        add_cut(cuts, &n, c->d->booked[i].from_ms, from, to);
        add_cut(cuts, &n, c->d->booked[i].to_ms, from, to);
    }
    SORT(cuts, n, order_numbers);
    cuts[n++] = to;
    for (size_t i = 0; i < n; i++) {
        int64_t before = held, at = i ? cuts[i - 1] : from, len = cuts[i] - at;
        if (len <= 0)
            continue;
        if (c->n_active)
            piece_split(c, at, len);
        held = 0;
        for (size_t k = 0; k < c->n_who; k++)
            held += c->held[k];
        if (held == before && is_booked(c, at))
            unused += len;
    }
    *ret_unused = unused;
    *ret_free = MINUTE_MS - held - unused;
}

static int64_t display_mem(const struct counting *c, int64_t from)
{
    int64_t sum = 0;

    for (size_t i = 0; i < c->d->n_uses; i++) {
        const struct count_use *u = &c->d->uses[i];
        if (u->from_ms < from + MINUTE_MS && u->to_ms > from && !does_hold(c->rule, u))
            sum += MAX(u->mem, 0);
    }
    return sum;
}

/* Work or memory without a known process is assigned to the login "". */
static int64_t minute_unknown(struct counting *c, const struct count_minute *m, int64_t from, int64_t *free_ms,
                              int64_t *unused_ms, int64_t held)
{
    int64_t take = 0;

    if (m->busy_ms > held && m->busy_ms * 10000ll >= MINUTE_MS * c->rule->busy_util)
        take = m->busy_ms - held;
    if (held == 0 && c->rule->held_mem >= 0 && m->mem > c->rule->held_mem &&
        m->mem > c->rule->held_mem + display_mem(c, from))
        take = *free_ms + *unused_ms;
    int64_t of_free = MIN(take, *free_ms), of_unused = MIN(take - of_free, *unused_ms);
    *free_ms -= of_free;
    *unused_ms -= of_unused;
    c->held[0] += of_free + of_unused;
    return of_free + of_unused;
}

/* Adds the known activity of the minute, at most the time held, split as that is. */
static void minute_did(struct counting *c, const struct count_minute *m, int64_t held, long hour)
{
    if (m->work_ms >= 0) {
        count_split(MIN((int64_t)m->work_ms, held), c->held, c->n_who, c->part);
        for (size_t k = 0; k < c->n_who; k++) {
            c->who[k].hours[hour].work_of_ms += c->held[k];
            c->who[k].hours[hour].work_ms += c->part[k];
        }
    }
    if (m->tensor_ms >= 0) {
        count_split(MIN((int64_t)m->tensor_ms, held), c->held, c->n_who, c->part);
        for (size_t k = 0; k < c->n_who; k++) {
            c->who[k].hours[hour].tensor_of_ms += c->held[k];
            c->who[k].hours[hour].tensor_ms += c->part[k];
        }
    }
}

/* Adds the minute's sums to its hour (-1: no hour of the input). */
static void minute_add(struct counting *c, size_t i, const struct count_minute *m, bool fresh, long hour)
{
    int64_t from = c->in->from_ms + (int64_t)i * MINUTE_MS, free_ms, unused_ms, held = 0;
    bool idle = m->busy_ms >= 0 && m->busy_ms * 10000ll < MINUTE_MS * c->rule->busy_util;

    minute_hold(c, from, &free_ms, &unused_ms);
    for (size_t k = 0; k < c->n_who; k++)
        held += c->held[k];
    held += minute_unknown(c, m, from, &free_ms, &unused_ms, held);
    int64_t busy = MIN((int64_t)MAX(m->busy_ms, 0), held);
    count_split(busy, c->held, c->n_who, c->part);
    for (size_t k = 0; k < c->n_who; k++) {
        struct proc_info *w = &c->who[k];
        if (c->held[k] == 0)
            continue;
        if (idle)
            w->idle[i] = (int32_t)(c->held[k] - c->part[k]);
        if (hour < 0)
            continue;
        w->any = true;
        w->hours[hour].held_ms += c->held[k];
        w->hours[hour].busy_ms += c->part[k];
        w->mem[hour] += (uint64_t)MAX(0, MIN(m->mem, MEM_MAX)) * (uint64_t)c->held[k];
    }
    if (hour < 0)
        return;
    minute_did(c, m, held, hour);
    struct usage_device *u = &c->ret[hour];
    u->free_ms += free_ms;
    u->unused_ms += unused_ms;
    int64_t mj = fresh ? m->mj : 0, last = c->n_who; /* a sample that counts for several minutes adds its energy once */
    memcpy(c->w, c->held, c->n_who * sizeof(*c->w));
    c->w[last] = free_ms + unused_ms;
    count_split(mj, c->w, c->n_who + 1, c->part);
    for (size_t k = 0; k < c->n_who; k++) {
        c->who[k].hours[hour].mj += c->part[k];
        c->who[k].hours[hour].work_mj += m->work_ms >= 0 ? c->part[k] : 0;
    }
    u->mj += c->part[last];
}

/* Idle minutes in a row, at least as long as a spell, count as long. */
static void long_spells(struct counting *c, struct proc_info *w, const long *hour_of)
{
    size_t n = c->in->n_minutes, least = (size_t)(count_ahead_ms(c->rule) / MINUTE_MS);

    for (size_t i = 0; i < n;) {
        size_t end = i;
        while (end < n && w->idle[end] >= 0)
            end++;
        for (size_t k = i; end - i >= MAX(least, 1u) && k < end; k++)
            if (hour_of[k] >= 0)
                w->hours[hour_of[k]].long_ms += w->idle[k];
        i = MAX(end, i + 1);
    }
}

static void give(struct counting *c, struct arena *mem)
{
    for (size_t h = 0; h < c->in->n_hours; h++) {
        struct usage_device *u = &c->ret[h];
        for (size_t k = 0; k < c->n_who; k++)
            u->n += c->who[k].hours[h].held_ms > 0;
        u->held = arena_alloc(mem, MAX(u->n, 1u), sizeof(*u->held));
        size_t at = 0;
        for (size_t k = 0; k < c->n_who; k++) {
            struct proc_info *w = &c->who[k];
            if (w->hours[h].held_ms <= 0)
                continue;
            w->hours[h].mib_s = (int64_t)(w->mem[h] / 1000 >> 20);
            u->held[at++] = (struct usage_held){w->login, w->hours[h]};
        }
    }
}

static void counting_run(struct counting *c, long *hour_of)
{
    const struct count_input *in = c->in;
    const struct count_minute *last = NULL;
    size_t last_at = 0, h = 0;

    for (size_t i = 0; i < in->n_minutes; i++) {
        int64_t at = in->from_ms + (int64_t)i * MINUTE_MS;
        while (h < in->n_hours && at >= in->hours[h] + HOUR_MS)
            h++;
        hour_of[i] = h < in->n_hours && at >= in->hours[h] && at < in->until_ms ? (long)h : -1;
        if (c->d->minutes[i].seen) {
            last = &c->d->minutes[i];
            last_at = i;
        }
        if (at >= in->until_ms)
            break;
        if (last && i - last_at <= (size_t)MIN(in->carry, COUNT_CARRY))
            minute_add(c, i, last, last_at == i, hour_of[i]);
        else if (hour_of[i] >= 0)
            c->ret[hour_of[i]].down_ms += MINUTE_MS;
    }
}

void count_device(const struct count_rule *rule, const struct count_input *in, const struct count_device *d,
                  struct arena *mem, struct usage_device *ret)
{
    struct counting c = {.rule = rule, .in = in, .d = d, .ret = ret};
    AUTO_FREE long *hour_of = mem_zero(in->n_minutes + 1, sizeof(*hour_of));

    counting_people(&c);
    size_t n = c.n_who, m = in->n_minutes;
    AUTO_FREE int64_t *numbers = mem_zero(5 * (n + 1), sizeof(*numbers));
    AUTO_FREE bool *on = mem_zero(n, sizeof(*on));
    AUTO_FREE int32_t *idle = mem_alloc(n * m * sizeof(*idle));
    AUTO_FREE struct usage_sum *hours = mem_zero(n * in->n_hours + 1, sizeof(*hours));
    AUTO_FREE uint64_t *bytes = mem_zero(n * in->n_hours + 1, sizeof(*bytes));
    memset(idle, 0xff, n * m * sizeof(*idle));
    memset(hour_of, 0xff, (m + 1) * sizeof(*hour_of));
    c.held = numbers;
    c.w = numbers + (n + 1);
    c.part = numbers + 2 * (n + 1);
    c.mem = numbers + 3 * (n + 1);
    c.sm = numbers + 4 * (n + 1);
    c.on = on;
    for (size_t k = 0; k < n; k++) {
        c.who[k].idle = idle + k * m;
        c.who[k].hours = hours + k * in->n_hours;
        c.who[k].mem = bytes + k * in->n_hours;
    }
    for (size_t h = 0; h < in->n_hours; h++)
        ret[h] = (struct usage_device){.device = d->device, .model = d->model};
    counting_run(&c, hour_of);
    for (size_t k = 0; k < n; k++)
        if (c.who[k].any)
            long_spells(&c, &c.who[k], hour_of);
    give(&c, mem);
    FREE_ALL(c.who, c.order, c.active);
}
