/* mime.c: writes a mail, by RFC 5322, 2045 to 2047 and 3834. Nothing is sent here. */
#include "draw/mime.h"

#include <errno.h>
#include <inttypes.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"
#include "draw/html.h"
#include "model/alert.h"

#define LINE_MAX_QP  76
#define LINE_MAX_B64 76
#define VALUE_MAX    500 /* bytes of a header's value; a title is shorter */
#define WORD_MAX     75  /* of an encoded word */
#define REFS_MAX     10  /* alerts a mail refers to */
#define NAME_BYTES   100 /* of a file's name */

/* ---- headers ---- */

/* A value on one line, of whole characters, with single blanks. */
static void tidy(struct str s, struct buf *out)
{
    bool blank = false;

    while (s.len && out->len < VALUE_MAX) {
        uint32_t c = 0;
        size_t n = str_utf8(s, &c);
        if (n && (c <= 32 || c == 127 || (c >= 0x80 && c < 0xa0) || c == 0x2028 || c == 0x2029)) {
            blank = out->len > 0;
        } else {
            if (blank)
                buf_addc(out, ' ');
            blank = false;
            buf_addstr(out, n ? str_n(s.p, n) : STR("\xef\xbf\xbd"));
        }
        n = MAX(n, 1u);
        s = str_n(s.p + n, s.len - n);
    }
}

/* May it stand there as it is? Long words could not be folded. */
static bool is_plain(struct str s)
{
    struct str rest = s, word;

    if (ANY(s.len, i, (unsigned char)s.p[i] < 32 || (unsigned char)s.p[i] > 126))
        return false;
    while (str_cut(&rest, ' ', &word))
        if (word.len > 60)
            return false;
    return str_find(s, "=?") < 0;
}

static void fold_plain(struct buf *out, size_t col, struct str s)
{
    struct str word;

    for (bool first = true; str_cut(&s, ' ', &word); first = false) {
        if (!first && col + 1 + word.len > LINE_MAX_QP) {
            buf_adds(out, "\r\n");
            col = 0;
        }
        buf_addc(out, ' ');
        buf_addstr(out, word);
        col += 1 + word.len;
    }
}

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static bool q_plain(unsigned char c)
{
    return is_alnum((char)c) || strchr("!*+-/", c);
}

/* As encoded words, each with whole characters. */
static void fold_encoded(struct buf *out, size_t col, struct str s)
{
    bool open = false;

    while (s.len) {
        AUTO_BUF letter = BUF_INIT(16);
        uint32_t c;
        size_t n = MAX(str_utf8(s, &c), 1u);
        for (size_t i = 0; i < n; i++) {
            unsigned char b = (unsigned char)s.p[i];
            if (b == ' ')
                buf_addc(&letter, '_');
            else if (b && q_plain(b))
                buf_addc(&letter, (char)b);
            else
                buf_addf(&letter, "=%02X", b);
        }
        if (open && col + letter.len + 2 > WORD_MAX) {
            buf_adds(out, "?=\r\n ");
            col = 1;
            open = false;
        }
        if (!open)
            buf_adds(out, "=?utf-8?Q?");
        col += letter.len + (open ? 0 : 10);
        open = true;
        buf_addstr(out, buf_str(&letter));
        s = str_drop(s, n);
    }
    if (open)
        buf_adds(out, "?=");
}

void mime_header(struct buf *out, const char *name, struct str value)
{
    AUTO_BUF b = BUF_INIT(VALUE_MAX + 8);

    tidy(value, &b);
    buf_addf(out, "%s:", name);
    if (is_plain(buf_str(&b))) {
        fold_plain(out, strlen(name) + 1, buf_str(&b));
    } else {
        buf_addc(out, ' ');
        fold_encoded(out, strlen(name) + 2, buf_str(&b));
    }
    buf_adds(out, "\r\n");
}

/* Two hubs, channels or receivers do not share names of mails. FNV-1a, each text with its end. */
static uint32_t hash_of(const struct mime_params *k)
{
    const char *parts[] = {k->hub, k->m->channel, k->m->to};
    uint32_t h = 2166136261u;

    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        for (size_t n = 0; n <= strlen(parts[i]); n++)
            h = (h ^ (unsigned char)parts[i][n]) * 16777619u;
    return h;
}

