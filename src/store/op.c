/* op.c: making, listing and freeing what waits for the writer. */
#include "store/op.h"

#include "base/mem.h"

void op_push(struct op_list *l, struct op *op)
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

void op_free_all(struct op *op)
{
    while (op) {
        struct op *next = op->next;
        free(op);
        op = next;
    }
}

static void *op_new(enum op_kind kind, size_t size)
{
    struct op *op = mem_alloc(size);

    *op = (struct op){.kind = kind, .size = size};
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

struct op_proc *op_proc_new(const struct store_proc *p)
{
    const char *node = p->node ? p->node : "", *device = p->device ? p->device : "";
    size_t n = strlen(node) + 1, d = strlen(device) + 1;
    struct op_proc *o = op_new(OP_PROC, sizeof(*o) + n + d + proc_fact_pack(&p->fact, NULL));

    o->first_ms = p->first_ms;
    o->last_ms = p->last_ms;
    o->mem_max = p->mem_max;
    o->ended = p->ended;
    memcpy(o->text, node, n);
    memcpy(o->text + n, device, d);
    proc_fact_pack(&p->fact, o->text + n + d);
    return o;
}

void op_proc_get(const struct op_proc *o, struct store_proc *ret)
{
    const char *device = o->text + strlen(o->text) + 1;

    ret->node = o->text;
    ret->device = device;
    ret->first_ms = o->first_ms;
    ret->last_ms = o->last_ms;
    ret->mem_max = o->mem_max;
    ret->ended = o->ended;
    proc_fact_unpack(device + strlen(device) + 1, &ret->fact);
}

struct op_event *op_event_new(const char *node, const char *device, const struct event *e)
{
    struct op_event *o = op_new(OP_EVENT, sizeof(*o));

    mem_copy_str(o->node, sizeof(o->node), node);
    mem_copy_str(o->device, sizeof(o->device), device);
    o->e = *e;
    return o;
}

/* Text of v's behind the op; what is NULL stays so. */
static struct op_job *op_job_make(const char **v[], size_t n, size_t more)
{
    size_t bytes = more;

    for (size_t i = 0; i < n; i++)
        bytes += *v[i] ? strlen(*v[i]) + 1 : 0;
    struct op_job *o = op_new(OP_JOB, sizeof(*o) + bytes);
    *o = (struct op_job){.told = {.op = o->told.op}};
    char *room = (char *)(o + 1) + more;
    for (size_t i = 0; i < n; i++) {
        size_t len = *v[i] ? strlen(*v[i]) + 1 : 0;
        if (!len)
            continue;
        memcpy(room, *v[i], len);
        *v[i] = room;
        room += len;
    }
    return o;
}

struct op_job *op_job_new(const struct job_fact *from)
{
    struct job_fact j = *from;
    const char **v[] = {&j.name, &j.kind, &j.person, &j.owner, &j.node, &j.devices, &j.pids, &j.attrs};
    struct op_job *o = op_job_make(v, ARRAY_LEN(v), sizeof(j));

    o->put = (struct job_fact *)(o + 1);
    *o->put = j;
    return o;
}

struct op_job *op_job_change_new(const struct job_change *from)
{
    struct job_change c = *from;
    const char **v[] = {&c.name, &c.node, &c.devices, &c.pids, &c.attrs};
    struct op_job *o = op_job_make(v, ARRAY_LEN(v), 0);

    o->change = c;
    return o;
}

struct op_hold *op_hold_new(const struct hold *h)
{
    struct op_hold *o = op_new(OP_HOLD, sizeof(*o) + hold_text_bytes(h));

    o->h = *h;
    hold_move_text(&o->h, (char *)(o + 1));
    return o;
}

struct op_token *op_token_new(const struct store_token *t)
{
    struct op_token *o = op_new(OP_TOKEN, sizeof(*o));

    o->t = *t;
    return o;
}

struct op_take_over *op_take_over_new(const char *from, const char *to)
{
    struct op_take_over *o = op_new(OP_TAKE_OVER, sizeof(*o));

    mem_copy_str(o->from, sizeof(o->from), from);
    mem_copy_str(o->to, sizeof(o->to), to);
    return o;
}
