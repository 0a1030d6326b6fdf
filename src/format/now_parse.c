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
#include "format/words.h"
#include "model/labels.h"
#include "model/names.h"

#define TEXT_MAX ((size_t)512 << 20)
#define PER_BYTE 32 /* memory per byte of JSON: a process is 150 bytes of text and 1.5 KB here */

struct parse {
    struct err *err;
    size_t budget;   /* bytes of structs that may still be made */
    char where[128]; /* "nodes[3].devices[0]" */
};

static int refuse(struct parse *p, const char *key, const char *why)
{
    return err_set(p->err, -EBADMSG, "state: %s%s'%s' %s", p->where, p->where[0] ? ": " : "", key, why);
}

/* The member, or NULL when absent (null counts as absent). */
static json_t *member(const json_t *o, const char *key)
{
    json_t *v = json_object_get(o, key);

    return json_is_null(v) ? NULL : v;
}

static int get_text(struct parse *p, const json_t *o, const char *key, char *ret, size_t size, bool need)
{
    const json_t *v = member(o, key);

    if (!v)
        return need ? refuse(p, key, "is missing") : 0;
    if (!json_is_string(v))
        return refuse(p, key, "is not a text");
    struct str s = str_n(json_string_value(v), json_string_length(v));
    if (s.len >= size)
        return refuse(p, key, "is too long");
    if (!str_utf8_ok(s))
        return refuse(p, key, "has control characters");
    memcpy(ret, s.p, s.len);
    ret[s.len] = 0;
    return 0;
}

/* What screens call it: one that cannot be kept is as good as none. */
static int get_shown(struct parse *p, const json_t *o, const char *key, const char **ret)
{
    char text[NAME_MAX_LEN] = "";
    int r = get_text(p, o, key, text, sizeof(text), false);

    *ret = r == 0 && text[0] ? names_keep(str_of(text)) : NULL;
    return r;
}

static int get_int(struct parse *p, const json_t *o, const char *key, int64_t min, int64_t max, int64_t *ret)
{
    const json_t *v = member(o, key);

    if (!v)
        return 0;
    if (!json_is_integer(v))
        return refuse(p, key, "is not a whole number");
    int64_t i = json_integer_value(v);
    if (i < min || i > max)
        return refuse(p, key, "is out of range");
    *ret = i;
    return 0;
}

static int get_int32(struct parse *p, const json_t *o, const char *key, int32_t *ret)
{
    int64_t v = *ret;
    int r = get_int(p, o, key, INT32_MIN, INT32_MAX, &v);

    *ret = (int32_t)v;
    return r;
}

/* Times and ages: within what can be added and subtracted. */
static int get_ms(struct parse *p, const json_t *o, const char *key, int64_t *ret)
{
    return get_int(p, o, key, -((int64_t)1 << 52), (int64_t)1 << 52, ret);
}

static int get_bool(struct parse *p, const json_t *o, const char *key, bool *ret)
{
    const json_t *v = member(o, key);

    if (v && !json_is_boolean(v))
        return refuse(p, key, "is not true or false");
    if (v)
        *ret = json_is_true(v);
    return 0;
}

/* A number in base units as an integer in stored ones. */
static int fixed_of(struct parse *p, const char *key, const json_t *v, int64_t per, int64_t *ret)
{
    int64_t whole;

    if (json_is_integer(v)) {
        if (__builtin_mul_overflow((int64_t)json_integer_value(v), per, &whole))
            return refuse(p, key, "is out of range");
        *ret = whole;
        return 0;
    }
    if (!json_is_real(v))
        return refuse(p, key, "is not a number");
    double x = json_real_value(v) * (double)per;
    if (!(fabs(x) < 9e18))
        return refuse(p, key, "is out of range");
    *ret = llround(x);
    return 0;
}

/* An array that may be missing, of at most max elements; room for them is taken from the budget. */
static int get_array(struct parse *p, const json_t *o, const char *key, size_t max, size_t size, json_t **ret,
                     size_t *n)
{
    json_t *v = member(o, key);

    *ret = v;
    *n = 0;
    if (!v)
        return 0;
    if (!json_is_array(v))
        return refuse(p, key, "is not an array");
    *n = json_array_size(v);
    if (*n > max || *n > p->budget / size)
        return refuse(p, key, "has too many elements");
    p->budget -= *n * size;
    return 0;
}

static int get_object(struct parse *p, const json_t *o, const char *key, json_t **ret)
{
    *ret = member(o, key);
    return *ret && !json_is_object(*ret) ? refuse(p, key, "is not an object") : 0;
}

