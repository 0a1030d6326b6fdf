/* cmd_simulate.c: `muster simulate`: its options, its hub, and preparations before the nodes run (crowd.c). */
#include "sim/cmd_simulate.h"

#include <errno.h>
#include <event2/http.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/cmd.h"
#include "collect/trace.h"
#include "sim/crowd.h"
#include "sim/demo_cluster.h"

static int parse_hub(const char *url, char **ret_host, int *ret_port, struct err *err)
{
    struct evhttp_uri *u = evhttp_uri_parse(url);
    const char *scheme = u ? evhttp_uri_get_scheme(u) : NULL, *host = u ? evhttp_uri_get_host(u) : NULL;
    bool ok = scheme && strcmp(scheme, "http") == 0 && host && host[0];
    if (ok) {
        *ret_host = mem_str(host);
        *ret_port = evhttp_uri_get_port(u) > 0 ? evhttp_uri_get_port(u) : 80;
    }
    if (u)
        evhttp_uri_free(u);
    return ok ? 0 : err_set(err, -EINVAL, "--hub: '%s' is not an http:// address", url);
}

/* A comma-separated list, like agents use. */
static int parse_hubs(const char *urls, struct crowd_place *ret, size_t *ret_n, struct err *err)
{
    struct str rest = str_of(urls), one;
    int r = 0;
    while (r == 0 && str_cut(&rest, ',', &one)) {
        AUTO_FREE char *url = mem_strn(one.p, one.len);
        if (*ret_n == CROWD_HUBS_MAX)
            return err_set(err, -EINVAL, "--hub: at most %d hubs", CROWD_HUBS_MAX);
        r = parse_hub(url, &ret[*ret_n].host, &ret[*ret_n].port, err);
        *ret_n += r == 0;
    }
    return r;
}

static int read_token(const struct simulate_conf *conf, struct buf *ret, struct err *err)
{
    if (conf->token && conf->token[0])
        return buf_adds(ret, conf->token);
    if (conf->token_file && conf->token_file[0])
        return file_read_secret(conf->token_file, ret, err);
    return err_set(err, -EINVAL, "a token is needed: `muster token new --role enroll` makes one that fits");
}

/* Runs until the duration is over and all batches are acknowledged, or until SIGTERM. Returns 0, -ETIMEDOUT if some
 * were not acknowledged, or -errno. */
static int simulate_run(const struct simulate_conf *conf, struct err *err)
{
    AUTO_BUF token = BUF_INIT(4096);
    struct crowd_place hubs[CROWD_HUBS_MAX] = {0};
    size_t n = 0;
    struct replay *trace = NULL;
    FILE *ledger = NULL;
    int r = read_token(conf, &token, err);
    if (!r)
        r = parse_hubs(conf->hub && conf->hub[0] ? conf->hub : "http://127.0.0.1:8765", hubs, &n, err);
    if (!r && conf->actors && conf->ledger && conf->ledger[0])
        r = err_set(err, -EINVAL, "--actors and --ledger do not go together: nodes that repeat others have no ledger");
    if (!r && conf->connections && (!conf->actors || n > 1))
        r = err_set(err, -EINVAL, "--connections needs --actors and one hub");
    if (!r)
        r = replay_load(&trace, trace_text(), "the recorded trace", err);
    if (!r && conf->ledger && conf->ledger[0] && !(ledger = fopen(conf->ledger, "we")))
        r = err_set(err, -errno, "cannot open '%s': %s", conf->ledger, strerror(errno));
    if (!r)
        r = crowd_run(conf, trace, hubs, n, token.p, ledger, err);
    if (ledger && fclose(ledger) && !r)
        r = err_set(err, -errno, "cannot write '%s': %s", conf->ledger, strerror(errno));
    replay_free(trace);
    for (size_t i = 0; i < n; i++)
        free(hubs[i].host);
    return r;
}

/* ---- the command ---- */

