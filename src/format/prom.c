/*
 * prom.c: Prometheus text 0.0.4 and OpenMetrics 1.0, family by family: a scraper wants all lines of a family together,
 * so each family walks all nodes and nothing is kept in between. A value is written if it is current and its device is
 * in sight: absence is how a scraper learns that something is gone. Names and labels are the same in both formats.
 */
#include "format/render.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/plain.h"
#include "base/version.h"
#include "format/export.h"
#include "format/words.h"

/* One device, or the node itself. */
struct prom_series {
    const struct node_now *n;
    const struct device_now *d; /* NULL: the node itself */
    bool fresh;                 /* its values are current */
};

struct custom_family {
    char name[128];
    uint8_t unit, kind;
};

/* A name that a node declared, and the family that its values belong to: "a.b" and "a_b" share one. */
struct custom_name {
    char name[sizeof(((struct custom_fact *)0)->name)];
    size_t family;
};

enum {
    F_NODE_INFO,
    F_GPU_INFO,
    F_NODE_UP,
    F_GPU_STATE,
    F_GPU_PROCESSES,
    F_GPU_HOLDER,
    F_METRIC,
    F_THROTTLE = F_METRIC + M_COUNT,
    F_COUNT
};

struct prom {
    bool om;
    int64_t at_ms;
    size_t family, n_headed; /* the family that is being written; how many of those before and it have their HELP */
    struct custom_family *custom;
    struct custom_name *names;
    size_t n_custom, cap_custom, n_names, cap_names;
    bool declares[CUSTOM_MAX]; /* by position in the node's list: a metric of the family that is being written */
    struct buf labels;         /* of the node: node="dgx1" */
    size_t n_reasons;
    char reasons[64][256]; /* of throttling, those that have a name */
};

#define HUB_EVENT_MS 60000
#define VALUE_MS     120000
#define LABELS_MAX   65536

/* ---- text ---- */

void prom_escape(struct buf *out, const char *s)
{
    AUTO_BUF clean = BUF_INIT(plain_room(str_of(s)));

    if (!plain_is(str_of(s))) {
        plain_text(&clean, str_of(s));
        s = clean.p ? clean.p : "";
    }
    for (size_t n; *s; s += n) {
        n = strcspn(s, "\\\"\n");
        buf_add(out, s, n);
        if (!s[n])
            return;
        buf_adds(out, s[n] == '\n' ? "\\n" : s[n] == '"' ? "\\\"" : "\\\\");
        n++;
    }
}

void prom_label(struct buf *out, const char *name, const char *value)
{
    if (!value || !value[0])
        return; /* the same as an empty one */
    if (out->p[out->len - 1] != '{')
        buf_addc(out, ',');
    buf_adds(out, name);
    buf_adds(out, "=\"");
    prom_escape(out, value);
    buf_addc(out, '"');
}

void prom_node_labels(struct buf *out, const char *key, const struct node_fact *f)
{
    prom_label(out, "id", key);
    prom_label(out, "agent", f->agent);
    prom_label(out, "driver", f->driver);
    prom_label(out, "cuda", f->cuda);
    prom_label(out, "os", f->os);
    prom_label(out, "kernel", f->kernel);
    prom_label(out, "arch", f->arch);
}

void prom_device_labels(struct buf *out, const struct device_fact *f)
{
    prom_label(out, "name", f->name);
    prom_label(out, "vendor", vendor_words[f->vendor < VENDOR_COUNT ? f->vendor : 0]);
    prom_label(out, "pci", f->pci);
    prom_label(out, "serial", f->serial);
    prom_label(out, "parent", f->parent);
}

