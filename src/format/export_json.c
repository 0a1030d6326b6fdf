/* export_json.c: flat JSON objects, one a line. */
#include "format/export_read.h"

#include <errno.h>

#include "base/mem.h"
#include "base/order.h"
#include "format/words.h"

static void blanks(struct cursor *c)
{
    while (peek(c) == ' ' || peek(c) == '\t')
        c->at++;
}

static int hex4(struct cursor *c, uint32_t *ret)
{
    uint64_t v;

    if (c->all.len - c->at < 4 || !str_hex(str_n(c->all.p + c->at, 4), &v) || c->all.p[c->at + 1] == 'x')
        return export_fail(c, c->at, "expected four hex digits");
    c->at += 4;
    *ret = (uint32_t)v;
    return 0;
}

static int escape(struct cursor *c, struct buf *to)
{
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    char e = peek(c);
    uint32_t u = 0, low = 0;

    c->at++;
    if (e == 'u') {
        int r = hex4(c, &u);
        if (r < 0)
            return r;
        if (u >= 0xd800 && u < 0xdc00) {
            if (c->all.len - c->at < 6 || c->all.p[c->at] != '\\' || c->all.p[c->at + 1] != 'u')
                return export_fail(c, c->at, "half of a character");
            c->at += 2;
            r = hex4(c, &low);
            if (r < 0 || low < 0xdc00 || low > 0xdfff)
                return export_fail(c, c->at, "half of a character");
            u = 0x10000 + ((u - 0xd800) << 10) + (low - 0xdc00);
        }
        buf_addutf8(to, u);
        return 0;
    }
    const char *p = e ? strchr(from, e) : NULL;
    if (!p)
        return export_fail(c, c->at - 1, "an escape that JSON does not have");
    buf_addc(to, into[p - from]);
    return 0;
}

/* Behind the opening quote. The text lies in the scratch, which was made large enough before. */
static int string(struct cursor *c, struct str *ret)
{
    struct buf *to = &c->r->scratch;
    size_t from = to->len;

    for (;;) {
        if (c->at >= c->all.len)
            return export_fail(c, c->at, "a quote is missing");
        char ch = c->all.p[c->at++];
        if (ch == '"')
            break;
        if ((unsigned char)ch < 0x20)
            return export_fail(c, c->at - 1, "a control character");
        if (ch != '\\')
            buf_addc(to, ch);
        else if (escape(c, to) < 0)
            return -EINVAL;
    }
    *ret = str_n(to->p ? to->p + from : "", to->len - from);
    return 0;
}

static int value(struct cursor *c, struct field *f)
{
    char ch = peek(c);
    size_t from = c->at;

    f->column = c->at + 1;
    if (ch == '"') {
        c->at++;
        f->type = 's';
        return string(c, &f->v);
    }
    if (ch == '[') {
        while (c->at < c->all.len && peek(c) != ']') {
            if (peek(c) == '"' || peek(c) == '{')
                return export_fail(c, c->at, "expected numbers");
            c->at++;
        }
        if (c->at >= c->all.len)
            return export_fail(c, from, "this list does not end");
        f->type = 'a';
        f->v = str_n(c->all.p + from + 1, c->at - from - 1);
        c->at++;
        return 0;
    }
    while (c->at < c->all.len && !strchr(",} \t", peek(c)))
        c->at++;
    f->v = str_n(c->all.p + from, c->at - from);
    if (str_eq(f->v, "true") || str_eq(f->v, "false"))
        f->type = 'b';
    else if (str_eq(f->v, "null"))
        f->type = 'z';
    else if (f->v.len && (ch == '-' || (ch >= '0' && ch <= '9')))
        f->type = 'n';
    else
        return export_fail(c, from, "expected a value");
    return 0;
}