static const struct opt simulate_opts[] = {
    OPT(simulate_conf, hub, 0, OPT_STR, NULL, "URL",
        "hub to send to; URL,URL: the nodes are spread over these hubs, and use the next one if one fails",
        .default_text = "http://127.0.0.1:8765", .url = true),
    OPT(simulate_conf, token, 0, OPT_SECRET, NULL, "TOKEN",
        "enroll token; other users can see it in ps: prefer --token-file"),
    OPT(simulate_conf, token_file, 0, OPT_PATH, NULL, "FILE", "file that holds the token"),
    OPT(simulate_conf, nodes, 'n', OPT_INT, "10", "N", "number of nodes", .min = 1, .max = 100000),
    OPT(simulate_conf, actors, 0, OPT_INT, "0", "N",
        "number of nodes with values of their own, which the others repeat; for thousands of nodes; 0: all", .min = 0,
        .max = 100000),
    OPT(simulate_conf, connections, 0, OPT_INT, "0", "N",
        "with --actors: number of connections that nodes share, as behind a proxy; 0: one per node", .min = 0,
        .max = 100000),
    OPT(simulate_conf, arrive, 0, OPT_DURATION, "0", "TIME",
        "with --actors: time within which the nodes connect one by one", .min = 0, .max = 3600000),
    OPT(simulate_conf, gpus, 'g', OPT_INT, "8", "G", "number of GPUs per node", .min = 1, .max = DEVICES_MAX),
    OPT(simulate_conf, tick, 0, OPT_DURATION, "1s", "TIME", "time between samples", .min = 100, .max = 60000),
    OPT(simulate_conf, interval, 0, OPT_DURATION, "0", "TIME", "time between requests; 0: as set by the hub", .min = 0,
        .max = 300000),
    OPT(simulate_conf, duration, 0, OPT_DURATION, "0", "TIME", "duration of the run; 0: until stopped", .min = 0,
        .max = 604800000),
    OPT(simulate_conf, drain, 0, OPT_DURATION, "30s", "TIME", "maximum time to wait for the last acknowledgements",
        .min = 0, .max = 3600000),
    OPT(simulate_conf, prefix, 0, OPT_STR, "sim", "NAME", "prefix of node names, before a number"),
    OPT(simulate_conf, seed, 0, OPT_INT, "1", "N", "seed of the random values"),
    OPT(simulate_conf, people, 0, OPT_INT, "0", "N", "number of people whose jobs run; 0: eight", .min = 0,
        .max = 100000),
    OPT(simulate_conf, backfill, 0, OPT_DURATION, "0", "TIME", "length of a past to generate instead, at full speed",
        .min = 0, .max = 3653ll * 86400000),
    OPT(simulate_conf, every, 0, OPT_DURATION, "10s", "TIME", "time between samples of the past", .min = 100,
        .max = 3600000),
    OPT(simulate_conf, until, 0, OPT_STR, NULL, "WHEN", "end of the past", .default_text = "now"),
    OPT(simulate_conf, data, 'd', OPT_PATH, NULL, "DIR", "data folder for the past; no hub may have it open"),
    OPT(simulate_conf, ledger, 0, OPT_PATH, NULL, "FILE",
        "file for a line per batch: node, run, number, samples, checksum"),
    OPT(simulate_conf, work, 0, OPT_BOOL, NULL, NULL, "include the activity of parts of a GPU, as on Hopper"),
    OPT(simulate_conf, tokens, 0, OPT_PATH, NULL, "FILE",
        "file for the nodes' own tokens, so that the same nodes can continue after a restart"),
    OPTN(simulate_conf, "cast_demo", demo, 0, OPT_BOOL, NULL, NULL, "the demo's six nodes", .hidden = true),
    OPT(simulate_conf, quiet, 'q', OPT_BOOL, NULL, NULL, "print no progress"),
    {0},
};
const struct opt_cmd simulate_help = {
    .name = "muster simulate",
    .summary = "send data of many simulated nodes to a hub",
    .about =
        "Sends what N agents with G GPUs each would send, over real HTTP, by default with one connection per node. The "
        "values are those of a recorded trace. Use it for tests and benchmarks. Every batch is kept and sent again "
        "until the hub acknowledges it.\n\nWith an enroll token each node gets its own token, as a new agent "
        "does.\n\nWith --backfill it generates history of the same nodes and people instead, into a data folder "
        "(fastest) or to a hub. The same seed and times give the same past, and existing samples are not stored twice.",
    .examples =
        "muster simulate --nodes 50 --token-file t --duration 1m  # fifty nodes for a minute\n"
        "muster simulate --nodes 10000 --actors 500 --token-file t  # ten thousand, with little CPU on this machine\n"
        "muster simulate --backfill 30d --nodes 13 --every 10s --data DIR  # a month of 104 GPUs\n"
        "muster simulate --backfill 365d --every 1m --people 200 --nodes 13 --data DIR  # a year of 200 people",
    .opts = simulate_opts,
    .conf_size = sizeof(struct simulate_conf),
};

int cmd_simulate(struct cmd_call *c)
{
    struct simulate_conf *conf = c->conf;

    if (c->argc)
        return err_set(&c->err, -EINVAL, "unexpected argument '%s'", c->argv[0]);
    if (conf->demo)
        conf->nodes = DEMO_CLUSTER_DEMO_NODES;
    if (conf->data && !conf->backfill)
        return err_set(&c->err, -EINVAL, "--data needs --backfill");
    return conf->backfill ? backfill_run(conf, &c->err) : simulate_run(conf, &c->err);
}
