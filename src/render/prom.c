/*
 * prom.c: Prometheus text 0.0.4 and OpenMetrics 1.0, from one walk. A value is written when it is known and its device
 * is in sight: absence is how a scraper learns that something is gone. Names and labels are the same in both formats.
 */
#include "render/render.h"

#include "base/json.h"
#include "base/mem.h"
#include "render/export.h"
#include "render/words.h"

/* Everything of one device (or node) that every one of its lines repeats, written once. */
struct prom_series {
    const struct node_now *n;
    const struct device_now *d; /* NULL: the node itself */
    size_t from, len;           /* its labels, in prom.labels */
    bool fresh;                 /* values may be told */
};

struct prom {
    struct buf *out;
    const struct view *v;
    bool om;
    struct buf labels; /* node="dgx1",gpu="0",uuid="GPU-…" */
    struct prom_series *s;
    size_t n, cap;
};

#define NEWS_MS  60000
#define VALUE_MS 120000

/* ---- text ---- */

static void escape(struct buf *out, const char *s)
{
    for (; *s; s++)
        if (*s == '\\' || *s == '"')
            buf_add(out, (char[]){'\\', *s}, 2);
        else if (*s == '\n')
            buf_adds(out, "\\n");
        else
            buf_addc(out, *s);
}

static void label(struct buf *out, const char *name, const char *value)
{
    if (!value[0])
        return;         /* the same as an empty one */
    buf_addc(out, ','); /* behind node="…" */
    buf_adds(out, name);
    buf_adds(out, "=\"");
    escape(out, value);
    buf_addc(out, '"');
}

/* HELP, TYPE and UNIT. name is as sampled: with _total for a counter, with _info for an info. */
static void family(struct prom *p, const char *name, const char *type, const char *unit, const char *help)
{
    struct str base = str_of(name);

    if (!p->om) {
        buf_addf(p->out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, strcmp(type, "info") == 0 ? "gauge" : type);
        return;
    }
    if (strcmp(type, "counter") == 0 && str_ends(base, "_total"))
        base.len -= strlen("_total");
    if (strcmp(type, "info") == 0)
        base.len -= strlen("_info");
    buf_addf(p->out, "# TYPE %.*s %s\n", STR_ARG(base), type);
    if (unit[0] && str_ends(base, unit) && base.len > strlen(unit) && base.p[base.len - strlen(unit) - 1] == '_')
        buf_addf(p->out, "# UNIT %.*s %s\n", STR_ARG(base), unit);
    buf_addf(p->out, "# HELP %.*s %s\n", STR_ARG(base), help);
}

/* "name{labels", to be closed by the caller, perhaps after one label more. */
static void open_line(struct prom *p, const char *name, const struct prom_series *s)
{
    buf_adds(p->out, name);
    buf_addc(p->out, '{');
    buf_add(p->out, p->labels.p + s->from, s->len);
}

static void line(struct prom *p, const char *name, const struct prom_series *s, int64_t v, int64_t per)
{
    open_line(p, name, s);
    buf_add(p->out, "} ", 2);
    buf_fixed(p->out, v, per);
    buf_addc(p->out, '\n');
}

/* ---- what there is ---- */

/* A scrape with two lines of one name and label set fails: of two nodes with one name each says its key too, and of two
 * devices with one uuid the first is told. */
static void node_label(struct prom *p, size_t i)
{
    const struct node_now *n = p->v->nodes[i];
    char both[NAME_MAX_LEN + NODE_KEY_MAX + 2];
    bool twin = (i > 0 && strcmp(p->v->nodes[i - 1]->name, n->name) == 0) ||
                (i + 1 < p->v->n && strcmp(p->v->nodes[i + 1]->name, n->name) == 0);

    snprintf(both, sizeof(both), "%s#%s", n->name, n->key);
    buf_adds(&p->labels, "node=\"");
    escape(&p->labels, twin ? both : n->name[0] ? n->name : n->key);
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
    return n->state != NODE_MAINTENANCE || now_ms - n->at_ms < keep_ms(n, NEWS_MS);
}

static bool told_already(const struct node_now *n, size_t k)
{
    for (size_t i = 0; i < k; i++)
        if (strcmp(n->devices[i].fact.uuid, n->devices[k].fact.uuid) == 0)
            return true;
    return false;
}

static struct prom_series *add_series(struct prom *p, const struct node_now *n, const struct device_now *d)
{
    VEC_ROOM(p->s, p->n, p->cap);
    p->s[p->n] = (struct prom_series){.n = n, .d = d};
    return &p->s[p->n++];
}

