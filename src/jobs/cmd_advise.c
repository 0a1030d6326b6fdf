/* cmd_advise.c: `muster advise`: what would give back most GPU-hours, at most five lines. */
#include <errno.h>
#include <math.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/plain.h"
#include "cli/cli.h"
#include "cli/listing.h"

struct advise_conf {
    struct client_conf client;
    char *person, *team, *run;
    int64_t last;
    bool json;
};

static const struct opt advise_opts[] = {
    CLIENT_OPTS(advise_conf, client),
    OPT(advise_conf, person, 'p', OPT_STR, NULL, "NAME", "only runs of this user"),
    OPT(advise_conf, team, 0, OPT_STR, NULL, "TEAM", "only runs of this team"),
    OPT(advise_conf, run, 0, OPT_STR, NULL, "ID", "only this run"),
    OPT(advise_conf, last, 'n', OPT_DURATION, "7d", "TIME", "period before now", .min = 3600000,
        .max = 31ll * 86400000),
    OPT(advise_conf, json, 0, OPT_BOOL, NULL, NULL, "print JSON"),
    {0},
};
const struct opt_cmd advise_help = {
    .name = "muster advise",
    .summary = "list the largest savings of GPU-hours this week, and how to get them",
    .args = "",
    .about = "Prints at most five lines, the largest saving first: the user, GPU-hours (and cost, if a price is set), "
             "reason and remedy. Hours are estimates (docs/advice.md); a run counts under the rule that saves most. "
             "GPUs without activity counters are not analysed.",
    .examples = "muster advise\n"
                "muster advise --team vision --last 30d\n"
                "muster advise --run 3f9a6c1be2d07a55",
    .opts = advise_opts,
    .conf_size = sizeof(struct advise_conf),
};

