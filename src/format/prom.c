/*
 * prom.c: Prometheus text 0.0.4 and OpenMetrics 1.0, from one walk. A value is written when it is known and its device
 * is in sight: absence is how a scraper learns that something is gone. Names and labels are the same in both formats.
 */
#include "format/render.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/order.h"
#include "format/export.h"
#include "format/words.h"

/* Everything of one device (or node) that every one of its lines repeats, written once. */
struct prom_series {
    const struct node_now *n;
    const struct device_now *d; /* NULL: the node itself */
    size_t from, len;           /* its labels, in prom_draw.labels */
    bool fresh;                 /* values may be told */
};

struct custom_family {
    char name[128];
    uint8_t unit, kind;
    uint64_t told; /* the series that has its line already */
    struct buf lines;
};

enum {
    F_NODE_INFO,
    F_GPU_INFO,
    F_NODE_UP,
    F_GPU_STATE,
    F_GPU_PROCESSES,
    F_METRIC,
    F_THROTTLE = F_METRIC + M_COUNT,
    F_COUNT
};

/* A scrape wants all of a family together, nodes come one by one: each family's lines gather apart. */
struct prom_draw {
    bool om;
    int64_t at_ms;
    struct buf lines[F_COUNT];
    struct custom_family *custom;
    size_t n_custom, cap_custom;
    size_t given;      /* families that are on the page */
    uint64_t n_series; /* counted over all nodes */
    struct buf labels; /* of the node at hand: node="dgx1",gpu="0",uuid="GPU-…" */
    struct prom_series *s;
    size_t n, cap;
    size_t n_reasons;
    char reasons[64][256]; /* of throttling, those that have a name */
};

#define NEWS_MS   60000
#define VALUE_MS  120000
#define LINES_MAX ((size_t)1 << 30)

/* ---- text ---- */

void prom_escape(struct buf *out, const char *s)
{
    for (; *s; s++)
        if (*s == '\\' || *s == '"')
            buf_add(out, (char[]){'\\', *s}, 2);
        else if (*s == '\n')
            buf_adds(out, "\\n");
        else
            buf_addc(out, *s);
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
static void family(const struct prom_draw *p, struct buf *out, const char *name, const char *type, const char *unit,
                   const char *help)
{
    bool info = strcmp(type, "info") == 0;

    if (p->om)
        openmetrics_family(out, name, info ? "_info" : strcmp(type, "counter") == 0 ? "_total" : "", type, unit, help);
    else
        buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, info ? "gauge" : type);
}

/* "name{labels", to be closed by the caller, perhaps after one label more. */
static void open_line(const struct prom_draw *p, struct buf *out, const char *name, const struct prom_series *s)
{
    buf_adds(out, name);
    buf_addc(out, '{');
    buf_add(out, p->labels.p + s->from, s->len);
}

static void line(const struct prom_draw *p, struct buf *out, const char *name, const struct prom_series *s, int64_t v,
                 int64_t per)
{
    open_line(p, out, name, s);
    buf_add(out, "} ", 2);
    buf_fixed(out, v, per);
    buf_addc(out, '\n');
}

/* ---- what there is ---- */

/* A scrape with two lines of one name and label set fails: of two nodes with one name each says its key too, and of two
 * devices with one uuid the first is told. */
static void node_label(struct prom_draw *p, const struct node_now *n, bool twin)
{
    char both[NAME_MAX_LEN + NODE_KEY_MAX + 2];

    snprintf(both, sizeof(both), "%s#%s", n->name, n->key);
    buf_adds(&p->labels, "node=\"");
    prom_escape(&p->labels, twin ? both : n->name[0] ? n->name : n->key);
    buf_addc(&p->labels, '"');
}

bool prom_twin(const struct node_now *const *nodes, size_t n, size_t i)
{
    return (i > 0 && strcmp(nodes[i - 1]->name, nodes[i]->name) == 0) ||
           (i + 1 < n && strcmp(nodes[i + 1]->name, nodes[i]->name) == 0);
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
    return n->state != NODE_MAINTENANCE || now_ms - n->at_ms < keep_ms(n, NEWS_MS);
}

static struct prom_series *add_series(struct prom_draw *p, const struct node_now *n, const struct device_now *d)
{
    VEC_ADD(p->s, p->n, p->cap, (struct prom_series){.n = n, .d = d});
    return &p->s[p->n - 1];
}

