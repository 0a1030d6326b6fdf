/*
 * now_parse.c: the API's JSON back into nodes, for the command line. Strict where it matters: a wrong type, a text too
 * long or with control characters, a state unknown is one error that says where. Fields it does not know are passed
 * over. Memory is bounded by the size of the text.
 */
#include "format/render.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>

#include "base/mem.h"
#include "base/order.h"
#include "format/export_read.h"
#include "format/words.h"
#include "model/labels.h"
#include "model/names.h"

#define TEXT_MAX ((size_t)512 << 20)
#define PER_BYTE 32 /* memory per byte of JSON: a process is 150 bytes of text and 1.5 KB here */

struct parse {
    struct err *err;
    size_t budget;   /* bytes of structs that may still be made */
    char where[128]; /* "nodes[3].devices[0]" */
    bool bad;   /* something is wrong, and the first such thing was said: what is read from then on counts no more */
    bool guest; /* render.h: of a hub that is followed */
};

static void refuse(struct parse *p, const char *key, const char *why)
{
    if (!p->bad)
        err_set(p->err, -EBADMSG, "state: %s%s'%s' %s", p->where, p->where[0] ? ": " : "", key, why);
    p->bad = true;
}

/* The member, or NULL when absent (null counts as absent). */
static json_t *member(const json_t *o, const char *key)
{
    json_t *v = json_object_get(o, key);

    return json_is_null(v) ? NULL : v;
}

static void get_text(struct parse *p, const json_t *o, const char *key, char *ret, size_t size, bool need)
{
    const json_t *v = member(o, key);
    struct str s = str_n(json_string_value(v), json_string_length(v));

    if (!v && need)
        refuse(p, key, "is missing");
    else if (v && !json_is_string(v))
        refuse(p, key, "is not a text");
    else if (s.len >= size)
        refuse(p, key, "is too long");
    else if (!str_utf8_ok(s))
        refuse(p, key, "has control characters");
    else if (v)
        snprintf(ret, size, "%s", s.p);
}
#define TEXT(o, key, to) get_text(p, o, key, to, sizeof(to), false)
#define NEED(o, key, to) get_text(p, o, key, to, sizeof(to), true)

/* What screens call it: one that cannot be kept is as good as none. */
static const char *get_shown(struct parse *p, const json_t *o, const char *key)
{
    char text[NAME_MAX_LEN] = "";

    if (p->guest)
        return NULL;
    TEXT(o, key, text);
    return text[0] ? names_keep(str_of(text)) : NULL;
}

static int64_t get_int(struct parse *p, const json_t *o, const char *key, int64_t min, int64_t max, int64_t otherwise)
{
    const json_t *v = member(o, key);
    int64_t i = json_integer_value(v);

    if (!v)
        return otherwise;
    if (!json_is_integer(v))
        refuse(p, key, "is not a whole number");
    else if (i < min || i > max)
        refuse(p, key, "is out of range");
    return i;
}

static int32_t get_int32(struct parse *p, const json_t *o, const char *key, int32_t otherwise)
{
    return (int32_t)get_int(p, o, key, INT32_MIN, INT32_MAX, otherwise);
}

/* Times and ages: within what can be added and subtracted. */
static int64_t get_ms(struct parse *p, const json_t *o, const char *key, int64_t otherwise)
{
    return get_int(p, o, key, -((int64_t)1 << 52), (int64_t)1 << 52, otherwise);
}

static bool get_bool(struct parse *p, const json_t *o, const char *key)
{
    const json_t *v = member(o, key);

    if (v && !json_is_boolean(v))
        refuse(p, key, "is not true or false");
    return json_is_true(v);
}

/* A number in base units as an integer in stored ones. */
static int64_t fixed_of(struct parse *p, const char *key, const json_t *v, int64_t per)
{
    double x = json_real_value(v) * (double)per;
    int64_t whole;

    if (json_is_integer(v) && !__builtin_mul_overflow((int64_t)json_integer_value(v), per, &whole))
        return whole;
    if (json_is_real(v) && fabs(x) < 9e18)
        return llround(x);
    refuse(p, key, json_is_number(v) ? "is out of range" : "is not a number");
    return 0;
}

/* Room for n things of this size is taken from the budget. */
static bool take_room(struct parse *p, const char *key, size_t n, size_t max, size_t size)
{
    if (n > max || n > p->budget / size) {
        refuse(p, key, "has too many elements");
        return false;
    }
    p->budget -= n * size;
    return true;
}

