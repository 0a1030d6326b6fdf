/* carrier_command.c: runs a program that reads the message from its standard input. */
#include <sys/wait.h>

#include "base/process.h"
#include "base/timer.h"
#include "notify/carrier.h"

#define BODY_MAX (256u << 10)

struct load {
    struct process *process;
    struct timer *timer;
    bool late;        /* a stop was requested */
    carried_fn *done; /* NULL: stopped, the caller does not wait */
    void *arg;
};

static void load_free(struct load *l)
{
    timer_free(l->timer);
    free(l);
}

static void on_out(void *arg, struct str bytes)
{
    (void)arg, (void)bytes; /* the output is ignored */
}

static void on_late(void *arg)
{
    struct load *l = arg;

    l->late = true;
    process_stop(l->process);
}

static void on_ended(void *arg, int status)
{
    struct load *l = arg, was = *l;
    char error[CARRIER_ERROR_MAX] = "", said[120];

    process_last_words(process_stderr(l->process), said, sizeof(said));
    load_free(l);
    if (!was.done)
        return;
    if (was.late)
        snprintf(error, sizeof(error), "the command did not end within %d s", CARRIER_LIMIT_MS / 1000);
    else if (WIFSIGNALED(status))
        snprintf(error, sizeof(error), "the command was ended by signal %d", WTERMSIG(status));
    else if (status)
        snprintf(error, sizeof(error), "the command ended with status %d%s%s", WEXITSTATUS(status), said[0] ? ": " : "",
                 said);
    was.done(was.arg, &(struct delivery_state){.how = error[0] ? CARRIED_AGAIN : CARRIED_SENT, .error = error});
}

/* Stops the program and ignores its output, since the loop may end. Its exit frees the load. */
static void load_stop(struct load *l)
{
    if (!l)
        return;
    l->done = NULL;
    timer_free(l->timer);
    l->timer = NULL;
    process_stop(l->process);
}

static int load_send(struct load **ret, struct carriers *s, const struct channel *c, const struct message *m,
                     carried_fn *done, void *arg, struct err *err)
{
    static const struct process_calls calls = {.out = on_out, .ended = on_ended};
    AUTO_BUF body = BUF_INIT(BODY_MAX);
    struct load *l = NEW(struct load, .done = done, .arg = arg);
    channel_body(c, m, &body);
    AUTO_BUF secret = {0};
    int r = channel_secret(c, &secret, err);
    if (r == 0)
        r = process_start(&l->process, s->h->loop, c->argv,
                          &(struct process_env){.secret = secret.len ? secret.p : NULL}, buf_str(&body), &calls, l,
                          err);
    if (r < 0) {
        load_free(l);
        return r;
    }
    process_input_ends(l->process);
    l->timer = timer_new(s->h->loop, on_late, l);
    timer_after(l->timer, CARRIER_LIMIT_MS);
    *ret = l;
    return 0;
}

const struct carrier carrier_command = {.send = load_send, .stop = load_stop};
