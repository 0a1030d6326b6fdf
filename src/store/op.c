/* op.c: creates, lists and frees the writer's queue entries. */
#include "store/op.h"

#include <errno.h>

#include "base/buf.h"
#include "base/mem.h"
#include "codec/usage_code.h"
#include "store/kinds.h"

#define ZONE_MAX 128

void op_push(struct op_list *l, struct store_op *op)
{
    op->next = NULL;
    if (!l->head)
        l->tail = &l->head;
    *l->tail = op;
    l->tail = &op->next;
}

void op_push_front(struct op_list *l, struct op_list *front)
{
    if (!front->head)
        return;
    *front->tail = l->head;
    if (!l->head)
        l->tail = front->tail;
    l->head = front->head;
    *front = (struct op_list){0};
}

void op_free_all(struct store_op *op)
{
    while (op) {
        struct store_op *next = op->next;
        free(op);
        op = next;
    }
}

static void *op_new(enum op_kind kind, size_t size)
{
    struct store_op *op = mem_alloc(size);

    *op = (struct store_op){.kind = kind, .size = size};
    return op;
}

struct op_append *op_append_new(size_t n, size_t bytes)
{
    return op_new(OP_APPEND, sizeof(struct op_append) + n * sizeof(struct op_batch) + bytes);
}

char *op_append_room(struct op_append *a)
{
    return (char *)&a->v[a->n];
}

struct op_blob *op_blob_new(struct index_node *node, enum blob_kind kind, uint64_t id, struct str bytes)
{
    struct op_blob *b = op_new(OP_BLOB, sizeof(*b) + bytes.len);
    char *room = (char *)(b + 1);

    if (bytes.len)
        memcpy(room, bytes.p, bytes.len);
    b->node = node;
    b->kind = kind;
    b->id = id;
    b->bytes = str_n(room, bytes.len);
    return b;
}

struct op_node *op_node_new(struct index_node *node, const struct store_node *n)
{
    struct op_node *o = op_new(OP_NODE, sizeof(*o));

    o->node = node;
    o->n = *n;
    return o;
}

void op_node_set(struct op_node *o, const struct store_node *n)
{
    struct store_node was = o->n;

    o->n = *n;
    o->n.named |= was.named;
    o->n.facts = n->facts ? n->facts : was.facts;
    o->n.procs = n->procs ? n->procs : was.procs;
}

/* Copies the strings behind the op; NULL stays NULL. */
static struct op_job_change *op_job_change_new(const struct job_change *from)
{
    struct job_change c = *from;
    const char **v[] = {&c.name, &c.person, &c.node, &c.devices, &c.pids, &c.attrs};
    size_t bytes = 0;

    for (size_t i = 0; i < ARRAY_LEN(v); i++)
        bytes += *v[i] ? strlen(*v[i]) + 1 : 0;
    struct op_job_change *o = op_new(OP_JOB_CHANGE, sizeof(*o) + bytes);
    char *room = (char *)(o + 1);
    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        size_t len = *v[i] ? strlen(*v[i]) + 1 : 0;
        if (!len)
            continue;
        memcpy(room, *v[i], len);
        *v[i] = room;
        room += len;
    }
    o->change = c;
    return o;
}

static struct op_usage *op_usage_new(const struct usage_put *u)
{
    struct usage_names names = usage_text_names(NULL);
    AUTO_BUF b = BUF_INIT(16 * (size_t)USAGE_BYTES_MAX);

    buf_text(&b, str_of(u->node));
    buf_varint(&b, u->n);
    buf_varint(&b, u->n_days);
    for (size_t i = 0; i < u->n; i++) {
        buf_zigzag(&b, u->hours[i].at_ms);
        buf_zigzag(&b, u->hours[i].end_ms);
        buf_zigzag(&b, u->marks ? u->marks[i] : 0);
        usage_encode(&u->hours[i], &names, &b);
    }
    buf_text(&b, str_of(u->zone));
    for (size_t i = 0; i < u->n_days; i++) {
        buf_zigzag(&b, u->days[i].from_ms);
        buf_zigzag(&b, u->days[i].to_ms);
    }
    if (b.err)
        return NULL;
    struct op_usage *o = op_new(OP_USAGE, sizeof(*o) + b.len);
    o->n = b.len;
    memcpy(o->bytes, b.p, b.len);
    return o;
}

int op_usage_get(const struct op_usage *o, struct arena *mem, struct usage_put *ret)
{
    struct usage_names names = usage_text_names(mem);
    struct rd in = rd_of(o->bytes, o->n);
    struct str node = rd_text(&in, NODE_KEY_MAX);
    size_t n = rd_varint(&in), n_days = rd_varint(&in);
    struct usage_span *hours = arena_alloc(mem, n + 1, sizeof(*hours));
    int64_t *marks = arena_alloc(mem, n + 1, sizeof(*marks));
    struct usage_day *days = arena_alloc(mem, n_days + 1, sizeof(*days));

    *ret = (struct usage_put){arena_strn(mem, node.p, node.len), n, n_days, hours, marks, NULL, days};
    for (size_t i = 0; i < n; i++) {
        hours[i].at_ms = rd_zigzag(&in);
        hours[i].end_ms = rd_zigzag(&in);
        marks[i] = rd_zigzag(&in);
        if (usage_decode(&in, &names, mem, &hours[i]) < 0)
            return -EINVAL;
    }
    struct str zone = rd_text(&in, ZONE_MAX);
    ret->zone = arena_strn(mem, zone.p, zone.len);
    for (size_t i = 0; i < n_days; i++) {
        days[i].from_ms = rd_zigzag(&in);
        days[i].to_ms = rd_zigzag(&in);
    }
    return in.bad ? -EINVAL : 0;
}

struct op_take_over *op_take_over_new(const char *from, const char *to)
{
    struct op_take_over *o = op_new(OP_TAKE_OVER, sizeof(*o));

    mem_copy_str(o->from, sizeof(o->from), from);
    mem_copy_str(o->to, sizeof(o->to), to);
    return o;
}

struct store_op *op_records_new(enum store_kind kind, const void *v, size_t n)
{
    const struct record_kind *k = kind < STORE_TABLES ? main_records[kind] : NULL;
    size_t bytes = 0;

    if (kind == STORE_JOB_CHANGE)
        return &op_job_change_new(v)->told.op;
    if (!k)
        return (struct store_op *)op_usage_new(v);
    for (size_t i = 0; i < n; i++)
        bytes += record_pack(k, (const char *)v + i * k->size, NULL);
    struct op_records *o = op_new(OP_RECORDS, sizeof(*o) + bytes);
    char *at = o->bytes;
    o->of = kind;
    o->n = n;
    for (size_t i = 0; i < n; i++)
        at += record_pack(k, (const char *)v + i * k->size, at);
    return &o->told.op;
}
