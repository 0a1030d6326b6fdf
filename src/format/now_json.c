/* now_json.c: the newest state as the API's JSON. docs/api-state.md tells every field; now_parse.c reads it back. */
#include "format/render.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "format/words.h"
#include "model/labels.h"

#define OLDER_MS 10000 /* a value this much older than its device's newest sample says so */

static void number(struct json *j, const char *key, int64_t v, int64_t absent)
{
    if (v != absent)
        json_int(j, key, v);
}

static void flag(struct json *j, const char *key, bool v)
{
    if (v)
        json_bool(j, key, true);
}

/* Most of a state is these, so their names are ready to be copied. */
static void put_metrics(struct json *j, const struct sample *s)
{
    static const struct {
        const char *text;
        size_t len;
    } keys[M_COUNT] = {
#define METRIC(no, name, ...) [M_##name] = {",\"" #name "\":", sizeof(",\"" #name "\":") - 1},
#include "model/metrics.def"
    };
    bool first = true;

    json_obj(j, "metrics");
    for (size_t w = 0; w < ARRAY_LEN(s->have.w); w++)
        for (uint64_t left = s->have.w[w]; left; left &= left - 1) {
            unsigned m = (unsigned)(w * 64) + (unsigned)__builtin_ctzll(left);
            char *start = buf_room(j->out, keys[m].len + FIXED_MAX), *at = start;
            if (!at)
                return;
            memcpy(at, keys[m].text + first, keys[m].len - first);
            at = fixed_put(at + keys[m].len - first, s->v[m], metrics[m].per);
            buf_took(j->out, (size_t)(at - start));
            first = false;
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
        if (j->comma)
            buf_addc(j->out, ',');
        json_escape(j->out, str_of(f->custom[at].name)); /* not one of our words */
        buf_addc(j->out, ':');
        buf_fixed(j->out, v[i].v, f->custom[at].per);
        j->comma = true;
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
            number(j, "mem", p->mem, -1);
            if (p->sm >= 0)
                json_fixed(j, "sm", p->sm, 10000);
            json_some(j, "kind", kind_words(p->kind));
            number(j, "since", p->since_ms, 0);
        }
        if (record_is_number(f))
            number(j, f->json, record_int(f, p->fact), i ? f->none : INT64_MIN); /* the first is always there */
        else if (f->at != offsetof(struct proc_fact, cmd) || view_shows_cmd(v, p))
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
    json_str(j, "uuid", str_of(f->uuid));
    json_int(j, "index", f->index);
    json_str(j, "name", str_of(f->name));
    if (d->display)
        json_str(j, "display", str_of(d->display));
    if (d->brief)
        json_str(j, "short", str_of(d->brief));
    if (d->price)
        json_fixed(j, "price", d->price, 1000000);
    json_cstr(j, "state", dev_states[d->state].word);
    json_str(j, "reason", str_of(d->reason));
    number(j, "since", d->since_ms, 0);
    number(j, "idle_since", device_idle_ms(d), 0);
    number(j, "age_ms", device_age_ms(d, v->at_ms), -1);
    json_some(j, "parent", f->parent);
    number(j, "mig", f->mig, -1);
    json_some(j, "vendor", vendor_words[f->vendor < VENDOR_COUNT ? f->vendor : VENDOR_UNKNOWN]);
    json_some(j, "pci", f->pci);
    json_some(j, "serial", f->serial);
    number(j, "minor", f->minor, -1);
    flag(j, "split", d->split);
    flag(j, "lost", f->lost);
    flag(j, "asleep", f->asleep);
    json_some(j, "note", f->note);
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
    json_str(j, "id", str_of(n->key));
    json_str(j, "name", str_of(n->name));
    if (n->display)
        json_str(j, "display", str_of(n->display));
    json_some(j, "site", n->site);
    if (n->site_url)
        json_str(j, "site_url", str_of(n->site_url));
    json_cstr(j, "state", node_words[n->state]);
    json_str(j, "reason", str_of(n->reason));
    flag(j, "never_sampled", n->never_sampled);
    json_some(j, "belonged_to", n->was);
    json_some(j, "belonged_to_id", n->was_id);
    number(j, "since", n->since_ms, 0);
    if (n->at_ms)
        json_int(j, "age_ms", MAX(0, v->at_ms - n->at_ms));
    json_uint(j, "version", n->version);
    json_some(j, "address", n->address);
    if (n->labels)
        labels_json(j, "labels", n->labels);
    number(j, "clock_off_ms", n->clock_off_ms, 0);
    flag(j, "demo", n->demo);
    flag(j, "retired", n->retired);
    flag(j, "maintenance", n->maintenance);
    json_cstr(j, "collect", collect_words[n->collect]);
    number(j, "collect_since", n->collect_since_ms, 0);
    number(j, "backlog", n->backlog, 0);
    json_some(j, "agent", f->agent);
    json_some(j, "collector", f->collector);
    number(j, "tick_ms", f->tick_ms, 0);
    json_some(j, "driver", f->driver);
    json_some(j, "cuda", f->cuda);
    json_some(j, "os", f->os);
    json_some(j, "kernel", f->kernel);
    json_some(j, "arch", f->arch);
    json_some(j, "cpu", f->cpu);
    number(j, "cpus", f->cpus, 0);
    put_metrics(j, &n->now);
    put_custom_facts(j, f);
    put_custom(j, f, n->custom, n->n_custom);
    number(j, "of", (int64_t)n->of, 0);
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