static int get_metrics(struct parse *p, const json_t *o, struct sample *ret)
{
    json_t *list, *v;
    const char *key;
    int r = get_object(p, o, "metrics", &list);

    if (r < 0 || !list)
        return r;
    json_object_foreach (list, key, v) {
        int m = metric_by_name(str_of(key));
        int64_t value = 0;
        if (m < 0)
            continue;
        if ((r = fixed_of(p, key, v, metrics[m].per, &value)) < 0)
            return r;
        sample_set(ret, (enum metric)m, value);
    }
    return 0;
}

static int get_ages(struct parse *p, const json_t *o, int64_t at_ms, int64_t *v_at_ms)
{
    json_t *list, *v;
    const char *key;
    int r = get_object(p, o, "ages", &list);

    if (r < 0 || !list)
        return r;
    json_object_foreach (list, key, v) {
        int m = metric_by_name(str_of(key));
        int64_t age = 0;
        if ((r = get_ms(p, list, key, &age)) < 0)
            return r;
        if (m >= 0)
            v_at_ms[m] = at_ms - age;
    }
    return 0;
}

static int get_custom(struct parse *p, const json_t *o, const struct node_fact *f, int64_t at_ms,
                      struct custom_now **ret, size_t *ret_n)
{
    json_t *list, *v;
    const char *key;
    int r = get_object(p, o, "custom", &list);

    if (r < 0 || !list)
        return r;
    size_t max = json_object_size(list);
    if (max > CUSTOM_MAX || max > p->budget / sizeof(**ret))
        return refuse(p, "custom", "has too many elements");
    p->budget -= max * sizeof(**ret);
    *ret = mem_zero(MAX(max, 1), sizeof(**ret));
    json_object_foreach (list, key, v) {
        size_t i = 0;
        while (i < f->n_custom && strcmp(f->custom[i].name, key) != 0)
            i++;
        if (i == f->n_custom)
            continue; /* not declared: no unit to show it in */
        struct custom_now *c = &(*ret)[*ret_n];
        if ((r = fixed_of(p, key, v, f->custom[i].per, &c->v)) < 0)
            return r;
        c->metric = (uint16_t)(METRIC_CUSTOM + i);
        c->at_ms = at_ms;
        (*ret_n)++;
    }
    return 0;
}

static int get_custom_facts(struct parse *p, const json_t *o, struct node_fact *f)
{
    json_t *list;
    size_t n;
    int r = get_array(p, o, "custom_metrics", CUSTOM_MAX, sizeof(*f->custom), &list, &n);

    if (r < 0 || !n)
        return r;
    f->custom = mem_zero(n, sizeof(*f->custom));
    f->n_custom = n;
    for (size_t i = 0; i < n; i++) {
        struct custom_fact *c = &f->custom[i];
        const json_t *v = json_array_get(list, i);
        char unit[32] = "", kind[16] = "gauge";
        c->per = 1;
        if (!json_is_object(v))
            return refuse(p, "custom_metrics", "is not an array of objects");
        if ((r = get_text(p, v, "name", c->name, sizeof(c->name), true)) < 0 ||
            (r = get_text(p, v, "unit", unit, sizeof(unit), false)) < 0 ||
            (r = get_text(p, v, "kind", kind, sizeof(kind), false)) < 0 ||
            (r = get_int(p, v, "per", 1, (int64_t)1 << 40, &c->per)) < 0)
            return r;
        c->kind = strcmp(kind, "counter") == 0 ? KIND_COUNTER : KIND_GAUGE;
        for (int u = 0; u < UNIT_COUNT; u++)
            if (strcmp(unit, unit_names[u]) == 0)
                c->unit = (uint8_t)u;
    }
    return 0;
}

