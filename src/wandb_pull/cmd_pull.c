/* cmd_pull.c: `muster wandb pull`: runs of all companies' teams from W&B into wandb.db, day by day. */
#include <errno.h>
#include <signal.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/cmd.h"
#include "wandb/store.h"
#include "wandb_pull/blacklist.h"
#include "wandb_pull/cmd_talk.h"
#include "wandb_pull/cmd_wandb.h"
#include "wandb_pull/pull.h"

struct pull_conf {
    struct talk_conf talk;
    char *start_date, *end_date;
    bool quiet;
};

static const struct opt pull_opts[] = {
    TALK_OPTS(pull_conf, talk),
    OPT(pull_conf, start_date, 0, OPT_STR, NULL, "DAY", "first day",
        .default_text = "yesterday; with --end-date alone: the config's project_start, 2024-10-25"),
    OPT(pull_conf, end_date, 0, OPT_STR, NULL, "DAY", "last day", .default_text = "yesterday"),
    OPT(pull_conf, quiet, 'q', OPT_BOOL, NULL, NULL,
        "print nothing unless something failed or there was nothing to read"),
    {0},
};
const struct opt_cmd wandb_pull_help = {
    .name = "muster wandb pull",
    .summary = "read runs and their metrics from W&B and store them by day",
    .about = "Reads the projects of each team in the config, their runs, and the system metrics of each run that "
             "counts. Days are in the config's zone (default: Asia/Tokyo). Data is stored as it arrives: after an "
             "interruption the same command continues. A project that cannot be read is named, keeps its rows, and "
             "makes the exit code 3; the same command reads it again. The key comes from --api, WANDB_API_KEY, "
             "--key-file or ~/.netrc. Exit code: 0 complete, 2 usage, 3 something is missing.",
    .examples = "muster wandb pull --config config.yaml  # yesterday, as a daily job does\n"
                "muster wandb pull --start-date 2026-05-01 --end-date 2026-10-31\n"
                "muster wandb pull --end-date 2026-10-31  # from the beginning of the programme",
    .opts = pull_opts,
    .conf_size = sizeof(struct pull_conf),
};

/* ---- progress ---- */

struct show {
    bool on, shown, stopped;
    int64_t begun_ms, said_ms;
    const struct wandb *w;
};

static const char *grouped(uint64_t v, char out[32]) /* 20013: "20,013" */
{
    char plain[24];
    int n = snprintf(plain, sizeof(plain), "%llu", (unsigned long long)v), at = 0;

    for (int i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = plain[i];
    }
    out[at] = 0;
    return out;
}

static void count(struct buf *out, uint64_t n, const char *what) /* "1 run", "20,013 runs" */
{
    char text[32];

    buf_addf(out, "%s %s%s", grouped(n, text), what, n == 1 ? "" : "s");
}

/* Estimates the total number of runs that count: assumes that runs not listed yet count as often as the listed ones. */
static uint64_t expected_runs(const struct pull_state *s)
{
    if (!s->listing || s->listed == 0 || s->listed_of <= s->listed)
        return s->runs;
    return s->runs + (uint64_t)((double)(s->listed_of - s->listed) * (double)s->runs / (double)s->listed);
}

static void say(struct show *sh, const struct pull_state *s, int64_t now)
{
    int64_t spent = now - sh->begun_ms;
    uint64_t all = expected_runs(s);
    char a[32], span[24];
    AUTO_BUF line = BUF_INIT(512);

    buf_addf(&line, "\r\033[K%s of ", grouped(s->projects_done, a));
    count(&line, s->projects, "project");
    buf_addf(&line, ", %s of %s", grouped(s->runs_done, a), s->listing ? "about " : "");
    count(&line, all, "run");
    if (spent > 0)
        buf_addf(&line, ", %lld requests/s", (long long)(wandb_counts(sh->w).sent * 1000 / (uint64_t)spent));
    if (s->runs_done > 0 && all > s->runs_done && spent > 2000 && s->teams_done == s->teams)
        buf_addf(&line, ", about %s left",
                 clock_span((int64_t)((double)spent * (double)(all - s->runs_done) / (double)s->runs_done), span));
    if (s->failed + s->runs_failed)
        buf_addf(&line, ", %llu failed", (unsigned long long)s->failed + s->runs_failed);
    fwrite(line.p, 1, line.len, stderr);
    fflush(stderr);
    sh->shown = true;
}

static int on_progress(void *arg, const struct pull_state *s)
{
    struct show *sh = arg;
    int64_t now = clock_mono_ms();

    if (sh->on && now - sh->said_ms >= 250) {
        sh->said_ms = now;
        say(sh, s, now);
    }
    return sh->stopped;
}

static void on_signal(UNUSED evutil_socket_t fd, UNUSED short what, void *arg)
{
    ((struct show *)arg)->stopped = true;
}

/* ---- the end ---- */

struct failures {
    struct wandb_store *store;
    int64_t now_ms;
    int n;
};

static int tell_failed(void *arg, const char *team, const char *project, const char *sentence)
{
    struct failures *f = arg;
    AUTO_FREE char *subject = mem_fmt("%s%s%s", team, project[0] ? "/" : "", project);
    struct wandb_event e = {.at_ms = f->now_ms, .kind = WANDB_EVENT_FAILED, .subject = subject, .text = sentence};

    cli_fail(&wandb_pull_help, 0, "%s: %s", subject, sentence);
    f->n++;
    return wandb_event_put(f->store, &e, NULL) < 0;
}

