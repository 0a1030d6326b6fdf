/* smtp.c: a mail as a transfer of libcurl. Which of the commands a reply belongs to is told by libcurl's debug
 * callback: its own result has but the last number. */
#include "net/smtp.h"

#include <errno.h>
#include <inttypes.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"
#include "net/curl_lib.h"

#define CONNECT_MS 10000
#define REPLY_MAX  120 /* of a reply's text */

enum step { STEP_HELLO, STEP_TLS, STEP_LOGIN, STEP_MAIL, STEP_RCPT, STEP_DATA, STEP_BODY };

struct talk {
    struct curl_lib curl;
    CURL *easy;
    struct curl_slist *to;
    struct str mail;
    size_t sent, n_to;
    size_t at; /* which receiver was named last, from 1 */
    enum step step;
    bool over;
    int code; /* of the last reply; 0: none to this command yet */
    char text[REPLY_MAX];
    int to_code[SMTP_TO_MAX];
    char to_text[SMTP_TO_MAX][REPLY_MAX];
    const char *password; /* a reply that repeats it is not repeated */
    char error[CURL_ERROR_SIZE];
};

/* ---- what is said ---- */

static void slack_command_parse(struct talk *s, struct str line)
{
    static const struct {
        const char *word;
        enum step step;
    } words[] = {{"EHLO", STEP_HELLO},      {"HELO", STEP_HELLO},    {"STARTTLS", STEP_TLS}, {"AUTH", STEP_LOGIN},
                 {"MAIL FROM:", STEP_MAIL}, {"RCPT TO:", STEP_RCPT}, {"DATA", STEP_DATA}};

    if (str_starts(line, "QUIT")) { /* all is settled */
        s->over = true;
        s->curl.easy_setopt(s->easy, CURLOPT_FTP_RESPONSE_TIMEOUT, 1L);
        return;
    }
    s->code = 0;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_starts(line, words[i].word)) {
            s->step = words[i].step;
            s->at += s->step == STEP_RCPT;
            return;
        }
}

/* "250-more" or "250 the last"; what cannot be shown is not. */
static void heard_reply(struct talk *s, struct str line)
{
    uint64_t code;
    size_t n = 0;

    line = str_trim(line);
    if (s->over || line.len < 3 || !str_uint(str_n(line.p, 3), &code) || (line.len > 3 && line.p[3] == '-'))
        return;
    s->code = (int)code;
    for (size_t i = 4; i < line.len && n + 1 < sizeof(s->text); i++)
        s->text[n++] = (unsigned char)line.p[i] < 32 || (unsigned char)line.p[i] > 126 ? '?' : line.p[i];
    s->text[n] = 0;
    if (s->step == STEP_LOGIN || (s->password && s->password[0] && strstr(s->text, s->password)))
        s->text[0] = 0;
    if (s->step == STEP_RCPT && s->at >= 1 && s->at <= s->n_to) {
        s->to_code[s->at - 1] = s->code;
        mem_copy_str(s->to_text[s->at - 1], REPLY_MAX, s->text);
    }
    if (s->step == STEP_DATA && s->code == 354)
        s->step = STEP_BODY;
}

static int on_debug(UNUSED CURL *easy, curl_infotype type, char *p, size_t n, void *arg)
{
    if (type == CURLINFO_HEADER_OUT)
        slack_command_parse(arg, str_n(p, n));
    else if (type == CURLINFO_HEADER_IN)
        heard_reply(arg, str_n(p, n));
    return 0;
}

static size_t on_read(char *out, size_t size, size_t n, void *arg)
{
    struct talk *s = arg;
    size_t take = MIN(size * n, s->mail.len - s->sent);

    memcpy(out, s->mail.p + s->sent, take);
    s->sent += take;
    return take;
}

static size_t on_write(UNUSED char *p, size_t size, size_t n, UNUSED void *arg)
{
    return size * n;
}

/* ---- how it went ---- */

static bool is_later(int code)
{
    return code < 500; /* 4xx, and no reply at all */
}

/* What became of a mail whose receivers were not the trouble. */
static enum smtp_verdict how_ended(const struct talk *s, CURLcode code)
{
    bool after = s->step == STEP_DATA || s->step == STEP_BODY;

    if (code == CURLE_OK)
        return SMTP_TAKEN;
    if (after && s->code >= 500)
        return SMTP_NEVER;
    if (s->step == STEP_MAIL && s->code == 552) /* too large, by what the server said of its limit */
        return SMTP_NEVER;
    return SMTP_LATER; /* a name or a password that is wrong can be mended */
}

