/* now_json.c: the newest state as the API's JSON. docs/api-state.md tells every field; now_parse.c reads it back. */
#include "format/render.h"

#include "base/buf.h"
#include "base/digits.h"
#include "base/json_at.h"
#include "base/mem.h"
#include "format/words.h"
#include "model/labels.h"

#define OLDER_MS 10000 /* a value this much older than its device's newest sample says so */

/*
 * Most of a state is names of our own and numbers, a million of them where there are many nodes. So members are written
 * one behind the other where there is room for all of them: names stand ready with their comma and colon, nothing is
 * looked at twice, and each *_at gives where the next one goes. What few nodes and devices have goes through json.h.
 */
#define KEY(name)     STR(",\"" name "\":")
#define ALWAYS_INLINE static inline __attribute__((always_inline)) /* where a name's length is to be known */
#define SHORT_ROOM    64 /* of a number, a flag or a word of our own, with its name */

ALWAYS_INLINE char *bytes_at(char *at, struct str s)
{
    memcpy(at, s.p, s.len);
    return at + s.len;
}

static char *number_at(char *at, int64_t v)
{
    return decimal_put(at, v, 0);
}

ALWAYS_INLINE char *int_at(char *at, struct str key, int64_t v)
{
    return number_at(bytes_at(at, key), v);
}

ALWAYS_INLINE char *known_at(char *at, struct str key, int64_t v, int64_t absent)
{
    return v != absent ? int_at(at, key, v) : at;
}

ALWAYS_INLINE char *flag_at(char *at, struct str key, bool v)
{
    return v ? bytes_at(bytes_at(at, key), STR("true")) : at;
}

/* A word of our own, which needs no escape. */
ALWAYS_INLINE char *word_at(char *at, struct str key, const char *word)
{
    size_t n = strlen(word);

    at = bytes_at(at, key);
    *at++ = '"';
    memcpy(at, word, n);
    at[n] = '"';
    return at + n + 1;
}

/* A text in an array of a struct. */
static char *array_at(char *at, const char *array, size_t size)
{
    return json_array_at(at, array, size);
}
#define ARRAY_AT(at, name, array) array_at(bytes_at(at, KEY(name)), array, sizeof(array))
#define SOME_AT(at, name, array)  ((array)[0] ? ARRAY_AT(at, name, array) : (at)) /* unless it is empty */

/* Any text, where there is text_room for it; NULL is none. */
ALWAYS_INLINE char *text_at(char *at, struct str key, const char *text)
{
    return text ? json_escape_at(bytes_at(at, key), str_of(text)) : at;
}

static size_t text_room(const char *text)
{
    return text ? SHORT_ROOM + TEXT_ROOM(strlen(text)) : 0;
}

/* What was written from buf_room on is the buf's; a comma is due. */
static inline void end_at(struct json *j, const char *at)
{
    buf_appended(j->out, (size_t)(at - (j->out->p + j->out->len)));
    j->comma = true;
}

/* Its bytes are needed soon, and by then are at hand: a state is more than a core keeps, and it waited for every line.
 */
static void expect(const void *p, size_t n)
{
    for (size_t i = 0; i < n; i += 64)
        __builtin_prefetch((const char *)p + i);
}

/* Each metric's name, and 10 to which power its numbers are of. */
#define PLACES(per)                                                                                                    \
    ((per) == 1 ? 0 : (per) == 100 ? 2 : (per) == 1000 ? 3 : (per) == 10000 ? 4 : (per) == 1000000 ? 6 : -1)