void openmetrics_family(struct buf *out, const char *name, const char *add, const char *type, const char *unit,
                        const char *help)
{
    struct str base = str_of(name);

    if (str_ends(base, add))
        base.len -= strlen(add);
    buf_addf(out, "# TYPE %.*s %s\n", STR_ARG(base), type);
    if (unit[0] && str_ends(base, unit) && base.len > strlen(unit) && base.p[base.len - strlen(unit) - 1] == '_')
        buf_addf(out, "# UNIT %.*s %s\n", STR_ARG(base), unit);
    buf_addf(out, "# HELP %.*s %s\n", STR_ARG(base), help);
}

/* HELP, TYPE and UNIT. name is as sampled: with _total for a counter, with _info for an info. */
static void family(const struct prom *p, struct buf *out, const char *name, const char *type, const char *unit,
                   const char *help)
{
    bool info = strcmp(type, "info") == 0;

    if (p->om)
        openmetrics_family(out, name, info ? "_info" : strcmp(type, "counter") == 0 ? "_total" : "", type, unit, help);
    else
        buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, info ? "gauge" : type);
}

/* ---- what there is ---- */

bool prom_is_duplicate(const struct node_now *const *nodes, size_t n, size_t i)
{
    return (i > 0 && strcmp(nodes[i - 1]->name, nodes[i]->name) == 0) ||
           (i + 1 < n && strcmp(nodes[i + 1]->name, nodes[i]->name) == 0);
}

/* A scrape with two lines of one name and label set fails: of two nodes with one name each has its key, too, and of two
 * devices with one uuid the first is written. */
static void node_label(struct prom *p, const struct node_now *n, bool twin)
{
    char both[NAME_MAX_LEN + NODE_KEY_MAX + 2];

    snprintf(both, sizeof(both), "%s#%s", n->name, n->key);
    buf_reset(&p->labels);
    buf_adds(&p->labels, "{node=\"");
    prom_escape(&p->labels, twin ? both : n->name[0] ? n->name : n->key);
    buf_addc(&p->labels, '"');
}

/* What render takes for news: live has its own rule, a reader of JSON has not. */
static int64_t keep_ms(const struct node_now *n, int64_t least_ms)
{
    return MAX(least_ms, 3 * (int64_t)n->fact.tick_ms);
}

static bool is_heard(const struct node_now *n, int64_t now_ms)
{
    if (!n->at_ms || n->state == NODE_DOWN)
        return false;
    return n->state != NODE_MAINTENANCE || now_ms - n->at_ms < keep_ms(n, HUB_EVENT_MS);
}

static bool is_in_sight(const struct device_now *d)
{
    return d->state <= DEV_IN_SIGHT;
}

/* Current values come from its GPUs; of a node without GPUs, from its agent. */
static bool is_up(const struct node_now *n, int64_t now_ms)
{
    return is_heard(n, now_ms) && !node_is_silent(n) &&
           (!n->n_devices || ANY(n->n_devices, i, is_in_sight(&n->devices[i])));
}

static bool is_repeated(const struct node_now *n, size_t k)
{
    return ANY(k, i, strcmp(n->devices[i].fact.uuid, n->devices[k].fact.uuid) == 0);
}

/* ---- lines ---- */

static void write_head(const struct prom *p, struct buf *out);

/* "name{labels", to be closed by the caller, perhaps after one label more. The first of a family has its head first. */
static void open_line(struct prom *p, struct buf *out, const char *name, const struct prom_series *s)
{
    if (p->n_headed <= p->family) {
        p->n_headed = p->family + 1;
        write_head(p, out);
    }
    buf_adds(out, name);
    buf_addstr(out, buf_str(&p->labels));
    if (!s->d)
        return;
    buf_adds(out, ",gpu=\"");
    buf_addi(out, s->d->fact.index);
    buf_addc(out, '"');
    prom_label(out, "uuid", s->d->fact.uuid);
}

static void line(struct prom *p, struct buf *out, const char *name, const struct prom_series *s, int64_t v, int64_t per)
{
    open_line(p, out, name, s);
    buf_add(out, "} ", 2);
    buf_fixed(out, v, per);
    buf_addc(out, '\n');
}

