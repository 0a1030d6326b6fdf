/* record.c: reads, changes and copies a record by the table of its fields. */
#include "model/record.h"

#include "base/mem.h"

void record_set_int(const struct record_field *f, void *record, int64_t v)
{
    char *at = (char *)record + f->at;

    if (f->type == FIELD_FLAG)
        v = v != 0;
    switch (f->size) {
    case 1:
        *(uint8_t *)at = (uint8_t)v;
        break;
    case 2:
        *(uint16_t *)at = (uint16_t)v;
        break;
    case 4:
        *(int32_t *)at = (int32_t)v;
        break;
    default:
        *(int64_t *)at = v;
    }
}

const char **record_text(const struct record_field *f, const void *record)
{
    return (const char **)((char *)(uintptr_t)record + f->at);
}

static bool is_text(const struct record_field *f)
{
    return f->type == FIELD_TEXT || f->type == FIELD_NAME;
}

/* The bytes to copy of a field; a BLOB has its length before it, text a NUL at the end. */
static struct str field_bytes(const struct record_field *f, const void *record)
{
    const char *at = record_array(f, record);

    switch (f->type) {
    case FIELD_TEXT:
        return str_of(*record_text(f, record));
    case FIELD_NAME:
        return str_n(at, strnlen(at, f->size - 1));
    case FIELD_BLOB:
        return *record_blob(f, record);
    default:
        return str_n(at, f->size);
    }
}

size_t record_pack(const struct record_kind *kind, const void *record, char *to)
{
    size_t at = 0;

    for (size_t i = 0; i < kind->n; i++) {
        const struct record_field *f = &kind->fields[i];
        struct str s = field_bytes(f, record);
        if (to && f->type == FIELD_BLOB)
            memcpy(to + at, &s.len, sizeof(s.len));
        at += f->type == FIELD_BLOB ? sizeof(s.len) : 0;
        if (to && s.len)
            memcpy(to + at, s.p, s.len);
        if (to && is_text(f))
            to[at + s.len] = 0;
        at += s.len + is_text(f);
    }
    return at;
}

static const char *unpack_fields(const struct record_kind *kind, const char *from, void *ret)
{
    for (size_t i = 0; i < kind->n; i++) {
        const struct record_field *f = &kind->fields[i];
        size_t n = is_text(f) ? strlen(from) + 1 : f->size;
        if (f->type == FIELD_TEXT) {
            *record_text(f, ret) = from;
        } else if (f->type == FIELD_BLOB) {
            memcpy(&n, from, sizeof(n));
            from += sizeof(n);
            *record_blob(f, ret) = str_n(from, n);
        } else {
            memcpy(record_array(f, ret), from, n);
        }
        from += n;
    }
    return from;
}

const char *record_unpack(const struct record_kind *kind, const char *from, void *ret)
{
    memset(ret, 0, kind->size);
    return unpack_fields(kind, from, ret);
}

void *record_copy(const struct record_kind *kind, const void *record)
{
    char *to = mem_alloc(kind->size + record_pack(kind, record, NULL));

    memcpy(to, record, kind->size); /* also what no field names */
    record_pack(kind, record, to + kind->size);
    unpack_fields(kind, to + kind->size, to);
    return to;
}