#define METRIC_KEY 24 /* all of which is copied, which is quicker than as many as there are */
static const struct {
    char text[METRIC_KEY];
    uint32_t len, places;
} metric_keys[M_COUNT] = {
#define METRIC(no, name, prom, unit, per, ...)                                                                         \
    [M_##name] = {",\"" #name "\":", sizeof(",\"" #name "\":") - 1, PLACES(per)},
#include "model/metrics.def"
};
#define METRIC(no, name, prom, unit, per, ...)                                                                         \
    _Static_assert(sizeof(",\"" #name "\":") <= METRIC_KEY && PLACES(per) >= 0, #name " does not fit in here");
#include "model/metrics.def"

static size_t metrics_room(const struct sample *s)
{
    size_t n = 0;

    for (size_t w = 0; w < ARRAY_LEN(s->have.w); w++)
        n += (size_t)__builtin_popcountll(s->have.w[w]);
    return SHORT_ROOM + n * (METRIC_KEY + DECIMAL_MAX);
}

/* Every value there is. ret_oldest: when the oldest of them was read. */
static char *metrics_at(char *at, const struct sample *s, const int64_t *v_at_ms, int64_t *ret_oldest)
{
    char *begin = at = bytes_at(at, KEY("metrics"));
    int64_t oldest = INT64_MAX;

    for (size_t w = 0; w < ARRAY_LEN(s->have.w); w++)
        for (uint64_t left = s->have.w[w]; left; left &= left - 1) {
            unsigned m = (unsigned)(w * 64) + (unsigned)__builtin_ctzll(left);
            oldest = MIN(oldest, v_at_ms[m]);
            memcpy(at, metric_keys[m].text, METRIC_KEY);
            at = decimal_put(at + metric_keys[m].len, s->v[m], metric_keys[m].places);
        }
    *ret_oldest = oldest;
    at += at == begin;
    *begin = '{'; /* where the first one has its comma */
    *at = '}';
    return at + 1;
}

/* Ages of the values that are older than their device's newest sample; where there are any. */
static void put_ages(struct json *j, const struct sample *s, const int64_t *v_at_ms, int64_t newest_ms, int64_t now_ms)
{
    bool any = false;

    for (unsigned m = 0; m < M_COUNT; m++) {
        if (!bits_has(&s->have, m) || newest_ms - v_at_ms[m] < OLDER_MS)
            continue;
        if (!any)
            json_obj(j, "ages");
        any = true;
        json_int(j, metrics[m].name, MAX(0, now_ms - v_at_ms[m]));
    }
    if (any)
        json_end_obj(j);
}

/* Numbers by names that are not our words. */
static void put_custom(struct json *j, const struct node_fact *f, const struct custom_now *v, size_t n)
{
    size_t each = TEXT_ROOM(sizeof(f->custom[0].name)) + FIXED_MAX;
    char *at = n ? buf_room(j->out, SHORT_ROOM + n * each) : NULL, *begin;

    if (!at)
        return;
    begin = at = bytes_at(at, KEY("custom"));
    for (size_t i = 0; i < n; i++) {
        size_t which = (size_t)(v[i].metric - METRIC_CUSTOM);
        if (which >= f->n_custom || f->custom[which].per <= 0)
            continue;
        *at = ',';
        at = array_at(at + 1, f->custom[which].name, sizeof(f->custom[which].name));
        *at++ = ':';
        at = fixed_put(at, v[i].v, f->custom[which].per);
    }
    if (at == begin)
        return;
    *begin = '{';
    *at = '}';
    end_at(j, at + 1);
}

#define THROTTLE_ROOM ((size_t)SHORT_ROOM * 16)
static char *throttle_at(char *at, uint64_t mask)
{
    char *begin = at = bytes_at(at, KEY("throttle"));
    const char *word;

    for (; mask && (word = throttle_word((unsigned)__builtin_ctzll(mask))); mask &= mask - 1)
        at = word_at(at, STR(","), word);
    if (mask) /* the highest ones have none */
        at += snprintf(at, SHORT_ROOM, ",\"0x%llx\"", (unsigned long long)mask);
    at += at == begin;
    *begin = '[';
    *at = ']';
    return at + 1;
}

static void put_who(struct json *j, const struct proc_now *p)
{
    if (!p->who)
        return;
    if (strcmp(p->who->person, p->fact->user) != 0)
        json_cstr(j, "person", p->who->person[0] ? p->who->person : NULL);
    for (int i = 0; i < IDENTITY_GROUPS; i++) {
        struct str rest = str_of(p->who->groups[i]), name;
        if (!rest.len)
            continue;
        json_arr(j, identity_words[i]);
        while (str_cut(&rest, '\n', &name))
            json_str(j, NULL, name);
        json_end_arr(j);
    }
}

#define NUMBER(wire, kept, shown, type, field, ...) SHOWN_##field = (shown),
#define TEXT                                        NUMBER
enum {
#include "model/proc.def"
};
#undef NUMBER
#define NUMBER(wire, kept, shown, type, field, json, ...) [shown] = {",\"" json "\":", sizeof(",\"" json "\":") - 1},
static const struct {
    char text[16]; /* all of which is copied */
    size_t len;
} proc_keys[] = {
#include "model/proc.def"
};
#undef NUMBER
#undef TEXT
#define PROC_ROOM                                                                                                      \
    (TEXT_ROOM(sizeof(struct proc_fact) - CMD_MAX) + (ARRAY_LEN(proc_keys) + 4) * SHORT_ROOM) /* without its cmd */

static char *use_at(char *at, const struct proc_now *p)
{
    const char *kind = kind_words(p->kind);

    at = known_at(at, KEY("mem"), p->mem, -1);
    if (p->sm >= 0)
        at = decimal_put(bytes_at(at, KEY("sm")), p->sm, 4);
    if (kind[0])
        at = word_at(at, KEY("kind"), kind);
    return known_at(at, KEY("since"), p->since_ms, 0);
}

/* Its fields from one up to another. */
static char *fields_at(char *at, const struct proc_fact *fact, size_t from, size_t to, bool cmd)
{
    for (size_t i = from; i < to; i++) {
        const struct record_field *f = &proc_shown.fields[i];
        const char *array = record_array(f, fact);
        memcpy(at, proc_keys[i].text, sizeof(proc_keys[i].text));
        if (record_is_number(f)) {
            int64_t n = record_int(f, fact);
            if (i == 0 || n != f->none) /* the first is always there */
                at = number_at(at + proc_keys[i].len, n);
        } else if (array[0] && (cmd || f->at != offsetof(struct proc_fact, cmd))) {
            at = array_at(at + proc_keys[i].len, array, f->size);
        }
    }
    return at;
}

/* But for its command line, which few may see. */
static void expect_proc(const struct proc_fact *f)
{
    expect(f, offsetof(struct proc_fact, cmd));
    expect(f->cmd + CMD_MAX, sizeof(*f) - offsetof(struct proc_fact, cmd) - CMD_MAX);
}

static void put_proc(struct json *j, const struct view *v, const struct proc_now *p)
{
    bool cmd = p->fact->cmd[0] && view_shows_cmd(v, p);
    size_t room = PROC_ROOM + (cmd ? TEXT_ROOM(strlen(p->fact->cmd)) : 0);
    char *begin = buf_room(j->out, room);

    if (!begin)
        return;
    *begin = ',';
    begin += j->comma;
    char *at = fields_at(begin, p->fact, 0, SHOWN_name, cmd);
    *begin = '{'; /* where the first one has its comma */
    if (p->who) {
        end_at(j, at);
        put_who(j, p);
        at = buf_room(j->out, room);
        if (!at)
            return;
    }
    at = fields_at(at, p->fact, SHOWN_name, SHOWN_start_ms, cmd);
    at = fields_at(use_at(at, p), p->fact, SHOWN_start_ms, ARRAY_LEN(proc_keys), cmd);
    *at = '}';
    end_at(j, at + 1);
}

static void put_booking(struct json *j, const char *key, const struct booking_now *h)
{
    if (!h)
        return;
    json_obj(j, key);
    json_int(j, "id", h->id);
    json_str(j, "person", str_of(h->person));
    json_int(j, "from", h->from_ms);
    json_int(j, "until", h->until_ms);
    json_some(j, "comment", h->comment);
    json_end_obj(j);
}

static void put_advice(struct json *j, const struct device_now *d)
{
    if (!d->n_advice)
        return;
    json_arr(j, "advice");
    for (size_t i = 0; i < d->n_advice; i++) {
        const struct advice_now *a = &d->advice[i];
        json_obj(j, NULL);
        json_cstr(j, "rule", advice_rules[a->rule].name);
        json_cstr(j, "title", advice_rules[a->rule].title);
        json_cstr(j, "remedy", advice_rules[a->rule].remedy);
        json_int(j, "since", a->from_ms);
        json_end_obj(j);
    }
    json_end_arr(j);
}

/* What it is and how it is. Its room: text_room for what has no array. */
#define DEVICE_ROOM (TEXT_ROOM(sizeof(d->fact) + sizeof(d->reason)) + 24 * SHORT_ROOM)
static char *device_at(char *at, const struct view *v, const struct device_now *d)
{
    const struct device_fact *f = &d->fact;

    at = array_at(bytes_at(at, STR("{\"uuid\":")), f->uuid, sizeof(f->uuid));
    at = int_at(at, KEY("index"), f->index);
    at = ARRAY_AT(at, "name", f->name);
    at = text_at(at, KEY("display"), d->display);
    at = text_at(at, KEY("short"), d->brief);
    if (d->price)
        at = decimal_put(bytes_at(at, KEY("price")), d->price, 6);
    /* readers of before "starting" was a state know "stale" */
    at = word_at(at, KEY("state"), dev_states[d->state == DEV_STARTING ? DEV_STALE : d->state].word);
    at = flag_at(at, KEY("starting"), d->state == DEV_STARTING);
    at = ARRAY_AT(at, "reason", d->reason);
    at = known_at(at, KEY("since"), device_since_ms(d), 0);
    at = known_at(at, KEY("idle_since"), device_idle_ms(d), 0);
    if (d->state == DEV_BUSY && d->util_mean)
        at = decimal_put(bytes_at(at, KEY("util_mean")), d->util_mean, 4);
    at = known_at(at, KEY("age_ms"), device_age_ms(d, v->at_ms), -1);
    at = SOME_AT(at, "parent", f->parent);
    at = known_at(at, KEY("mig"), f->mig, -1);
    if (f->vendor != VENDOR_UNKNOWN && f->vendor < VENDOR_COUNT)
        at = word_at(at, KEY("vendor"), vendor_words[f->vendor]);
    at = SOME_AT(at, "pci", f->pci);
    at = SOME_AT(at, "serial", f->serial);
    at = known_at(at, KEY("minor"), f->minor, -1);
    at = flag_at(at, KEY("split"), d->split);
    at = flag_at(at, KEY("lost"), f->lost);
    at = flag_at(at, KEY("asleep"), f->asleep);
    return SOME_AT(at, "note", f->note);
}

static void put_device(struct json *j, const struct view *v, const struct node_now *n, const struct device_now *d)
{
    char *at = buf_room(j->out, DEVICE_ROOM + text_room(d->display) + text_room(d->brief));
    int64_t oldest_ms;

    if (!at)
        return;
    expect(d->procs, d->n_procs ? sizeof(d->procs[0]) : 0);
    expect(d->custom, d->n_custom * sizeof(d->custom[0]));
    *at = ',';
    end_at(j, device_at(at + j->comma, v, d));
    if (d->n_procs)
        expect_proc(d->procs[0].fact);
    if (device_service(d))
        json_cstr(j, "service", device_service(d));
    put_advice(j, d);
    put_booking(j, "booking", d->booking);
    put_booking(j, "next", d->next);
    if (!(at = buf_room(j->out, metrics_room(&d->now) + THROTTLE_ROOM)))
        return;
    at = metrics_at(at, &d->now, d->v_at_ms, &oldest_ms);
    if (oldest_ms <= d->at_ms - OLDER_MS) {
        end_at(j, at);
        put_ages(j, &d->now, d->v_at_ms, d->at_ms, v->at_ms);
        if (!(at = buf_room(j->out, THROTTLE_ROOM)))
            return;
    }
    if (sample_has(&d->now, M_throttle))
        at = throttle_at(at, (uint64_t)d->now.v[M_throttle]);
    end_at(j, bytes_at(at, STR(",\"processes\":[")));
    j->comma = false;
    for (size_t i = 0; i < d->n_procs; i++) {
        if (i + 1 < d->n_procs)
            expect_proc(d->procs[i + 1].fact);
        put_proc(j, v, &d->procs[i]);
    }
    json_end_arr(j);
    put_custom(j, &n->fact, d->custom, d->n_custom);
    json_end_obj(j);
}

static void put_custom_facts(struct json *j, const struct node_fact *f)
{
    size_t each = TEXT_ROOM(sizeof(f->custom[0].name)) + 4 * SHORT_ROOM;
    char *at = f->n_custom ? buf_room(j->out, SHORT_ROOM + f->n_custom * each) : NULL, *begin;

    if (!at)
        return;
    begin = at = bytes_at(at, KEY("custom_metrics"));
    for (size_t i = 0; i < f->n_custom; i++) {
        const struct custom_fact *c = &f->custom[i];
        const char *unit = unit_names[c->unit < UNIT_COUNT ? c->unit : UNIT_NONE];
        at = array_at(bytes_at(at, STR(",{\"name\":")), c->name, sizeof(c->name));
        if (unit[0])
            at = word_at(at, KEY("unit"), unit);
        at = word_at(at, KEY("kind"), c->kind == KIND_COUNTER ? "counter" : "gauge");
        at = int_at(at, KEY("per"), c->per);
        *at++ = '}';
    }
    *begin = '[';
    *at = ']';
    end_at(j, at + 1);
}

/* What it is and how it is, up to its labels, and from there on. Their room: text_room for what has no array. */
#define NODE_ROOM                                                                                                      \
    (TEXT_ROOM(sizeof(struct node_fact) + 2 * NODE_KEY_MAX + 2 * NAME_MAX_LEN + sizeof(n->site) + sizeof(n->address) + \
               sizeof(n->reason)) +                                                                                    \
     32 * SHORT_ROOM)
static char *node_at(char *at, const struct view *v, const struct node_now *n)
{
    at = array_at(bytes_at(at, STR("{\"id\":")), n->key, sizeof(n->key));
    at = ARRAY_AT(at, "name", n->name);
    at = text_at(at, KEY("display"), n->display);
    at = SOME_AT(at, "site", n->site);
    at = text_at(at, KEY("site_url"), n->site_url);
    at = word_at(at, KEY("state"), node_words[n->state]);
    at = ARRAY_AT(at, "reason", n->reason);
    at = flag_at(at, KEY("never_sampled"), n->never_sampled);
    at = SOME_AT(at, "belonged_to", n->was);
    at = SOME_AT(at, "belonged_to_id", n->was_id);
    at = known_at(at, KEY("since"), n->since_ms, 0);
    if (n->at_ms)
        at = int_at(at, KEY("age_ms"), MAX(0, v->at_ms - n->at_ms));
    at = digits_put(bytes_at(at, KEY("version")), n->version);
    return SOME_AT(at, "address", n->address);
}

static char *node_facts_at(char *at, const struct node_now *n)
{
    const struct node_fact *f = &n->fact;

    at = known_at(at, KEY("clock_off_ms"), n->clock_off_ms, 0);
    at = flag_at(at, KEY("demo"), n->demo);
    at = flag_at(at, KEY("retired"), n->retired);
    at = flag_at(at, KEY("maintenance"), n->maintenance);
    at = flag_at(at, KEY("unlisted"), n->unlisted);
    at = word_at(at, KEY("collect"), collect_words[n->collect]);
    at = known_at(at, KEY("collect_since"), n->collect_since_ms, 0);
    at = known_at(at, KEY("backlog"), n->backlog, 0);
    at = SOME_AT(at, "agent", f->agent);
    at = SOME_AT(at, "collector", f->collector);
    at = known_at(at, KEY("tick_ms"), f->tick_ms, 0);
    at = SOME_AT(at, "driver", f->driver);
    at = SOME_AT(at, "cuda", f->cuda);
    at = SOME_AT(at, "os", f->os);
    at = SOME_AT(at, "kernel", f->kernel);
    at = SOME_AT(at, "arch", f->arch);
    at = SOME_AT(at, "cpu", f->cpu);
    return known_at(at, KEY("cpus"), f->cpus, 0);
}

void render_node(struct buf *out, const struct view *v, const struct node_now *n)
{
    struct json to = json_on(out), *j = &to;
    size_t room = NODE_ROOM + metrics_room(&n->now);
    char *at = buf_room(out, room + text_room(n->display) + text_room(n->site_url));
    int64_t oldest_ms;

    if (!at)
        return;
    if (n->n_devices)
        expect(n->devices, sizeof(n->devices[0]));
    at = node_at(at, v, n);
    if (n->labels) {
        end_at(j, at);
        labels_json(j, "labels", n->labels);
        if (!(at = buf_room(out, room)))
            return;
    }
    end_at(j, metrics_at(node_facts_at(at, n), &n->now, n->v_at_ms, &oldest_ms));
    put_custom_facts(j, &n->fact);
    put_custom(j, &n->fact, n->custom, n->n_custom);
    if (n->of)
        json_uint(j, "of", n->of);
    json_arr(j, "devices");
    for (size_t i = 0; i < n->n_devices; i++) {
        if (i + 1 < n->n_devices)
            expect(&n->devices[i + 1], sizeof(n->devices[0]));
        put_device(j, v, n, &n->devices[i]);
    }
    json_end_arr(j);
    json_end_obj(j);
}

void render_state_start(struct buf *out, const struct view *v)
{
    struct json to = json_on(out), *j = &to;

    json_obj(j, NULL);
    json_int(j, "at", v->at_ms);
    json_bool(j, "demo", v->demo);
    json_uint(j, "version", v->version);
    json_cstr(j, "muster", MUSTER_VERSION);
    json_some(j, "currency", v->currency);
    if (v->notice)
        json_str(j, "notice", str_of(v->notice));
    if (v->filter) {
        json_cstr(j, "filter", v->filter);
        json_uint(j, "of", v->of);
    }
    json_arr(j, "nodes");
}

void render_state_end(struct buf *out, const char *words)
{
    buf_addc(out, ']');
    if (words && words[0]) {
        struct json j = json_on(out);
        buf_adds(out, ",\"words\":");
        json_cstr(&j, NULL, words);
    }
    buf_adds(out, "}\n");
}

void render_state(struct buf *out, const struct view *v)
{
    render_state_start(out, v);
    for (size_t i = 0; i < v->n && out->err == 0; i++) {
        if (i)
            buf_addc(out, ',');
        render_node(out, v, v->nodes[i]);
    }
    render_state_end(out, v->words);
}

void render_summary(struct buf *out, const struct view *v, const struct tally *t)
{
    struct json to = json_on(out), *j = &to;
    AUTO_BUF text = BUF_INIT(4096);

    view_answer(v, t, &text);
    view_counts(v, t, " · ", " · ", &text);
    json_obj(j, NULL);
    json_int(j, "at", v->at_ms);
    json_str(j, "text", buf_str(&text));
    json_uint(j, "nodes", t->nodes);
    json_uint(j, "gpus", t->devices);
    for (int i = 0; i < DEV_STATES; i++)
        json_uint(j, dev_states[i].word, t->by_state[i]);
    json_uint(j, "broken", t->by_state[DEV_STALE] + t->by_state[DEV_HUNG] + t->by_state[DEV_LOST]);
    json_uint(j, "idle", t->idle);
    if (v->currency && v->currency[0]) {
        json_fixed(j, "idle_cost", t->idle_cost, 1000000);
        json_cstr(j, "currency", v->currency);
    }
    if (t->told) {
        json_fixed(j, "util", t->util / (int64_t)t->told, metrics[M_util].per);
        json_fixed(j, "work", t->util / (int64_t)t->told, metrics[M_util].per); /* its former name */
    }
    json_fixed(j, "power", t->power, metrics[M_power].per);
    json_end_obj(j);
    buf_addc(out, '\n');
}