static void say_end(const struct talk *s, CURLcode code, char out[SMTP_ERROR_MAX])
{
    static const char *const steps[] = {"the greeting", "STARTTLS", "the login", "the sender",
                                        "the receiver", "DATA",     "the mail"};
    const char *why = s->error[0] ? s->error : s->curl.easy_strerror(code);

    if (s->code >= 400)
        snprintf(out, SMTP_ERROR_MAX, "the server answers to %s with %d%s%s", steps[s->step], s->code,
                 s->text[0] ? ": " : "", s->text);
    else if (s->password && s->password[0] && strstr(why, s->password))
        snprintf(out, SMTP_ERROR_MAX, "%s", s->curl.easy_strerror(code));
    else
        snprintf(out, SMTP_ERROR_MAX, "%s", why);
}

static void add_receiver(const char *address, int code, const char *text, char out[SMTP_ERROR_MAX])
{
    size_t n = strlen(out);

    snprintf(out + n, SMTP_ERROR_MAX - n, "%s%s: %d%s%s", n ? "; " : "", address, code, text[0] ? " " : "", text);
}

static void result_of(const struct talk *s, CURLcode code, struct smtp_result *r)
{
    const struct curl_slist *to = s->to;
    enum smtp_verdict end = how_ended(s, code);
    bool receivers = s->step == STEP_RCPT && code != CURLE_OK; /* it ended since all of them were refused */

    *r = (struct smtp_result){0};
    for (size_t i = 0; i < s->n_to; i++, to = to->next) {
        if (s->to_code[i] >= 400) {
            r->to[i] = is_later(s->to_code[i]) ? SMTP_LATER : SMTP_NEVER;
            add_receiver(to->data, s->to_code[i], s->to_text[i], r->error);
        } else {
            r->to[i] = receivers ? SMTP_LATER : end;
        }
        r->n_taken += r->to[i] == SMTP_TAKEN;
        r->n_later += r->to[i] == SMTP_LATER;
        r->n_never += r->to[i] == SMTP_NEVER;
    }
    if (code != CURLE_OK && (!receivers || !r->error[0]))
        say_end(s, code, r->error);
}

/* ---- the transfer ---- */

static void set_options(struct talk *s, const struct smtp_request *k)
{
    const struct curl_lib *c = &s->curl;
    CURL *e = s->easy;

    c->easy_setopt(e, CURLOPT_URL, k->url);
    c->easy_setopt(e, CURLOPT_ERRORBUFFER, s->error);
    c->easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    c->easy_setopt(e, CURLOPT_NOPROGRESS, 1L);
    c->easy_setopt(e, CURLOPT_PROXY, "");
    c->easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    c->easy_setopt(e, CURLOPT_TIMEOUT_MS, (long)k->timeout_ms);
    c->easy_setopt(e, CURLOPT_FTP_RESPONSE_TIMEOUT, (long)(MAX(k->timeout_ms, 1000) / 1000));
    c->easy_setopt(e, CURLOPT_USE_SSL, (long)(k->plain ? CURLUSESSL_NONE : CURLUSESSL_ALL));
    if (k->ca_file)
        c->easy_setopt(e, CURLOPT_CAINFO, k->ca_file);
    if (k->user) {
        c->easy_setopt(e, CURLOPT_USERNAME, k->user);
        c->easy_setopt(e, CURLOPT_PASSWORD, k->password);
    }
    c->easy_setopt(e, CURLOPT_MAIL_FROM, k->from);
    c->easy_setopt(e, CURLOPT_MAIL_RCPT, s->to);
    c->easy_setopt(e, CURLOPT_MAIL_RCPT_ALLLOWFAILS, 1L);
    c->easy_setopt(e, CURLOPT_UPLOAD, 1L);
    c->easy_setopt(e, CURLOPT_INFILESIZE_LARGE, (curl_off_t)k->mail.len);
    c->easy_setopt(e, CURLOPT_READFUNCTION, on_read);
    c->easy_setopt(e, CURLOPT_READDATA, s);
    c->easy_setopt(e, CURLOPT_WRITEFUNCTION, on_write);
    c->easy_setopt(e, CURLOPT_VERBOSE, 1L); /* for on_debug: nothing is written anywhere */
    c->easy_setopt(e, CURLOPT_DEBUGFUNCTION, on_debug);
    c->easy_setopt(e, CURLOPT_DEBUGDATA, s);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored                                                                                         \
    "-Wdeprecated-declarations" /* its successor is newer than the oldest libcurl we run on */
    c->easy_setopt(e, CURLOPT_PROTOCOLS, (long)(CURLPROTO_SMTP | CURLPROTO_SMTPS));
#pragma GCC diagnostic pop
}