static const char *domain_of(const struct mime_params *k)
{
    const char *at = strchr(k->from, '@');

    return at ? at + 1 : "muster.invalid";
}

/* The name of the mail that told of this alert first. */
static void add_alert_id(struct buf *out, const struct mime_params *k, int64_t alert)
{
    buf_addf(out, "<alert-%" PRId64 ".%08" PRIx32 "@%s>", alert, hash_of(k), domain_of(k));
}

static void add_threads(struct buf *out, const struct mime_params *k)
{
    struct str rest = str_of(k->m->alerts), one;
    int64_t ids[REFS_MAX], first;
    size_t n = 0;
    bool fired = k->m->kind == MESSAGE_FIRED;

    while (n < REFS_MAX && str_cut(&rest, ',', &one))
        n += str_int(one, &ids[n]);
    first = n ? ids[0] : 0;
    for (size_t i = 0; i < n; i++)
        first = MIN(first, ids[i]);
    if (!fired || !n)
        buf_addf(out, "Message-ID: <message-%" PRId64 ".%08" PRIx32 "@%s>\r\n", k->m->id, hash_of(k), domain_of(k));
    if (n) {
        buf_adds(out, fired ? "Message-ID: " : "In-Reply-To: ");
        add_alert_id(out, k, first);
        buf_adds(out, "\r\n");
    }
    size_t named = 0;
    for (size_t i = 0; i < n; i++) /* of a group any may be the first later */
        if (!fired || ids[i] != first) {
            buf_adds(out, named++ ? "\r\n " : "References: ");
            add_alert_id(out, k, ids[i]);
        }
    if (named)
        buf_adds(out, "\r\n");
}

/* For what must be an atom. */
static void add_atom(struct buf *out, const char *s, size_t max)
{
    for (size_t n = 0; *s && n < max; s++, n++)
        buf_addc(out, is_alnum(*s) ? *s : '-');
}

static void add_to(struct buf *out, const struct mime_params *k)
{
    buf_adds(out, "To:");
    for (size_t i = 0; k->to && k->to[i]; i++)
        buf_addf(out, "%s <%s>", i ? ",\r\n" : "", k->to[i]);
    if (!k->to || !k->to[0])
        buf_adds(out, " undisclosed-recipients:;");
    buf_adds(out, "\r\n");
}

static void add_headers(struct buf *out, const struct mime_params *k)
{
    const struct message *m = k->m;
    char date[40];

    buf_addf(out, "Date: %s\r\n", clock_mail(m->created_ms, "+0000", date));
    buf_addf(out, "From: muster <%s>\r\n", k->from);
    add_to(out, k);
    mime_header(out, "Subject", str_of(m->title));
    add_threads(out, k);
    buf_adds(out, "MIME-Version: 1.0\r\nAuto-Submitted: auto-generated\r\nX-Auto-Response-Suppress: All\r\n"
                  "Precedence: list\r\nList-Id: <");
    add_atom(out, m->channel, 40);
    buf_addf(out, ".muster.%s>\r\n", domain_of(k));
    if (m->severity == SEV_CRITICAL && (m->kind == MESSAGE_FIRED || m->kind == MESSAGE_REMINDER))
        buf_adds(out, "Importance: high\r\n");
    mime_header(out, "X-Muster-Hub", str_of(k->hub));
    buf_addf(out, "X-Muster-Kind: %s\r\n", message_words[m->kind]);
    buf_addf(out, "X-Muster-Severity: %s\r\n", severity_words[m->severity]);
    if (m->rule[0])
        mime_header(out, "X-Muster-Rule", str_of(m->rule));
}

/* ---- bodies ---- */

