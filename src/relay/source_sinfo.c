/* source_sinfo.c: Slurm's nodes that have GPUs, as sinfo lists them. */
#include <errno.h>

#include "base/command.h"
#include "relay/source.h"

#define OUT_MAX  (8u << 20)
#define LIMIT_MS 10000

struct sinfo {
    struct source s;
    struct event_base *loop;
    struct command *running;
    char *program;
};

static void on_done(void *arg, const struct command_result *r)
{
    struct sinfo *i = arg;
    AUTO_FOUND l = {0};
    struct err err = {0};
    i->running = NULL;
    if (r->error)
        source_fail(&i->s, r->error);
    else
        source_end(&i->s, &l, found_sinfo(&l, r->out, &err), &err);
}

static void sinfo_look(struct source *s)
{
    struct sinfo *i = (struct sinfo *)s;
    bool all = strcmp(s->what, "all") == 0;
    const char *argv[] = {i->program, "-h", "-N", "-o", "%N %G %t", all ? NULL : "-p", s->what, NULL};
    struct err err = {0};
    if (command_start(&i->running, i->loop, argv, NEEDS_SLURM, OUT_MAX, LIMIT_MS, on_done, i, &err) < 0)
        source_fail(s, err.msg);
}

static void sinfo_close(struct source *s)
{
    struct sinfo *i = (struct sinfo *)s;
    command_stop(i->running);
    free(i->program);
}

static int sinfo_open(struct source *s, struct event_base *loop, UNUSED struct http *http,
                      const struct source_conf *conf, struct err *err)
{
    struct sinfo *i = (struct sinfo *)s;
    if (conf->what[0] == '-')
        return err_set(err, -EINVAL, "'%.80s' is not a partition", conf->what);
    i->loop = loop;
    i->program = mem_str(conf->program ? conf->program : "sinfo");
    return 0;
}

const struct source_ops source_sinfo = {
    .name = "sinfo",
    .every_ms = 60000,
    .size = sizeof(struct sinfo),
    .open = sinfo_open,
    .look = sinfo_look,
    .close = sinfo_close,
};
