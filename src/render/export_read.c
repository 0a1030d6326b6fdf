/*
 * export_read.c: lines of an export become records again. A small reader for flat JSON objects, one for CSV rows, one
 * for OpenMetrics lines: numbers stay text until they are exact integers. Every error has its column.
 */
#include <errno.h>

#include "base/clock.h"
#include "base/mem.h"
#include "render/export.h"
#include "render/words.h"

enum { FIELDS_MAX = 40, CSV_COLUMNS = 7, LABELS_MAX = 24, NAMES_MAX = 1 << 20 };
#define TIME_END_MS (1ll << 43)

enum shape { SHAPE_UNKNOWN, SHAPE_JSONL, SHAPE_CSV, SHAPE_OM };

struct field {
    struct str key, v;
    char type; /* 's' text, 'n' number, 'b' true or false, 'a' array of numbers, 'z' null */
    size_t column;
};

struct om_node { /* what a label node="…" means */
    char name[NAME_MAX_LEN + NODE_KEY_MAX + 2], key[NODE_KEY_MAX];
};

struct om_custom {
    char node[NODE_KEY_MAX], family[160], metric[64];
    int64_t per;
};

struct export_reader {
    enum shape shape;
    int64_t (*per)(void *arg, const char *node, const char *metric);
    void *arg;
    bool complete;
    struct buf scratch; /* text without its escapes */
    struct field f[FIELDS_MAX];
    size_t n;
    /* the record */
    char node[NODE_KEY_MAX], name[NAME_MAX_LEN + NODE_KEY_MAX + 2], device[UUID_MAX], metric[64];
    struct node_fact fact;
    struct device_fact dev;
    struct custom_fact custom;
    struct proc_fact proc;
    struct event event;
    struct job_fact job;
    int64_t *at_ms, *v;
    size_t cap;
    /* OpenMetrics */
    struct om_node *nodes;
    size_t n_nodes, cap_nodes;
    struct om_custom *customs;
    size_t n_customs, cap_customs;
    struct buf head; /* the last sample's name and labels, and what they meant: */
    int64_t head_per;
};

struct export_reader *export_reader_new(int64_t (*per)(void *arg, const char *node, const char *metric), void *arg)
{
    struct export_reader *r = mem_zero(1, sizeof(*r));

    r->per = per;
    r->arg = arg;
    r->scratch = BUF_INIT(2ull * EXPORT_LINE_MAX + 4096);
    r->head = BUF_INIT(EXPORT_LINE_MAX);
    return r;
}

void export_reader_free(struct export_reader *r)
{
    if (!r)
        return;
    buf_fini(&r->scratch);
    buf_fini(&r->head);
    free(r->at_ms);
    free(r->v);
    free(r->nodes);
    free(r->customs);
    free(r);
}

bool export_complete(const struct export_reader *r)
{
    return r->complete;
}

/* ---- a flat JSON object ---- */

struct cursor {
    struct export_reader *r;
    struct str all;
    size_t at;
    struct err *err;
};

static int fail(struct cursor *c, size_t at, const char *what)
{
    c->at = at;
    return err_set(c->err, -EINVAL, "%s", what);
}

static char peek(const struct cursor *c)
{
    return c->at < c->all.len ? c->all.p[c->at] : 0;
}

static void blanks(struct cursor *c)
{
    while (peek(c) == ' ' || peek(c) == '\t')
        c->at++;
}

static int hex4(struct cursor *c, uint32_t *ret)
{
    uint64_t v;

    if (c->all.len - c->at < 4 || !str_hex(str_n(c->all.p + c->at, 4), &v) || c->all.p[c->at + 1] == 'x')
        return fail(c, c->at, "expected four hex digits");
    c->at += 4;
    *ret = (uint32_t)v;
    return 0;
}

