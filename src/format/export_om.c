/* export_om.c: OpenMetrics lines: samples, and info metrics that say which node, device and metric they are of. */
#include "format/export_read.h"

#include <errno.h>

#include "base/mem.h"
#include "base/order.h"
#include "format/words.h"

struct label {
    struct str name, v;
};

static const char *label_of(const struct label *v, size_t n, const char *name, char *out, size_t size)
{
    out[0] = 0;
    for (size_t i = 0; i < n; i++)
        if (str_eq(v[i].name, name) && v[i].v.len < size && str_utf8_ok(v[i].v)) {
            memcpy(out, v[i].v.p, v[i].v.len);
            out[v[i].v.len] = 0;
        }
    return out;
}

static int labels(struct cursor *c, struct label *v, size_t *n)
{
    struct buf *to = &c->r->scratch;

    *n = 0;
    while (peek(c) != '}') {
        if (*n == LABELS_MAX)
            return export_fail(c, c->at, "too many labels");
        if (*n && peek(c) != ',')
            return export_fail(c, c->at, "expected , or }");
        c->at += *n > 0;
        size_t from = c->at;
        while (c->at < c->all.len && peek(c) != '=')
            c->at++;
        v[*n].name = str_n(c->all.p + from, c->at - from);
        if (c->all.len - c->at < 2 || c->all.p[c->at + 1] != '"')
            return export_fail(c, c->at, "expected =\" behind a label's name");
        c->at += 2;
        from = to->len;
        for (; peek(c) != '"'; c->at++) {
            if (c->at >= c->all.len)
                return export_fail(c, c->at, "a quote is missing");
            if (peek(c) == '\\' && c->at + 1 < c->all.len)
                c->at++;
            buf_addc(to, peek(c));
        }
        c->at++;
        v[(*n)++].v = str_n(to->p + from, to->len - from);
    }
    c->at++;
    return 0;
}

static const char *om_key(const struct export_reader *r, const char *name)
{
    for (size_t i = r->n_nodes; i-- > 0;)
        if (strcmp(r->nodes[i].name, name) == 0)
            return r->nodes[i].key;
    return NULL;
}

static int om_node(struct cursor *c, const struct label *v, size_t n, struct export_record *ret)
{
    struct export_reader *r = c->r;
    struct node_fact *f = &r->fact;

    *f = (struct node_fact){0};
    label_of(v, n, "node", r->name, sizeof(r->name));
    label_of(v, n, "id", r->node, sizeof(r->node));
    for (const struct record_field *k = node_facts.fields, *end = k + node_facts.n; k < end; k++)
        if (k->type == FIELD_NAME)
            label_of(v, n, k->json, record_array(k, f), k->size);
    if (!name_ok(str_of(r->node), NODE_KEY_MAX - 1) || !r->name[0])
        return export_fail(c, 0, "muster_node_info: expected the labels node and id");
    if (r->n_nodes >= NAMES_MAX)
        return export_fail(c, 0, "too many nodes");
    VEC_ROOM(r->nodes, r->n_nodes, r->cap_nodes);
    mem_copy_str(r->nodes[r->n_nodes].name, sizeof(r->nodes->name), r->name);
    mem_copy_str(r->nodes[r->n_nodes++].key, sizeof(r->nodes->key), r->node);
    /* two nodes of one name say their key, too: "name#key" */
    AUTO_FREE char *tail = mem_fmt("#%s", r->node);
    struct str own = str_of(r->name);
    if (str_ends(own, tail))
        own.len -= strlen(tail);
    snprintf(f->name, sizeof(f->name), "%.*s", STR_ARG(own));
    *ret = (struct export_record){.kind = REC_NODE, .node = r->node, .name = r->name, .device = "", .fact = f};
    return 1;
}

/* node and device of the labels. */
static int om_where(struct cursor *c, const struct label *v, size_t n)
{
    struct export_reader *r = c->r;

    label_of(v, n, "node", r->name, sizeof(r->name));
    label_of(v, n, "uuid", r->device, sizeof(r->device));
    const char *key = om_key(r, r->name);
    if (!key)
        return export_fail(c, 0, "node: no muster_node_info before says which one this is");
    mem_copy_str(r->node, sizeof(r->node), key);
    return r->device[0] && !name_ok(str_of(r->device), UUID_MAX - 1)
               ? export_fail(c, 0, "uuid: expected a device's uuid")
               : 0;
}

static int om_device(struct cursor *c, const struct label *v, size_t n, struct export_record *ret)
{
    struct export_reader *r = c->r;
    struct device_fact *d = &r->dev;
    char index[16], vendor[16];
    int64_t no = -1;

    *d = (struct device_fact){.minor = -1, .mig = -1};
    if (om_where(c, v, n) < 0)
        return -EINVAL;
    if (!r->device[0])
        return export_fail(c, 0, "uuid: expected a device's uuid");
    label_of(v, n, "gpu", index, sizeof(index));
    label_of(v, n, "name", d->name, sizeof(d->name));
    label_of(v, n, "vendor", vendor, sizeof(vendor));
    label_of(v, n, "pci", d->pci, sizeof(d->pci));
    label_of(v, n, "serial", d->serial, sizeof(d->serial));
    label_of(v, n, "parent", d->parent, sizeof(d->parent));
    if (!str_int(str_of(index), &no) || no < -1 || no > INT32_MAX)
        return export_fail(c, 0, "gpu: expected a number");
    d->index = (int32_t)no;
    d->vendor = (uint8_t)MAX(WHICH(VENDOR_COUNT, i, strcmp(vendor_words[i], vendor) == 0), 0);
    mem_copy_str(d->uuid, sizeof(d->uuid), r->device);
    *ret = (struct export_record){.kind = REC_DEVICE, .node = r->node, .name = r->name, .device = r->device, .dev = d};
    return 1;
}