/* One label more, and the value 1. */
static void label_line(struct prom *p, struct buf *out, const char *name, const struct prom_series *s,
                       const char *label, const char *value)
{
    open_line(p, out, name, s);
    prom_label(out, label, value);
    buf_adds(out, "} 1\n");
}

/* ---- families ---- */

static void put_node(struct prom *p, struct buf *out, const struct prom_series *s)
{
    if (p->family == F_NODE_INFO) {
        open_line(p, out, "muster_node_info", s);
        prom_node_labels(out, s->n->key, &s->n->fact);
        buf_adds(out, "} 1\n");
    } else if (p->family == F_NODE_UP) {
        line(p, out, "muster_node_up", s, is_up(s->n, p->at_ms), 1);
    }
}

static void put_holders(struct prom *p, struct buf *out, const struct prom_series *s)
{
    const char *name[DEVICE_USERS];
    size_t n = device_user_names(s->d, name);

    for (size_t i = 0; i < n; i++)
        label_line(p, out, "muster_gpu_holder", s, "user", name[i]);
}

static void put_reasons(struct prom *p, struct buf *out, const struct prom_series *s)
{
    uint64_t mask = sample_has(&s->d->now, M_throttle) ? (uint64_t)s->d->now.v[M_throttle] : 0;

    for (size_t k = 0; mask && k < p->n_reasons; k++)
        if (mask >> k & 1)
            label_line(p, out, "muster_gpu_throttle_reason", s, "reason", p->reasons[k]);
}

static void put_device(struct prom *p, struct buf *out, const struct prom_series *s)
{
    if (p->family == F_GPU_INFO) {
        open_line(p, out, "muster_gpu_info", s);
        prom_device_labels(out, &s->d->fact);
        buf_adds(out, "} 1\n");
    } else if (p->family == F_GPU_STATE) {
        label_line(p, out, "muster_gpu_state", s, "state", dev_states[s->d->state].word);
    } else if (p->family == F_GPU_PROCESSES && s->fresh) {
        line(p, out, "muster_gpu_processes", s, (int64_t)s->d->n_procs, 1);
    } else if (p->family == F_GPU_HOLDER && s->fresh) {
        put_holders(p, out, s);
    } else if (p->family == F_THROTTLE && s->fresh) {
        put_reasons(p, out, s);
    }
}

static void put_metric(struct prom *p, struct buf *out, const struct prom_series *s)
{
    unsigned m = (unsigned)(p->family - F_METRIC);
    const struct sample *now = s->d ? &s->d->now : &s->n->now;
    const int64_t *at_ms = s->d ? s->d->v_at_ms : s->n->v_at_ms;

    if (s->fresh && sample_has(now, m) && p->at_ms - at_ms[m] <= keep_ms(s->n, VALUE_MS))
        line(p, out, metrics[m].prom, s, now->v[m], metrics[m].per);
}

/* ---- metrics declared at run time ---- */

#define CUSTOM_PREFIX   "muster_custom_"
#define CUSTOM_FAMILIES 1024

/* muster_custom_<name>[_<unit>], of what a name may have; a counter's samples add _total. */
void prom_custom_name(const struct custom_fact *c, char out[128])
{
    static const char *const reserved[] = {"_total", "_count", "_sum", "_bucket", "_created", "_info"};
    AUTO_BUF b = BUF_INIT(256);
    struct str base;

    buf_adds(&b, CUSTOM_PREFIX);
    for (const char *s = c->name; *s; s++) {
        char ch = *s >= 'A' && *s <= 'Z' ? (char)(*s + 32) : *s;
        bool fine = (ch >= 'a' && ch <= 'z') || (ch >= '0' && ch <= '9');
        if (fine || b.p[b.len - 1] != '_')
            buf_addc(&b, fine ? ch : '_');
    }
    while (b.len > strlen(CUSTOM_PREFIX) && b.p[b.len - 1] == '_')
        buf_cut(&b, b.len - 1);
    for (size_t i = 0; i < ARRAY_LEN(reserved); i++) /* these mean something at the end of a name */
        if (str_ends(buf_str(&b), reserved[i]) && b.len - strlen(reserved[i]) >= strlen(CUSTOM_PREFIX))
            buf_cut(&b, b.len - strlen(reserved[i]));
    if (c->unit != UNIT_NONE && c->unit != UNIT_MASK && c->unit < UNIT_COUNT) {
        base = buf_str(&b);
        if (!str_ends(base, unit_names[c->unit]))
            buf_addf(&b, "_%s", unit_names[c->unit]);
    }
    mem_copy_str(out, 128, b.p);
}

