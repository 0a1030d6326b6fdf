/* message.c: copies messages: their texts, then the table of files and what it points to. */
#include "model/message.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/plain.h"

#define SLACK_TEXT_BYTES 39000 /* Slack cuts beyond 40000 */

const char *const message_words[MESSAGE_KINDS] = {"fired", "resolved", "reminder", "notice", "report", "answer"};

static const size_t texts[] = {offsetof(struct message, channel), offsetof(struct message, to),
                               offsetof(struct message, person),  offsetof(struct message, thread),
                               offsetof(struct message, rule),    offsetof(struct message, title),
                               offsetof(struct message, text),    offsetof(struct message, html),
                               offsetof(struct message, blocks),  offsetof(struct message, alerts)};
static const size_t file_texts[] = {offsetof(struct message_file, name), offsetof(struct message_file, type),
                                    offsetof(struct message_file, title)};

/* As it may be read: nothing in it moves a cursor or turns text round, whichever way it goes out. */
static const char *show(const char *s, struct buf *room, int (*add)(struct buf *out, struct str s))
{
    if (plain_is(str_of(s)))
        return s;
    *room = BUF_INIT(plain_room(str_of(s)));
    add(room, str_of(s));
    return room->p ? room->p : "";
}

static struct message *copy_whole(const struct message *m)
{
    size_t text_bytes = mem_text_bytes(m, texts, ARRAY_LEN(texts));
    size_t size = sizeof(*m) + m->n_files * sizeof(*m->files) + text_bytes;

    for (size_t i = 0; i < m->n_files; i++)
        size += mem_text_bytes(&m->files[i], file_texts, ARRAY_LEN(file_texts)) + m->files[i].bytes.len;
    struct message *to = mem_alloc(size);
    struct message_file *files = (struct message_file *)(to + 1);
    char *room = (char *)(files + m->n_files);

    *to = *m;
    to->files = files;
    mem_text_move(to, texts, ARRAY_LEN(texts), room);
    room += text_bytes;
    for (size_t i = 0; i < m->n_files; i++) {
        files[i] = m->files[i];
        text_bytes = mem_text_bytes(&files[i], file_texts, ARRAY_LEN(file_texts));
        mem_text_move(&files[i], file_texts, ARRAY_LEN(file_texts), room);
        room += text_bytes;
        if (files[i].bytes.len)
            memcpy(room, files[i].bytes.p, files[i].bytes.len);
        files[i].bytes.p = room;
        room += files[i].bytes.len;
    }
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
