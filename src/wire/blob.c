/*
 * blob.c: facts and process lists. A blob's name is the FNV-1a of its uncompressed content, so the same facts have the
 * same name whichever program compresses them. A blob whose content does not match its name is refused.
 *
 * Fields of a process list that version 1 does not have follow its compressed content, in a skippable zstd frame:
 * readers that do not know it ignore it. The name does not cover it, because it is derived from the processes.
 */
#include <errno.h>

#include "base/order.h"
#include "base/rand.h"
#include "wire/part.h"

#define BLOB_LEVEL     1 /* blobs are rare, but memory is an agent's scarcest resource */
#define DEVICE_MIN_LEN 13
#define CUSTOM_MIN_LEN 4
#define PROC_MIN_LEN   12
#define PROC_FIELDS    12          /* of version 1 */
#define MORE_MAGIC     0x184d2a50u /* RFC 8878, 3.1.2: a frame that decoders skip */
#define MORE_HEAD      8
#define MORE_MAX       (256u << 10)

static uint64_t blob_name(struct str raw)
{
    uint64_t id = fnv64(raw.p, raw.len);

    return id ? id : 1;
}

/* ---- writing ---- */

/* As put_packed, but always compressed, because more data follows. */
static int put_packed_with(struct buf *out, ZSTD_CCtx *z, struct str raw, const struct buf *more)
{
    size_t room = ZSTD_compressBound(raw.len);

    buf_u8(out, PACKED_ZSTD);
    buf_u32(out, (uint32_t)raw.len);
    char *to = buf_room(out, room);
    size_t n = to ? ZSTD_compress2(z, to, room, raw.p, raw.len) : 0;
    if (!to || ZSTD_isError(n))
        return -EMSGSIZE;
    buf_appended(out, n);
    buf_u32(out, MORE_MAGIC);
    buf_u32(out, (uint32_t)more->len);
    return buf_addstr(out, buf_str(more));
}

/* more: data after the compressed content; may be empty. */
static int put_blob(struct buf *out, enum frame_type type, const struct node_id *node, const struct buf *raw,
                    const struct buf *more, uint64_t *ret_id)
{
    if (raw->err || (more && more->err))
        return -E2BIG;
    uint64_t id = blob_name(buf_str(raw));
    size_t start = frame_begin(out, type);
    buf_add(out, node->b, NODE_ID_LEN);
    buf_u64(out, id);
    ZSTD_CCtx *z = packer_new(BLOB_LEVEL);
    int rc = more && more->len ? put_packed_with(out, z, buf_str(raw), more) : put_packed(out, z, buf_str(raw));
    rc = frame_end(out, start, rc);
    ZSTD_freeCCtx(z);
    if (rc == 0)
        *ret_id = id;
    return rc;
}

/* Uuids are shown, compared and used in labels, so they must not need quoting. Old MIG names have a '/'. */
static bool uuid_ok(const char *s)
{
    return *s && str_visible(str_of(s), "\"\\");
}

/* Each device once. */
static bool uuids_differ(const struct device_fact *d, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (ANY(i, k, strcmp(d[i].uuid, d[k].uuid) == 0))
            return false;
    return true;
}

static void put_fields(struct buf *raw, const struct record_kind *kind, size_t n, const void *record)
{
    for (const struct record_field *f = kind->fields; f < kind->fields + n; f++)
        if (record_is_number(f))
            buf_zigzag(raw, record_int(f, record));
        else
            put_text(raw, record_array(f, record), f->size);
}

static void put_device(struct buf *raw, const struct device_fact *d)
{
    put_text(raw, d->uuid, sizeof(d->uuid));
    put_text(raw, d->parent, sizeof(d->parent));
    put_text(raw, d->name, sizeof(d->name));
    put_text(raw, d->serial, sizeof(d->serial));
    put_text(raw, d->pci, sizeof(d->pci));
    buf_zigzag(raw, d->index);
    buf_zigzag(raw, d->minor);
    buf_zigzag(raw, d->mig);
    buf_u8(raw, d->vendor);
    buf_u8(raw, (uint8_t)(d->lost | d->asleep << 1));
    put_text(raw, d->note, sizeof(d->note));
}

int wire_put_facts(struct buf *out, const struct node_id *node, const struct node_fact *f, uint64_t *ret_id)
{
    AUTO_BUF raw = BUF_INIT(BLOB_RAW_MAX);

    if (f->n_devices > DEVICES_MAX || f->n_custom > CUSTOM_MAX)
        return -E2BIG;
    for (size_t i = 0; i < f->n_devices; i++)
        if (!uuid_ok(f->devices[i].uuid) || (f->devices[i].parent[0] && !uuid_ok(f->devices[i].parent)) ||
            f->devices[i].vendor >= VENDOR_COUNT)
            return -EINVAL;
    if (!uuids_differ(f->devices, f->n_devices))
        return -EINVAL;
    if (put_name(&raw, f->name, sizeof(f->name)) < 0)
        return -EINVAL;
    put_fields(&raw, &node_facts, node_facts.n, f);
    buf_varint(&raw, f->n_devices);
    for (size_t i = 0; i < f->n_devices; i++)
        put_device(&raw, &f->devices[i]);
    buf_varint(&raw, f->n_custom);
    for (size_t i = 0; i < f->n_custom; i++) {
        const struct custom_fact *c = &f->custom[i];
        if (c->unit >= UNIT_COUNT || c->kind > KIND_COUNTER || c->per <= 0 ||
            put_name(&raw, c->name, sizeof(c->name)) == -EINVAL)
            return -EINVAL;
        buf_u8(&raw, c->unit);
        buf_u8(&raw, c->kind);
        buf_zigzag(&raw, c->per);
    }
    return put_blob(out, FRAME_FACTS, node, &raw, NULL, ret_id);
}