static void list_series(struct prom *p)
{
    for (size_t i = 0; i < p->v->n; i++) {
        const struct node_now *n = p->v->nodes[i];
        struct prom_series *s = add_series(p, n, NULL);
        size_t node_from = p->labels.len;
        node_label(p, i);
        size_t node_len = p->labels.len - node_from;
        s->from = node_from;
        s->len = node_len;
        s->fresh = is_heard(n, p->v->at_ms);
        for (size_t k = 0; k < n->n_devices; k++) {
            const struct device_now *d = &n->devices[k];
            char index[16];
            if (told_already(n, k))
                continue;
            s = add_series(p, n, d);
            s->from = p->labels.len;
            buf_room(&p->labels, node_len);
            buf_add(&p->labels, p->labels.p + node_from, node_len);
            snprintf(index, sizeof(index), "%d", (int)d->fact.index);
            label(&p->labels, "gpu", index);
            label(&p->labels, "uuid", d->fact.uuid);
            s->len = p->labels.len - s->from;
            s->fresh = d->state <= DEV_BUSY;
        }
    }
}

/* ---- families ---- */

static void put_infos(struct prom *p)
{
    family(p, "muster_build_info", "info", "", "version of this hub");
    buf_adds(p->out, "muster_build_info{version=\"" MUSTER_VERSION "\"} 1\n");
    family(p, "muster_node_info", "info", "", "what a node is");
    for (size_t i = 0; i < p->n; i++) {
        const struct prom_series *s = &p->s[i];
        if (s->d)
            continue;
        open_line(p, "muster_node_info", s);
        label(p->out, "id", s->n->key);
        label(p->out, "agent", s->n->fact.agent);
        label(p->out, "driver", s->n->fact.driver);
        label(p->out, "cuda", s->n->fact.cuda);
        label(p->out, "os", s->n->fact.os);
        label(p->out, "kernel", s->n->fact.kernel);
        label(p->out, "arch", s->n->fact.arch);
        buf_adds(p->out, "} 1\n");
    }
    family(p, "muster_gpu_info", "info", "", "what a device is");
    for (size_t i = 0; i < p->n; i++) {
        const struct prom_series *s = &p->s[i];
        if (!s->d)
            continue;
        open_line(p, "muster_gpu_info", s);
        label(p->out, "name", s->d->fact.name);
        label(p->out, "vendor", vendor_words[s->d->fact.vendor < VENDOR_COUNT ? s->d->fact.vendor : 0]);
        label(p->out, "pci", s->d->fact.pci);
        label(p->out, "serial", s->d->fact.serial);
        label(p->out, "parent", s->d->fact.parent);
        buf_adds(p->out, "} 1\n");
    }
}

static void put_states(struct prom *p)
{
    family(p, "muster_node_up", "gauge", "", "1 while there is news of the node");
    for (size_t i = 0; i < p->n; i++)
        if (!p->s[i].d)
            line(p, "muster_node_up", &p->s[i], p->s[i].fresh, 1);
    family(p, "muster_gpu_state", "gauge", "", "1 for the state the device is in");
    for (size_t i = 0; i < p->n; i++)
        for (int state = 0; p->s[i].d && state < DEV_STATES; state++) {
            open_line(p, "muster_gpu_state", &p->s[i]);
            buf_adds(p->out, ",state=\"");
            buf_adds(p->out, dev_states[state].word);
            buf_adds(p->out, (int)p->s[i].d->state == state ? "\"} 1\n" : "\"} 0\n");
        }
    family(p, "muster_gpu_processes", "gauge", "", "processes on the device");
    for (size_t i = 0; i < p->n; i++)
        if (p->s[i].d && p->s[i].fresh)
            line(p, "muster_gpu_processes", &p->s[i], (int64_t)p->s[i].d->n_procs, 1);
}

static void put_metric(struct prom *p, enum metric m)
{
    const struct metric_info *mi = &metrics[m];
    bool any = false;

    for (size_t i = 0; i < p->n; i++) {
        const struct prom_series *s = &p->s[i];
        const struct sample *now = s->d ? &s->d->now : &s->n->now;
        const int64_t *at_ms = s->d ? s->d->v_at_ms : s->n->v_at_ms;
        if (!s->fresh || !sample_has(now, m) || p->v->at_ms - at_ms[m] > keep_ms(s->n, VALUE_MS))
            continue;
        if (!any)
            family(p, mi->prom, mi->kind == KIND_COUNTER ? "counter" : "gauge", unit_names[mi->unit], mi->help);
        any = true;
        line(p, mi->prom, s, now->v[m], mi->per);
    }
}