/* An array that may be missing, of at most max elements: how many. */
static size_t get_array(struct parse *p, const json_t *o, const char *key, size_t max, size_t size, json_t **ret)
{
    *ret = member(o, key);
    if (*ret && !json_is_array(*ret))
        refuse(p, key, "is not an array");
    size_t n = json_array_size(*ret);
    return take_room(p, key, n, max, size) ? n : 0;
}

static json_t *get_object(struct parse *p, const json_t *o, const char *key)
{
    json_t *v = member(o, key);

    if (v && !json_is_object(v))
        refuse(p, key, "is not an object");
    return v;
}

static bool is_object(struct parse *p, const json_t *o, const char *list)
{
    if (!json_is_object(o))
        refuse(p, list, "is not an array of objects");
    return json_is_object(o);
}

static void get_metrics(struct parse *p, const json_t *o, struct sample *ret)
{
    json_t *list = get_object(p, o, "metrics"), *v;
    const char *key;

    json_object_foreach (list, key, v) {
        int m = metric_by_name(str_of(key));
        if (m >= 0)
            sample_set(ret, (enum metric)m, fixed_of(p, key, v, metrics[m].per));
    }
}

static void get_ages(struct parse *p, const json_t *o, int64_t at_ms, int64_t *v_at_ms)
{
    json_t *list = get_object(p, o, "ages"), *v;
    const char *key;

    json_object_foreach (list, key, v) {
        int m = metric_by_name(str_of(key));
        int64_t age = get_ms(p, list, key, 0);
        if (m >= 0)
            v_at_ms[m] = at_ms - age;
    }
}

static void get_custom(struct parse *p, const json_t *o, struct node_fact *f, int64_t at_ms, struct custom_now **ret,
                       size_t *ret_n)
{
    json_t *list = get_object(p, o, "custom"), *v;
    const char *key;
    size_t max = json_object_size(list);

    if (!list || !take_room(p, "custom", max, CUSTOM_MAX, sizeof(**ret)))
        return;
    *ret = mem_zero(MAX(max, 1), sizeof(**ret));
    json_object_foreach (list, key, v) {
        int i = node_fact_custom(f, key, false);
        if (i < 0)
            continue; /* not declared: no unit to show it in */
        (*ret)[(*ret_n)++] = (struct custom_now){.metric = (uint16_t)(METRIC_CUSTOM + i),
                                                 .v = fixed_of(p, key, v, f->custom[i].per),
                                                 .at_ms = at_ms};
    }
}

static void get_custom_facts(struct parse *p, const json_t *o, struct node_fact *f)
{
    json_t *list;
    size_t n = get_array(p, o, "custom_metrics", CUSTOM_MAX, sizeof(*f->custom), &list);

    if (!n)
        return;
    f->custom = mem_zero(n, sizeof(*f->custom));
    f->n_custom = n;
    for (size_t i = 0; i < n && !p->bad; i++) {
        struct custom_fact *c = &f->custom[i];
        const json_t *v = json_array_get(list, i);
        char unit[32] = "", kind[16] = "gauge";
        if (!is_object(p, v, "custom_metrics"))
            return;
        NEED(v, "name", c->name);
        TEXT(v, "unit", unit);
        TEXT(v, "kind", kind);
        c->per = get_int(p, v, "per", 1, (int64_t)1 << 40, 1);
        c->kind = strcmp(kind, "counter") == 0 ? KIND_COUNTER : KIND_GAUGE;
        c->unit = (uint8_t)MAX(export_unit(unit), 0);
    }
}

/* What the table of its fields names, of a record that is there already. */
static void get_record(struct parse *p, const json_t *o, const struct record_kind *kind, void *record)
{
    for (size_t i = 0; i < kind->n; i++) {
        const struct record_field *f = &kind->fields[i];
        if (record_is_number(f))
            record_set_int(f, record, get_int(p, o, f->json, f->none, f->most, f->none));
        else
            get_text(p, o, f->json, record_array(f, record), f->size, false);
    }
}

