/* A mail out of any message: no header is added, every line is one that servers take. And the lines between the hub and
 * whoever sends mails for it: any bytes. */
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "draw/mime.h"
#include "model/alert.h"
#include "net/smtp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The next part of the input as text, up to a bar. */
static char *part(struct str *rest)
{
    struct str s = STR("");

    str_cut(rest, '|', &s);
    return mem_strn(s.p, s.len);
}

static void check_head(struct str head)
{
    static const char *const known[] = {"Date: ",
                                        "From: ",
                                        "To: ",
                                        "Subject:",
                                        "Message-ID: ",
                                        "In-Reply-To: ",
                                        "References: ",
                                        "MIME-Version:",
                                        "Auto-Submitted:",
                                        "X-Auto",
                                        "Precedence:",
                                        "List-Id:",
                                        "Importance:",
                                        "X-Muster-",
                                        "Content-Type: multipart/",
                                        " "};
    struct str line;

    while (str_line(&head, &line)) {
        size_t i = 0;
        while (i < ARRAY_LEN(known) && !str_starts(line, known[i]))
            i++;
        if (i == ARRAY_LEN(known) || str_trim(line).len == 0)
            abort();
    }
}

static void check_mail(struct str mail)
{
    size_t from = 0;
    int end = str_find(mail, "\r\n\r\n");

    if (end < 0)
        abort();
    check_head(str_n(mail.p, (size_t)end));
    for (size_t i = 0; i < mail.len; i++) {
        unsigned char c = (unsigned char)mail.p[i];
        if (c > 126 || (c == '\r' && (i + 1 == mail.len || mail.p[i + 1] != '\n')) ||
            (c < 32 && c != '\r' && c != '\n' && c != '\t'))
            abort();
        if (c != '\n')
            continue;
        if (i == from || mail.p[i - 1] != '\r' || i - from > 200)
            abort();
        from = i + 1;
    }
    if (from != mail.len)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const to[] = {"ops@example.org", "kim@example.org", NULL};
    struct str rest = str_n((const char *)data, MIN(size, (size_t)100000));
    AUTO_FREE char *title = part(&rest), *text = part(&rest), *rule = part(&rest), *alerts = part(&rest);
    AUTO_FREE char *html = part(&rest), *name = part(&rest), *type = part(&rest), *channel = part(&rest);
    struct message_file f = {.name = name, .type = type, .bytes = rest};
    AUTO_FREE struct message *m = message_copy(&(struct message){.id = 7,
                                                                 .created_ms = (int64_t)size,
                                                                 .kind = (int32_t)(size % MESSAGE_KINDS),
                                                                 .severity = (int32_t)(size % SEVERITIES),
                                                                 .channel = channel,
                                                                 .title = title,
                                                                 .text = text,
                                                                 .rule = rule,
                                                                 .alerts = alerts,
                                                                 .html = html,
                                                                 .n_files = rest.len ? 1 : 0,
                                                                 .files = &f});
    AUTO_BUF out = BUF_INIT(MIME_MAX);

    if (mime_mail(&out, &(struct mime_params){.m = m, .from = "muster@example.org", .to = to, .hub = rule}) == 0)
        check_mail(buf_str(&out));

    AUTO_FREE char *copy = mem_strn((const char *)data, size);
    struct smtp_request_text ask;
    struct smtp_result r;
    if (smtp_request_read(copy, size, &ask) == 0 && (!ask.k.to[0] || !ask.k.url))
        abort();
    smtp_result_read(str_n((const char *)data, size), size % 4, &r);
    return 0;
}
