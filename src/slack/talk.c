/* talk.c: writes an answer as it grows, as Block Kit's blocks and as plain text. */
#include "slack/talk.h"

#include <stdarg.h>

#include "base/plain.h"
#include "format/render.h"

#define BLOCKS_MAX  50
#define HEAD_MAX    150  /* letters of a header */
#define SECTION_MAX 3000 /* letters of a section; counted in bytes, which are never fewer */
#define BUTTONS_MAX 5
#define TABLE_WIDTH 84 /* what a window of Slack's shows without folding lines */
#define FENCE       "```"

/* ---- asking ---- */

const char *dialog_keep(struct dialog *s, struct str text)
{
    return arena_strn(&s->mem, text.len ? text.p : "", text.len);
}

void dialog_call(struct dialog *s, const char *method, const char *target, const struct buf *body)
{
    if (s->n_calls == DIALOG_CALLS_MAX)
        return;
    struct dialog_call *c = &s->calls[s->n_calls++];
    c->method = method;
    c->target = dialog_keep(s, str_of(target));
    c->body = body ? str_n(dialog_keep(s, buf_str(body)), body->len) : str_n("", 0);
}

void dialog_get(struct dialog *s, const char *target)
{
    dialog_call(s, "GET", target, NULL);
}

void dialog_member(struct json *j, const char *key, struct str value)
{
    if (value.len)
        json_str(j, key, value);
}

void dialog_param(struct buf *target, const char *name, struct str value)
{
    if (!value.len)
        return;
    buf_addf(target, "%c%s=", target->p && strchr(target->p, '?') ? '&' : '?', name);
    buf_addurl(target, value);
}

int64_t dialog_int(json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

/* ---- answering ---- */

/* So that nothing in it is a link, a mention or markup of Slack's own: at most max bytes, cut at a letter. */
static void escape(struct buf *out, struct str s, size_t max)
{
    size_t end = out->len + max;

    while (s.len) {
        uint32_t c;
        size_t n = str_utf8(s, &c);
        const char *as = *s.p == '&'                                      ? "&amp;"
                         : *s.p == '<'                                    ? "&lt;"
                         : *s.p == '>'                                    ? "&gt;"
                         : n && !plain_point(c) && c != '\n' && c != '\t' ? PLAIN_MARK
                                                                          : NULL;
        size_t need = as ? strlen(as) : n ? n : 1;
        if (out->len + need > end)
            return;
        if (as)
            buf_adds(out, as);
        else if (n)
            buf_add(out, s.p, n);
        else
            buf_addc(out, '?');
        n = n ? n : 1;
        s = str_n(s.p + n, s.len - n);
    }
}

static bool block(struct dialog *s, const char *type)
{
    if (s->n_blocks == BLOCKS_MAX)
        return false;
    s->n_blocks++;
    json_obj(&s->j, NULL);
    json_cstr(&s->j, "type", type);
    return true;
}

static void text_object(struct dialog *s, const char *key, const char *type, struct str text)
{
    json_obj(&s->j, key);
    json_cstr(&s->j, "type", type);
    json_str(&s->j, "text", text);
    json_end_obj(&s->j);
}

static void plain(struct dialog *s, struct str text)
{
    plain_text(&s->text, text);
    if (!text.len || text.p[text.len - 1] != '\n')
        buf_addc(&s->text, '\n');
}

/* A part of the answer as a block; ready: as a block has it. */
static void put_block(struct dialog *s, enum dialog_part part, struct str ready)
{
    bool head = part == PART_HEAD, small = part == PART_SMALL;

    if (!block(s, head ? "header" : small ? "context" : "section"))
        return;
    if (small)
        json_arr(&s->j, "elements");
    text_object(s, small ? NULL : "text", head ? "plain_text" : "mrkdwn", ready);
    if (small)
        json_end_arr(&s->j);
    json_end_obj(&s->j);
}

bool dialog_add(struct dialog *s, enum dialog_part part, const char *fmt, ...)
{
    AUTO_BUF b = BUF_INIT(65536), cut = BUF_INIT(8192);
    va_list ap;

    va_start(ap, fmt);
    buf_vaddf(&b, fmt, ap);
    va_end(ap);
    if (part == PART_NO) {
        s->refused = s->ephemeral = true;
        s->n_calls = s->at = 0;
    }
    plain(s, buf_str(&b));
    escape(&cut, buf_str(&b), part == PART_HEAD ? HEAD_MAX : SECTION_MAX);
    put_block(s, part, buf_str(&cut));
    return part != PART_NO;
}

void dialog_pre(struct dialog *s, const char *name, struct str text)
{
    AUTO_BUF cut = BUF_INIT(65536);
    AUTO_BUF quiet = BUF_INIT(65536);
    char file[80], title[80];

    buf_addstr(&quiet, str_n(text.p, MIN(text.len, 60000u)));
    for (size_t i = 0; i + 2 < quiet.len; i++) /* a fence within would end ours */
        if (memcmp(quiet.p + i, FENCE, 3) == 0)
            memset(quiet.p + i, '\'', 3);
    buf_adds(&cut, FENCE "\n");
    escape(&cut, buf_str(&quiet), 60000);
    buf_adds(&cut, FENCE);
    if (cut.len <= SECTION_MAX) {
        plain(s, text);
        put_block(s, PART_LINE, buf_str(&cut));
        return;
    }
    snprintf(file, sizeof(file), "%s.txt", name);
    snprintf(title, sizeof(title), "response: %s", name);
    dialog_file(s, file, title, "text/plain", text);
}

void dialog_rows(struct dialog *s, const char *name, const struct rows *r)
{
    AUTO_BUF b = BUF_INIT(4u << 20);

    render_rows_text(&b, r, &(struct term){.width = TABLE_WIDTH});
    dialog_pre(s, name, buf_str(&b));
}

void dialog_file(struct dialog *s, const char *name, const char *title, const char *type, struct str bytes)
{
    if (s->n_files == MESSAGE_FILES_MAX)
        return;
    bool list = strncmp(type, "text/", 5) == 0;
    size_t len = MIN(bytes.len, DIALOG_BYTES_MAX - MIN(s->files.len, DIALOG_BYTES_MAX));
    if (!list && len < bytes.len) {
        dialog_small(s, "The chart is too large to send: request less at once.");
        return;
    }
    while (list && len < bytes.len && len && bytes.p[len - 1] != '\n')
        len--;
    s->file_at[s->n_files] = s->files.len;
    buf_add(&s->files, bytes.p, len);
    if (len < bytes.len)
        buf_adds(&s->files, "... truncated: the web page has the whole list\n");
    s->list[s->n_files] = (struct message_file){.name = dialog_keep(s, str_of(name)),
                                                .title = dialog_keep(s, str_of(title)),
                                                .type = type,
                                                .bytes = str_n(NULL, s->files.len - s->file_at[s->n_files])};
    s->n_files++;
}

void dialog_buttons(struct dialog *s, const struct dialog_button *v, size_t n)
{
    char id[24];

    if (!block(s, "actions"))
        return;
    json_arr(&s->j, "elements");
    for (size_t i = 0; i < MIN(n, BUTTONS_MAX); i++) {
        json_obj(&s->j, NULL);
        json_cstr(&s->j, "type", "button");
        text_object(s, "text", "plain_text", str_of(v[i].label));
        snprintf(id, sizeof(id), "say-%zu", i);
        json_cstr(&s->j, "action_id", id);
        json_cstr(&s->j, "value", v[i].says);
        json_end_obj(&s->j);
    }
    json_end_arr(&s->j);
    json_end_obj(&s->j);
}