/* Nodes that disagree on a name's unit or kind: the first one has it. */
static void add_custom(struct prom *p, const struct custom_fact *c)
{
    char name[128];

    if (c->per <= 0 || p->n_names == CUSTOM_FAMILIES || ANY(p->n_names, i, strcmp(p->names[i].name, c->name) == 0))
        return;
    prom_custom_name(c, name);
    size_t at = FIRST(p->n_custom, i, strcmp(p->custom[i].name, name) == 0);
    if (at == p->n_custom) {
        VEC_ADD(p->custom, p->n_custom, p->cap_custom, (struct custom_family){.unit = c->unit, .kind = c->kind});
        mem_copy_str(p->custom[at].name, sizeof(p->custom[at].name), name);
    }
    VEC_ADD(p->names, p->n_names, p->cap_names, (struct custom_name){.family = at});
    mem_copy_str(p->names[p->n_names - 1].name, sizeof(p->names->name), c->name);
}

/* Which of the node's metrics the family has. False: none. */
static bool find_custom(struct prom *p, const struct node_now *n)
{
    size_t at = p->family - F_COUNT;
    const struct custom_family *f = &p->custom[at];
    bool any = false;

    memset(p->declares, 0, sizeof(p->declares));
    for (size_t i = 0; i < p->n_names; i++)
        for (size_t k = 0; p->names[i].family == at && k < MIN(n->fact.n_custom, (size_t)CUSTOM_MAX); k++) {
            const struct custom_fact *c = &n->fact.custom[k];
            if (c->unit == f->unit && c->kind == f->kind && c->per > 0 && strcmp(c->name, p->names[i].name) == 0)
                any = p->declares[k] = true;
        }
    return any;
}

static const char *custom_total(const struct custom_family *f, char out[160])
{
    snprintf(out, 160, "%s%s", f->name, f->kind == KIND_COUNTER ? "_total" : "");
    return out;
}

/* Of two names that share a family the first is written. */
static void put_custom(struct prom *p, struct buf *out, const struct prom_series *s)
{
    const struct custom_now *v = s->d ? s->d->custom : s->n->custom;
    size_t count = s->d ? s->d->n_custom : s->n->n_custom;
    char full[160];

    for (size_t k = 0; k < count && s->fresh; k++) {
        size_t at = (size_t)(v[k].metric - METRIC_CUSTOM);
        if (at >= MIN(s->n->fact.n_custom, (size_t)CUSTOM_MAX) || !p->declares[at])
            continue;
        line(p, out, custom_total(&p->custom[p->family - F_COUNT], full), s, v[k].v, s->n->fact.custom[at].per);
        return;
    }
}

/* ---- from start to end ---- */

struct prom *prom_new(bool openmetrics, int64_t at_ms)
{
    struct prom *p = NEW(struct prom, .om = openmetrics, .at_ms = at_ms, .labels = BUF_INIT(LABELS_MAX));

    while (p->n_reasons < 64 && !str_starts(throttle_text((uint64_t)1 << p->n_reasons, p->reasons[p->n_reasons]), "0x"))
        p->n_reasons++;
    return p;
}

void prom_free(struct prom *p)
{
    if (!p)
        return;
    buf_fini(&p->labels);
    FREE_ALL(p->custom, p->names, p);
}

