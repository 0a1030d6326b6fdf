/* schedule.c: scheduled reports out of muster.yaml, and their times. What is in one is made elsewhere. */
#include "report/schedule.h"

#include <errno.h>

#include "base/mem.h"
#include "base/order.h"
#include "model/fact.h"
#include "now/filter.h"
#include "parse/ytree.h"

#define TEXT_MAX   1000
#define MISSED_MAX 400
#define AHEAD_MS   (2 * 86400000ll) /* a clock that was set back by more than this was wrong before */
#define AT_USUAL   (8 * 60)

struct schedules *schedules_new(void)
{
    return mem_zero(1, sizeof(struct schedules));
}

void schedules_free(struct schedules *b)
{
    if (!b)
        return;
    for (size_t i = 0; i < b->n; i++)
        zone_free(b->v[i].zone);
    arena_fini(&b->arena);
    free(b);
}

const struct scheduled *schedules_find(const struct schedules *b, const char *name)
{
    return FIND(b->v, b->n, e, strcmp(e->name, name) == 0);
}

void scheduled_title(const struct scheduled *b, char out[48])
{
    snprintf(out, 48, "%s%s",
             b->tree     ? "processes"
             : b->status ? "status"
                         : "usage by ",
             b->status ? "" : usage_by_words[b->by]);
}

/* ---- muster.yaml ---- */

struct reading {
    struct schedules *b;
    const struct channels *channels;
    const struct ytree *t;
    struct err *err;
};

static struct str text_at(const struct ynode *at)
{
    return at->kind == YNODE_TEXT ? str_trim(at->text) : STR("");
}

static int read_text(struct reading *rd, const struct ynode *at, const char *what, const char **ret)
{
    struct str s = text_at(at);

    if (!s.len || s.len > TEXT_MAX || !str_utf8_ok(s))
        return yfail(rd, at, "expected %s", what);
    *ret = arena_strn(&rd->b->arena, s.p, s.len);
    return 0;
}

static int read_every(struct reading *rd, const struct ynode *at, struct scheduled *b)
{
    size_t p = FIRST(PERIOD_MONTH + 1u, i, i >= PERIOD_DAY && str_eq(text_at(at), period_words[i]));

    b->every = (enum period)p;
    return p <= PERIOD_MONTH ? 0 : yfail(rd, at, "expected day, week or month");
}

static int read_what(struct reading *rd, const struct ynode *at, struct scheduled *b)
{
    struct str s = text_at(at);

    b->tree = str_eq(s, "processes");
    b->status = b->tree || str_eq(s, "status");
    if (b->status || str_eq(s, "usage"))
        return 0;
    bool is_usage = str_skip(&s, "usage by ");
    b->by = (enum usage_by)FIRST(BY_DEVICE, i, str_eq(str_trim(s), usage_by_words[i]));
    if (is_usage && b->by < BY_DEVICE)
        return 0;
    return yfail(rd, at, "expected usage by person, team, project, company, node or model, status or processes");
}

static int read_zone(struct reading *rd, const struct ynode *at, struct scheduled *b)
{
    const char *name = "";
    struct err bad = {0};

    if (b->zone)
        return yfail(rd, at, "the zone is given twice");
    if (read_text(rd, at, "a zone, as Europe/Berlin", &name) < 0)
        return -EINVAL;
    if (strlen(name) >= ZONE_NAME_MAX || zone_load(name, &b->zone, &bad) < 0)
        return yfail(rd, at, "expected a zone, as Europe/Berlin%s%s", bad.msg[0] ? ": " : "", bad.msg);
    return 0;
}

static int read_filter(struct reading *rd, const struct ynode *at, struct scheduled *b)
{
    AUTO_FILTER *f = NULL;
    struct filter_err bad = {0};

    if (read_text(rd, at, "a filter, as model:h200", &b->filter) < 0)
        return -EINVAL;
    if (filter_new_exact(str_of(b->filter), NULL, &f, &bad) < 0)
        return yfail(rd, at, "column %u of the filter: %s", bad.column, bad.message);
    return 0;
}

static int read_channels(struct reading *rd, const struct ynode *at, struct scheduled *b)
{
    size_t n = at->kind == YNODE_LIST ? at->n : 1;
    int r = 0;

    if (at->kind == YNODE_MAP || !n || n > SCHEDULED_CHANNELS)
        return yfail(rd, at, "expected up to %d names of channels", SCHEDULED_CHANNELS);
    b->n_channels = 0;
    for (size_t i = 0; i < n && r == 0; i++) {
        const struct ynode *one = at->kind == YNODE_LIST ? &at->v[i] : at;
        const char *name = "";
        r = read_text(rd, one, "the name of a channel", &name);
        if (r == 0 && ANY(b->n_channels, k, strcmp(b->channels[k], name) == 0))
            return yfail(rd, one, "this channel is there already");
        if (r == 0 && rd->channels && !channels_find(rd->channels, name))
            return yfail(rd, one, "there is no channel '%.60s' under channels", name);
        b->channels[b->n_channels++] = name;
    }
    return r;
}

static int read_bool(struct reading *rd, const struct ynode *at, bool *ret)
{
    return str_bool(text_at(at), ret) ? 0 : yfail(rd, at, "expected yes or no");
}