static int object(struct cursor *c)
{
    struct export_reader *r = c->r;

    r->n = 0;
    buf_reset(&r->scratch);
    if (!buf_room(&r->scratch, 2 * c->all.len + 64)) /* a job's texts are copied behind: nothing may move */
        return export_fail(c, 0, "the line is too long");
    blanks(c);
    if (peek(c) != '{')
        return export_fail(c, c->at, "expected an object: {");
    c->at++;
    for (blanks(c); peek(c) != '}'; blanks(c)) {
        if (r->n == FIELDS_MAX)
            return export_fail(c, c->at, "too many members");
        struct field *f = &r->f[r->n];
        if (r->n && peek(c) != ',')
            return export_fail(c, c->at, "expected , or }");
        if (r->n) {
            c->at++;
            blanks(c);
        }
        if (peek(c) != '"')
            return export_fail(c, c->at, "expected a name in quotes");
        c->at++;
        if (string(c, &f->key) < 0)
            return -EINVAL;
        blanks(c);
        if (peek(c) != ':')
            return export_fail(c, c->at, "expected :");
        c->at++;
        blanks(c);
        if (value(c, f) < 0)
            return -EINVAL;
        r->n++;
    }
    c->at++;
    blanks(c);
    return c->at == c->all.len ? 0 : export_fail(c, c->at, "something follows the object");
}

/* ---- members of it ---- */

static const struct field *find(const struct export_reader *r, const char *key)
{
    return FIND(r->f, r->n, f, str_eq(f->key, key));
}

/* Text that fits: 0. */
static int check_text(struct cursor *c, const struct field *f, const char *key, size_t most)
{
    if (f->type == 's' && f->v.len <= most && str_utf8_ok(f->v))
        return 0;
    c->at = f->column - 1;
    return err_set(c->err, -EINVAL, "%s: expected text of at most %zu bytes, without control characters", key, most);
}

static int text_into(struct cursor *c, const char *key, char *out, size_t size)
{
    const struct field *f = find(c->r, key);

    out[0] = 0;
    if (!f || f->type == 'z')
        return 0;
    if (check_text(c, f, key, size - 1) < 0)
        return -EINVAL;
    memcpy(out, f->v.p, f->v.len);
    out[f->v.len] = 0;
    return 0;
}

static int int_into(struct cursor *c, const char *key, int64_t least, int64_t most, int64_t usual, int64_t *ret)
{
    const struct field *f = find(c->r, key);
    int64_t v;

    *ret = usual;
    if (!f || f->type == 'z')
        return 0;
    if (f->type != 'n' || !str_int(f->v, &v) || v < least || v > most) {
        c->at = f->column - 1;
        return err_set(c->err, -EINVAL, "%s: expected a whole number from %lld to %lld", key, (long long)least,
                       (long long)most);
    }
    *ret = v;
    return 0;
}

static int bool_into(struct cursor *c, const char *key, bool *ret)
{
    const struct field *f = find(c->r, key);

    *ret = f && str_eq(f->v, "true");
    if (f && f->type != 'b') {
        c->at = f->column - 1;
        return err_set(c->err, -EINVAL, "%s: expected true or false", key);
    }
    return 0;
}

#define TEXT(key, to)                                                                                                  \
    do {                                                                                                               \
        if (text_into(c, key, to, sizeof(to)) < 0)                                                                     \
            return -EINVAL;                                                                                            \
    } while (0)
#define INT(key, least, most, usual, to)                                                                               \
    do {                                                                                                               \
        int64_t got_;                                                                                                  \
        if (int_into(c, key, least, most, usual, &got_) < 0)                                                           \
            return -EINVAL;                                                                                            \
        (to) = (__typeof__(to))got_;                                                                                   \
    } while (0)