static int om_metric(struct cursor *c, const struct label *v, size_t n, struct export_record *ret)
{
    struct export_reader *r = c->r;
    struct custom_fact *f = &r->custom;
    char family[128], unit[32], type[16], per[24];

    *f = (struct custom_fact){0};
    if (om_where(c, v, n) < 0)
        return -EINVAL;
    label_of(v, n, "metric", f->name, sizeof(f->name));
    label_of(v, n, "family", family, sizeof(family));
    label_of(v, n, "unit", unit, sizeof(unit));
    label_of(v, n, "type", type, sizeof(type));
    label_of(v, n, "per", per, sizeof(per));
    if (!f->name[0] || metric_by_name(str_of(f->name)) >= 0 || !family[0] || export_unit(unit) < 0 ||
        !str_int(str_of(per), &f->per) || f->per <= 0 || r->n_customs >= NAMES_MAX)
        return export_fail(c, 0, "muster_export_metric_info: expected metric, family, unit, type and per");
    f->unit = (uint8_t)export_unit(unit);
    f->kind = strcmp(type, "counter") == 0 ? KIND_COUNTER : KIND_GAUGE;
    VEC_ADD(r->customs, r->n_customs, r->cap_customs, (struct om_custom){.per = f->per});
    struct om_custom *o = &r->customs[r->n_customs - 1];
    mem_copy_str(o->node, sizeof(o->node), r->node);
    snprintf(o->family, sizeof(o->family), "%s%s", family, f->kind == KIND_COUNTER ? "_total" : "");
    mem_copy_str(o->metric, sizeof(o->metric), f->name);
    buf_reset(&r->head);
    *ret = (struct export_record){.kind = REC_METRIC, .node = r->node, .name = r->name, .device = "", .custom = f};
    return 1;
}

static int om_family(struct cursor *c, struct str name)
{
    struct export_reader *r = c->r;

    const struct metric_info *m = FIND(metrics, M_COUNT, e, str_eq(name, e->prom));
    const struct om_custom *o =
        FIND(r->customs, r->n_customs, e, str_eq(name, e->family) && strcmp(e->node, r->node) == 0);

    if (!m && !o)
        return export_fail(c, 0, "not a metric that muster knows, and no muster_export_metric_info before declares it");
    mem_copy_str(r->metric, sizeof(r->metric), m ? m->name : o->metric);
    r->head_per = m ? m->per : o->per;
    return 0;
}

/* value, blank, moment. */
static int om_tail(struct cursor *c, int64_t per, int64_t *ret_v, int64_t *ret_at)
{
    size_t at = c->at;
    struct str rest = str_n(c->all.p + c->at, c->all.len - c->at), v;

    if (peek(c) != ' ')
        return export_fail(c, at, "expected a blank and a value");
    rest = str_n(rest.p + 1, rest.len - 1);
    str_cut(&rest, ' ', &v);
    if (!v.len || !str_fixed(v, per, ret_v))
        return export_fail(c, at + 1, "expected a number");
    if (!str_fixed(rest, 1000, ret_at) || *ret_at <= 0 || *ret_at >= TIME_END_MS)
        return export_fail(c, at + 2 + v.len, "expected a moment: seconds since 1970");
    return 0;
}

int read_om(struct cursor *c, struct export_record *ret)
{
    struct export_reader *r = c->r;
    struct label v[LABELS_MAX];
    size_t n = 0;
    int64_t one, at_ms;

    if (r->complete)
        return export_fail(c, 0, "something follows # EOF");
    if (peek(c) == '#') {
        r->complete = str_eq(c->all, "# EOF");
        return 0;
    }
    export_room(r, 1);
    if (r->head.len && c->all.len > r->head.len && memcmp(c->all.p, r->head.p, r->head.len) == 0) {
        c->at = r->head.len; /* as the line before */
    } else {
        buf_reset(&r->head);
        buf_reset(&r->scratch);
        if (!buf_room(&r->scratch, c->all.len + 16))
            return export_fail(c, 0, "the line is too long");
        while (c->at < c->all.len && peek(c) != '{')
            c->at++;
        struct str name = str_n(c->all.p, c->at);
        if (c->at >= c->all.len)
            return export_fail(c, 0, "expected name{labels} value time");
        c->at++;
        if (labels(c, v, &n) < 0)
            return -EINVAL;
        if (str_eq(name, "muster_node_info") || str_eq(name, "muster_gpu_info") ||
            str_eq(name, "muster_export_metric_info")) {
            if (om_tail(c, 1, &one, &at_ms) < 0)
                return -EINVAL;
            return str_eq(name, "muster_node_info")  ? om_node(c, v, n, ret)
                   : str_eq(name, "muster_gpu_info") ? om_device(c, v, n, ret)
                                                     : om_metric(c, v, n, ret);
        }
        size_t at = c->at;
        if (om_where(c, v, n) < 0 || om_family(c, name) < 0)
            return -EINVAL;
        buf_add(&r->head, c->all.p, at);
        c->at = at;
    }
    if (om_tail(c, r->head_per, r->v, r->at_ms) < 0)
        return -EINVAL;
    return export_sample(r, r->head_per, ret);
}