static int get_proc(struct parse *p, const json_t *o, struct proc_now *ret)
{
    struct proc_fact *f = ret->fact;
    char kind[32] = "";
    int r;

    ret->mem = ret->sm = -1;
    if (!json_is_object(o))
        return refuse(p, "processes", "is not an array of objects");
    for (size_t i = 0; i < proc_shown.n; i++) {
        const struct record_field *d = &proc_shown.fields[i];
        int64_t v = d->none;
        r = record_is_number(d) ? get_int(p, o, d->json, d->none, d->most, &v)
                                : get_text(p, o, d->json, record_array(d, f), d->size, false);
        if (r < 0)
            return r;
        if (record_is_number(d))
            record_set_int(d, f, v);
    }
    if ((r = get_int(p, o, "mem", -1, (int64_t)1 << 50, &ret->mem)) < 0 ||
        (r = get_text(p, o, "kind", kind, sizeof(kind), false)) < 0)
        return r;
    r = kind_by_words(str_of(kind));
    if (r < 0)
        return refuse(p, "kind", "is not a kind of process");
    ret->kind = (uint8_t)r;
    const json_t *sm = member(o, "sm");
    if (sm) {
        int64_t v = 0;
        if ((r = fixed_of(p, "sm", sm, 10000, &v)) < 0)
            return r;
        if (v < 0 || v > INT32_MAX)
            return refuse(p, "sm", "is out of range");
        ret->sm = (int32_t)v;
    }
    return 0;
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

static int get_device_fact(struct parse *p, const json_t *o, struct device_fact *f)
{
    char vendor[16] = "";
    int r;

    f->mig = f->minor = -1;
    if ((r = get_text(p, o, "uuid", f->uuid, sizeof(f->uuid), true)) < 0 ||
        (r = get_text(p, o, "name", f->name, sizeof(f->name), true)) < 0 ||
        (r = get_text(p, o, "parent", f->parent, sizeof(f->parent), false)) < 0 ||
        (r = get_text(p, o, "vendor", vendor, sizeof(vendor), false)) < 0 ||
        (r = get_text(p, o, "pci", f->pci, sizeof(f->pci), false)) < 0 ||
        (r = get_text(p, o, "serial", f->serial, sizeof(f->serial), false)) < 0 ||
        (r = get_text(p, o, "note", f->note, sizeof(f->note), false)) < 0 ||
        (r = get_int32(p, o, "index", &f->index)) < 0 || (r = get_int32(p, o, "mig", &f->mig)) < 0 ||
        (r = get_int32(p, o, "minor", &f->minor)) < 0 || (r = get_bool(p, o, "lost", &f->lost)) < 0 ||
        (r = get_bool(p, o, "asleep", &f->asleep)) < 0)
        return r;
    for (int i = 0; i < VENDOR_COUNT; i++)
        if (strcmp(vendor, vendor_words[i]) == 0)
            f->vendor = (uint8_t)i;
    return 0;
}

static int get_booking(struct parse *p, const json_t *o, const char *key, struct booking_now **ret)
{
    struct booking_now h = {0};
    json_t *v;
    int r = get_object(p, o, key, &v);

    if (r < 0 || !v)
        return r;
    if (p->budget < sizeof(h))
        return refuse(p, key, "is one too many");
    p->budget -= sizeof(h);
    if ((r = get_int(p, v, "id", 0, INT64_MAX, &h.id)) < 0 ||
        (r = get_text(p, v, "person", h.person, sizeof(h.person), true)) < 0 ||
        (r = get_text(p, v, "comment", h.comment, sizeof(h.comment), false)) < 0 ||
        (r = get_ms(p, v, "from", &h.from_ms)) < 0 || (r = get_ms(p, v, "until", &h.until_ms)) < 0)
        return r;
    *ret = mem_alloc(sizeof(h));
    **ret = h;
    return 0;
}

static int get_device(struct parse *p, const json_t *o, const struct node_fact *nf, int64_t now_ms,
                      struct device_now *d)
{
    char state[16] = "";
    int64_t age = -1;
    json_t *procs;
    size_t n;
    int r;

    if (!json_is_object(o))
        return refuse(p, "devices", "is not an array of objects");
    if ((r = get_shown(p, o, "display", &d->display)) < 0 || (r = get_shown(p, o, "short", &d->brief)) < 0)
        return r;
    if ((r = get_device_fact(p, o, &d->fact)) < 0 || (r = get_text(p, o, "state", state, sizeof(state), true)) < 0 ||
        (r = get_text(p, o, "reason", d->reason, sizeof(d->reason), false)) < 0 ||
        (r = get_ms(p, o, "since", &d->since_ms)) < 0 || (r = get_ms(p, o, "idle_since", &d->idle_since_ms)) < 0 ||
        (r = get_ms(p, o, "age_ms", &age)) < 0 || (r = get_bool(p, o, "split", &d->split)) < 0 ||
        (r = get_booking(p, o, "booking", &d->booking)) < 0 || (r = get_booking(p, o, "next", &d->next)) < 0)
        return r;
    r = dev_state_by_word(str_of(state));
    if (r < 0)
        return refuse(p, "state", "is not a state of a device");
    d->state = (enum dev_state)r;
    d->at_ms = d->now.at_ms = age >= 0 ? now_ms - age : 0;
    for (int m = 0; m < M_COUNT; m++)
        d->v_at_ms[m] = d->at_ms;
    if ((r = get_metrics(p, o, &d->now)) < 0 || (r = get_ages(p, o, now_ms, d->v_at_ms)) < 0 ||
        (r = get_custom(p, o, nf, d->at_ms, &d->custom, &d->n_custom)) < 0 ||
        (r = get_array(p, o, "processes", PROCS_MAX,
                       sizeof(*d->procs) + sizeof(struct proc_fact) + sizeof(struct identity), &procs, &n)) < 0)
        return r;
    if (!n)
        return 0;
    size_t each = sizeof(*d->procs) + sizeof(struct proc_fact) + sizeof(struct identity), text = 0;
    for (size_t i = 0; i < n; i++)
        text += who_bytes(json_array_get(procs, i));
    d->procs = mem_zero(1, n * each + text);
    struct identity *who = (struct identity *)((struct proc_fact *)(d->procs + n) + n);
    char *at = (char *)(who + n);
    d->n_procs = n;
    for (size_t i = 0; i < n; i++)
        d->procs[i].fact = (struct proc_fact *)(d->procs + n) + i;
    for (size_t i = 0; i < n; i++)
        if ((r = get_proc(p, json_array_get(procs, i), &d->procs[i])) < 0)
            return r;
    for (size_t i = 0; i < n; i++)
        get_who(json_array_get(procs, i), &d->procs[i], &who[i], &at);
    return 0;
}

static int get_node_fact(struct parse *p, const json_t *o, struct node_fact *f)
{
    int r;

    if ((r = get_text(p, o, "agent", f->agent, sizeof(f->agent), false)) < 0 ||
        (r = get_text(p, o, "collector", f->collector, sizeof(f->collector), false)) < 0 ||
        (r = get_text(p, o, "driver", f->driver, sizeof(f->driver), false)) < 0 ||
        (r = get_text(p, o, "cuda", f->cuda, sizeof(f->cuda), false)) < 0 ||
        (r = get_text(p, o, "os", f->os, sizeof(f->os), false)) < 0 ||
        (r = get_text(p, o, "kernel", f->kernel, sizeof(f->kernel), false)) < 0 ||
        (r = get_text(p, o, "arch", f->arch, sizeof(f->arch), false)) < 0 ||
        (r = get_text(p, o, "cpu", f->cpu, sizeof(f->cpu), false)) < 0 || (r = get_int32(p, o, "cpus", &f->cpus)) < 0 ||
        (r = get_int32(p, o, "tick_ms", &f->tick_ms)) < 0)
        return r;
    return get_custom_facts(p, o, f);
}

/* One that cannot be a label is passed over, as where they come from (labels.h). */
static int get_labels(struct parse *p, const json_t *o, char **ret)
{
    json_t *all, *v;
    const char *name;
    int r = get_object(p, o, "labels", &all);

    if (r < 0 || !all)
        return r;
    json_object_foreach (all, name, v)
        labels_add(ret, str_of(name), str_n(json_string_value(v), json_string_length(v)));
    return 0;
}

static int get_node(struct parse *p, const json_t *o, int64_t now_ms, struct node_now *n)
{
    char state[16] = "", collect[16] = "ok";
    int64_t age = -1, version = 0, backlog = 0;
    int r;

    if (!json_is_object(o))
        return refuse(p, "nodes", "is not an array of objects");
    if ((r = get_text(p, o, "id", n->key, sizeof(n->key), true)) < 0 ||
        (r = get_text(p, o, "name", n->name, sizeof(n->name), true)) < 0 ||
        (r = get_shown(p, o, "display", &n->display)) < 0 ||
        (r = get_text(p, o, "state", state, sizeof(state), true)) < 0 ||
        (r = get_text(p, o, "reason", n->reason, sizeof(n->reason), false)) < 0 ||
        (r = get_text(p, o, "belonged_to", n->was, sizeof(n->was), false)) < 0 ||
        (r = get_text(p, o, "belonged_to_id", n->was_id, sizeof(n->was_id), false)) < 0 ||
        (r = get_text(p, o, "address", n->address, sizeof(n->address), false)) < 0 ||
        (r = get_labels(p, o, &n->labels)) < 0 ||
        (r = get_text(p, o, "collect", collect, sizeof(collect), false)) < 0 ||
        (r = get_ms(p, o, "since", &n->since_ms)) < 0 || (r = get_ms(p, o, "age_ms", &age)) < 0 ||
        (r = get_ms(p, o, "collect_since", &n->collect_since_ms)) < 0 ||
        (r = get_ms(p, o, "clock_off_ms", &n->clock_off_ms)) < 0 ||
        (r = get_int(p, o, "version", 0, INT64_MAX, &version)) < 0 ||
        (r = get_int(p, o, "backlog", 0, UINT32_MAX, &backlog)) < 0 || (r = get_bool(p, o, "demo", &n->demo)) < 0 ||
        (r = get_bool(p, o, "retired", &n->retired)) < 0 || (r = get_bool(p, o, "maintenance", &n->maintenance)) < 0 ||
        (r = get_node_fact(p, o, &n->fact)) < 0 || (r = get_metrics(p, o, &n->now)) < 0)
        return r;
    r = node_state_by_word(str_of(state));
    if (r < 0)
        return refuse(p, "state", "is not a state of a node");
    n->state = (enum node_state)r;
    for (int i = 0; i < COLLECT_STATES; i++)
        if (strcmp(collect, collect_words[i]) == 0)
            n->collect = (enum collect_state)i;
    n->version = (uint64_t)version;
    n->backlog = (uint32_t)backlog;
    n->at_ms = n->sample_at_ms = n->now.at_ms = age >= 0 ? now_ms - age : 0;
    for (int m = 0; m < M_COUNT; m++)
        n->v_at_ms[m] = n->at_ms;
    return get_custom(p, o, &n->fact, n->at_ms, &n->custom, &n->n_custom);
}

static int get_nodes(struct parse *p, const json_t *list, int64_t now_ms, struct node_now *nodes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const json_t *o = json_array_get(list, i);
        json_t *devices;
        size_t n_devices;
        int r;

        snprintf(p->where, sizeof(p->where), "nodes[%zu]", i);
        if ((r = get_node(p, o, now_ms, &nodes[i])) < 0 ||
            (r = get_array(p, o, "devices", DEVICES_MAX, sizeof(*nodes->devices), &devices, &n_devices)) < 0)
            return r;
        if (!n_devices)
            continue;
        nodes[i].devices = mem_zero(n_devices, sizeof(*nodes->devices));
        nodes[i].n_devices = n_devices;
        for (size_t k = 0; k < n_devices; k++) {
            snprintf(p->where, sizeof(p->where), "nodes[%zu].devices[%zu]", i, k);
            r = get_device(p, json_array_get(devices, k), &nodes[i].fact, now_ms, &nodes[i].devices[k]);
            if (r < 0)
                return r;
        }
    }
    return 0;
}

