/*
 * note.c: alerts, silences and messages as JSON and back: one table per record, of the members' names and where they
 * are.
 */
#include "format/note.h"

#include <errno.h>
#include <jansson.h>

#include "base/base64.h"
#include "base/json.h"
#include "base/mem.h"

struct member {
    const char *name;
    size_t at;
    enum { M_TEXT, M_INT64, M_INT32 } kind;
};

static const struct member alert_members[] = {
    {"id", offsetof(struct alert, id), M_INT64},
    {"severity", offsetof(struct alert, severity), M_INT32},
    {"since", offsetof(struct alert, since_ms), M_INT64},
    {"fired", offsetof(struct alert, fired_ms), M_INT64},
    {"resolved", offsetof(struct alert, resolved_ms), M_INT64},
    {"told", offsetof(struct alert, told_ms), M_INT64},
    {"tells", offsetof(struct alert, tells), M_INT32},
    {"closed", offsetof(struct alert, closed_ms), M_INT64},
    {"notice", offsetof(struct alert, notice), M_INT32},
    {"rule", offsetof(struct alert, rule), M_TEXT},
    {"subject", offsetof(struct alert, subject), M_TEXT},
    {"node", offsetof(struct alert, node), M_TEXT},
    {"place", offsetof(struct alert, place), M_TEXT},
    {"device", offsetof(struct alert, device), M_TEXT},
    {"person", offsetof(struct alert, person), M_TEXT},
    {"text", offsetof(struct alert, text), M_TEXT},
    {"advice", offsetof(struct alert, advice), M_TEXT},
    {"told_to", offsetof(struct alert, told_to), M_TEXT},
    {0},
};
static const struct member silence_members[] = {
    {"id", offsetof(struct silence, id), M_INT64},          {"created", offsetof(struct silence, created_ms), M_INT64},
    {"until", offsetof(struct silence, until_ms), M_INT64}, {"rule", offsetof(struct silence, rule), M_TEXT},
    {"node", offsetof(struct silence, node), M_TEXT},       {"person", offsetof(struct silence, person), M_TEXT},
    {"by", offsetof(struct silence, by), M_TEXT},           {"reason", offsetof(struct silence, reason), M_TEXT},
    {"owner", offsetof(struct silence, owner), M_TEXT},     {0},
};

static const struct member message_members[] = {
    {"id", offsetof(struct message, id), M_INT64},
    {"created", offsetof(struct message, created_ms), M_INT64},
    {"kind", offsetof(struct message, kind), M_INT32},
    {"severity", offsetof(struct message, severity), M_INT32},
    {"channel", offsetof(struct message, channel), M_TEXT},
    {"to", offsetof(struct message, to), M_TEXT},
    {"person", offsetof(struct message, person), M_TEXT},
    {"thread", offsetof(struct message, thread), M_TEXT},
    {"rule", offsetof(struct message, rule), M_TEXT},
    {"title", offsetof(struct message, title), M_TEXT},
    {"text", offsetof(struct message, text), M_TEXT},
    {"html", offsetof(struct message, html), M_TEXT},
    {"blocks", offsetof(struct message, blocks), M_TEXT},
    {"alerts", offsetof(struct message, alerts), M_TEXT},
    {0},
};
static const struct member file_members[] = {
    {"name", offsetof(struct message_file, name), M_TEXT},
    {"type", offsetof(struct message_file, type), M_TEXT},
    {"title", offsetof(struct message_file, title), M_TEXT},
    {0},
};

static void add_members(const struct member *m, const void *record, struct json *j)
{
    for (; m->name; m++) {
        const char *at = (const char *)record + m->at;
        if (m->kind == M_TEXT)
            json_cstr(j, m->name, *(const char *const *)(const void *)at);
        else
            json_int(j, m->name,
                     m->kind == M_INT64 ? *(const int64_t *)(const void *)at : *(const int32_t *)(const void *)at);
    }
}

static void write_members(const struct member *m, const void *record, struct buf *out)
{
    struct json j = json_on(out);

    json_obj(&j, NULL);
    add_members(m, record, &j);
    json_end_obj(&j);
}

/* Text is borrowed from o. */
static int read_members(const struct member *m, json_t *o, void *record, struct err *err)
{
    if (!json_is_object(o))
        return err_set(err, -EBADMSG, "a note is not what it should be");
    for (; m->name; m++) {
        json_t *v = json_object_get(o, m->name);
        char *at = (char *)record + m->at;
        const char *text = json_string_value(v);
        if (m->kind == M_TEXT)
            *(const char **)(void *)at = text ? text : "";
        else if (m->kind == M_INT64)
            *(int64_t *)(void *)at = json_integer_value(v);
        else
            *(int32_t *)(void *)at = (int32_t)MAX(-1, MIN(json_integer_value(v), INT32_MAX));
    }
    return 0;
}

void alert_write(const struct alert *a, struct buf *out)
{
    write_members(alert_members, a, out);
}

void silence_write(const struct silence *s, struct buf *out)
{
    write_members(silence_members, s, out);
}

void message_write(const struct message *m, struct buf *out)
{
    struct json j = json_on(out);

    json_obj(&j, NULL);
    add_members(message_members, m, &j);
    if (m->n_files)
        json_arr(&j, "files");
    for (size_t i = 0; i < m->n_files; i++) {
        AUTO_BUF bytes = BUF_INIT(2ul * MESSAGE_FILE_BYTES);
        base64_add(&bytes, m->files[i].bytes);
        json_obj(&j, NULL);
        add_members(file_members, &m->files[i], &j);
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
        r = read_members(file_members, o, &files[i], err);
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

    if (read_members(message_members, o, &m, err) == 0 && m.id > 0 && m.severity >= 0 && m.severity < SEVERITIES &&
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

    if (read_members(alert_members, o, &a, err) == 0 && a.id > 0 && a.severity >= 0 && a.severity < SEVERITIES)
        ret = alert_copy(&a);
    else if (o)
        err_set(err, -EBADMSG, "a note is not an alert");
    return ret;
}

struct silence *silence_read(struct str bytes, struct err *err)
{
    json_auto_t *o = json_loadb(bytes.p ? bytes.p : "", bytes.len, 0, NULL);
    struct silence s = {0}, *ret = NULL;

    if (read_members(silence_members, o, &s, err) == 0 && s.id > 0)
        ret = silence_copy(&s);
    else if (o)
        err_set(err, -EBADMSG, "a note is not a silence");
    return ret;
}