static void write_head(const struct prom *p, struct buf *out)
{
    static const struct {
        const char *name, *type, *help;
    } fixed[] = {[F_NODE_INFO] = {"muster_node_info", "info", "what a node is"},
                 [F_GPU_INFO] = {"muster_gpu_info", "info", "what a device is"},
                 [F_NODE_UP] = {"muster_node_up", "gauge", "1 while current values come from the node's devices"},
                 [F_GPU_STATE] = {"muster_gpu_state", "gauge",
                                  "1 for the state the device is in; only that state has a line"},
                 [F_GPU_PROCESSES] = {"muster_gpu_processes", "gauge", "processes on the device"},
                 [F_GPU_HOLDER] = {"muster_gpu_holder", "gauge", "1 for each user with a process on the device"}};
    char full[160];

    if (p->family < F_METRIC) {
        family(p, out, fixed[p->family].name, fixed[p->family].type, "", fixed[p->family].help);
    } else if (p->family < F_THROTTLE) {
        const struct metric_info *m = &metrics[p->family - F_METRIC];
        family(p, out, m->prom, m->kind == KIND_COUNTER ? "counter" : "gauge", unit_names[m->unit], m->help);
    } else if (p->family == F_THROTTLE) {
        family(p, out, "muster_gpu_throttle_reason", "gauge", "",
               "1 for each reason that holds the clocks down; others have no line");
    } else {
        const struct custom_family *f = &p->custom[p->family - F_COUNT];
        family(p, out, custom_total(f, full), f->kind == KIND_COUNTER ? "counter" : "gauge",
               unit_names[f->unit < UNIT_COUNT ? f->unit : 0], "declared at run time");
    }
}

void prom_start(const struct prom *p, struct buf *out)
{
    family(p, out, "muster_build_info", "info", "", "version and commit of this hub, format of its store");
    buf_addf(out, "muster_build_info{version=\"%s\",commit=\"%s\",format=\"%d\"} 1\n", MUSTER_VERSION, muster_commit,
             MUSTER_FORMAT);
}

static void put_series(struct prom *p, struct buf *out, const struct prom_series *s)
{
    if (p->family >= F_COUNT)
        put_custom(p, out, s);
    else if (p->family >= F_METRIC && p->family < F_THROTTLE)
        put_metric(p, out, s);
    else if (s->d)
        put_device(p, out, s);
    else
        put_node(p, out, s);
}

void prom_add_node(struct prom *p, struct buf *out, const struct node_now *n, bool twin)
{
    bool node_only = p->family == F_NODE_INFO || p->family == F_NODE_UP;

    for (size_t k = 0; p->family == F_NODE_INFO && k < n->fact.n_custom; k++)
        add_custom(p, &n->fact.custom[k]);
    if (p->family >= F_COUNT && !find_custom(p, n))
        return;
    node_label(p, n, twin);
    put_series(p, out, &(struct prom_series){.n = n, .fresh = is_heard(n, p->at_ms)});
    for (size_t k = 0; k < n->n_devices && !node_only; k++)
        if (!is_repeated(n, k))
            put_series(p, out, &(struct prom_series){n, &n->devices[k], is_in_sight(&n->devices[k])});
}

bool prom_next_family(struct prom *p, struct buf *out)
{
    if (++p->family < F_COUNT + p->n_custom)
        return true;
    if (p->om)
        buf_adds(out, "# EOF\n");
    return false;
}

void render_prom(struct buf *out, const struct view *v, bool openmetrics)
{
    struct prom *p = prom_new(openmetrics, v->at_ms);

    prom_start(p, out);
    do {
        for (size_t i = 0; i < v->n; i++)
            prom_add_node(p, out, v->nodes[i], prom_is_duplicate(v->nodes, v->n, i));
    } while (prom_next_family(p, out));
    prom_free(p);
}
