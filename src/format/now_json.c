/* now_json.c: the newest state as the API's JSON. docs/api-state.md tells every field; now_parse.c reads it back. */
#include "format/render.h"

#include "base/buf.h"
#include "base/digits.h"
#include "base/json.h"
#include "base/mem.h"
#include "format/words.h"
#include "model/labels.h"

#define OLDER_MS 10000 /* a value this much older than its device's newest sample says so */

/*
 * Most of a state is names of our own and numbers, a million of them where there are many nodes: names stand ready with
 * their comma and colon, and each member is written where it belongs, in one go.
 */
#define KEY(name) STR(",\"" name "\":")

/* The key, and room for more bytes behind it: where they go, or NULL. Then end_at. */
static inline char *key_at(struct json *j, struct str key, size_t more)
{
    char *at = buf_room(j->out, key.len + more);

    if (!at)
        return NULL;
    if (j->comma) {
        memcpy(at, key.p, key.len);
        return at + key.len;
    }
    memcpy(at, key.p + 1, key.len - 1);
    j->comma = true;
    return at + key.len - 1;
}

static inline void end_at(struct json *j, const char *end)
{
    buf_took(j->out, (size_t)(end - (j->out->p + j->out->len)));
}

static inline void put_int(struct json *j, struct str key, int64_t v)
{
    char *at = key_at(j, key, 1 + DIGITS_MAX);

    if (!at)
        return;
    if (v < 0)
        *at++ = '-';
    end_at(j, digits_put(at, v < 0 ? 0 - (uint64_t)v : (uint64_t)v));
}

static inline void number(struct json *j, struct str key, int64_t v, int64_t absent)
{
    if (v != absent)
        put_int(j, key, v);
}

static inline void put_fixed(struct json *j, struct str key, int64_t v, int64_t per)
{
    char *at = key_at(j, key, FIXED_MAX);

    if (at)
        end_at(j, fixed_put(at, v, per));
}

static inline char *put_bytes(char *at, struct str s)
{
    if (s.len)
        memcpy(at, s.p, s.len);
    return at + s.len;
}

static inline void put_text(struct json *j, struct str key, const char *v)
{
    struct str s = str_of(v);
    bool plain = json_is_plain(s);
    char *at = key_at(j, key, plain ? s.len + 2 : 0);

    if (!at)
        return;
    if (plain) {
        *at++ = '"';
        at = put_bytes(at, s);
        *at++ = '"';
    }
    end_at(j, at);
    if (!plain)
        json_escape(j->out, s);
}

static inline void some(struct json *j, struct str key, const char *v)
{
    if (v && v[0])
        put_text(j, key, v);
}

static void flag(struct json *j, const char *key, bool v)
{
    if (v)
        json_bool(j, key, true);
}

static void put_metrics(struct json *j, const struct sample *s)
{
    static const struct {
        const char *text;
        size_t len;
    } keys[M_COUNT] = {
#define METRIC(no, name, ...) [M_##name] = {",\"" #name "\":", sizeof(",\"" #name "\":") - 1},
#include "model/metrics.def"
    };

    json_obj(j, "metrics");
    for (size_t w = 0; w < ARRAY_LEN(s->have.w); w++)
        for (uint64_t left = s->have.w[w]; left; left &= left - 1) {
            unsigned m = (unsigned)(w * 64) + (unsigned)__builtin_ctzll(left);
            put_fixed(j, str_n(keys[m].text, keys[m].len), s->v[m], metrics[m].per);
        }
    json_end_obj(j);
}

/* Ages of the values that are older than their device's newest sample; mostly there are none. */
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

/* A number by a name that is not one of our words. */
static void put_named(struct json *j, struct str name, int64_t v, int64_t per)
{
    char *at = json_is_plain(name) ? buf_room(j->out, name.len + 4 + FIXED_MAX) : NULL;

    if (!at) {
        if (j->comma)
            buf_addc(j->out, ',');
        json_escape(j->out, name);
        buf_addc(j->out, ':');
        buf_fixed(j->out, v, per);
    } else {
        if (j->comma)
            *at++ = ',';
        *at++ = '"';
        at = put_bytes(put_bytes(at, name), STR("\":"));
        end_at(j, fixed_put(at, v, per));
    }
    j->comma = true;
}