static void get_proc(struct parse *p, const json_t *o, struct proc_now *ret)
{
    char kind[32] = "";

    if (!is_object(p, o, "processes"))
        return;
    get_record(p, o, &proc_shown, ret->fact);
    ret->mem = get_int(p, o, "mem", -1, (int64_t)1 << 50, -1);
    TEXT(o, "kind", kind);
    int r = kind_by_words(str_of(kind));
    if (r < 0)
        refuse(p, "kind", "is not a kind of process");
    ret->kind = (uint8_t)r;
    const json_t *sm = member(o, "sm");
    int64_t v = sm ? fixed_of(p, "sm", sm, 10000) : -1;
    if (v > INT32_MAX || (sm && v < 0))
        refuse(p, "sm", "is out of range");
    ret->sm = (int32_t)v;
    ret->since_ms = get_ms(p, o, "since", 0);
}

/* ---- who the logins are ---- */

/* Bytes of text that a process has of it, ends included; 0: nothing is told. */
static size_t who_bytes(const json_t *o)
{
    const json_t *person = json_object_get(o, "person");
    size_t n = person ? json_string_length(person) + 1 : 0;

    for (int i = 0; i < IDENTITY_GROUPS; i++) {
        const json_t *names = json_object_get(o, identity_words[i]);
        for (size_t k = 0; k < json_array_size(names); k++)
            n += json_string_length(json_array_get(names, k)) + 1;
    }
    return n;
}

static const char *put_text(char **at, const char *s, char end)
{
    char *from = *at, *to = mempcpy(from, s ? s : "", s ? strlen(s) : 0);

    *to = end;
    *at = to + 1;
    return from;
}

/* Into room of who_bytes(o) at *at. What is no plain text is left out: nothing hangs on it. */
static void get_who(const json_t *o, struct proc_now *p, struct identity *who, char **at)
{
    const json_t *person = json_object_get(o, "person");

    if (!who_bytes(o))
        return;
    p->who = who;
    who->person = p->fact->user;
    if (person)
        who->person = put_text(at, json_string_value(person), 0);
    for (int i = 0; i < IDENTITY_GROUPS; i++) {
        const json_t *names = json_object_get(o, identity_words[i]);
        char *from = *at;
        who->groups[i] = "";
        for (size_t k = 0; k < json_array_size(names); k++) {
            const json_t *name = json_array_get(names, k);
            if (str_utf8_ok(str_n(json_string_value(name), json_string_length(name))) && json_string_length(name))
                put_text(at, json_string_value(name), '\n');
        }
        if (*at > from) {
            (*at)[-1] = 0;
            who->groups[i] = from;
        }
    }
}

static void get_device_fact(struct parse *p, const json_t *o, struct device_fact *f)
{
    char vendor[16] = "";

    NEED(o, "uuid", f->uuid);
    NEED(o, "name", f->name);
    TEXT(o, "parent", f->parent);
    TEXT(o, "vendor", vendor);
    TEXT(o, "pci", f->pci);
    TEXT(o, "serial", f->serial);
    TEXT(o, "note", f->note);
    f->index = get_int32(p, o, "index", 0);
    f->mig = get_int32(p, o, "mig", -1);
    f->minor = get_int32(p, o, "minor", -1);
    f->lost = get_bool(p, o, "lost");
    f->asleep = get_bool(p, o, "asleep");
    f->vendor = (uint8_t)MAX(WHICH(VENDOR_COUNT, i, strcmp(vendor, vendor_words[i]) == 0), 0);
}

static struct booking_now *get_booking(struct parse *p, const json_t *o, const char *key)
{
    json_t *v = get_object(p, o, key);

    if (!v || !take_room(p, key, 1, 1, sizeof(struct booking_now)))
        return NULL;
    struct booking_now *h = NEW(struct booking_now, .id = get_int(p, v, "id", 0, INT64_MAX, 0));
    NEED(v, "person", h->person);
    TEXT(v, "comment", h->comment);
    h->from_ms = get_ms(p, v, "from", 0);
    h->until_ms = get_ms(p, v, "until", 0);
    return h;
}

static void get_procs(struct parse *p, const json_t *o, struct device_now *d)
{
    const size_t each = sizeof(*d->procs) + sizeof(struct proc_fact) + sizeof(struct identity);
    json_t *procs;
    size_t n = get_array(p, o, "processes", PROCS_MAX, each, &procs), text = 0;

    if (!n)
        return;
    for (size_t i = 0; i < n; i++)
        text += who_bytes(json_array_get(procs, i));
    d->procs = mem_zero(1, n * each + text);
    struct identity *who = (struct identity *)((struct proc_fact *)(d->procs + n) + n);
    char *at = (char *)(who + n);
    d->n_procs = n;
    for (size_t i = 0; i < n; i++)
        d->procs[i].fact = (struct proc_fact *)(d->procs + n) + i;
    for (size_t i = 0; i < n && !p->bad; i++) {
        get_proc(p, json_array_get(procs, i), &d->procs[i]);
        get_who(json_array_get(procs, i), &d->procs[i], &who[i], &at);
    }
}