/* Warns if the options probably do not match the user's intent. */
static void warn_empty(const struct pull_sum *sum)
{
    char from[16], to[16];

    if (!sum->state.teams)
        cli_fail(&wandb_pull_help, 0, "no company has nodes from %s to %s: nothing was requested",
                 date_text(sum->pull.from, from), date_text(sum->pull.to, to));
    if (sum->empty[0])
        cli_fail(&wandb_pull_help, 0, "no projects are listed for %s: is that its name, and may this key see it?",
                 sum->empty);
}

static void close_line(struct buf *line, const struct pull_sum *sum, uint64_t failed, uint64_t sent, int64_t spent_ms)
{
    const struct pull_state *s = &sum->state;
    char from[16], to[16], done[32], span[24];

    buf_addf(line, "%s to %s: %s of ", date_text(sum->pull.from, from), date_text(sum->pull.to, to),
             grouped(s->projects_done - MIN(s->projects_done, failed), done));
    count(line, s->projects, "project");
    buf_adds(line, ", ");
    count(line, s->runs, "run");
    buf_adds(line, ", ");
    count(line, sent, "request");
    buf_addf(line, " in %s%s\n", clock_span(spent_ms, span),
             sum->complete ? "" : "; not complete: run the same command again to continue");
}

static int close_up(const struct pull_conf *conf, struct wandb_store *store, const struct pull_sum *sum, struct talk *t,
                    int64_t spent_ms)
{
    const struct pull_state *s = &sum->state;
    struct failures f = {.store = store, .now_ms = clock_wall_ms()};
    char a[32];
    AUTO_BUF line = BUF_INIT(1024);
    struct err err = {0};

    warn_empty(sum); /* before the failures: the last line is the reason */
    wandb_failed_each(store, &sum->pull, tell_failed, &f, NULL);
    if (s->runs_failed)
        cli_fail(&wandb_pull_help, 0, "metrics of %s %s could not be had, as of %s", grouped(s->runs_failed, a),
                 s->runs_failed == 1 ? "run" : "runs", sum->first[0] ? sum->first : "one before");
    if (s->unread)
        cli_fail(&wandb_pull_help, 0, "%s %s no name or no time of creation: left out", grouped(s->unread, a),
                 s->unread == 1 ? "run has" : "runs have");
    close_line(&line, sum, (uint64_t)f.n, wandb_counts(t->w).sent, spent_ms);
    struct wandb_event done = {.at_ms = f.now_ms, .kind = WANDB_EVENT_DONE, .subject = "", .text = line.p};
    buf_cut(&line, line.len - 1);
    if ((sum->complete && wandb_event_put(store, &done, &err) < 0) || wandb_store_flush(store, &err) < 0)
        return cli_fail(&wandb_pull_help, EXIT_REACH, "%s", err.msg);
    buf_addc(&line, '\n');
    int r = conf->quiet ? EXIT_OK : cli_print(&wandb_pull_help, &line);
    if ((sum->complete || !sum->pull.resumed) && r == EXIT_OK) /* not after each resumed run */
        r = wandb_overlap_print(&wandb_pull_help, t, store, sum->pull.from, sum->pull.to, conf->quiet);
    return sum->complete ? r : EXIT_REACH;
}

static int pull(struct cmd_call *c, struct talk *t)
{
    const struct pull_conf *conf = c->conf;
    struct show sh = {.on = !conf->quiet && isatty(STDERR_FILENO), .begun_ms = clock_mono_ms(), .w = t->w};
    struct pull_params ask = {.config = t->config,
                              .base = t->base,
                              .w = t->w,
                              .base_url = t->base_url,
                              .now_ms = clock_wall_ms(),
                              .progress = on_progress,
                              .arg = &sh};
    struct pull_sum sum = {0};
    struct err why = {0};
    int r = talk_days(t, conf->start_date, conf->end_date, &ask.from, &ask.to, &c->err);

    if (r < 0)
        return r;
    if (talk_store(t, true, &ask.store, &c->err) < 0)
        return -EIO; /* not a mistake in the config */
    struct event *sigs[] = {evsignal_new(t->base, SIGINT, on_signal, &sh),
                            evsignal_new(t->base, SIGTERM, on_signal, &sh)};
    for (size_t i = 0; i < ARRAY_LEN(sigs); i++)
        event_add(sigs[i], NULL);
    int black = EXIT_OK;
    r = wandb_pull(&ask, &sum, &c->err);
    if (sh.shown)
        fputs("\r\033[K", stderr);
    if (r == 0 && blacklist_pull(t->w, t->config, ask.store, &why) < 0)
        black = cli_fail(&wandb_pull_help, EXIT_REACH, "%s", why.msg);
    r = r ?: close_up(conf, ask.store, &sum, t, clock_mono_ms() - sh.begun_ms);
    r = r == EXIT_OK ? black : r;
    for (size_t i = 0; i < ARRAY_LEN(sigs); i++)
        event_free(sigs[i]);
    wandb_store_close(ask.store);
    return r;
}

int cmd_wandb_pull(struct cmd_call *c)
{
    if (c->argc)
        return err_set(&c->err, -EINVAL, "unexpected '%s'", c->argv[0]);
    return talk_run(c, true, pull);
}