/* Quoted-printable: text of any line length, in lines that are short. */
static void add_qp(struct buf *out, struct str s)
{
    size_t col = 0;

    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.p[i];
        bool last = i + 1 == s.len || s.p[i + 1] == '\n' || (s.p[i + 1] == '\r' && i + 2 < s.len && s.p[i + 2] == '\n');
        if (c == '\n' || (c == '\r' && i + 1 < s.len && s.p[i + 1] == '\n')) {
            i += c == '\r';
            buf_adds(out, "\r\n");
            col = 0;
            continue;
        }
        bool plain = (c >= 33 && c <= 126 && c != '=') || ((c == ' ' || c == '\t') && !last);
        if (col + (plain ? 1 : 3) > LINE_MAX_QP - 1) { /* room for the sign that the line goes on */
            buf_adds(out, "=\r\n");
            col = 0;
        }
        if (plain)
            buf_addc(out, (char)c);
        else
            buf_addf(out, "=%02X", c);
        col += plain ? 1 : 3;
    }
    if (col)
        buf_adds(out, "\r\n");
}

static void add_base64(struct buf *out, struct str bytes)
{
    const size_t per_line = (size_t)LINE_MAX_B64 / 4 * 3;

    for (size_t at = 0; at < bytes.len; at += per_line) {
        base64_add(out, str_n(bytes.p + at, MIN(per_line, bytes.len - at)));
        buf_adds(out, "\r\n");
    }
}

static void add_text_part(struct buf *out, const char *type, struct str text)
{
    buf_addf(out, "Content-Type: text/%s; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n", type);
    add_qp(out, text);
}

/* The line between parts, and with "--" behind the last: neither encoding can make these characters. */
static void add_boundary(struct buf *out, const struct mime_params *k, const char *level, const char *behind)
{
    buf_addf(out, "--=_%s_%" PRIx64 "%s\r\n", level, (uint64_t)k->m->id, behind);
}

/* Of several parts; the first begins. */
static void begin_multi(struct buf *out, const struct mime_params *k, const char *level)
{
    buf_addf(out, "Content-Type: multipart/%s;\r\n boundary=\"=_%s_%" PRIx64 "\"\r\n\r\n", level, level,
             (uint64_t)k->m->id);
    add_boundary(out, k, level, "");
}

/* A name that needs no quotes anywhere. */
static const char *file_name(const char *name, char out[NAME_BYTES])
{
    size_t n = 0;

    for (; *name && n + 1 < NAME_BYTES; name++, n++)
        out[n] = is_alnum(*name) || *name == '_' || (n && *name == '.') ? *name : '-';
    out[n] = 0;
    return n ? out : "file";
}

static bool type_ok(const char *s)
{
    int slashes = 0;

    for (; *s; s++) {
        slashes += *s == '/';
        if (*s != '/' && !q_plain((unsigned char)*s) && *s != '.')
            return false;
    }
    return slashes == 1;
}

static void add_file(struct buf *out, const struct message_file *f, bool shown)
{
    char room[NAME_BYTES];
    const char *name = file_name(f->name, room);

    buf_addf(out, "Content-Type: %s;\r\n name=\"%s\"\r\n", type_ok(f->type) ? f->type : "application/octet-stream",
             name);
    buf_addf(out, "Content-Transfer-Encoding: base64\r\nContent-Disposition: %s;\r\n filename=\"%s\"\r\n",
             shown ? "inline" : "attachment", name);
    if (shown)
        buf_addf(out, "Content-ID: <%s@muster>\r\n", name);
    buf_adds(out, "\r\n");
    add_base64(out, f->bytes);
}

/* Is this file shown by the HTML here? Then how long "cid:name" is, else 0. */
static size_t shows(struct str html, const struct message_file *f)
{
    size_t n = strlen(f->name);

    if (!n || !str_starts(html, "cid:") || html.len < n + 5 || strncmp(html.p + 4, f->name, n) != 0)
        return 0;
    return html.p[4 + n] == '"' || html.p[4 + n] == '\'' ? 4 + n : 0;
}

