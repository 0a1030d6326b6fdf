/* note.c: alerts, silences and messages as JSON and back, by the tables of their fields. */
#include "format/note.h"

#include <errno.h>
#include <jansson.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"

/* What is 0 or empty is left out: it is read so. */
static void add_members(const struct record_kind *kind, const void *record, struct json *j)
{
    for (size_t i = 0; i < kind->n; i++) {
        const struct record_field *f = &kind->fields[i];
        const char *text = f->type == FIELD_TEXT ? *record_text(f, record) : NULL;
        if (text && *text)
            json_cstr(j, f->json, text);
        else if (f->json && f->type != FIELD_TEXT && record_int(f, record))
            json_int(j, f->json, record_int(f, record));
    }
}

static void write_members(const struct record_kind *kind, const void *record, struct buf *out)
{
    struct json j = json_on(out);

    json_obj(&j, NULL);
    add_members(kind, record, &j);
    json_end_obj(&j);
}

/* Text is borrowed from o. */
static int read_members(const struct record_kind *kind, json_t *o, void *record, struct err *err)
{
    if (!json_is_object(o))
        return err_set(err, -EBADMSG, "a note is not what it should be");
    for (size_t i = 0; i < kind->n; i++) {
        const struct record_field *f = &kind->fields[i];
        json_t *v = f->json ? json_object_get(o, f->json) : NULL;
        const char *text = json_string_value(v);
        if (f->type == FIELD_TEXT)
            *record_text(f, record) = text ? text : "";
        else if (f->json && f->size == sizeof(int64_t))
            record_set_int(f, record, json_integer_value(v));
        else if (f->json)
            record_set_int(f, record, MAX(-1, MIN(json_integer_value(v), INT32_MAX)));
    }
    return 0;
}

void alert_write(const struct alert *a, struct buf *out)
{
    write_members(&alert_record, a, out);
}

void silence_write(const struct silence *s, struct buf *out)
{
    write_members(&silence_record, s, out);
}

void message_write(const struct message *m, struct buf *out)
{
    struct json j = json_on(out);

    json_obj(&j, NULL);
    add_members(&message_record, m, &j);
    if (m->n_files)
        json_arr(&j, "files");
    for (size_t i = 0; i < m->n_files; i++) {
        AUTO_BUF bytes = BUF_INIT(2ul * MESSAGE_FILE_BYTES);
        base64_add(&bytes, m->files[i].bytes);
        json_obj(&j, NULL);
        add_members(&message_file_record, &m->files[i], &j);
        json_str(&j, "bytes", buf_str(&bytes));
        json_end_obj(&j);
    }
    if (m->n_files)
        json_end_arr(&j);
    json_end_obj(&j);
}

/* bytes holds what the files do, one behind the other: it has room for all of it, and does not move. */
static int read_files(json_t *list, struct message_file *files, size_t *ret_n, struct buf *bytes, struct err *err)
{
    size_t n = json_array_size(list);
    int r = n > MESSAGE_FILES_MAX || (n && !buf_room(bytes, MESSAGE_FILE_BYTES)) ? -EBADMSG : 0;

    for (size_t i = 0; i < n && r == 0; i++) {
        json_t *o = json_array_get(list, i), *text = json_object_get(o, "bytes");
        size_t from = bytes->len;
        r = read_members(&message_file_record, o, &files[i], err);
        if (r == 0)
            r = base64_read(str_n(json_string_value(text), json_string_length(text)), bytes);
        files[i].bytes = str_n(bytes->p + from, bytes->len - from);
    }
    *ret_n = n;
    return r;
}

struct message *message_read(struct str bytes, struct err *err)
{
    json_auto_t *o = json_loadb(bytes.p ? bytes.p : "", bytes.len, 0, NULL);
    struct message_file files[MESSAGE_FILES_MAX] = {0};
    struct message m = {.files = files}, *ret = NULL;
    AUTO_BUF held = BUF_INIT(MESSAGE_FILE_BYTES);

    if (read_members(&message_record, o, &m, err) == 0 && m.id > 0 && m.severity >= 0 && m.severity < SEVERITIES &&
        m.kind >= 0 && m.kind < MESSAGE_KINDS && m.channel[0] &&
        read_files(json_object_get(o, "files"), files, &m.n_files, &held, err) == 0)
        ret = message_copy(&m);
    else if (o)
        err_set(err, -EBADMSG, "a note is not a message");
    return ret;
}

struct alert *alert_read(struct str bytes, struct err *err)
{
    json_auto_t *o = json_loadb(bytes.p ? bytes.p : "", bytes.len, 0, NULL);
    struct alert a = {0}, *ret = NULL;

    if (read_members(&alert_record, o, &a, err) == 0 && a.id > 0 && a.severity >= 0 && a.severity < SEVERITIES)
        ret = alert_copy(&a);
    else if (o)
        err_set(err, -EBADMSG, "a note is not an alert");
    return ret;
}

struct silence *silence_read(struct str bytes, struct err *err)
{
    json_auto_t *o = json_loadb(bytes.p ? bytes.p : "", bytes.len, 0, NULL);
    struct silence s = {0}, *ret = NULL;

    if (read_members(&silence_record, o, &s, err) == 0 && s.id > 0)
        ret = silence_copy(&s);
    else if (o)
        err_set(err, -EBADMSG, "a note is not a silence");
    return ret;
}