static int take_device(struct cursor *c)
{
    struct device_fact *d = &c->r->dev;

    *d = (struct device_fact){0};
    TEXT("parent", d->parent);
    TEXT("name", d->name);
    TEXT("serial", d->serial);
    TEXT("pci", d->pci);
    INT("index", -1, INT32_MAX, -1, d->index);
    INT("minor", -1, INT32_MAX, -1, d->minor);
    INT("mig", -1, INT32_MAX, -1, d->mig);
    INT("vendor", 0, VENDOR_COUNT - 1, 0, d->vendor);
    TEXT("note", d->note);
    mem_copy_str(d->uuid, sizeof(d->uuid), c->r->device);
    return bool_into(c, "lost", &d->lost) < 0 ? -EINVAL : bool_into(c, "asleep", &d->asleep);
}

static int take_custom(struct cursor *c)
{
    struct custom_fact *f = &c->r->custom;
    char unit[32], type[16];

    *f = (struct custom_fact){0};
    TEXT("metric", f->name);
    TEXT("unit", unit);
    TEXT("type", type);
    INT("per", 1, 1000000000000ll, 1, f->per);
    if (!f->name[0] || metric_by_name(str_of(f->name)) >= 0)
        return export_fail(c, 0, "metric: expected a name that no built-in metric has");
    if (export_unit(unit) < 0)
        return export_fail(c, 0, "unit: not one that muster knows");
    if (strcmp(type, "counter") != 0 && strcmp(type, "gauge") != 0)
        return export_fail(c, 0, "type: expected gauge or counter");
    f->unit = (uint8_t)export_unit(unit);
    f->kind = strcmp(type, "counter") == 0 ? KIND_COUNTER : KIND_GAUGE;
    return 0;
}

static int take_event(struct cursor *c)
{
    struct node_event *e = &c->r->event;

    *e = (struct node_event){0};
    INT("time", 0, TIME_END_MS, 0, e->at_ms);
    INT("event", 1, EVENT_KINDS - 1, 1, e->kind);
    INT("slot", 0, UINT16_MAX, 0, e->slot);
    INT("code", INT64_MIN, INT64_MAX, 0, e->code);
    TEXT("text", e->text);
    return 0;
}

/* A record's text stays in the scratch, with an end behind it. */
static int keep_text(struct cursor *c, const char *key, size_t most, const char **ret)
{
    const struct field *f = find(c->r, key);
    struct export_reader *r = c->r;

    *ret = "";
    if (!f)
        return 0;
    if (check_text(c, f, key, most) < 0)
        return -EINVAL;
    size_t from = r->scratch.len;
    buf_addstr(&r->scratch, f->v);
    buf_addc(&r->scratch, 0);
    *ret = r->scratch.p + from;
    return 0;
}

/* What the table of its fields names for exports; a text that is in none is empty. */
static int take_record(struct cursor *c, const struct record_kind *kind, void *ret)
{
    memset(ret, 0, kind->size);
    for (size_t i = 0; i < kind->n; i++) {
        const struct record_field *f = &kind->fields[i];
        int64_t v = f->none;
        int r = 0;
        if (f->type == FIELD_TEXT && !f->json)
            *record_text(f, ret) = "";
        else if (f->type == FIELD_TEXT)
            r = keep_text(c, f->json, (size_t)f->most, record_text(f, ret));
        else if (f->type == FIELD_NAME)
            r = text_into(c, f->json, record_array(f, ret), f->size);
        else if (f->type == FIELD_FLAG)
            r = bool_into(c, f->json, (bool *)record_array(f, ret));
        else if (f->json)
            r = int_into(c, f->json, f->none, f->most, f->none, &v);
        if (r < 0)
            return -EINVAL;
        if (f->type == FIELD_INT)
            record_set_int(f, ret, v);
    }
    return 0;
}

static int take_node(struct cursor *c)
{
    if (take_record(c, &node_facts, &c->r->fact) < 0)
        return -EINVAL;
    TEXT("name", c->r->fact.name);
    TEXT("address", c->r->address);
    return 0;
}

static int take_process(struct cursor *c)
{
    int r = take_record(c, &proc_record, &c->r->proc);

    c->r->proc.node = c->r->node;
    c->r->proc.device = c->r->device;
    return r;
}