static void add_utf8(struct buf *b, uint32_t u)
{
    if (u < 0x80) {
        buf_addc(b, (char)u);
    } else if (u < 0x800) {
        buf_addc(b, (char)(0xc0 | u >> 6));
        buf_addc(b, (char)(0x80 | (u & 0x3f)));
    } else if (u < 0x10000) {
        buf_addc(b, (char)(0xe0 | u >> 12));
        buf_addc(b, (char)(0x80 | (u >> 6 & 0x3f)));
        buf_addc(b, (char)(0x80 | (u & 0x3f)));
    } else {
        buf_addc(b, (char)(0xf0 | u >> 18));
        buf_addc(b, (char)(0x80 | (u >> 12 & 0x3f)));
        buf_addc(b, (char)(0x80 | (u >> 6 & 0x3f)));
        buf_addc(b, (char)(0x80 | (u & 0x3f)));
    }
}

static int escape(struct cursor *c, struct buf *to)
{
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    char e = peek(c);
    uint32_t u, low;

    c->at++;
    if (e == 'u') {
        int r = hex4(c, &u);
        if (r < 0)
            return r;
        if (u >= 0xd800 && u < 0xdc00) {
            if (c->all.len - c->at < 6 || c->all.p[c->at] != '\\' || c->all.p[c->at + 1] != 'u')
                return fail(c, c->at, "half of a character");
            c->at += 2;
            r = hex4(c, &low);
            if (r < 0 || low < 0xdc00 || low > 0xdfff)
                return fail(c, c->at, "half of a character");
            u = 0x10000 + ((u - 0xd800) << 10) + (low - 0xdc00);
        }
        add_utf8(to, u);
        return 0;
    }
    const char *p = e ? strchr(from, e) : NULL;
    if (!p)
        return fail(c, c->at - 1, "an escape that JSON does not have");
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
            return fail(c, c->at, "a quote is missing");
        char ch = c->all.p[c->at++];
        if (ch == '"')
            break;
        if ((unsigned char)ch < 0x20)
            return fail(c, c->at - 1, "a control character");
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
                return fail(c, c->at, "expected numbers");
            c->at++;
        }
        if (c->at >= c->all.len)
            return fail(c, from, "this list does not end");
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
        return fail(c, from, "expected a value");
    return 0;
}

static int object(struct cursor *c)
{
    struct export_reader *r = c->r;

    r->n = 0;
    buf_reset(&r->scratch);
    if (!buf_room(&r->scratch, 2 * c->all.len + 64)) /* a job's texts are copied behind: nothing may move */
        return fail(c, 0, "the line is too long");
    blanks(c);
    if (peek(c) != '{')
        return fail(c, c->at, "expected an object: {");
    c->at++;
    for (blanks(c); peek(c) != '}'; blanks(c)) {
        if (r->n == FIELDS_MAX)
            return fail(c, c->at, "too many members");
        struct field *f = &r->f[r->n];
        if (r->n && peek(c) != ',')
            return fail(c, c->at, "expected , or }");
        if (r->n) {
            c->at++;
            blanks(c);
        }
        if (peek(c) != '"')
            return fail(c, c->at, "expected a name in quotes");
        c->at++;
        if (string(c, &f->key) < 0)
            return -EINVAL;
        blanks(c);
        if (peek(c) != ':')
            return fail(c, c->at, "expected :");
        c->at++;
        blanks(c);
        if (value(c, f) < 0)
            return -EINVAL;
        r->n++;
    }
    c->at++;
    blanks(c);
    return c->at == c->all.len ? 0 : fail(c, c->at, "something follows the object");
}

/* ---- members of it ---- */

static const struct field *find(const struct export_reader *r, const char *key)
{
    for (size_t i = 0; i < r->n; i++)
        if (str_eq(r->f[i].key, key))
            return &r->f[i];
    return NULL;
}