static void put_throttle(struct prom *p)
{
    char words[64][256];
    size_t n = 0;

    while (n < 64 && !str_starts(throttle_text((uint64_t)1 << n, words[n]), "0x"))
        n++; /* the reasons that have a name */
    family(p, "muster_gpu_throttle_reason", "gauge", "", "1 while this holds the clocks down");
    for (size_t i = 0; i < p->n; i++) {
        const struct prom_series *s = &p->s[i];
        if (!s->d || !s->fresh || !sample_has(&s->d->now, M_throttle))
            continue;
        for (size_t k = 0; k < n; k++) {
            open_line(p, "muster_gpu_throttle_reason", s);
            buf_adds(p->out, ",reason=\"");
            escape(p->out, words[k]);
            buf_adds(p->out, (uint64_t)s->d->now.v[M_throttle] >> k & 1 ? "\"} 1\n" : "\"} 0\n");
        }
    }
}

/* ---- metrics declared at run time ---- */

#define CUSTOM_PREFIX   "muster_custom_"
#define CUSTOM_FAMILIES 1024

struct custom_family {
    char name[128];
    uint8_t unit, kind;
};

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

static bool family_is(const struct custom_family *f, const struct custom_fact *c)
{
    char name[128];

    prom_custom_name(c, name);
    return f->unit == c->unit && f->kind == c->kind && strcmp(f->name, name) == 0;
}

/* The families there are, in the order met. Nodes that disagree on a name's unit or kind: the first one has it. */
static size_t list_custom(const struct prom *p, struct custom_family *ret)
{
    size_t n = 0;

    for (size_t i = 0; i < p->v->n; i++)
        for (size_t k = 0; k < p->v->nodes[i]->fact.n_custom && n < CUSTOM_FAMILIES; k++) {
            const struct custom_fact *c = &p->v->nodes[i]->fact.custom[k];
            size_t at = 0;
            prom_custom_name(c, ret[n].name);
            while (strcmp(ret[at].name, ret[n].name) != 0)
                at++;
            if (at < n || c->per <= 0)
                continue;
            ret[n].unit = c->unit;
            ret[n++].kind = c->kind;
        }
    return n;
}

static void put_custom(struct prom *p)
{
    AUTO_FREE struct custom_family *fam = NULL;
    bool none = true;

    for (size_t i = 0; i < p->v->n && none; i++)
        none = p->v->nodes[i]->fact.n_custom == 0;
    if (none)
        return;
    fam = mem_zero(CUSTOM_FAMILIES + 1, sizeof(*fam));
    size_t n = list_custom(p, fam);
    for (size_t f = 0; f < n; f++) {
        bool any = false;
        char full[160];
        snprintf(full, sizeof(full), "%s%s", fam[f].name, fam[f].kind == KIND_COUNTER ? "_total" : "");
        for (size_t i = 0; i < p->n; i++) {
            const struct prom_series *s = &p->s[i];
            const struct custom_now *v = s->d ? s->d->custom : s->n->custom;
            size_t count = s->d ? s->d->n_custom : s->n->n_custom;
            for (size_t k = 0; k < count && s->fresh; k++) {
                size_t at = (size_t)(v[k].metric - METRIC_CUSTOM);
                if (at >= s->n->fact.n_custom || !family_is(&fam[f], &s->n->fact.custom[at]))
                    continue;
                if (!any)
                    family(p, full, fam[f].kind == KIND_COUNTER ? "counter" : "gauge",
                           unit_names[fam[f].unit < UNIT_COUNT ? fam[f].unit : 0], "declared at run time");
                any = true;
                line(p, full, s, v[k].v, s->n->fact.custom[at].per);
                break; /* two names that look alike once made fit: the first is told */
            }
        }
    }
}

void render_prom(struct buf *out, const struct view *v, bool openmetrics)
{
    struct prom p = {.out = out, .v = v, .om = openmetrics, .labels = BUF_INIT((size_t)1 << 30)};

    list_series(&p);
    put_infos(&p);
    put_states(&p);
    for (int m = 0; m < M_COUNT && out->err == 0; m++)
        put_metric(&p, (enum metric)m);
    put_throttle(&p);
    put_custom(&p);
    if (openmetrics)
        buf_adds(out, "# EOF\n");
    buf_fini(&p.labels);
    free(p.s);
}
