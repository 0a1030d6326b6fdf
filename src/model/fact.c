/* fact.c: copies, ends and checks of facts. */
#include "model/fact.h"

#include "base/rand.h"

static void *copy_of(const void *p, size_t n, size_t size)
{
    if (!n)
        return NULL;
    void *q = mem_zero(n, size);
    memcpy(q, p, n * size);
    return q;
}

void node_fact_fini(struct node_fact *f)
{
    if (!f)
        return;
    free(f->devices);
    free(f->custom);
    *f = (struct node_fact){0};
}

void node_fact_copy(struct node_fact *to, const struct node_fact *from)
{
    struct node_fact f = *from;
    f.devices = copy_of(from->devices, from->n_devices, sizeof(*from->devices));
    f.custom = copy_of(from->custom, from->n_custom, sizeof(*from->custom));
    node_fact_fini(to);
    *to = f;
}

void proc_list_fini(struct proc_list *l)
{
    if (!l)
        return;
    free(l->v);
    *l = (struct proc_list){0};
}

void proc_list_copy(struct proc_list *to, const struct proc_list *from)
{
    struct proc_list l = {from->n, copy_of(from->v, from->n, sizeof(*from->v))};
    proc_list_fini(to);
    *to = l;
}

static const struct {
    size_t at, size;
} proc_texts[] = {
#define TEXT(field)                                                                                                    \
    {                                                                                                                  \
        offsetof(struct proc_fact, field), sizeof(((struct proc_fact *)0)->field)                                      \
    }
    TEXT(user), TEXT(name), TEXT(cmd), TEXT(runtime), TEXT(container), TEXT(pod),
#undef TEXT
};

struct proc_numbers {
    int64_t start_ms, uid, slurm_job;
    int32_t pid, ppid, root_pid;
};

size_t proc_fact_pack(const struct proc_fact *f, char *to)
{
    struct proc_numbers n = {f->start_ms, f->uid, f->slurm_job, f->pid, f->ppid, f->root_pid};
    size_t at = sizeof(n);

    if (to)
        memcpy(to, &n, sizeof(n));
    for (size_t i = 0; i < ARRAY_LEN(proc_texts); i++) {
        const char *text = (const char *)f + proc_texts[i].at;
        size_t len = strnlen(text, proc_texts[i].size - 1);
        if (to) {
            memcpy(to + at, text, len);
            to[at + len] = 0;
        }
        at += len + 1;
    }
    return at;
}

void proc_fact_unpack(const char *from, struct proc_fact *ret)
{
    struct proc_numbers n;

    memcpy(&n, from, sizeof(n));
    *ret = (struct proc_fact){.start_ms = n.start_ms,
                              .uid = n.uid,
                              .slurm_job = n.slurm_job,
                              .pid = n.pid,
                              .ppid = n.ppid,
                              .root_pid = n.root_pid};
    from += sizeof(n);
    for (size_t i = 0; i < ARRAY_LEN(proc_texts); i++) {
        mem_copy_str((char *)ret + proc_texts[i].at, proc_texts[i].size, from);
        from += strlen(from) + 1;
    }
}

bool node_id_parse(struct str hex, struct node_id *ret)
{
    uint64_t hi, lo;
    if (hex.len != (size_t)2 * NODE_ID_LEN || !str_hex(str_n(hex.p, 16), &hi) || !str_hex(str_n(hex.p + 16, 16), &lo))
        return false;
    if (hex.p[1] == 'x' || hex.p[17] == 'x') /* str_hex takes a prefix; an id has none */
        return false;
    for (int i = 0; i < 8; i++) {
        ret->b[i] = (uint8_t)(hi >> (56 - 8 * i));
        ret->b[8 + i] = (uint8_t)(lo >> (56 - 8 * i));
    }
    return true;
}

const char *node_id_text(const struct node_id *id, char out[33])
{
    static const char digit[] = "0123456789abcdef";
    for (size_t i = 0; i < NODE_ID_LEN; i++) {
        out[2 * i] = digit[id->b[i] >> 4];
        out[2 * i + 1] = digit[id->b[i] & 15];
    }
    out[32] = 0;
    return out;
}

bool name_ok(struct str s, size_t max)
{
    if (!s.len || s.len > max || !str_utf8_ok(s))
        return false;
    for (size_t i = 0; i < s.len; i++)
        if (s.p[i] == '"' || s.p[i] == '\\' || s.p[i] == '/' || s.p[i] == '\t')
            return false;
    return true;
}

bool node_origin_ok(struct str key)
{
    struct str name = key;
    return (str_skip(&name, "ssh:") || str_skip(&name, "file:")) && name_ok(name, ORIGIN_NAME_MAX);
}

void node_origin_id(struct str key, struct node_id *ret)
{
    uint64_t hi = fnv64(key.p, key.len), lo = fnv64(&hi, sizeof(hi)) ^ key.len;
    for (int i = 0; i < 8; i++) {
        ret->b[i] = (uint8_t)(hi >> (56 - 8 * i));
        ret->b[8 + i] = (uint8_t)(lo >> (56 - 8 * i));
    }
}