static int text_into(struct cursor *c, const char *key, char *out, size_t size)
{
    const struct field *f = find(c->r, key);

    out[0] = 0;
    if (!f || f->type == 'z')
        return 0;
    if (f->type != 's' || f->v.len >= size || !str_utf8_ok(f->v)) {
        c->at = f->column - 1;
        return err_set(c->err, -EINVAL, "%s: expected text of at most %zu bytes, without control characters", key,
                       size - 1);
    }
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

static int take_node(struct cursor *c)
{
    struct node_fact *f = &c->r->fact;

    *f = (struct node_fact){0};
    TEXT("name", f->name);
    TEXT("os", f->os);
    TEXT("kernel", f->kernel);
    TEXT("arch", f->arch);
    TEXT("cpu", f->cpu);
    INT("cpus", 0, INT32_MAX, 0, f->cpus);
    TEXT("driver", f->driver);
    TEXT("cuda", f->cuda);
    TEXT("agent", f->agent);
    TEXT("boot_id", f->boot_id);
    TEXT("machine_id", f->machine_id);
    TEXT("collector", f->collector);
    INT("tick_ms", 0, INT32_MAX, 0, f->tick_ms);
    return 0;
}

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

static int unit_of(const char *word)
{
    for (int i = 0; i < UNIT_COUNT; i++)
        if (strcmp(unit_names[i], word) == 0)
            return i;
    return -1;
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
        return fail(c, 0, "metric: expected a name of its own");
    if (unit_of(unit) < 0)
        return fail(c, 0, "unit: not one that muster knows");
    if (strcmp(type, "counter") != 0 && strcmp(type, "gauge") != 0)
        return fail(c, 0, "type: expected gauge or counter");
    f->unit = (uint8_t)unit_of(unit);
    f->kind = strcmp(type, "counter") == 0 ? KIND_COUNTER : KIND_GAUGE;
    return 0;
}

static int take_process(struct cursor *c, struct record *ret)
{
    struct proc_fact *p = &c->r->proc;

    *p = (struct proc_fact){0};
    INT("pid", 0, INT32_MAX, 0, p->pid);
    INT("start", INT64_MIN, TIME_END_MS, 0, p->start_ms);
    INT("ppid", INT32_MIN, INT32_MAX, 0, p->ppid);
    INT("root_pid", INT32_MIN, INT32_MAX, 0, p->root_pid);
    INT("uid", -1, INT64_MAX, -1, p->uid);
    TEXT("user", p->user);
    TEXT("name", p->name);
    TEXT("cmd", p->cmd);
    TEXT("runtime", p->runtime);
    TEXT("container", p->container);
    TEXT("pod", p->pod);
    INT("slurm_job", INT64_MIN, INT64_MAX, 0, p->slurm_job);
    INT("first", 1, TIME_END_MS, 1, ret->first_ms);
    INT("last", 1, TIME_END_MS, 1, ret->last_ms);
    INT("mem_max", -1, INT64_MAX, -1, ret->mem_max);
    return bool_into(c, "ended", &ret->ended);
}

static int take_event(struct cursor *c)
{
    struct event *e = &c->r->event;

    *e = (struct event){0};
    INT("time", 0, TIME_END_MS, 0, e->at_ms);
    INT("event", 1, EVENT_KINDS - 1, 1, e->kind);
    INT("slot", 0, UINT16_MAX, 0, e->slot);
    INT("code", INT64_MIN, INT64_MAX, 0, e->code);
    TEXT("text", e->text);
    return 0;
}

/* Its texts stay in the scratch, with an end behind each. */
static int job_text(struct cursor *c, const char *key, size_t most, const char **ret)
{
    const struct field *f = find(c->r, key);
    struct export_reader *r = c->r;

    *ret = "";
    if (!f)
        return 0;
    if (f->type != 's' || f->v.len > most || !str_utf8_ok(f->v)) {
        c->at = f->column - 1;
        return err_set(c->err, -EINVAL, "%s: expected text of at most %zu bytes, without control characters", key,
                       most);
    }
    size_t from = r->scratch.len;
    buf_addstr(&r->scratch, f->v);
    buf_addc(&r->scratch, 0);
    *ret = r->scratch.p + from;
    return 0;
}

static int take_job(struct cursor *c)
{
    struct export_reader *r = c->r;
    struct job_fact *j = &r->job;
    const char **const to[] = {&j->name, &j->kind, &j->person, &j->owner, &j->devices, &j->pids, &j->attrs};
    static const struct {
        const char *key;
        size_t most;
    } texts[] = {{"name", JOB_NAME_MAX},
                 {"type", JOB_KIND_MAX},
                 {"person", 64},
                 {"owner", 128},
                 {"devices", (size_t)JOB_DEVICES * UUID_MAX},
                 {"pids", (size_t)JOB_PIDS * 12},
                 {"attrs", JOB_ATTRS_MAX}};

    *j = (struct job_fact){0};
    INT("id", 1, INT64_MAX, 1, j->id);
    INT("parent", 0, INT64_MAX, 0, j->parent);
    INT("start", 0, TIME_END_MS, 0, j->start_ms);
    INT("end", 0, TIME_END_MS, 0, j->end_ms);
    j->node = r->node;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (job_text(c, texts[i].key, texts[i].most, to[i]) < 0)
            return -EINVAL;
    return 0;
}

/* ---- samples ---- */

static void room(struct export_reader *r, size_t n)
{
    if (n <= r->cap)
        return;
    r->cap = MAX(n, r->cap * 2);
    r->at_ms = mem_grow(r->at_ms, r->cap, sizeof(*r->at_ms));
    r->v = mem_grow(r->v, r->cap, sizeof(*r->v));
}

/* How many units of it make one; 0: not known. */
static int64_t per_of(const struct export_reader *r, const char *node, const char *metric)
{
    int m = metric_by_name(str_of(metric));

    return m >= 0 ? metrics[m].per : r->per && metric[0] ? r->per(r->arg, node, metric) : 0;
}

static int take_samples(struct cursor *c, struct record *ret)
{
    struct export_reader *r = c->r;
    const struct field *t = find(r, "t"), *v = find(r, "v");
    size_t n = 0;

    TEXT("metric", r->metric);
    ret->per = per_of(r, r->node, r->metric);
    if (ret->per <= 0)
        return fail(c, 0, "metric: not one that muster knows, and no record before declares it");
    if (!t || t->type != 'a' || !v || v->type != 'a')
        return fail(c, 0, "expected the lists t and v");
    struct str ts = t->v, vs = v->v, one;
    for (; str_cut(&ts, ',', &one); n++) {
        room(r, n + 1);
        if (!str_int(str_trim(one), &r->at_ms[n]) || r->at_ms[n] <= 0 || r->at_ms[n] >= TIME_END_MS)
            return fail(c, (size_t)(one.p - c->all.p), "t: expected milliseconds since 1970");
    }
    ret->n = n;
    for (size_t i = 0; i < n; i++) {
        if (!str_cut(&vs, ',', &one))
            return fail(c, v->column - 1, "v: fewer values than times");
        if (!str_fixed(str_trim(one), ret->per, &r->v[i]))
            return fail(c, (size_t)(one.p - c->all.p), "v: expected a number");
    }
    return str_cut(&vs, ',', &one) ? fail(c, v->column - 1, "v: more values than times") : 0;
}

static int take_object(struct cursor *c, struct record *ret)
{
    struct export_reader *r = c->r;
    char kind[16];
    int k = 0;

    TEXT("kind", kind);
    TEXT("node", r->node);
    TEXT("device", r->device);
    while (k < REC_KINDS && strcmp(kind, record_words[k]) != 0)
        k++;
    if (k == REC_KINDS) {
        const struct field *f = find(r, "kind");
        return fail(c, f ? f->column - 1 : 0, "kind: expected node, device, metric, samples, process, event or job");
    }
    if (k != REC_JOB && !name_ok(str_of(r->node), NODE_KEY_MAX - 1))
        return fail(c, 0, "node: expected a node's key");
    if (r->device[0] ? !name_ok(str_of(r->device), UUID_MAX - 1) : k == REC_DEVICE)
        return fail(c, 0, "device: expected a device's uuid");
    *ret = (struct record){.kind = (enum record_kind)k,
                           .node = r->node,
                           .name = r->fact.name,
                           .device = r->device,
                           .fact = &r->fact,
                           .dev = &r->dev,
                           .custom = &r->custom,
                           .metric = r->metric,
                           .proc = &r->proc,
                           .event = &r->event,
                           .job = &r->job};
    int code;
    switch (k) {
    case REC_NODE:
        code = take_node(c);
        break;
    case REC_DEVICE:
        code = take_device(c);
        break;
    case REC_METRIC:
        code = take_custom(c);
        break;
    case REC_SAMPLES:
        code = take_samples(c, ret);
        break;
    case REC_PROCESS:
        code = take_process(c, ret);
        break;
    case REC_EVENT:
        code = take_event(c);
        break;
    default:
        code = take_job(c);
    }
    ret->at_ms = r->at_ms;
    ret->v = r->v;
    return code < 0 ? code : 1;
}

static int read_json(struct cursor *c, struct record *ret)
{
    if (object(c) < 0)
        return -EINVAL;
    if (find(c->r, "muster_export")) {
        int64_t version;
        if (int_into(c, "muster_export", 1, 1, 0, &version) < 0)
            return fail(c, 0, "this export is of a newer muster: install that version");
        return 0;
    }
    return take_object(c, ret);
}

/* ---- CSV ---- */

static int cell(struct cursor *c, struct str *ret)
{
    struct buf *to = &c->r->scratch;
    size_t from = to->len;

    if (peek(c) != '"') {
        while (c->at < c->all.len && peek(c) != ',')
            buf_addc(to, c->all.p[c->at++]);
    } else {
        for (c->at++;; c->at++) {
            if (c->at >= c->all.len)
                return fail(c, c->at, "a quote is missing");
            if (peek(c) == '"') {
                if (c->at + 1 >= c->all.len || c->all.p[c->at + 1] != '"')
                    break;
                c->at++;
            }
            buf_addc(to, peek(c));
        }
        c->at++;
        if (c->at < c->all.len && peek(c) != ',')
            return fail(c, c->at, "expected a comma behind the quote");
    }
    *ret = str_n(to->p + from, to->len - from);
    if (ret->len && ret->p[0] == '\'') /* the mark that keeps a spreadsheet from taking it for a formula */
        *ret = str_n(ret->p + 1, ret->len - 1);
    return 0;
}

static int copy_cell(struct cursor *c, struct str s, size_t column, const char *what, char *out, size_t size)
{
    if (s.len >= size || !str_utf8_ok(s)) {
        c->at = column;
        return err_set(c->err, -EINVAL, "%s: expected text of at most %zu bytes, without control characters", what,
                       size - 1);
    }
    memcpy(out, s.p, s.len);
    out[s.len] = 0;
    return 0;
}

static int csv_sample(struct cursor *c, const struct str *v, const size_t *column, struct record *ret)
{
    struct export_reader *r = c->r;

    if (copy_cell(c, v[1], column[1], "node", r->node, sizeof(r->node)) < 0 ||
        copy_cell(c, v[2], column[2], "device", r->device, sizeof(r->device)) < 0 ||
        copy_cell(c, v[4], column[4], "metric", r->metric, sizeof(r->metric)) < 0)
        return -EINVAL;
    if (!name_ok(v[1], NODE_KEY_MAX - 1))
        return fail(c, column[1], "node: expected a node's key");
    if (v[2].len && !name_ok(v[2], UUID_MAX - 1))
        return fail(c, column[2], "device: expected a device's uuid");
    room(r, 1);
    if (clock_parse(v[3].p, v[3].len, r->at_ms) < 0 || *r->at_ms <= 0 || *r->at_ms >= TIME_END_MS)
        return fail(c, column[3], "time: expected one as 2026-11-15T10:00:00.000Z");
    int64_t per = per_of(r, r->node, r->metric);
    if (per <= 0)
        return fail(c, column[4], "metric: not one that muster knows, and no record before declares it");
    if (!str_fixed(v[5], per, r->v))
        return fail(c, column[5], "value: expected a number");
    *ret = (struct record){.kind = REC_SAMPLES,
                           .node = r->node,
                           .device = r->device,
                           .metric = r->metric,
                           .per = per,
                           .n = 1,
                           .at_ms = r->at_ms,
                           .v = r->v};
    return 1;
}

static int read_csv(struct cursor *c, struct record *ret)
{
    struct export_reader *r = c->r;
    struct str v[CSV_COLUMNS];
    size_t column[CSV_COLUMNS], n = 0;

    buf_reset(&r->scratch);
    if (!buf_room(&r->scratch, c->all.len + 16))
        return fail(c, 0, "the line is too long");
    while (n < CSV_COLUMNS) {
        column[n] = c->at;
        if (cell(c, &v[n]) < 0)
            return -EINVAL;
        n++;
        if (c->at >= c->all.len)
            break;
        c->at++;
        if (n == CSV_COLUMNS)
            return fail(c, c->at - 1, "more than seven columns");
    }
    if (n < CSV_COLUMNS)
        return fail(c, c->all.len, "expected seven columns: kind,node,device,time,metric,value,detail");
    if (str_eq(v[0], "kind"))
        return 0;
    if (str_eq(v[0], record_words[REC_SAMPLES]))
        return csv_sample(c, v, column, ret);
    AUTO_FREE char *detail = mem_strn(v[6].p, v[6].len); /* the scratch is needed for what is in it */
    struct cursor in = {r, str_n(detail, v[6].len), 0, c->err};
    int code = object(&in) < 0 ? -EINVAL : take_object(&in, ret);
    if (code < 0)
        c->at = column[6] + in.at;
    else if (ret->kind == REC_SAMPLES)
        return fail(c, column[0], "kind: samples have no detail");
    return code;
}

/* ---- OpenMetrics ---- */

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
            return fail(c, c->at, "too many labels");
        if (*n && peek(c) != ',')
            return fail(c, c->at, "expected , or }");
        c->at += *n > 0;
        size_t from = c->at;
        while (c->at < c->all.len && peek(c) != '=')
            c->at++;
        v[*n].name = str_n(c->all.p + from, c->at - from);
        if (c->all.len - c->at < 2 || c->all.p[c->at + 1] != '"')
            return fail(c, c->at, "expected =\" behind a label's name");
        c->at += 2;
        from = to->len;
        for (; peek(c) != '"'; c->at++) {
            if (c->at >= c->all.len)
                return fail(c, c->at, "a quote is missing");
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

static int om_node(struct cursor *c, const struct label *v, size_t n, struct record *ret)
{
    struct export_reader *r = c->r;
    struct node_fact *f = &r->fact;

    *f = (struct node_fact){0};
    label_of(v, n, "node", r->name, sizeof(r->name));
    label_of(v, n, "id", r->node, sizeof(r->node));
    label_of(v, n, "agent", f->agent, sizeof(f->agent));
    label_of(v, n, "driver", f->driver, sizeof(f->driver));
    label_of(v, n, "cuda", f->cuda, sizeof(f->cuda));
    label_of(v, n, "os", f->os, sizeof(f->os));
    label_of(v, n, "kernel", f->kernel, sizeof(f->kernel));
    label_of(v, n, "arch", f->arch, sizeof(f->arch));
    if (!name_ok(str_of(r->node), NODE_KEY_MAX - 1) || !r->name[0])
        return fail(c, 0, "muster_node_info: expected the labels node and id");
    if (r->n_nodes >= NAMES_MAX)
        return fail(c, 0, "too many nodes");
    VEC_ROOM(r->nodes, r->n_nodes, r->cap_nodes);
    mem_copy_str(r->nodes[r->n_nodes].name, sizeof(r->nodes->name), r->name);
    mem_copy_str(r->nodes[r->n_nodes++].key, sizeof(r->nodes->key), r->node);
    /* two nodes of one name say their key, too: "name#key" */
    AUTO_FREE char *tail = mem_fmt("#%s", r->node);
    struct str own = str_of(r->name);
    if (str_ends(own, tail))
        own.len -= strlen(tail);
    snprintf(f->name, sizeof(f->name), "%.*s", STR_ARG(own));
    *ret = (struct record){.kind = REC_NODE, .node = r->node, .name = r->name, .device = "", .fact = f};
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
        return fail(c, 0, "node: no muster_node_info before says which one this is");
    mem_copy_str(r->node, sizeof(r->node), key);
    return r->device[0] && !name_ok(str_of(r->device), UUID_MAX - 1) ? fail(c, 0, "uuid: expected a device's uuid") : 0;
}

static int om_device(struct cursor *c, const struct label *v, size_t n, struct record *ret)
{
    struct export_reader *r = c->r;
    struct device_fact *d = &r->dev;
    char index[16], vendor[16];
    int64_t no = -1;

    *d = (struct device_fact){.minor = -1, .mig = -1};
    if (om_where(c, v, n) < 0)
        return -EINVAL;
    if (!r->device[0])
        return fail(c, 0, "uuid: expected a device's uuid");
    label_of(v, n, "gpu", index, sizeof(index));
    label_of(v, n, "name", d->name, sizeof(d->name));
    label_of(v, n, "vendor", vendor, sizeof(vendor));
    label_of(v, n, "pci", d->pci, sizeof(d->pci));
    label_of(v, n, "serial", d->serial, sizeof(d->serial));
    label_of(v, n, "parent", d->parent, sizeof(d->parent));
    if (!str_int(str_of(index), &no) || no < -1 || no > INT32_MAX)
        return fail(c, 0, "gpu: expected a number");
    d->index = (int32_t)no;
    for (int i = 0; i < VENDOR_COUNT; i++)
        if (strcmp(vendor_words[i], vendor) == 0)
            d->vendor = (uint8_t)i;
    mem_copy_str(d->uuid, sizeof(d->uuid), r->device);
    *ret = (struct record){.kind = REC_DEVICE, .node = r->node, .name = r->name, .device = r->device, .dev = d};
    return 1;
}

static int om_metric(struct cursor *c, const struct label *v, size_t n, struct record *ret)
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
    if (!f->name[0] || metric_by_name(str_of(f->name)) >= 0 || !family[0] || unit_of(unit) < 0 ||
        !str_int(str_of(per), &f->per) || f->per <= 0 || r->n_customs >= NAMES_MAX)
        return fail(c, 0, "muster_export_metric_info: expected metric, family, unit, type and per");
    f->unit = (uint8_t)unit_of(unit);
    f->kind = strcmp(type, "counter") == 0 ? KIND_COUNTER : KIND_GAUGE;
    VEC_ROOM(r->customs, r->n_customs, r->cap_customs);
    struct om_custom *o = &r->customs[r->n_customs++];
    *o = (struct om_custom){.per = f->per};
    mem_copy_str(o->node, sizeof(o->node), r->node);
    snprintf(o->family, sizeof(o->family), "%s%s", family, f->kind == KIND_COUNTER ? "_total" : "");
    mem_copy_str(o->metric, sizeof(o->metric), f->name);
    buf_reset(&r->head);
    *ret = (struct record){.kind = REC_METRIC, .node = r->node, .name = r->name, .device = "", .custom = f};
    return 1;
}

static int om_family(struct cursor *c, struct str name)
{
    struct export_reader *r = c->r;

    for (int m = 0; m < M_COUNT; m++)
        if (str_eq(name, metrics[m].prom)) {
            mem_copy_str(r->metric, sizeof(r->metric), metrics[m].name);
            r->head_per = metrics[m].per;
            return 0;
        }
    for (size_t i = 0; i < r->n_customs; i++)
        if (str_eq(name, r->customs[i].family) && strcmp(r->customs[i].node, r->node) == 0) {
            mem_copy_str(r->metric, sizeof(r->metric), r->customs[i].metric);
            r->head_per = r->customs[i].per;
            return 0;
        }
    return fail(c, 0, "not a metric that muster knows, and no muster_export_metric_info before declares it");
}

/* value, blank, moment. */
static int om_tail(struct cursor *c, int64_t per, int64_t *ret_v, int64_t *ret_at)
{
    size_t at = c->at;
    struct str rest = str_n(c->all.p + c->at, c->all.len - c->at), v;

    if (peek(c) != ' ')
        return fail(c, at, "expected a blank and a value");
    rest = str_n(rest.p + 1, rest.len - 1);
    str_cut(&rest, ' ', &v);
    if (!v.len || !str_fixed(v, per, ret_v))
        return fail(c, at + 1, "expected a number");
    if (!str_fixed(rest, 1000, ret_at) || *ret_at <= 0 || *ret_at >= TIME_END_MS)
        return fail(c, at + 2 + v.len, "expected a moment: seconds since 1970");
    return 0;
}

static int read_om(struct cursor *c, struct record *ret)
{
    struct export_reader *r = c->r;
    struct label v[LABELS_MAX];
    size_t n = 0;
    int64_t one, at_ms;

    if (r->complete)
        return fail(c, 0, "something follows # EOF");
    if (peek(c) == '#') {
        r->complete = str_eq(c->all, "# EOF");
        return 0;
    }
    room(r, 1);
    if (r->head.len && c->all.len > r->head.len && memcmp(c->all.p, r->head.p, r->head.len) == 0) {
        c->at = r->head.len; /* as the line before */
    } else {
        buf_reset(&r->head);
        buf_reset(&r->scratch);
        if (!buf_room(&r->scratch, c->all.len + 16))
            return fail(c, 0, "the line is too long");
        while (c->at < c->all.len && peek(c) != '{')
            c->at++;
        struct str name = str_n(c->all.p, c->at);
        if (c->at >= c->all.len)
            return fail(c, 0, "expected name{labels} value moment");
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
    *ret = (struct record){.kind = REC_SAMPLES,
                           .node = r->node,
                           .name = r->name,
                           .device = r->device,
                           .metric = r->metric,
                           .per = r->head_per,
                           .n = 1,
                           .at_ms = r->at_ms,
                           .v = r->v};
    return 1;
}

/* ---- any of them ---- */

int export_line(struct export_reader *r, struct str line, struct record *ret, size_t *ret_column, struct err *err)
{
    struct cursor c = {r, line, 0, err};
    int code;

    *ret_column = 1;
    if (line.len && line.p[line.len - 1] == '\r')
        c.all.len--;
    if (c.all.len == 0)
        return 0;
    if (c.all.len > EXPORT_LINE_MAX)
        return err_set(err, -EINVAL, "a line of more than %u bytes", EXPORT_LINE_MAX);
    if (r->shape == SHAPE_UNKNOWN) {
        r->shape = str_starts(c.all, "{\"muster_export\":") ? SHAPE_JSONL
                   : str_starts(c.all, "kind,node,device,") ? SHAPE_CSV
                   : str_starts(c.all, "# ")                ? SHAPE_OM
                                                            : SHAPE_UNKNOWN;
        if (r->shape == SHAPE_UNKNOWN)
            return err_set(err, -EINVAL, "this is not an export of muster's: neither JSON lines, CSV nor OpenMetrics");
    }
    if (r->shape != SHAPE_OM)
        r->complete = true;
    code = r->shape == SHAPE_JSONL ? read_json(&c, ret) : r->shape == SHAPE_CSV ? read_csv(&c, ret) : read_om(&c, ret);
    if (code < 0)
        *ret_column = MIN(c.at, c.all.len) + 1;
    return code;
}
