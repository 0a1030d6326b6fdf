/* digest.c: joins messages into one text: a line each, and its text below, indented. */
#include "notify/digest.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/time_text.h"
#include "model/alert.h"

#define TEXT_MAX   (200u << 10)
#define ALERTS_MAX 400 /* bytes of their ids */

bool digest_accepts(const struct message *m)
{
    return m->kind != MESSAGE_ANSWER && m->kind != MESSAGE_REPORT && !m->n_files && !m->thread[0];
}

static bool is_digest(const struct message *m)
{
    return strcmp(m->rule, DIGEST_RULE) == 0;
}

static void add_lines(struct buf *out, const char *text)
{
    struct str rest = str_of(text), line;

    while (str_line(&rest, &line))
        buf_addf(out, "%s  %.*s", out->len ? "\n" : "", STR_ARG(line));
}

static void add_one(struct buf *out, const struct message *m, const struct zone *z)
{
    struct civil c;

    if (is_digest(m)) {
        buf_addf(out, "%s%s", out->len ? "\n" : "", m->text);
        return;
    }
    zone_civil(z, m->created_ms, &c);
    buf_addf(out, "%s%02d:%02d %s", out->len ? "\n" : "", c.hour, c.minute, m->title);
    add_lines(out, m->text);
}

/* Number of messages in a text. */
static size_t count(struct str text)
{
    struct str line;
    size_t n = 0;

    while (str_line(&text, &line))
        n += !str_starts(line, "  ");
    return n;
}

struct message *digest_of(const struct message *const *v, size_t n, size_t max, const struct zone *z, size_t *ret_taken)
{
    AUTO_BUF text = BUF_INIT(TEXT_MAX), title = BUF_INIT(200), alerts = BUF_INIT(1u << 16);
    struct message d = *v[0];
    char from[MOMENT_TEXT];
    size_t taken = 0;

    for (; taken < n; taken++) {
        size_t before = text.len;
        add_one(&text, v[taken], z);
        if (taken && (text.len > max || text.err)) {
            text.err = 0;
            buf_cut(&text, before);
            break;
        }
        d.severity = MAX(d.severity, v[taken]->severity);
        if (v[taken]->alerts[0] && alerts.len + strlen(v[taken]->alerts) < ALERTS_MAX)
            buf_addf(&alerts, "%s%s", alerts.len ? "," : "", v[taken]->alerts);
    }
    *ret_taken = taken;
    if (taken == 1)
        return message_copy(&d);
    buf_addf(&title, "[%s] %zu messages since %s", severity_words[d.severity], count(buf_str(&text)),
             time_text_zoned(d.created_ms, z, from));
    d.kind = MESSAGE_NOTICE;
    d.rule = DIGEST_RULE;
    d.title = buf_str(&title).p;
    d.text = buf_str(&text).p;
    d.alerts = buf_str(&alerts).p;
    d.html = "";
    d.blocks = "";
    return message_copy(&d);
}
