/* command.c: runs a process and keeps its output until it ends. */
#include "base/command.h"

#include <sys/wait.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/process.h"
#include "base/timer.h"

struct command {
    struct process *process;
    char *name;
    struct buf out;
    struct timer *timer;
    bool too_long, told;
    command_done_fn *done;
    void *arg;
};

static void tell(struct command *c, int status, const char *error)
{
    struct command_result r = {.error = error, .status = status, .out = buf_str(&c->out)};
    if (!c->told)
        c->done(c->arg, &r);
    c->told = true;
}

static void words(const struct command *c, int status, char ret[320])
{
    char said[160];
    process_last_words(process_stderr(c->process), said, sizeof(said));
    if (c->too_long)
        snprintf(ret, 320, "%.80s prints more than %zu bytes", c->name, c->out.max);
    else if (said[0])
        snprintf(ret, 320, "%.80s: %s", c->name, said);
    else if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        snprintf(ret, 320, "%.80s could not be started: is it installed?", c->name);
    else if (WIFSIGNALED(status))
        snprintf(ret, 320, "%.80s was ended by signal %d", c->name, WTERMSIG(status));
    else
        snprintf(ret, 320, "%.80s ended with status %d", c->name, WEXITSTATUS(status));
}

static void on_ended(void *arg, int status)
{
    struct command *c = arg;
    char sentence[320];
    bool ok = status == 0 && !c->too_long;
    if (!ok)
        words(c, status, sentence);
    tell(c, WIFEXITED(status) && !c->too_long ? WEXITSTATUS(status) : -1, ok ? NULL : sentence);
    timer_free(c->timer);
    buf_fini(&c->out);
    free(c->name);
    free(c);
}

static void on_late(void *arg)
{
    struct command *c = arg;
    char sentence[320];
    snprintf(sentence, sizeof(sentence), "%.80s did not end in time", c->name);
    process_stop(c->process);
    tell(c, -1, sentence);
}

static void on_out(void *arg, struct str bytes)
{
    struct command *c = arg;
    if (buf_addstr(&c->out, bytes) == 0)
        return;
    c->too_long = true;
    process_stop(c->process);
}

int command_start(struct command **ret, struct event_base *loop, const char *const *argv, unsigned needs,
                  size_t out_max, int64_t limit_ms, command_done_fn *done, void *arg, struct err *err)
{
    return command_start_with_input(ret, loop, argv, needs, (struct str){0}, out_max, limit_ms, done, arg, err);
}

int command_start_with_input(struct command **ret, struct event_base *loop, const char *const *argv, unsigned needs,
                             struct str in, size_t out_max, int64_t limit_ms, command_done_fn *done, void *arg,
                             struct err *err)
{
    static const struct process_calls calls = {.out = on_out, .ended = on_ended};
    struct command *c = mem_zero(1, sizeof(*c));
    int r = process_start(&c->process, loop, argv, &(struct process_env){.needs = needs}, in, &calls, c, err);
    if (r < 0) {
        free(c);
        return r;
    }
    if (in.p)
        process_input_ends(c->process);
    c->name = mem_str(argv[0]);
    c->out = BUF_INIT(out_max);
    c->done = done;
    c->arg = arg;
    c->timer = timer_new(loop, on_late, c);
    timer_after(c->timer, limit_ms);
    *ret = c;
    return 0;
}

void command_stop(struct command *c)
{
    if (!c)
        return;
    c->told = true;
    timer_stop(c->timer);
    process_stop(c->process);
}