/* Writes which processes a launcher started, and their rendezvous address. */
static void put_launches(struct buf *more, const struct proc_list *l)
{
    size_t n = 0;

    for (size_t i = 0; i < l->n; i++)
        n += l->v[i].launch[0] != 0;
    if (n)
        buf_varint(more, n);
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].launch[0]) {
            buf_varint(more, i);
            put_text(more, l->v[i].launch, sizeof(l->v[i].launch));
        }
}

int wire_put_procs(struct buf *out, const struct node_id *node, const struct proc_list *l, uint64_t *ret_id)
{
    AUTO_BUF raw = BUF_INIT(BLOB_RAW_MAX), more = BUF_INIT(MORE_MAX);

    if (l->n > PROCS_MAX)
        return -E2BIG;
    buf_varint(&raw, l->n);
    for (size_t i = 0; i < l->n; i++) {
        const struct proc_fact *p = &l->v[i];
        if (p->start_ms < 0 || p->start_ms >= WIRE_TIME_END)
            return -EINVAL;
        put_fields(&raw, &proc_wire, PROC_FIELDS, p);
    }
    put_launches(&more, l);
    return put_blob(out, FRAME_PROCS, node, &raw, &more, ret_id);
}

/* ---- reading ---- */

/* The data after the compressed content; empty if none, or of an unknown kind. */
static struct str more_of(struct str packed)
{
    size_t n = ZSTD_findFrameCompressedSize(packed.p, packed.len);
    struct rd r = rd_of(packed.p, packed.len);

    if (ZSTD_isError(n))
        return STR("");
    rd_bytes(&r, n);
    uint32_t magic = rd_u32(&r), len = rd_u32(&r);
    return r.bad || magic != MORE_MAGIC || len > MIN(rd_left(&r), (size_t)MORE_MAX) ? STR("") : str_n(r.p, len);
}

/* The decompressed content, checked against its name; free *ret_own. more may be NULL; it borrows f's bytes. */
static int blob_open(const struct frame *f, enum frame_type type, struct str *ret, void **ret_own, struct str *more,
                     struct err *err)
{
    struct body b;

    if (f->type != type)
        return err_set(err, -EINVAL, "a frame of type %u is no blob of type %d", f->type, type);
    int rc = body_read(f->payload, NODE_ID_LEN + 8, BLOB_RAW_MAX, &b, err);
    if (rc < 0)
        return rc;
    struct str raw = str_n(b.p, b.len);
    AUTO_FREE void *own = NULL;
    if (b.zstd) {
        own = mem_alloc(b.raw_len);
        size_t n = ZSTD_decompress(own, b.raw_len, b.p, b.len);
        if (ZSTD_isError(n) || n != b.raw_len)
            return err_set(err, -EBADMSG, "a blob does not unpack");
        raw = str_n(own, n);
        if (more)
            *more = more_of(str_n(b.p, b.len));
    }
    if (blob_name(raw) != f->id)
        return err_set(err, -EBADMSG, "a blob's content does not match its name");
    *ret = raw;
    *ret_own = own;
    own = NULL; /* owned by the caller now */
    return 0;
}

static void in_uuid(struct in *in, char *ret, bool may_be_empty, const char *what)
{
    char text[UUID_MAX + 1];

    in_text(in, text, sizeof(text), what);
    if (strlen(text) >= UUID_MAX)
        in_bad(in, what, "is too long");
    else if (in_ok(in) && !(may_be_empty && !text[0]) && !uuid_ok(text))
        in_bad(in, what, "is empty or has a character that it may not have");
    if (in_ok(in))
        mem_copy_str(ret, UUID_MAX, text);
}

static int32_t in_i32(struct in *in, const char *what)
{
    return (int32_t)in_range(in, INT32_MIN, INT32_MAX, what);
}

static void in_device(struct in *in, struct device_fact *d)
{
    in_uuid(in, d->uuid, false, "a device's uuid");
    in_uuid(in, d->parent, true, "a device's parent");
    in_text(in, d->name, sizeof(d->name), "a device's name");
    in_text(in, d->serial, sizeof(d->serial), "a device's serial number");
    in_text(in, d->pci, sizeof(d->pci), "a device's PCI address");
    d->index = in_i32(in, "a device's index");
    d->minor = in_i32(in, "a device's minor number");
    d->mig = in_i32(in, "a device's MIG number");
    d->vendor = rd_u8(&in->r);
    if (d->vendor >= VENDOR_COUNT)
        d->vendor = VENDOR_UNKNOWN; /* written by a newer version */
    uint8_t flags = rd_u8(&in->r);
    d->lost = flags & 1;
    d->asleep = flags >> 1 & 1;
    in_text(in, d->note, sizeof(d->note), "a device's note");
}

