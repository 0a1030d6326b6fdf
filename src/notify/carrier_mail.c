/*
 * carrier_mail.c: sends a message as one mail to one server, to the addresses of the channel or of the message. A
 * separate program does it, since it blocks (net/smtp.h).
 */
#include <errno.h>
#include <unistd.h>

#include "base/command.h"
#include "base/file.h"
#include "draw/mime.h"
#include "net/smtp.h"
#include "notify/carrier.h"

#define LIMIT_MS 30000 /* servers may delay their greeting */
#define GRACE_MS 5000  /* extra time for the program to report a timeout */
#define OUT_MAX  8192
#define LATER_MS 15000 /* delay after a temporary error of the server */

struct load {
    struct command *command;
    char *to_text; /* buffer of `to` */
    size_t n_to;
    const char *to[SMTP_TO_MAX + 1];
    carried_fn *done;
    void *arg;
};

static void load_free(struct load *l)
{
    free(l->to_text);
    free(l);
}

static void load_stop(struct load *l)
{
    if (!l)
        return;
    command_stop(l->command);
    load_free(l);
}

static void on_sent(void *arg, const struct command_result *out)
{
    struct load *l = arg;
    struct smtp_result r = {.n_later = l->n_to};
    struct delivery_state c = {0};
    AUTO_BUF rest = BUF_INIT((size_t)SMTP_TO_MAX * 260);
    carried_fn *done = l->done;
    void *done_arg = l->arg;

    if (out->error)
        mem_copy_str(r.error, sizeof(r.error), out->error);
    else if (smtp_result_read(out->out, l->n_to, &r) < 0)
        mem_copy_str(r.error, sizeof(r.error), "the mail process returned an invalid reply");
    r.error[CARRIER_ERROR_MAX - 1] = 0;
    c.how = r.n_taken ? CARRIED_SENT : r.n_later ? CARRIED_AGAIN : CARRIED_REFUSED;
    c.error = r.error;
    for (size_t i = 0; i < l->n_to; i++)
        if (r.to[i] == SMTP_LATER)
            buf_addf(&rest, "%s%s", rest.len ? "," : "", l->to[i]);
    if (r.n_later)
        c.wait_ms = LATER_MS;
    if (r.n_later && r.n_later < l->n_to)
        c.rest = rest.p;
    load_free(l);
    done(done_arg, &c);
}

/* The addresses of the message, or else of the channel. */
static int receivers(struct load *l, const struct channel *c, const struct message *m, struct err *err)
{
    size_t n = 0;

    l->to_text = mem_str(m->to);
    for (char *p = l->to_text; m->to[0] && p && n < SMTP_TO_MAX; n++) {
        char *comma = strchr(p, ',');
        if (comma)
            *comma = 0;
        l->to[n] = p;
        if (!mail_address_ok(str_of(p)))
            return err_set(err, -EBADMSG, "a receiver is not a mail address");
        p = comma ? comma + 1 : NULL;
    }
    for (; !m->to[0] && c->to[n] && n < SMTP_TO_MAX; n++)
        l->to[n] = c->to[n];
    l->n_to = n;
    return n ? 0 : err_set(err, -EBADMSG, "the mail has no recipient");
}

/* The hub's name, or the machine's name if it has the default name muster. */
static const char *hub_name(const struct hub *h, char out[256])
{
    if (gethostname(out, 256) < 0)
        mem_copy_str(out, 256, "a hub");
    out[255] = 0;
    return h->conf.name && strcmp(h->conf.name, "muster") != 0 ? h->conf.name : out;
}

/* The program's input: the request with the mail. */
static int write_ask(struct buf *out, struct hub *h, const struct channel *c, const struct message *m,
                     const struct load *l, struct err *err)
{
    AUTO_BUF url = {0}, secret = {0}, mail = BUF_INIT(MIME_MAX);
    char host[256];
    int r = channel_url(c, &url, err);

    if (r == 0)
        r = channel_secret(c, &secret, err);
    if (r < 0)
        return r;
    struct mime_params k = {.m = m, .from = c->from, .to = l->to, .hub = hub_name(h, host)};
    if (mime_mail(&mail, &k) < 0)
        return err_set(err, -EBADMSG, "the message is too long for a mail");
    return smtp_request_write(out, &(struct smtp_request){.url = url.p,
                                                          .plain = c->plain,
                                                          .ca_file = c->ca_file,
                                                          .user = c->user,
                                                          .password = c->user ? secret.p : NULL,
                                                          .from = c->from,
                                                          .to = l->to,
                                                          .mail = buf_str(&mail),
                                                          .timeout_ms = LIMIT_MS});
}

static int load_send(struct load **ret, struct carriers *s, const struct channel *c, const struct message *m,
                     carried_fn *done, void *arg, struct err *err)
{
    char self[512];
    const char *argv[] = {file_self(self, sizeof(self)), "mail-send", NULL};
    AUTO_BUF ask = BUF_INIT(SMTP_ASK_MAX);
    struct load *l = NEW(struct load, .done = done, .arg = arg);
    int r = receivers(l, c, m, err);
    if (r == 0)
        r = write_ask(&ask, s->h, c, m, l, err);
    if (r == 0)
        r = command_start_with_input(&l->command, s->h->loop, argv, NEEDS_NET, buf_str(&ask), OUT_MAX,
                                     LIMIT_MS + GRACE_MS, on_sent, l, err);
    if (r < 0)
        load_free(l);
    else
        *ret = l;
    return r;
}

const struct carrier carrier_mail = {.send = load_send, .stop = load_stop};
