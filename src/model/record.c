/* record.c: reads, changes and copies a record by the table of its fields. */
#include "model/record.h"

#include <string.h>

#include "base/mem.h"

int64_t record_int(const struct record_field *f, const void *record)
{
    const char *at = (const char *)record + f->at;

    switch (f->size) {
    case 1:
        return *(const uint8_t *)at;
    case 2:
        return *(const uint16_t *)at;
    case 4:
        return *(const int32_t *)at;
    default:
        return *(const int64_t *)at;
    }
}

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

size_t record_text_bytes(const struct record_kind *kind, const void *record)
{
    size_t bytes = 0;

    for (size_t i = 0; i < kind->n; i++)
        if (kind->fields[i].type == FIELD_TEXT) {
            const char *s = *record_text(&kind->fields[i], record);
            bytes += (s ? strlen(s) : 0) + 1;
        }
    return bytes;
}

void record_move_text(const struct record_kind *kind, void *record, char *room)
{
    for (size_t i = 0; i < kind->n; i++)
        if (kind->fields[i].type == FIELD_TEXT) {
            const char **at = record_text(&kind->fields[i], record);
            size_t len = *at ? strlen(*at) : 0;
            if (len)
                memcpy(room, *at, len);
            room[len] = 0;
            *at = room;
            room += len + 1;
        }
}

void *record_copy(const struct record_kind *kind, const void *record)
{
    char *to = mem_alloc(kind->size + record_text_bytes(kind, record));

    memcpy(to, record, kind->size);
    record_move_text(kind, to, to + kind->size);
    return to;
}

static bool is_text(const struct record_field *f)
{
    return f->type == FIELD_TEXT || f->type == FIELD_NAME;
}

size_t record_pack(const struct record_kind *kind, const void *record, char *to)
{
    size_t at = 0;

    for (size_t i = 0; i < kind->n; i++) {
        const struct record_field *f = &kind->fields[i];
        const char *from = f->type == FIELD_TEXT ? *record_text(f, record) : record_array(f, record);
        size_t n = !is_text(f) ? f->size : f->type == FIELD_NAME ? strnlen(from, f->size - 1) : from ? strlen(from) : 0;
        if (to && n)
            memcpy(to + at, from, n);
        if (to && is_text(f))
            to[at + n] = 0;
        at += n + is_text(f);
    }
    return at;
}

void record_unpack(const struct record_kind *kind, const char *from, void *ret)
{
    memset(ret, 0, kind->size);
    for (size_t i = 0; i < kind->n; i++) {
        const struct record_field *f = &kind->fields[i];
        size_t n = is_text(f) ? strlen(from) + 1 : f->size;
        if (f->type == FIELD_TEXT)
            *record_text(f, ret) = from;
        else
            memcpy(record_array(f, ret), from, MIN(n, f->size));
        from += n;
    }
}