/* The HTML, where pictures have the names their parts have; which files it shows. */
static void add_shown(struct buf *out, const struct message *m, struct str html, bool shown[MESSAGE_FILES_MAX])
{
    char room[NAME_BYTES];

    while (html.len) {
        size_t n = 0;
        for (size_t i = 0; i < m->n_files && i < MESSAGE_FILES_MAX && !n; i++)
            if ((n = shows(html, &m->files[i]))) {
                shown[i] = true;
                buf_addf(out, "cid:%s@muster", file_name(m->files[i].name, room));
            }
        if (!n)
            buf_addc(out, html.p[n++]);
        html = str_n(html.p + n, html.len - n);
    }
}

/* What it is of, in its last line. */
static const char *rule_word(const struct message *m)
{
    return !m->rule[0] ? "" : m->kind == MESSAGE_REPORT ? ", report " : ", rule ";
}

static void add_plain(struct buf *out, const struct mime_params *k)
{
    const struct message *m = k->m;

    buf_addf(out, "%s\n", m->title);
    if (m->text[0])
        buf_addf(out, "\n%s\n", m->text);
    buf_addf(out, "\n-- \nmuster on %s%s%s\n", k->hub, rule_word(m), m->rule);
}

void mime_html(struct buf *out, const struct message *m, const char *hub)
{
    static const char *const colours[SEVERITIES] = {"#2f6fde", "#d98500", "#d92d20"};
    const char *colour = m->kind == MESSAGE_RESOLVED ? "#16a34a" : colours[m->severity];
    struct str rest = str_of(m->text), line;

    buf_adds(out,
             "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\">"
             "<meta name=\"viewport\" content=\"width=device-width\">"
             "<meta name=\"color-scheme\" content=\"light dark\"></head>\n"
             "<body style=\"margin:0;padding:16px;font-family:Segoe UI,Helvetica,Arial,sans-serif;font-size:14px\">\n");
    buf_addf(out, "<div style=\"border-left:4px solid %s;padding:2px 0 2px 12px\">\n", colour);
    html_between(out, "<p style=\"margin:0 0 8px;font-size:16px;font-weight:600\">", m->title, "</p>\n");
    while (str_line(&rest, &line))
        html_text_between(out, "<p style=\"margin:0 0 4px\">", line, "</p>\n");
    html_between(out, "</div>\n<p style=\"margin:16px 0 0;color:#808080;font-size:12px\">muster on ", hub,
                 rule_word(m));
    html_between(out, "", m->rule, "</p>\n</body></html>\n");
}

int mime_mail(struct buf *out, const struct mime_params *k)
{
    const struct message *m = k->m;
    AUTO_BUF plain = BUF_INIT(MIME_MAX), made = BUF_INIT(MIME_MAX), html = BUF_INIT(MIME_MAX);
    bool shown[MESSAGE_FILES_MAX] = {0};
    size_t n_shown = 0, n_files = MIN(m->n_files, (size_t)MESSAGE_FILES_MAX);

    add_plain(&plain, k);
    if (!m->html[0])
        mime_html(&made, m, k->hub);
    add_shown(&html, m, m->html[0] ? str_of(m->html) : buf_str(&made), shown);
    for (size_t i = 0; i < n_files; i++)
        n_shown += shown[i];
    add_headers(out, k);
    if (n_files > n_shown)
        begin_multi(out, k, "mixed");
    begin_multi(out, k, "alternative");
    add_text_part(out, "plain", buf_str(&plain));
    add_boundary(out, k, "alternative", "");
    if (n_shown)
        begin_multi(out, k, "related");
    add_text_part(out, "html", buf_str(&html));
    for (size_t i = 0; i < n_files; i++)
        if (shown[i]) {
            add_boundary(out, k, "related", "");
            add_file(out, &m->files[i], true);
        }
    if (n_shown)
        add_boundary(out, k, "related", "--");
    add_boundary(out, k, "alternative", "--");
    for (size_t i = 0; i < n_files; i++)
        if (!shown[i]) {
            add_boundary(out, k, "mixed", "");
            add_file(out, &m->files[i], false);
        }
    if (n_files > n_shown)
        add_boundary(out, k, "mixed", "--");
    return out->err || plain.err || made.err || html.err ? -EMSGSIZE : 0;
}