static void in_custom(struct in *in, struct custom_fact *c)
{
    in_name(in, c->name, sizeof(c->name), "a custom metric's name");
    c->unit = rd_u8(&in->r);
    c->kind = rd_u8(&in->r);
    c->per = in_range(in, 1, INT64_MAX, "a custom metric's scale");
    if (c->unit >= UNIT_COUNT || c->kind > KIND_COUNTER)
        in_bad(in, "a custom metric's unit or kind", "is not known here");
}

/* Reads a count. Invalid if the rest is too short for it, so that a false count allocates nothing. */
static size_t in_many(struct in *in, size_t max, size_t min_len, const char *what)
{
    size_t n = (size_t)in_count(in, max, what);

    if (n * min_len <= rd_left(&in->r))
        return n;
    in_bad(in, what, "end too early");
    return 0;
}

static void in_fields(struct in *in, const struct record_kind *kind, size_t n, void *ret)
{
    for (const struct record_field *f = kind->fields; f < kind->fields + n; f++) {
        int64_t most = record_int_max(f);
        if (!record_is_number(f))
            in_text(in, record_array(f, ret), f->size, f->words);
        else if (f->most == RECORD_TIME_MAX)
            record_set_int(f, ret, in_range(in, 0, WIRE_TIME_END - 1, f->words));
        else
            record_set_int(f, ret, in_range(in, -most - 1, most, f->words));
    }
}

static void in_facts(struct in *in, struct node_fact *f)
{
    in_name(in, f->name, sizeof(f->name), "the node's name");
    in_fields(in, &node_facts, node_facts.n, f);
    f->n_devices = in_many(in, DEVICES_MAX, DEVICE_MIN_LEN, "the devices");
    f->devices = f->n_devices ? mem_zero(f->n_devices, sizeof(*f->devices)) : NULL;
    for (size_t i = 0; i < f->n_devices && in_ok(in); i++)
        in_device(in, &f->devices[i]);
    if (in_ok(in) && !uuids_differ(f->devices, f->n_devices))
        in_bad(in, "a device's uuid", "comes twice");
    f->n_custom = in_many(in, CUSTOM_MAX, CUSTOM_MIN_LEN, "the custom metrics");
    f->custom = f->n_custom ? mem_zero(f->n_custom, sizeof(*f->custom)) : NULL;
    for (size_t i = 0; i < f->n_custom && in_ok(in); i++)
        in_custom(in, &f->custom[i]);
}

int wire_facts(const struct frame *f, struct node_fact *ret, struct err *err)
{
    struct str raw = STR("");
    AUTO_FREE void *own = NULL;
    int rc = blob_open(f, FRAME_FACTS, &raw, &own, NULL, err);

    if (rc < 0)
        return rc;
    struct in in = {.r = rd_of(raw.p, raw.len)};
    struct node_fact facts = {0};
    in_facts(&in, &facts);
    rc = in_end(&in, "facts", err);
    if (rc < 0)
        node_fact_fini(&facts);
    else
        *ret = facts;
    return rc;
}

/* Ignores data after the launches, written by later versions. */
static void in_launches(struct in *in, struct proc_list *l)
{
    size_t n = l->n ? (size_t)in_count(in, l->n, "the launches") : 0;

    for (size_t i = 0; i < n && in_ok(in); i++) {
        size_t at = (size_t)in_count(in, l->n - 1, "a launch's process");
        in_text(in, l->v[at].launch, sizeof(l->v[at].launch), "a launch");
    }
}

int wire_procs(const struct frame *f, struct proc_list *ret, struct err *err)
{
    struct str raw = STR(""), more = STR("");
    AUTO_FREE void *own = NULL;
    int rc = blob_open(f, FRAME_PROCS, &raw, &own, &more, err);

    if (rc < 0)
        return rc;
    struct in in = {.r = rd_of(raw.p, raw.len)};
    struct proc_list l = {.n = in_many(&in, PROCS_MAX, PROC_MIN_LEN, "the processes")};
    l.v = l.n ? mem_zero(l.n, sizeof(*l.v)) : NULL;
    for (size_t i = 0; i < l.n && in_ok(&in); i++)
        in_fields(&in, &proc_wire, PROC_FIELDS, &l.v[i]);
    rc = in_end(&in, "processes", err);
    if (rc == 0 && more.len) {
        struct in behind = {.r = rd_of(more.p, more.len)};
        in_launches(&behind, &l);
        rd_bytes(&behind.r, rd_left(&behind.r));
        rc = in_end(&behind, "launches", err);
    }
    if (rc < 0)
        proc_list_fini(&l);
    else
        *ret = l;
    return rc;
}