int smtp_send(const struct smtp_request *k, struct smtp_result *ret, struct err *err)
{
    struct talk *s = mem_zero(1, sizeof(*s));
    int r = curl_lib_load(&s->curl, err);

    if (r == 0 && (s->curl.global_init(CURL_GLOBAL_DEFAULT) != 0 || !(s->easy = s->curl.easy_init())))
        r = err_set(err, -ENOMEM, "cannot start libcurl");
    if (r == 0) {
        s->mail = k->mail;
        s->password = k->password;
        for (; k->to[s->n_to] && s->n_to < SMTP_TO_MAX; s->n_to++)
            s->to = s->curl.slist_append(s->to, k->to[s->n_to]);
        set_options(s, k);
        result_of(s, s->curl.easy_perform(s->easy), ret);
        s->curl.easy_cleanup(s->easy);
        s->curl.slist_free_all(s->to);
        s->curl.global_cleanup();
    }
    free(s);
    return r;
}

/* ---- as lines ---- */

static void add_line(struct buf *out, const char *name, const char *value)
{
    if (value)
        buf_addf(out, "%s %s\n", name, value);
}

int smtp_request_write(struct buf *out, const struct smtp_request *k)
{
    add_line(out, "url", k->url);
    add_line(out, "plain", k->plain ? "yes" : NULL);
    add_line(out, "ca_file", k->ca_file);
    add_line(out, "user", k->user);
    add_line(out, "password", k->password);
    add_line(out, "from", k->from);
    for (size_t i = 0; k->to[i]; i++)
        add_line(out, "to", k->to[i]);
    buf_addf(out, "timeout %" PRId64 "\nmail\n", k->timeout_ms);
    return buf_addstr(out, k->mail);
}

/* One line; *n_to counts receivers. False: not known, or too many. */
static bool read_line(char *name, char *value, struct smtp_request_text *a, size_t *n_to)
{
    const struct {
        const char *name;
        const char **at;
    } texts[] = {{"url", &a->k.url},
                 {"ca_file", &a->k.ca_file},
                 {"user", &a->k.user},
                 {"password", &a->k.password},
                 {"from", &a->k.from}};

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (strcmp(name, texts[i].name) == 0) {
            *texts[i].at = value;
            return true;
        }
    if (strcmp(name, "to") == 0 && *n_to < SMTP_TO_MAX) {
        a->to[(*n_to)++] = value;
        return true;
    }
    if (strcmp(name, "plain") == 0)
        return a->k.plain = true;
    return strcmp(name, "timeout") == 0 && str_int(str_of(value), &a->k.timeout_ms);
}

int smtp_request_read(char *text, size_t n, struct smtp_request_text *ret)
{
    struct smtp_request_text a = {0};
    size_t n_to = 0;

    for (char *end = memchr(text, '\n', n); end; end = memchr(text, '\n', n)) {
        *end = 0;
        n -= (size_t)(end + 1 - text);
        if (strcmp(text, "mail") == 0) {
            a.k.mail = str_n(end + 1, n);
            if (!a.k.url || !a.k.from || !n_to || a.k.timeout_ms < 1 || a.k.timeout_ms > 600000)
                return -EBADMSG;
            *ret = a;
            ret->k.to = ret->to;
            return 0;
        }
        char *value = strchr(text, ' ');
        if (!value)
            return -EBADMSG;
        *value++ = 0;
        if (!read_line(text, value, &a, &n_to))
            return -EBADMSG;
        text = end + 1;
    }
    return -EBADMSG;
}

static const char *const how_words[] = {"taken", "later", "never"};

void smtp_result_write(struct buf *out, const struct smtp_result *r, size_t n_to)
{
    for (size_t i = 0; i < n_to; i++)
        add_line(out, "to", how_words[r->to[i]]);
    if (!r->error[0])
        return;
    buf_adds(out, "error ");
    for (const char *p = r->error; *p; p++)
        buf_addc(out, *p == '\n' || *p == '\r' ? ' ' : *p);
    buf_addc(out, '\n');
}

int smtp_result_read(struct str text, size_t n_to, struct smtp_result *ret)
{
    struct smtp_result r = {0};
    size_t n = 0;
    struct str line;

    while (str_line(&text, &line)) {
        if (str_skip(&line, "error ")) {
            AUTO_FREE char *error = mem_strn(line.p, line.len);
            mem_copy_str(r.error, sizeof(r.error), error);
            continue;
        }
        if (!str_skip(&line, "to ") || n == SMTP_TO_MAX)
            return -EBADMSG;
        size_t how = FIRST(ARRAY_LEN(how_words), i, str_eq(line, how_words[i]));
        if (how == ARRAY_LEN(how_words))
            return -EBADMSG;
        r.to[n++] = (enum smtp_verdict)how;
        r.n_taken += how == SMTP_TAKEN;
        r.n_later += how == SMTP_LATER;
        r.n_never += how == SMTP_NEVER;
    }
    if (n != n_to)
        return -EBADMSG;
    *ret = r;
    return 0;
}