/* What a newer hub knows and we do not is passed over. */
static void get_advice(struct parse *p, const json_t *o, struct device_now *d)
{
    json_t *list;
    size_t n = get_array(p, o, "advice", ADVICE_COUNT, sizeof(*d->advice), &list);

    if (n)
        d->advice = mem_zero(n, sizeof(*d->advice));
    for (size_t i = 0; i < n && !p->bad; i++) {
        const json_t *v = json_array_get(list, i);
        struct advice_now *a = &d->advice[d->n_advice];
        char name[32] = "";
        if (!is_object(p, v, "advice"))
            return;
        NEED(v, "rule", name);
        a->from_ms = get_ms(p, v, "since", 0);
        int rule = advice_by_name(str_of(name));
        a->rule = (enum advice_rule)MAX(rule, 0);
        d->n_advice += rule >= 0;
    }
}

static void get_device(struct parse *p, const json_t *o, struct node_fact *nf, int64_t now_ms, struct device_now *d)
{
    char state[16] = "";

    if (!is_object(p, o, "devices"))
        return;
    d->display = get_shown(p, o, "display");
    d->brief = get_shown(p, o, "short");
    d->price = member(o, "price") ? fixed_of(p, "price", member(o, "price"), 1000000) : 0;
    get_device_fact(p, o, &d->fact);
    NEED(o, "state", state);
    TEXT(o, "reason", d->reason);
    d->since_ms = get_ms(p, o, "since", 0);
    d->idle_since_ms = get_ms(p, o, "idle_since", 0);
    d->util_mean = member(o, "util_mean") ? fixed_of(p, "util_mean", member(o, "util_mean"), metrics[M_util].per) : 0;
    int64_t age = get_ms(p, o, "age_ms", -1);
    d->split = get_bool(p, o, "split");
    get_advice(p, o, d);
    d->booking = get_booking(p, o, "booking");
    d->next = get_booking(p, o, "next");
    int r = dev_state_by_word(str_of(state));
    if (r < 0 && p->guest)
        r = DEV_UNKNOWN;
    if (r < 0)
        refuse(p, "state", "is not a state of a device");
    d->state = get_bool(p, o, "starting") ? DEV_STARTING : (enum dev_state)MAX(r, 0);
    d->at_ms = d->now.at_ms = age >= 0 ? now_ms - age : 0;
    for (int m = 0; m < M_COUNT; m++)
        d->v_at_ms[m] = d->at_ms;
    get_metrics(p, o, &d->now);
    get_ages(p, o, now_ms, d->v_at_ms);
    get_custom(p, o, nf, d->at_ms, &d->custom, &d->n_custom);
    get_procs(p, o, d);
}

/* One that cannot be a label is passed over, as where they come from (labels.h). */
static void get_labels(struct parse *p, const json_t *o, char **ret)
{
    json_t *list = get_object(p, o, "labels"), *v;
    const char *name;

    json_object_foreach (list, name, v)
        labels_add(ret, str_of(name), str_n(json_string_value(v), json_string_length(v)));
}

static void get_node(struct parse *p, const json_t *o, int64_t now_ms, struct node_now *n)
{
    char state[16] = "", collect[16] = "ok";

    if (!is_object(p, o, "nodes"))
        return;
    NEED(o, "id", n->key);
    NEED(o, "name", n->name);
    n->display = get_shown(p, o, "display");
    TEXT(o, "site", n->site);
    NEED(o, "state", state);
    TEXT(o, "reason", n->reason);
    TEXT(o, "belonged_to", n->was);
    TEXT(o, "belonged_to_id", n->was_id);
    TEXT(o, "address", n->address);
    get_labels(p, o, &n->labels);
    TEXT(o, "collect", collect);
    n->since_ms = get_ms(p, o, "since", 0);
    int64_t age = get_ms(p, o, "age_ms", -1);
    n->collect_since_ms = get_ms(p, o, "collect_since", 0);
    n->clock_off_ms = get_ms(p, o, "clock_off_ms", 0);
    n->version = (uint64_t)get_int(p, o, "version", 0, INT64_MAX, 0);
    n->backlog = (uint32_t)get_int(p, o, "backlog", 0, UINT32_MAX, 0);
    n->demo = get_bool(p, o, "demo");
    n->retired = get_bool(p, o, "retired");
    n->maintenance = get_bool(p, o, "maintenance");
    n->unlisted = get_bool(p, o, "unlisted");
    get_record(p, o, &node_facts, &n->fact);
    get_custom_facts(p, o, &n->fact);
    get_metrics(p, o, &n->now);
    int r = node_state_by_word(str_of(state));
    if (r < 0 && !p->guest)
        refuse(p, "state", "is not a state of a node");
    n->state = (enum node_state)MAX(r, 0);
    n->collect = (enum collect_state)MAX(WHICH(COLLECT_STATES, i, strcmp(collect, collect_words[i]) == 0), 0);
    n->at_ms = n->sample_at_ms = n->now.at_ms = age >= 0 ? now_ms - age : 0;
    for (int m = 0; m < M_COUNT; m++)
        n->v_at_ms[m] = n->at_ms;
    get_custom(p, o, &n->fact, n->at_ms, &n->custom, &n->n_custom);
}

