/* message.c: copies messages: their texts, then the table of files and what it points to. */
#include "model/message.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/plain.h"

#define SLACK_TEXT_BYTES 39000 /* Slack cuts beyond 40000 */

const char *const message_words[MESSAGE_KINDS] = {"fired", "resolved", "reminder", "notice", "report", "answer"};

static const struct record_field fields[] = {
#define FIELD(no, field, ...) RECORD_FIELD(message, no, field, __VA_ARGS__),
#define KEY                   FIELD
#include "model/message.def"
};
const struct record_kind message_record = {NULL, fields, ARRAY_LEN(fields), sizeof(struct message)};

static const struct record_field file_fields[] = {
    RECORD_FIELD(message_file, 1, name, TEXT, NULL, "name", 0),
    RECORD_FIELD(message_file, 2, type, TEXT, NULL, "type", 0),
    RECORD_FIELD(message_file, 3, title, TEXT, NULL, "title", 0),
    RECORD_FIELD(message_file, 4, bytes, BLOB, NULL, NULL, 0),
};
const struct record_kind message_file_record = {NULL, file_fields, ARRAY_LEN(file_fields), sizeof(struct message_file)};

/* As it may be read: nothing in it moves a cursor or turns text round, whichever way it goes out. */
static const char *show(const char *s, struct buf *room, int (*add)(struct buf *out, struct str s))
{
    if (plain_is(str_of(s)))
        return s;
    *room = BUF_INIT(plain_room(str_of(s)));
    add(room, str_of(s));
    return room->p ? room->p : "";
}

/* Packs into room and advances it. */
static void copy_into(const struct record_kind *kind, const void *from, void *to, char **room)
{
    size_t n = record_pack(kind, from, *room);

    record_unpack(kind, *room, to);
    *room += n;
}

static struct message *copy_whole(const struct message *m)
{
    size_t size = sizeof(*m) + m->n_files * sizeof(*m->files) + record_pack(&message_record, m, NULL);

    for (size_t i = 0; i < m->n_files; i++)
        size += record_pack(&message_file_record, &m->files[i], NULL);
    struct message *to = mem_alloc(size);
    struct message_file *files = (struct message_file *)(to + 1);
    char *room = (char *)(files + m->n_files);
    copy_into(&message_record, m, to, &room);
    to->n_files = m->n_files;
    to->files = files;
    for (size_t i = 0; i < m->n_files; i++)
        copy_into(&message_file_record, &m->files[i], &files[i], &room);
    return to;
}

struct message *message_copy(const struct message *m)
{
    AUTO_BUF title = {0};
    AUTO_BUF text = {0};
    struct message clean = *m;

    clean.title = show(m->title, &title, plain_line);
    clean.text = show(m->text, &text, plain_text);
    return copy_whole(&clean);
}

static void escape_slack(struct buf *out, const char *s)
{
    for (; *s; s++) {
        if (*s == '&')
            buf_adds(out, "&amp;");
        else if (*s == '<')
            buf_adds(out, "&lt;");
        else if (*s == '>')
            buf_adds(out, "&gt;");
        else
            buf_addc(out, *s);
    }
}

void message_slack(const struct message *m, struct buf *out)
{
    size_t from = out->len;

    escape_slack(out, m->title);
    if (m->title[0] && m->text[0])
        buf_addc(out, '\n');
    escape_slack(out, m->text);
    if (out->len - from > SLACK_TEXT_BYTES) {
        size_t at = from + SLACK_TEXT_BYTES;
        while (at > from && ((unsigned char)out->p[at] & 0xc0) == 0x80) /* at the end of a character */
            at--;
        buf_cut(out, at);
        buf_adds(out, "…");
    }
}
