/* message.c: turns a report into the message of a channel: what fits there, and how. */
#include "base/mem.h"
#include "report/make.h"

#define FENCED_MAX 2800 /* of Slack's 3000 in a block */
#define PLAIN_MAX  3500 /* of ntfy's 4096 */
#define TEXT_MAX   (300u << 10)
#define TEXT_TYPE  "text/plain"

/* The whole lines that fit. */
static void add_lines(struct buf *out, struct str text, size_t max)
{
    if (text.len <= max) {
        buf_addstr(out, text);
        return;
    }
    int end = str_rfind(str_n(text.p, max), "\n");
    buf_addstr(out, str_n(text.p, (size_t)MAX(end, 0)));
    buf_adds(out, "\n(cut: it is too long for this channel)\n");
}

static void add_fenced(struct buf *out, const struct scheduled_made *made)
{
    buf_adds(out, "```\n");
    add_lines(out, buf_str(&made->text), FENCED_MAX);
    buf_adds(out, "```");
}

static void add_file(struct message *m, struct message_file *files, const char *name, const char *type,
                     const struct buf *bytes)
{
    if (!bytes->len)
        return;
    files[m->n_files++] = (struct message_file){.name = name, .type = type, .bytes = buf_str(bytes)};
    m->files = files;
}

/* Through the bot what is long is a file: a status always is. */
static void for_bot(const struct scheduled_made *made, struct message *m, struct message_file *files, struct buf *text)
{
    if (made->screen.len)
        add_file(m, files, made->tree ? SCHEDULED_TREE : SCHEDULED_SCREEN, TEXT_TYPE, &made->screen);
    else if (made->text.len > FENCED_MAX)
        add_file(m, files, SCHEDULED_TEXT, TEXT_TYPE, &made->text);
    else
        add_fenced(text, made);
    add_file(m, files, SCHEDULED_PICTURE, "image/png", &made->picture);
}

struct message *scheduled_message(const struct scheduled_made *made, const char *name, const struct channel *c,
                                  int64_t id, int64_t now_ms)
{
    struct message_file files[MESSAGE_FILES_MAX];
    AUTO_BUF text = BUF_INIT(TEXT_MAX + 4096);
    struct message m = {.id = id,
                        .created_ms = now_ms,
                        .kind = MESSAGE_REPORT,
                        .severity = SEV_INFO,
                        .channel = c->name,
                        .rule = name,
                        .title = made->title};

    if (c->type == CHANNEL_MAIL) {
        add_lines(&text, buf_str(&made->text), TEXT_MAX);
        m.html = made->html.len ? made->html.p : "";
        add_file(&m, files, SCHEDULED_PICTURE, "image/png", &made->picture);
    } else if (c->type == CHANNEL_SLACK_BOT) {
        for_bot(made, &m, files, &text);
    } else if (c->type == CHANNEL_SLACK) {
        add_fenced(&text, made);
    } else {
        add_lines(&text, buf_str(&made->text), c->type == CHANNEL_NTFY ? PLAIN_MAX : TEXT_MAX);
    }
    if (made->picture.len && !m.n_files)
        buf_adds(&text, "\nThe chart does not go through this channel.\n");
    m.text = text.p ? text.p : "";
    return message_copy(&m);
}