static void list_series(struct prom_draw *p, const struct node_now *n, bool twin)
{
    buf_cut(&p->labels, 0);
    p->n = 0;
    struct prom_series *s = add_series(p, n, NULL);
    node_label(p, n, twin);
    size_t node_len = p->labels.len;
    s->len = node_len;
    s->fresh = is_heard(n, p->at_ms);
    for (size_t k = 0; k < n->n_devices; k++) {
        const struct device_now *d = &n->devices[k];
        char index[16];
        if (ANY(k, i, strcmp(n->devices[i].fact.uuid, d->fact.uuid) == 0))
            continue;
        s = add_series(p, n, d);
        s->from = p->labels.len;
        buf_room(&p->labels, node_len);
        buf_add(&p->labels, p->labels.p, node_len);
        snprintf(index, sizeof(index), "%d", (int)d->fact.index);
        prom_label(&p->labels, "gpu", index);
        prom_label(&p->labels, "uuid", d->fact.uuid);
        s->len = p->labels.len - s->from;
        s->fresh = d->state <= DEV_IN_SIGHT;
    }
}

/* ---- families ---- */

static void put_node(struct prom_draw *p, const struct prom_series *s)
{
    struct buf *out = &p->lines[F_NODE_INFO];

    open_line(p, out, "muster_node_info", s);
    prom_node_labels(out, s->n->key, &s->n->fact);
    buf_adds(out, "} 1\n");
    line(p, &p->lines[F_NODE_UP], "muster_node_up", s, s->fresh, 1);
}

static void put_device(struct prom_draw *p, const struct prom_series *s)
{
    struct buf *out = &p->lines[F_GPU_INFO];

    open_line(p, out, "muster_gpu_info", s);
    prom_device_labels(out, &s->d->fact);
    buf_adds(out, "} 1\n");
    out = &p->lines[F_GPU_STATE];
    for (int state = 0; state < DEV_STATES; state++) {
        open_line(p, out, "muster_gpu_state", s);
        buf_adds(out, ",state=\"");
        buf_adds(out, dev_states[state].word);
        buf_adds(out, (int)s->d->state == state ? "\"} 1\n" : "\"} 0\n");
    }
    if (s->fresh)
        line(p, &p->lines[F_GPU_PROCESSES], "muster_gpu_processes", s, (int64_t)s->d->n_procs, 1);
    out = &p->lines[F_THROTTLE];
    for (size_t k = 0; k < p->n_reasons && s->fresh && sample_has(&s->d->now, M_throttle); k++) {
        open_line(p, out, "muster_gpu_throttle_reason", s);
        buf_adds(out, ",reason=\"");
        prom_escape(out, p->reasons[k]);
        buf_adds(out, (uint64_t)s->d->now.v[M_throttle] >> k & 1 ? "\"} 1\n" : "\"} 0\n");
    }
}

static void put_metrics(struct prom_draw *p, const struct prom_series *s)
{
    const struct sample *now = s->d ? &s->d->now : &s->n->now;
    const int64_t *at_ms = s->d ? s->d->v_at_ms : s->n->v_at_ms;

    for (unsigned m = 0; m < M_COUNT && s->fresh; m++)
        if (sample_has(now, m) && p->at_ms - at_ms[m] <= keep_ms(s->n, VALUE_MS))
            line(p, &p->lines[F_METRIC + m], metrics[m].prom, s, now->v[m], metrics[m].per);
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

/* The family a declared metric belongs to; NULL: none. Nodes that disagree on a name's unit or kind: the first one has
 * it. */
static struct custom_family *custom_family(struct prom_draw *p, const struct custom_fact *c)
{
    char name[128];
    prom_custom_name(c, name);
    size_t at = FIRST(p->n_custom, i, strcmp(p->custom[i].name, name) == 0);
    if (at == p->n_custom) {
        if (c->per <= 0 || at == CUSTOM_FAMILIES)
            return NULL;
        VEC_ADD(p->custom, p->n_custom, p->cap_custom,
                (struct custom_family){.unit = c->unit, .kind = c->kind, .lines = BUF_INIT(LINES_MAX)});
        mem_copy_str(p->custom[at].name, sizeof(p->custom[at].name), name);
    }
    struct custom_family *f = &p->custom[at];
    return f->unit == c->unit && f->kind == c->kind ? f : NULL;
}

static const char *custom_total(const struct custom_family *f, char out[160])
{
    snprintf(out, 160, "%s%s", f->name, f->kind == KIND_COUNTER ? "_total" : "");
    return out;
}

static void put_custom(struct prom_draw *p, const struct prom_series *s)
{
    const struct custom_now *v = s->d ? s->d->custom : s->n->custom;
    size_t count = s->d ? s->d->n_custom : s->n->n_custom;
    char full[160];

    p->n_series++;
    for (size_t k = 0; k < count && s->fresh; k++) {
        size_t at = (size_t)(v[k].metric - METRIC_CUSTOM);
        struct custom_family *f = at < s->n->fact.n_custom ? custom_family(p, &s->n->fact.custom[at]) : NULL;
        if (!f || f->told == p->n_series) /* two names that look alike once made fit: the first is told */
            continue;
        f->told = p->n_series;
        line(p, &f->lines, custom_total(f, full), s, v[k].v, s->n->fact.custom[at].per);
    }
}

/* ---- from start to end ---- */

struct prom_draw *prom_draw_new(bool openmetrics, int64_t at_ms)
{
    struct prom_draw *p = NEW(struct prom_draw, .om = openmetrics, .at_ms = at_ms, .labels = BUF_INIT(16u << 20));

    for (size_t i = 0; i < F_COUNT; i++)
        p->lines[i] = BUF_INIT(LINES_MAX);
    while (p->n_reasons < 64 && !str_starts(throttle_text((uint64_t)1 << p->n_reasons, p->reasons[p->n_reasons]), "0x"))
        p->n_reasons++;
    return p;
}

void prom_draw_free(struct prom_draw *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < F_COUNT; i++)
        buf_fini(&p->lines[i]);
    for (size_t i = 0; i < p->n_custom; i++)
        buf_fini(&p->custom[i].lines);
    buf_fini(&p->labels);
    FREE_ALL(p->custom, p->s, p);
}