static void put_custom(struct json *j, const struct node_fact *f, const struct custom_now *v, size_t n)
{
    bool any = false;

    for (size_t i = 0; i < n; i++) {
        size_t at = (size_t)(v[i].metric - METRIC_CUSTOM);
        if (at >= f->n_custom || f->custom[at].per <= 0)
            continue;
        if (!any)
            json_obj(j, "custom");
        any = true;
        put_named(j, str_of(f->custom[at].name), v[i].v, f->custom[at].per);
    }
    if (any)
        json_end_obj(j);
}

static void put_throttle(struct json *j, uint64_t mask)
{
    char words[256];
    struct str rest, word;

    json_arr(j, "throttle");
    if (mask) {
        rest = throttle_text(mask, words);
        while (str_cut(&rest, ',', &word))
            json_str(j, NULL, str_trim(word));
    }
    json_end_arr(j);
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

static void put_proc(struct json *j, const struct view *v, const struct proc_now *p)
{
    json_obj(j, NULL);
    for (size_t i = 0; i < proc_shown.n; i++) {
        const struct record_field *f = &proc_shown.fields[i];
        if (f->at == offsetof(struct proc_fact, name)) {
            put_who(j, p);
        } else if (f->at == offsetof(struct proc_fact, start_ms)) {
            number(j, KEY("mem"), p->mem, -1);
            if (p->sm >= 0)
                json_fixed(j, "sm", p->sm, 10000);
            json_some(j, "kind", kind_words(p->kind));
            number(j, KEY("since"), p->since_ms, 0);
        }
        if (record_is_number(f)) {
            int64_t n = record_int(f, p->fact);
            if (i == 0 || n != f->none) /* the first is always there */
                json_int(j, f->json, n);
        } else if (f->at != offsetof(struct proc_fact, cmd) || view_shows_cmd(v, p))
            json_some(j, f->json, record_array(f, p->fact));
    }
    json_end_obj(j);
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
        const struct advice *a = &d->advice[i];
        json_obj(j, NULL);
        json_cstr(j, "rule", advice_rules[a->rule].name);
        json_cstr(j, "title", advice_rules[a->rule].title);
        json_cstr(j, "evidence", a->evidence);
        json_cstr(j, "remedy", advice_rules[a->rule].remedy);
        json_int(j, "since", a->from_ms);
        if (a->lost > 0)
            json_fixed(j, "lost", (int64_t)(a->lost * 100 + 0.5), 100);
        json_end_obj(j);
    }
    json_end_arr(j);
}

static void put_device(struct json *j, const struct view *v, const struct node_now *n, const struct device_now *d)
{
    const struct device_fact *f = &d->fact;

    json_obj(j, NULL);
    put_text(j, KEY("uuid"), f->uuid);
    put_int(j, KEY("index"), f->index);
    put_text(j, KEY("name"), f->name);
    if (d->display)
        put_text(j, KEY("display"), d->display);
    if (d->brief)
        put_text(j, KEY("short"), d->brief);
    if (d->price)
        json_fixed(j, "price", d->price, 1000000);
    put_text(j, KEY("state"), dev_states[d->state].word);
    put_text(j, KEY("reason"), d->reason);
    number(j, KEY("since"), d->since_ms, 0);
    number(j, KEY("idle_since"), device_idle_ms(d), 0);
    number(j, KEY("age_ms"), device_age_ms(d, v->at_ms), -1);
    some(j, KEY("parent"), f->parent);
    number(j, KEY("mig"), f->mig, -1);
    some(j, KEY("vendor"), vendor_words[f->vendor < VENDOR_COUNT ? f->vendor : VENDOR_UNKNOWN]);
    some(j, KEY("pci"), f->pci);
    some(j, KEY("serial"), f->serial);
    number(j, KEY("minor"), f->minor, -1);
    flag(j, "split", d->split);
    flag(j, "lost", f->lost);
    flag(j, "asleep", f->asleep);
    some(j, KEY("note"), f->note);
    if (device_service(d))
        json_cstr(j, "service", device_service(d));
    put_advice(j, d);
    put_booking(j, "booking", d->booking);
    put_booking(j, "next", d->next);
    put_metrics(j, &d->now);
    put_ages(j, &d->now, d->v_at_ms, d->at_ms, v->at_ms);
    if (sample_has(&d->now, M_throttle))
        put_throttle(j, (uint64_t)d->now.v[M_throttle]);
    json_arr(j, "processes");
    for (size_t i = 0; i < d->n_procs; i++)
        put_proc(j, v, &d->procs[i]);
    json_end_arr(j);
    put_custom(j, &n->fact, d->custom, d->n_custom);
    json_end_obj(j);
}