static double number_at(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

/* "31.2 GPU-hours", "7 GPU-minutes" */
static void put_gpu_time(struct buf *out, double hours)
{
    if (hours >= 1)
        buf_addf(out, "%.1f GPU-hours", hours);
    else
        buf_addf(out, "%.0f GPU-minutes", hours * 60);
}

/* "31.2 GPU-hours, 78.00 EUR" */
static void put_hours(struct buf *out, const json_t *o, const char *currency)
{
    put_gpu_time(out, number_at(o, "gpu_hours"));
    if (!isnan(number_at(o, "cost")))
        buf_addf(out, ", %.2f%s%s", number_at(o, "cost"), currency[0] ? " " : "", currency);
}

static void put_text(struct buf *out, const json_t *o, const char *key)
{
    plain_line(out, str_of(text_of(o, key)));
}

static void put_why(struct buf *out, const json_t *o)
{
    buf_adds(out, ": ");
    put_text(out, o, "title");
    buf_adds(out, " (");
    put_text(out, o, "evidence");
    buf_adds(out, "): ");
    put_text(out, o, "remedy");
    buf_addc(out, '\n');
}

/* "14 runs in the last 7 d, 412.0 GPU-hours, 131.4 of them effective" and how many were read; minutes below an hour. */
static void put_head(struct buf *out, const json_t *v, const char *span)
{
    long long runs = (long long)int_of(v, "runs"), looked = (long long)int_of(v, "looked");
    long long sampled = (long long)int_of(v, "sampled");
    double share = number_at(v, "share"), hours = number_at(v, "gpu_hours");
    int scale = hours < 1 ? 60 : 1, digits = hours < 1 ? 0 : 1;
    const char *unit = hours < 1 ? "GPU-minutes" : "GPU-hours";
    buf_addf(out, "%lld run%s in the last %s, %.*f %s", runs, runs == 1 ? "" : "s", span, digits, hours * scale, unit);
    if (!isnan(share))
        buf_addf(out, ": %.0f %% of the %.*f held", share * 100, digits, number_at(v, "usage_hours") * scale);
    if (looked < runs)
        buf_addf(out, "; analysed: the largest %lld, %.*f %s", looked, digits, number_at(v, "looked_hours") * scale,
                 unit);
    if (!isnan(number_at(v, "effective_hours")))
        buf_addf(out, ", %.*f of them effective", digits, number_at(v, "effective_hours") * scale);
    if (sampled > 0)
        buf_addf(out, "; for %lld large run%s only a sample of GPUs was analysed", sampled, sampled == 1 ? "" : "s");
    buf_addc(out, '\n');
}

/* Why advice is not about all usage. */
static void put_rest(struct buf *out, const json_t *v)
{
    long long withheld = (long long)int_of(v, "withheld");
    if (number_at(v, "share") < 0.995)
        buf_adds(out,
                 "The rest was held by processes that are no run: shorter than runs_after, or from before runs were "
                 "recorded.\n");
    if (withheld > 0)
        buf_addf(out, "%lld run%s no data now and %s not judged.\n", withheld, withheld == 1 ? " has" : "s have",
                 withheld == 1 ? "is" : "are");
}

static void put_lines(struct buf *out, const json_t *v, const struct advise_conf *conf)
{
    const json_t *lines = json_object_get(v, "lines");
    char span[24];
    size_t i;
    json_t *l;
    clock_span(conf->last, span);
    if (!int_of(v, "runs")) {
        buf_addf(out, "no run in the last %s\n", span);
        return;
    }
    put_head(out, v, span);
    put_rest(out, v);
    buf_addf(out, "%s\n", json_array_size(lines) ? "Biggest savings:" : "No savings found.");
    json_array_foreach (lines, i, l) {
        long long n = (long long)int_of(l, "runs");
        buf_addf(out, "%zu. ", i + 1);
        put_text(out, l, "person");
        buf_adds(out, text_of(l, "person")[0] ? ", " : "");
        put_hours(out, l, text_of(v, "currency"));
        buf_addf(out, ", %lld run%s, %s%s ", n, n == 1 ? "" : "s", n == 1 ? "" : "most in ", text_of(l, "run"));
        put_text(out, l, "name");
        put_why(out, l);
    }
}

/* The verdict of one run. */
static void put_run(struct buf *out, const json_t *v)
{
    const json_t *advice = json_object_get(v, "advice");
    size_t i;
    json_t *a;
    put_text(out, v, "sentence");
    buf_addc(out, '\n');
    json_array_foreach (advice, i, a) {
        if (i == 5)
            break;
        buf_addf(out, "%zu. ", i + 1);
        put_hours(out, a, text_of(v, "currency"));
        put_why(out, a);
    }
    if (!i && json_is_true(json_object_get(v, "rules")))
        buf_adds(out, "No savings found.\n");
}

/* A hub that started just now still reads the runs. */
static int ask_until_ready(const struct client_conf *client, const char *path, json_t **v, struct buf *raw,
                           struct err *err)
{
    bool screen = isatty(STDERR_FILENO);
    for (int64_t end_ms = clock_mono_ms() + client->limit_ms;;) {
        int r = client_request_object(client, "GET", path, str_n("", 0), v, raw, err);
        bool waits = r >= 0 && json_is_false(json_object_get(*v, "ready"));
        if (screen && (waits || r < 0 || raw->len))
            fprintf(stderr, waits ? "\rthe hub reads what runs did ... \033[K" : "\r\033[K");
        if (!waits)
            return r;
        json_decref(*v);
        *v = NULL;
        buf_fini(raw);
        *raw = (struct buf){0};
        if (clock_mono_ms() >= end_ms)
            return err_set(err, -ETIMEDOUT, "the hub still reads what runs did; try again in a minute");
        nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    }
}

int cmd_advise(struct cmd_call *c)
{
    const struct advise_conf *conf = c->conf;
    json_auto_t *v = NULL;
    AUTO_BUF path = BUF_INIT(4096), raw = {0}, out = BUF_INIT(1u << 20);
    struct client_conf client = conf->client;
    char last[32];
    if (conf->run && (conf->person || conf->team))
        return err_set(&c->err, -EINVAL, "--run cannot be combined with --person: a run has its user");
    if (conf->run && strspn(conf->run, "0123456789abcdefABCDEF") != strlen(conf->run))
        return err_set(&c->err, -EINVAL, "'%.64s' is not a run ID: expected 16 hex digits; `muster runs` lists them",
                       conf->run);
    snprintf(last, sizeof(last), "%llds", (long long)(conf->last / 1000));
    if (conf->run) {
        buf_addf(&path, "/api/v1/jobs/%.64s/verdict", conf->run);
    } else {
        buf_adds(&path, "/api/v1/advise");
        client_param(&path, "last", last);
        client_options(&path, advise_opts, conf, "person team");
    }
    client.limit_ms = 90000;
    int r = ask_until_ready(&client, path.p, &v, &raw, &c->err);
    if (r < 0)
        return r;
    if (conf->json)
        return cli_print_json(&advise_help, &raw);
    if (conf->run)
        put_run(&out, v);
    else
        put_lines(&out, v, conf);
    return cli_print(&advise_help, &out);
}