void prom_draw_node(struct prom_draw *p, const struct node_now *n, bool twin)
{
    list_series(p, n, twin);
    for (size_t k = 0; k < n->fact.n_custom; k++)
        custom_family(p, &n->fact.custom[k]);
    for (size_t i = 0; i < p->n; i++) {
        if (p->s[i].d)
            put_device(p, &p->s[i]);
        else
            put_node(p, &p->s[i]);
        put_metrics(p, &p->s[i]);
        put_custom(p, &p->s[i]);
    }
}

static void give_lines(struct buf *out, struct buf *lines)
{
    buf_addstr(out, buf_str(lines));
    if (lines->err && !out->err)
        out->err = lines->err;
    buf_fini(lines);
}

static void give_family(struct prom_draw *p, size_t i, struct buf *out)
{
    static const struct {
        const char *name, *type, *help;
    } fixed[] = {[F_NODE_INFO] = {"muster_node_info", "info", "what a node is"},
                 [F_GPU_INFO] = {"muster_gpu_info", "info", "what a device is"},
                 [F_NODE_UP] = {"muster_node_up", "gauge", "1 while there is news of the node"},
                 [F_GPU_STATE] = {"muster_gpu_state", "gauge", "1 for the state the device is in"},
                 [F_GPU_PROCESSES] = {"muster_gpu_processes", "gauge", "processes on the device"}};

    if (i == 0) {
        family(p, out, "muster_build_info", "info", "", "version of this hub");
        buf_adds(out, "muster_build_info{version=\"" MUSTER_VERSION "\"} 1\n");
    }
    if (i < F_METRIC) {
        family(p, out, fixed[i].name, fixed[i].type, "", fixed[i].help);
    } else if (i == F_THROTTLE) {
        family(p, out, "muster_gpu_throttle_reason", "gauge", "", "1 while this holds the clocks down");
    } else if (i < F_THROTTLE && p->lines[i].len) {
        const struct metric_info *m = &metrics[i - F_METRIC];
        family(p, out, m->prom, m->kind == KIND_COUNTER ? "counter" : "gauge", unit_names[m->unit], m->help);
    }
    give_lines(out, &p->lines[i]);
}

static void give_custom(struct prom_draw *p, struct custom_family *f, struct buf *out)
{
    char full[160];

    if (f->lines.len)
        family(p, out, custom_total(f, full), f->kind == KIND_COUNTER ? "counter" : "gauge",
               unit_names[f->unit < UNIT_COUNT ? f->unit : 0], "declared at run time");
    give_lines(out, &f->lines);
}

bool prom_draw_give(struct prom_draw *p, struct buf *out, size_t bytes)
{
    size_t from = out->len;

    for (; p->given < F_COUNT + p->n_custom && out->len - from < bytes; p->given++)
        if (p->given < F_COUNT)
            give_family(p, p->given, out);
        else
            give_custom(p, &p->custom[p->given - F_COUNT], out);
    if (p->given < F_COUNT + p->n_custom)
        return false;
    if (p->om)
        buf_adds(out, "# EOF\n");
    return true;
}

void render_prom(struct buf *out, const struct view *v, bool openmetrics)
{
    struct prom_draw *p = prom_draw_new(openmetrics, v->at_ms);

    for (size_t i = 0; i < v->n; i++)
        prom_draw_node(p, v->nodes[i], prom_twin(v->nodes, v->n, i));
    prom_draw_give(p, out, SIZE_MAX);
    prom_draw_free(p);
}