static void put_custom_facts(struct json *j, const struct node_fact *f)
{
    if (!f->n_custom)
        return;
    json_arr(j, "custom_metrics");
    for (size_t i = 0; i < f->n_custom; i++) {
        const struct custom_fact *c = &f->custom[i];
        json_obj(j, NULL);
        json_str(j, "name", str_of(c->name));
        json_some(j, "unit", unit_names[c->unit < UNIT_COUNT ? c->unit : UNIT_NONE]);
        json_cstr(j, "kind", c->kind == KIND_COUNTER ? "counter" : "gauge");
        json_int(j, "per", c->per);
        json_end_obj(j);
    }
    json_end_arr(j);
}

void render_node(struct buf *out, const struct view *v, const struct node_now *n)
{
    const struct node_fact *f = &n->fact;
    struct json to = json_on(out), *j = &to;

    json_obj(j, NULL);
    put_text(j, KEY("id"), n->key);
    put_text(j, KEY("name"), n->name);
    if (n->display)
        put_text(j, KEY("display"), n->display);
    some(j, KEY("site"), n->site);
    if (n->site_url)
        put_text(j, KEY("site_url"), n->site_url);
    put_text(j, KEY("state"), node_words[n->state]);
    put_text(j, KEY("reason"), n->reason);
    flag(j, "never_sampled", n->never_sampled);
    some(j, KEY("belonged_to"), n->was);
    some(j, KEY("belonged_to_id"), n->was_id);
    number(j, KEY("since"), n->since_ms, 0);
    if (n->at_ms)
        put_int(j, KEY("age_ms"), MAX(0, v->at_ms - n->at_ms));
    json_uint(j, "version", n->version);
    some(j, KEY("address"), n->address);
    if (n->labels)
        labels_json(j, "labels", n->labels);
    number(j, KEY("clock_off_ms"), n->clock_off_ms, 0);
    flag(j, "demo", n->demo);
    flag(j, "retired", n->retired);
    flag(j, "maintenance", n->maintenance);
    put_text(j, KEY("collect"), collect_words[n->collect]);
    number(j, KEY("collect_since"), n->collect_since_ms, 0);
    number(j, KEY("backlog"), n->backlog, 0);
    some(j, KEY("agent"), f->agent);
    some(j, KEY("collector"), f->collector);
    number(j, KEY("tick_ms"), f->tick_ms, 0);
    some(j, KEY("driver"), f->driver);
    some(j, KEY("cuda"), f->cuda);
    some(j, KEY("os"), f->os);
    some(j, KEY("kernel"), f->kernel);
    some(j, KEY("arch"), f->arch);
    some(j, KEY("cpu"), f->cpu);
    number(j, KEY("cpus"), f->cpus, 0);
    put_metrics(j, &n->now);
    put_custom_facts(j, f);
    put_custom(j, f, n->custom, n->n_custom);
    number(j, KEY("of"), (int64_t)n->of, 0);
    json_arr(j, "devices");
    for (size_t i = 0; i < n->n_devices; i++)
        put_device(j, v, n, &n->devices[i]);
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
    json_uint(j, "broken", t->broken);
    json_uint(j, "idle", t->idle);
    if (v->currency && v->currency[0]) {
        json_fixed(j, "idle_cost", t->idle_cost, 1000000);
        json_cstr(j, "currency", v->currency);
    }
    if (t->told)
        json_fixed(j, "work", t->work / (int64_t)t->told, metrics[M_util].per);
    json_fixed(j, "power", t->power, metrics[M_power].per);
    json_end_obj(j);
    buf_addc(out, '\n');
}