static int take_job(struct cursor *c)
{
    int r = take_record(c, &job_record, &c->r->job);

    c->r->job.node = c->r->node;
    return r;
}

/* ---- samples ---- */

static int take_samples(struct cursor *c, struct export_record *ret)
{
    struct export_reader *r = c->r;
    const struct field *t = find(r, "t"), *v = find(r, "v");
    size_t n = 0;

    TEXT("metric", r->metric);
    ret->per = export_per(r, r->node, r->metric);
    if (ret->per <= 0)
        return export_fail(c, 0, "metric: not one that muster knows, and no record before declares it");
    if (!t || t->type != 'a' || !v || v->type != 'a')
        return export_fail(c, 0, "expected the lists t and v");
    struct str ts = t->v, vs = v->v, one;
    for (; str_cut(&ts, ',', &one); n++) {
        export_room(r, n + 1);
        if (!str_int(str_trim(one), &r->at_ms[n]) || r->at_ms[n] <= 0 || r->at_ms[n] >= TIME_END_MS)
            return export_fail(c, (size_t)(one.p - c->all.p), "t: expected milliseconds since 1970");
    }
    ret->n = n;
    for (size_t i = 0; i < n; i++) {
        if (!str_cut(&vs, ',', &one))
            return export_fail(c, v->column - 1, "v: fewer values than times");
        if (!str_fixed(str_trim(one), ret->per, &r->v[i]))
            return export_fail(c, (size_t)(one.p - c->all.p), "v: expected a number");
    }
    return str_cut(&vs, ',', &one) ? export_fail(c, v->column - 1, "v: more values than times") : 0;
}

static int take_object(struct cursor *c, struct export_record *ret)
{
    static int (*const takes[REC_KINDS])(struct cursor *) = {
        [REC_NODE] = take_node,       [REC_DEVICE] = take_device, [REC_METRIC] = take_custom,
        [REC_PROCESS] = take_process, [REC_EVENT] = take_event,   [REC_JOB] = take_job,
    };
    struct export_reader *r = c->r;
    char kind[16];
    TEXT("kind", kind);
    TEXT("node", r->node);
    TEXT("device", r->device);
    size_t k = FIRST(REC_KINDS, i, strcmp(kind, record_words[i]) == 0);
    if (k == REC_KINDS) {
        const struct field *f = find(r, "kind");
        return export_fail(c, f ? f->column - 1 : 0,
                           "kind: expected node, device, metric, samples, process, event or job");
    }
    if (k != REC_JOB && !name_ok(str_of(r->node), NODE_KEY_MAX - 1))
        return export_fail(c, 0, "node: expected a node's key");
    if (r->device[0] ? !name_ok(str_of(r->device), UUID_MAX - 1) : k == REC_DEVICE)
        return export_fail(c, 0, "device: expected a device's uuid");
    *ret = (struct export_record){.kind = (enum export_kind)k,
                                  .node = r->node,
                                  .name = r->fact.name,
                                  .address = r->address,
                                  .device = r->device,
                                  .fact = &r->fact,
                                  .dev = &r->dev,
                                  .custom = &r->custom,
                                  .metric = r->metric,
                                  .proc = &r->proc,
                                  .event = &r->event,
                                  .job = &r->job};
    int code = k == REC_SAMPLES ? take_samples(c, ret) : takes[k](c);
    ret->at_ms = r->at_ms;
    ret->v = r->v;
    return code < 0 ? code : 1;
}

int export_object(struct cursor *c, struct export_record *ret)
{
    return object(c) < 0 ? -EINVAL : take_object(c, ret);
}

int read_json(struct cursor *c, struct export_record *ret)
{
    if (object(c) < 0)
        return -EINVAL;
    if (find(c->r, "muster_export")) {
        int64_t version;
        if (int_into(c, "muster_export", 1, 1, 0, &version) < 0)
            return export_fail(c, 0, "this export is of a newer muster: install that version");
        return 0;
    }
    return take_object(c, ret);
}