int state_parse(struct str text, struct node_now **ret, size_t *ret_n, bool *ret_demo, int64_t *ret_at_ms,
                size_t *ret_of, char ret_notice[NOTICE_MAX], struct err *err)
{
    struct parse p = {.err = err, .budget = text.len * PER_BYTE + (1u << 20)};
    struct node_now *nodes = NULL;
    json_t *list = NULL;
    json_error_t bad;
    int64_t at = 0, of = 0;
    bool demo = false;
    char notice[NOTICE_MAX] = "";
    size_t n = 0;

    if (text.len > TEXT_MAX)
        return err_set(err, -EMSGSIZE, "state: %zu bytes are too many", text.len);
    json_t *top = json_loadb(text.p, text.len, 0, &bad);
    if (!top)
        return err_set(err, -EBADMSG, "state: line %d: %s", bad.line, bad.text);
    int r = 0;
    if (!json_is_object(top))
        r = err_set(err, -EBADMSG, "state: not a JSON object");
    else if ((r = get_ms(&p, top, "at", &at)) == 0 && (r = get_bool(&p, top, "demo", &demo)) == 0 &&
             (r = get_int(&p, top, "of", 0, UINT32_MAX, &of)) == 0 &&
             (r = get_text(&p, top, "notice", notice, sizeof(notice), false)) == 0)
        r = get_array(&p, top, "nodes", SIZE_MAX, sizeof(*nodes), &list, &n);
    if (r == 0 && !list)
        r = refuse(&p, "nodes", "is missing");
    if (r == 0) {
        nodes = mem_zero(MAX(n, 1), sizeof(*nodes));
        r = get_nodes(&p, list, at, nodes, n);
    }
    json_decref(top);
    if (r < 0) {
        for (size_t i = 0; nodes && i < n; i++)
            node_now_fini(&nodes[i]);
        free(nodes);
        return r;
    }
    *ret = nodes;
    *ret_n = n;
    *ret_demo = demo;
    *ret_at_ms = at;
    *ret_of = (size_t)of;
    memcpy(ret_notice, notice, NOTICE_MAX);
    return 0;
}