static int read_member(struct reading *rd, const struct ynode *key, const struct ynode *v, struct scheduled *b)
{
    if (str_eq(key->text, "every"))
        return read_every(rd, v, b);
    if (str_eq(key->text, "at"))
        return minute_parse(text_at(v), &b->at) ? 0 : yfail(rd, v, "expected a time of day, as \"08:00\"");
    if (str_eq(key->text, "zone"))
        return read_zone(rd, v, b);
    if (str_eq(key->text, "channel") || str_eq(key->text, "channels"))
        return read_channels(rd, v, b);
    if (str_eq(key->text, "what"))
        return read_what(rd, v, b);
    if (str_eq(key->text, "filter"))
        return read_filter(rd, v, b);
    if (str_eq(key->text, "company"))
        return read_text(rd, v, "the name of a company", &b->company);
    if (str_eq(key->text, "team"))
        return read_text(rd, v, "the name of a team", &b->team);
    if (str_eq(key->text, "idle"))
        return read_bool(rd, v, &b->idle);
    if (str_eq(key->text, "chart"))
        return read_bool(rd, v, &b->chart);
    return yfail(rd, key,
                 "not understood here: every, at, zone, channel, what, filter, company, team, idle and chart are");
}

static int read_one(struct reading *rd, const struct ynode *key, const struct ynode *v)
{
    struct str name = str_trim(key->text);
    struct scheduled *b = &rd->b->v[rd->b->n];
    int r = 0;

    if (!name_ok(name, SCHEDULED_NAME_MAX) || memchr(name.p, '/', name.len))
        return yfail(rd, key, "expected the name of a report, up to %d bytes without /", SCHEDULED_NAME_MAX);
    if (rd->b->n == SCHEDULES_MAX)
        return yfail(rd, key, "at most %d reports", SCHEDULES_MAX);
    if (v->kind != YNODE_MAP || !ynode_get(v, "every"))
        return yfail(rd, v, "expected {every: day, at: \"08:00\", channel: NAME, what: usage by person}");
    *b = (struct scheduled){.name = arena_strn(&rd->b->arena, name.p, name.len),
                            .at = AT_USUAL,
                            .by = BY_PERSON,
                            .idle = true,
                            .chart = true};
    if (schedules_find(rd->b, b->name))
        return yfail(rd, key, "this report is there already");
    rd->b->n++; /* its zone is freed with the others */
    for (size_t i = 0; i < v->n && r == 0; i++)
        r = read_member(rd, &v->keys[i], &v->v[i], b);
    if (r == 0 && b->status && (b->company || b->team))
        return yfail(rd, v, "a status is of GPUs: company and team do not limit it, filter does");
    return r;
}

int schedules_read(struct schedules *b, const struct opt_section *section, const struct channels *channels,
                   struct err *err)
{
    AUTO_YTREE t = {0};
    struct reading rd = {b, channels, &t, err};
    int r = ytree_section(section, "names of reports", &t, err);

    for (size_t i = 0; r == 0 && t.root && i < t.root->n; i++)
        r = read_one(&rd, &t.root->keys[i], &t.root->v[i]);
    return r;
}

/* ---- when ---- */

/* The one that is due on the day on which a period begins: of the period before. */
static struct scheduled_due due_at(const struct scheduled *b, const struct zone *z, int64_t begin_ms)
{
    struct civil c;
    int64_t next_ms;
    struct scheduled_due d = {.to_ms = begin_ms};

    d.from_ms = zone_period(z, b->every, 0, begin_ms - 1, &next_ms);
    date_civil(zone_date(z, begin_ms), &c);
    c.hour = b->at / 60;
    c.minute = b->at % 60;
    d.at_ms = MAX(zone_to_ms(z, &c), begin_ms);
    return d;
}

void scheduled_times(const struct scheduled *b, const struct zone *z, int64_t now_ms, struct scheduled_due *ret_last,
                     struct scheduled_due *ret_next)
{
    int64_t next_ms, begin_ms = zone_period(z, b->every, 0, now_ms, &next_ms);
    struct scheduled_due d = due_at(b, z, begin_ms);

    if (d.at_ms <= now_ms) {
        *ret_last = d;
        *ret_next = due_at(b, z, next_ms);
    } else {
        *ret_next = d;
        *ret_last = due_at(b, z, d.from_ms);
    }
}

const char *scheduled_label(const struct scheduled *b, const struct zone *z, const struct scheduled_due *d,
                            char out[40])
{
    static const char *const days[] = {"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};
    char label[24];

    zone_period_label(z, b->every, 0, d->from_ms, label);
    snprintf(out, 40, "%s%s%s",
             b->every == PERIOD_DAY    ? days[date_weekday(zone_date(z, d->from_ms))]
             : b->every == PERIOD_WEEK ? "week"
                                       : "",
             b->every == PERIOD_MONTH ? "" : " ", label);
    return out;
}

/* Days of another zone, told since, overlap: what is seen to for the most part is. */
static bool is_seen_to(const struct scheduled_due *d, int64_t done_ms)
{
    return d->to_ms - done_ms <= (d->to_ms - d->from_ms) / 2;
}

enum scheduled_step scheduled_step(const struct scheduled *b, const struct zone *z, int64_t done_ms, int64_t now_ms,
                                   struct scheduled_due *ret, uint32_t *ret_missed)
{
    struct scheduled_due next, before;

    *ret_missed = 0;
    scheduled_times(b, z, now_ms, ret, &next);
    if (!done_ms)
        return SCHEDULED_BEGIN;
    if (done_ms > now_ms + AHEAD_MS)
        return SCHEDULED_RESET;
    if (is_seen_to(ret, done_ms))
        return SCHEDULED_WAIT;
    before = due_at(b, z, ret->from_ms);
    for (; *ret_missed < MISSED_MAX && !is_seen_to(&before, done_ms); before = due_at(b, z, before.from_ms))
        ++*ret_missed;
    return now_ms - ret->at_ms > SCHEDULED_LATE_MS ? SCHEDULED_SKIP : SCHEDULED_SEND;
}
