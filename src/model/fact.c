/* fact.c: copies, ends and checks of facts. */
#include "model/fact.h"

#include "base/digits.h"
#include "base/order.h"
#include "base/rand.h"

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
    f.devices = mem_dup(from->devices, from->n_devices, sizeof(*from->devices));
    f.custom = mem_dup(from->custom, from->n_custom, sizeof(*from->custom));
    node_fact_fini(to);
    *to = f;
}

int node_fact_device(struct node_fact *f, const char *uuid, bool add)
{
    size_t i = FIRST(f->n_devices, k, strcmp(f->devices[k].uuid, uuid) == 0);
    if (i == f->n_devices) {
        if (!add || i >= DEVICES_MAX)
            return -1;
        f->devices = mem_grow(f->devices, ++f->n_devices, sizeof(*f->devices));
        f->devices[i] = (struct device_fact){.index = -1, .minor = -1, .mig = -1};
        mem_copy_str(f->devices[i].uuid, sizeof(f->devices[i].uuid), uuid);
    }
    return (int)i;
}

int node_fact_custom(struct node_fact *f, const char *name, bool add)
{
    size_t i = FIRST(f->n_custom, k, strcmp(f->custom[k].name, name) == 0);
    if (i == f->n_custom) {
        if (!add || i >= CUSTOM_MAX)
            return -1;
        f->custom = mem_grow(f->custom, ++f->n_custom, sizeof(*f->custom));
        f->custom[i] = (struct custom_fact){.per = 1};
        mem_copy_str(f->custom[i].name, sizeof(f->custom[i].name), name);
    }
    return (int)i;
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
    struct proc_list l = {from->n, mem_dup(from->v, from->n, sizeof(*from->v))};
    proc_list_fini(to);
    *to = l;
}

#define NUMBER(ctype, field, js, max, said) RECORD_FIELD(node_fact, 1, field, INT, NULL, js, max, .words = (said)),
#define TEXT(bytes, field, js, said)        RECORD_FIELD(node_fact, 1, field, NAME, NULL, js, 0, .words = (said)),
static const struct record_field node_fields[] = {
#include "model/node.def"
};
const struct record_kind node_facts = {NULL, node_fields, ARRAY_LEN(node_fields), sizeof(struct node_fact)};

#define NUMBER(wire, kept, shown, ctype, field, js, unknown, max, how, said)                                           \
    [PLACE(wire, kept, shown)] = RECORD_FIELD(OWNER, 1 + PLACE(wire, kept, shown), MEMBER(field), INT, #field, js,     \
                                              max, .none = (unknown), .put = PUT_##how, .words = (said)),
#define TEXT(wire, kept, shown, bytes, field, js, how, said)                                                           \
    [PLACE(wire, kept, shown)] = RECORD_FIELD(OWNER, 1 + PLACE(wire, kept, shown), MEMBER(field), NAME, #field, js, 0, \
                                              .put = PUT_##how, .words = (said)),
#define OWNER                    proc_fact
#define MEMBER(field)            field
#define PLACE(wire, kept, shown) (wire)
static const struct record_field wire_fields[] = {
#include "model/proc.def"
};
#undef PLACE
#define PLACE(wire, kept, shown) (shown)
static const struct record_field shown_fields[] = {
#include "model/proc.def"
};
#undef PLACE
#undef OWNER
#undef MEMBER
#define PLACE(wire, kept, shown)   (kept)
#define OWNER                      proc_span
#define MEMBER(field)              fact.field
#define SEEN(at, field, type, ...) [at] = RECORD_FIELD(proc_span, 1 + (at), field, type, #field, __VA_ARGS__)
static const struct record_field kept_fields[] = {
    SEEN(0, node, TEXT, NULL, 0, .put = PUT_KEY),
    SEEN(1, device, TEXT, NULL, 0, .put = PUT_KEY),
#include "model/proc.def"
    SEEN(14, first_ms, INT, "first", RECORD_TIME_MAX, .put = PUT_MIN, .none = 1),
    SEEN(15, last_ms, INT, "last", RECORD_TIME_MAX, .put = PUT_MAX, .none = 1),
    SEEN(16, mem_max, INT, "mem_max", INT64_MAX, .put = PUT_MAX, .none = -1),
    SEEN(17, ended, FLAG, "ended", 0, .put = PUT_NEWER),
    SEEN(18, kind, INT, NULL, 0, .put = PUT_FILL),
    SEEN(19, sm, INT, NULL, 0, .put = PUT_FILL, .none = -1),
};
const struct record_kind proc_wire = {NULL, wire_fields, ARRAY_LEN(wire_fields), sizeof(struct proc_fact)};
const struct record_kind proc_shown = {NULL, shown_fields, ARRAY_LEN(shown_fields), sizeof(struct proc_fact)};
const struct record_kind proc_record = {"processes", kept_fields, ARRAY_LEN(kept_fields), sizeof(struct proc_span)};

static void id_of(uint64_t hi, uint64_t lo, struct node_id *ret)
{
    for (int i = 0; i < 8; i++) {
        ret->b[i] = (uint8_t)(hi >> (56 - 8 * i));
        ret->b[8 + i] = (uint8_t)(lo >> (56 - 8 * i));
    }
}

bool node_id_parse(struct str hex, struct node_id *ret)
{
    uint64_t hi, lo;
    if (hex.len != (size_t)2 * NODE_ID_LEN || !str_hex(str_n(hex.p, 16), &hi) || !str_hex(str_n(hex.p + 16, 16), &lo))
        return false;
    if (hex.p[1] == 'x' || hex.p[17] == 'x') /* str_hex accepts a prefix; an id has none */
        return false;
    id_of(hi, lo, ret);
    return true;
}

const char *node_id_text(const struct node_id *id, char out[33])
{
    return hex_text(id->b, NODE_ID_LEN, out);
}

const char *device_index_text(const struct device_fact *f, char out[24])
{
    if (f->mig >= 0 && f->parent[0])
        snprintf(out, 24, "%d.%d", (int)f->index, (int)f->mig);
    else if (f->index >= 0)
        *digits_put(out, (uint64_t)f->index) = 0;
    else
        snprintf(out, 24, "%d", (int)f->index);
    return out;
}

bool name_ok(struct str s, size_t max)
{
    return s.len && s.len <= max && str_utf8_ok(s) && !ANY(s.len, i, strchr("\"\\/\t", s.p[i]));
}

bool node_origin_ok(struct str key)
{
    struct str name = key;
    return (str_skip(&name, "ssh:") || str_skip(&name, "file:")) && name_ok(name, ORIGIN_NAME_MAX);
}

void node_origin_id(struct str key, struct node_id *ret)
{
    uint64_t hi = fnv64(key.p, key.len), lo = fnv64(&hi, sizeof(hi)) ^ key.len;
    id_of(hi, lo, ret);
}