/* The i-th, with its devices. */
static void get_whole_node(struct parse *p, const json_t *o, size_t i, int64_t now_ms, struct node_now *n)
{
    json_t *devices;

    snprintf(p->where, sizeof(p->where), "nodes[%zu]", i);
    get_node(p, o, now_ms, n);
    size_t count = get_array(p, o, "devices", DEVICES_MAX, sizeof(*n->devices), &devices);
    if (!count)
        return;
    n->devices = mem_zero(count, sizeof(*n->devices));
    n->n_devices = count;
    for (size_t k = 0; k < count && !p->bad; k++) {
        snprintf(p->where, sizeof(p->where), "nodes[%zu].devices[%zu]", i, k);
        get_device(p, json_array_get(devices, k), &n->fact, now_ms, &n->devices[k]);
    }
}

void read_state_fini(struct read_state *s)
{
    for (size_t i = 0; i < s->n; i++)
        node_now_fini(&s->nodes[i]);
    free(s->nodes);
}

int node_parse(struct str text, int64_t at_ms, bool guest, struct node_now *ret, struct err *err)
{
    struct parse p = {.err = err, .budget = text.len * PER_BYTE + (1u << 20), .guest = guest};
    struct node_now n = {0};
    json_error_t bad;

    if (text.len > TEXT_MAX)
        return err_set(err, -EMSGSIZE, "node: %zu bytes are too many", text.len);
    json_auto_t *o = json_loadb(text.p, text.len, 0, &bad);
    if (!o)
        return err_set(err, -EBADMSG, "node: %s", bad.text);
    get_whole_node(&p, o, 0, at_ms, &n);
    if (p.bad) {
        node_now_fini(&n);
        return -EBADMSG;
    }
    *ret = n;
    return 0;
}

int state_parse(struct str text, struct read_state *ret, struct err *err)
{
    struct parse all = {.err = err, .budget = text.len * PER_BYTE + (1u << 20)}, *p = &all;
    struct read_state s = {0};
    json_error_t bad;
    json_t *list;

    if (text.len > TEXT_MAX)
        return err_set(err, -EMSGSIZE, "state: %zu bytes are too many", text.len);
    json_auto_t *top = json_loadb(text.p, text.len, 0, &bad);
    if (!top)
        return err_set(err, -EBADMSG, "state: line %d: %s", bad.line, bad.text);
    if (!json_is_object(top))
        return err_set(err, -EBADMSG, "state: not a JSON object");
    s.at_ms = get_ms(p, top, "at", 0);
    s.demo = get_bool(p, top, "demo");
    s.of = (size_t)get_int(p, top, "of", 0, UINT32_MAX, 0);
    TEXT(top, "currency", s.currency);
    TEXT(top, "notice", s.notice);
    TEXT(top, "words", s.words);
    s.n = get_array(p, top, "nodes", SIZE_MAX, sizeof(struct node_now), &list);
    if (!list)
        refuse(p, "nodes", "is missing");
    s.nodes = mem_zero(MAX(s.n, 1), sizeof(*s.nodes));
    for (size_t i = 0; i < s.n && !p->bad; i++)
        get_whole_node(p, json_array_get(list, i), i, s.at_ms, &s.nodes[i]);
    if (p->bad) {
        read_state_fini(&s);
        return -EBADMSG;
    }
    *ret = s;
    return 0;
}
