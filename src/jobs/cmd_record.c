/* cmd_record.c: `muster record -- CMD`: `time` for GPUs: runs a command and reports the activity of its GPUs. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "agent/local.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/plain.h"
#include "cli/cli.h"
#include "cli/listing.h"
#include "cli/progress.h"
#include "cli/spawn.h"
#include "format/render.h"
#include "jobs/cmd_label.h"
#include "verdict/advice.h"
#include "verdict/energy.h"

#define CSV_MAX       (256u << 20)
#define VERDICT_MS    5000
#define WAIT_MS       15000
#define UNMEASURED_MS 6000
#define ASK_AGAIN_MS  500
#define SAMPLES_MS    10000 /* an agent sends every 5 s: of less time the hub may have no sample yet */
#define HOLE_MS       5000  /* maximum time that a sample counts for */

struct record_conf {
    struct client_conf client;
    char *csv, *name;
    bool all, quiet;
    int64_t every;
};

static const struct opt record_opts[] = {
    OPT(record_conf, every, 'i', OPT_DURATION, "1s", "TIME", "time between samples", .min = 100, .max = 60000),
    OPT(record_conf, all, 'a', OPT_BOOL, NULL, NULL, "report every GPU, not only those that the command used"),
    OPT(record_conf, csv, 0, OPT_PATH, NULL, "FILE", "CSV file for every sample"),
    OPT(record_conf, name, 0, OPT_STR, NULL, "NAME", "name of the run at the hub", .default_text = "the program's"),
    CLIENT_OPTS(record_conf, client),
    OPT(record_conf, quiet, 'q', OPT_BOOL, NULL, NULL, "print no summary"),
    {0},
};
const struct opt_cmd record_help = {
    .name = "muster record",
    .summary = "run a command and report the activity of its GPUs",
    .args = "-- COMMAND [ARGUMENT]...",
    .about =
        "Samples this machine's GPUs while COMMAND runs. At the end it prints peaks and means of the GPUs that the "
        "command used to standard error. The exit status is the command's, or 127 if it cannot be started.\n\n"
        "With a hub (--hub, MUSTER_HUB, or the hub on this machine) the command becomes a run there: `muster runs` "
        "lists it. Its address is printed when the hub has it, its verdict at the end. This needs a member's "
        "token; the user who runs the local hub has one. The command never waits for a hub.",
    .examples = "muster record -- python train.py  # time for GPUs; a run of the hub on this machine\n"
                "muster record --csv run.csv -- ./bench\n"
                "muster record --hub http://hub:8765 --token-file ~/.muster-token -- ./bench  # a run of that hub",
    .opts = record_opts,
    .leads = true,
    .conf_size = sizeof(struct record_conf),
};

static const enum metric watched[] = {M_util, M_mem_used, M_power, M_temp, M_sm_active, M_clock_sm};
enum { WATCHED = sizeof(watched) / sizeof(watched[0]) };

struct seen { /* one device */
    struct device_fact fact;
    bool used;
    size_t n[WATCHED];
    __int128 sum[WATCHED];
    int64_t max[WATCHED];
    struct energy energy;
    double watts;  /* the newest; NAN: unknown */
    int64_t at_ms; /* end of the counted energy; 0: start of the command */
};

struct recording {
    pid_t child;
    int64_t from_ms, every_ms;
    uint64_t facts;
    size_t n_seen;
    struct seen *seen;
    size_t n_slots;
    size_t slots[DEVICES_MAX]; /* slot - 1 to seen */
    struct proc_list procs;
    bool csv;
    struct buf rows;
    struct label *label; /* NULL: nothing is sent to a hub */
};

/* ---- data of the collector ---- */

static void take_hello(UNUSED void *arg, UNUSED const struct hello *h) {}

static void take_facts(void *arg, UNUSED uint64_t id, const struct node_fact *f)
{
    struct recording *r = arg;

    r->n_slots = 0;
    for (size_t i = 0; i < f->n_devices && i < DEVICES_MAX; i++) {
        size_t k = FIRST(r->n_seen, e, strcmp(r->seen[e].fact.uuid, f->devices[i].uuid) == 0);
        if (k == r->n_seen) {
            r->seen = mem_grow(r->seen, r->n_seen + 1, sizeof(*r->seen));
            r->seen[r->n_seen++] = (struct seen){.energy = ENERGY_INIT, .watts = NAN};
        }
        r->seen[k].fact = f->devices[i];
        r->slots[r->n_slots++] = k;
    }
}

static void take_procs(void *arg, UNUSED uint64_t id, const struct proc_list *l)
{
    struct recording *r = arg;

    proc_list_fini(&r->procs);
    proc_list_copy(&r->procs, l);
}

/* The parent's pid; 0 if not found. */
static pid_t parent_of(pid_t pid)
{
    char path[64], text[512];
    int64_t ppid;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    AUTO_FILE FILE *f = fopen(path, "re");
    if (!f || !fgets(text, sizeof(text), f))
        return 0;
    const char *end = strrchr(text, ')'); /* a name may hold anything */
    struct str rest = str_of(end ? end + 1 : ""), word;
    bool has_state = str_word(&rest, &word);
    /* cppcheck-suppress resourceLeak ; AUTO_FILE closes it */
    return has_state && str_word(&rest, &word) && str_int(word, &ppid) ? (pid_t)ppid : 0;
}

static bool is_ours(const struct recording *r, pid_t pid)
{
    for (int depth = 0; pid > 1 && depth < 64; depth++, pid = parent_of(pid))
        if (pid == r->child)
            return true;
    return false;
}

static void take_value(struct seen *s, enum metric m, int64_t v)
{
    for (size_t i = 0; i < WATCHED; i++)
        if (watched[i] == m) {
            s->max[i] = s->n[i] ? MAX(s->max[i], v) : v;
            s->sum[i] += v;
            s->n[i]++;
        }
}

/* What went by up to then; the counter comes once a minute. */
static void add_energy(const struct recording *r, struct seen *s, double counter, int64_t at_ms)
{
    int64_t ms = at_ms - (s->at_ms ? s->at_ms : r->from_ms);

    energy_add(&s->energy, counter, s->watts, (double)MAX(MIN(ms, r->every_ms + HOLE_MS), 0) / 1000);
    s->at_ms = at_ms;
}

static double value_at(const struct batch *b, enum metric m, size_t slot, size_t tick)
{
    const struct column *c =
        FIND(b->columns, b->n_columns, e, e->slot == slot && metric_by_no(e->metric) == (int)m && column_has(e, tick));

    return c ? (double)c->v[tick] / (double)metrics[m].per : NAN;
}

static void take_energy(struct recording *r, const struct batch *b)
{
    for (size_t slot = 1; slot <= r->n_slots; slot++)
        for (size_t t = 0; t < b->n_ticks; t++) {
            struct seen *s = &r->seen[r->slots[slot - 1]];
            double watts = value_at(b, M_power, slot, t), counter = value_at(b, M_energy, slot, t);
            s->watts = isnan(watts) ? s->watts : watts;
            if (!isnan(watts) || !isnan(counter))
                add_energy(r, s, counter, b->at_ms[t]);
        }
}

static void take_batch(void *arg, const struct batch *b)
{
    struct recording *r = arg;
    char when[32];

    for (size_t i = 0; i < b->n_uses; i++) {
        const struct proc_use *u = &b->uses[i];
        if (u->slot >= 1 && u->slot <= r->n_slots && u->proc < r->procs.n && is_ours(r, r->procs.v[u->proc].pid)) {
            struct seen *s = &r->seen[r->slots[u->slot - 1]];
            s->used = true;
            label_saw(r->label, s->fact.uuid, r->procs.v[u->proc].pid);
        }
    }
    take_energy(r, b);
    for (size_t c = 0; c < b->n_columns; c++) {
        const struct column *col = &b->columns[c];
        int m = metric_by_no(col->metric);
        if (m < 0 || col->slot < 1 || col->slot > r->n_slots)
            continue;
        struct seen *s = &r->seen[r->slots[col->slot - 1]];
        for (size_t t = 0; t < b->n_ticks; t++) {
            if (!column_has(col, t))
                continue;
            take_value(s, (enum metric)m, col->v[t]);
            if (r->csv) {
                buf_addf(&r->rows, "%s,%d,%s,%s,%s,", clock_iso(b->at_ms[t], when), (int)s->fact.index, s->fact.uuid,
                         metrics[m].name, unit_names[metrics[m].unit]);
                metric_base(&r->rows, (enum metric)m, col->v[t]);
                buf_adds(&r->rows, "\r\n");
            }
        }
    }
}

/* ---- the command ---- */

/* Waits for the command to end and returns its wait status. A collector that fails does not end the command. */
static int watch(pid_t child, struct local *l)
{
    int status = 0;
    AUTO_CLOSE int pidfd = (int)syscall(SYS_pidfd_open, child, 0);

    while (l && pidfd >= 0) {
        struct pollfd fds[2] = {{.fd = pidfd, .events = POLLIN}, {.fd = local_fd(l), .events = POLLIN}};
        struct err err = {0};
        if (poll(fds, 2, 1000) < 0 && errno != EINTR)
            break;
        if (fds[0].revents || (fds[1].revents && local_next(l, 1, &err) < 0))
            break;
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

/* ---- the summary ---- */

static void amount(struct buf *out, enum metric m, __int128 v, size_t n)
{
    render_amount(out, unit_names[metrics[m].unit], (double)v / (double)n / (double)metrics[m].per);
}

static void tell_device(struct buf *out, const struct seen *s)
{
    buf_addf(out, "gpu %d  %s\n", (int)s->fact.index, s->fact.name);
    for (size_t i = 0; i < WATCHED; i++) {
        if (!s->n[i])
            continue;
        buf_addf(out, "  %-10s peak ", metrics[watched[i]].name);
        amount(out, watched[i], s->max[i], 1);
        buf_adds(out, ", mean ");
        amount(out, watched[i], s->sum[i], s->n[i]);
        buf_addc(out, '\n');
    }
    if (energy_sum(&s->energy) > 0) {
        buf_addf(out, "  %-10s ", "energy");
        energy_human(out, energy_sum(&s->energy));
        buf_addc(out, '\n');
    }
}

static void tell(struct recording *r, bool all, int64_t ms)
{
    AUTO_BUF out = BUF_INIT(1 << 20);
    size_t told = 0;
    char span[24];

    buf_addf(&out, "ran %s\n", clock_span(ms, span));
    for (size_t i = 0; i < r->n_seen; i++)
        if (all || r->seen[i].used) {
            add_energy(r, &r->seen[i], NAN, r->from_ms + ms); /* after the last sample */
            tell_device(&out, &r->seen[i]);
            told++;
        }
    if (!told)
        buf_adds(&out, r->n_seen ? "it used no GPU\n" : "no GPU found\n");
    fwrite(out.p, 1, out.len, stderr);
}

/* ---- the hub ---- */

static void print_address(const struct record_conf *conf, const char *what, const char *id)
{
    if (!conf->quiet)
        fprintf(stderr, "%s: %s/run/%s\n", what, client_url(&conf->client), id);
}

static void tell_taken(void *arg, const char *id)
{
    print_address(arg, "live page", id);
}

static void put_advice(struct buf *out, const json_t *v)
{
    const json_t *advice = json_object_get(v, "advice");
    size_t i;
    json_t *a;
    json_array_foreach (advice, i, a) {
        buf_addf(out, "  %s: ", text_of(a, "rule"));
        plain_line(out, str_of(text_of(a, "title")));
        buf_adds(out, "; ");
        plain_line(out, str_of(text_of(a, "remedy")));
        buf_addc(out, '\n');
    }
    if (!i && json_is_true(json_object_get(v, "rules")))
        buf_adds(out, "  no rule finds anything wrong with it\n");
    if (text_of(v, "rules_why")[0])
        buf_addf(out, "  %s\n", text_of(v, "rules_why"));
}

/* Agents send samples every few seconds, and the first of a run may not have what rules need: some drivers never do. */
static bool has_samples(const json_t *v, int64_t spent_ms)
{
    return json_is_true(json_object_get(v, "measured")) ||
           (spent_ms > UNMEASURED_MS && json_number_value(json_object_get(v, "seconds")) > 0);
}

/* Requests the verdict until the hub has samples of the run. NULL: see err. */
static json_t *wait_for_verdict(const struct client_conf *client, const char *path, bool wait, struct err *err)
{
    struct progress p;
    int64_t begin_ms = clock_mono_ms();
    progress_start(&p, "waiting for the verdict", "s", WAIT_MS / 1000, false);
    for (;;) {
        AUTO_BUF raw = {0};
        json_t *v = NULL;
        int r = client_request_object(client, "GET", path, str_of(""), &v, &raw, err);
        int64_t spent_ms = clock_mono_ms() - begin_ms;
        if (!wait || spent_ms > WAIT_MS || (r == 0 && has_samples(v, spent_ms))) {
            progress_end(&p);
            return r < 0 ? NULL : v;
        }
        json_decref(v);
        progress_at(&p, spent_ms / 1000);
        poll(NULL, 0, ASK_AGAIN_MS);
    }
}

/* Prints the hub's verdict, from the samples that it has by now. */
static void print_verdict(const struct record_conf *conf, const char *id, int64_t ran_ms)
{
    struct client_conf client = conf->client;
    AUTO_BUF path = BUF_INIT(256), out = BUF_INIT(1 << 20);
    struct err err = {0};
    char span[24];

    client.limit_ms = VERDICT_MS;
    buf_addf(&path, "/api/v1/jobs/%s/verdict", id);
    json_auto_t *v = wait_for_verdict(&client, path.p, ran_ms >= SAMPLES_MS, &err);
    if (!v) {
        cli_fail(&record_help, 0, "no verdict: %s", err.msg);
        return;
    }
    bool some = json_is_true(json_object_get(v, "measured"));
    if (!some && ran_ms < SAMPLES_MS) {
        buf_addf(&out, "no verdict yet: it ran %s; `muster run %s` has it in some seconds\n", clock_span(ran_ms, span),
                 id);
    } else {
        buf_adds(&out, some ? "verdict: " : "no verdict: ");
        plain_line(&out, str_of(text_of(v, some || !text_of(v, "why")[0] ? "sentence" : "why")));
        buf_addc(&out, '\n');
        put_advice(&out, v);
    }
    fwrite(out.p, 1, out.len, stderr);
}

static void end_label(struct label *l, const struct record_conf *conf, const struct label_end *e, bool used,
                      int64_t ran_ms)
{
    struct err err = {0};
    char id[32];
    int r = label_end(l, e, id, &err);

    if (r == -ENOTCONN || (r < 0 && conf->quiet && !client_named(&conf->client)))
        return; /* no hub was named, and none runs here */
    if (r < 0) {
        cli_fail(&record_help, 0, "%s: %s", id[0] ? "the hub does not know its end" : "this is not a run in the hub",
                 err.msg);
        return;
    }
    print_address(conf, "run page", id);
    if (conf->quiet)
        return;
    if (used)
        print_verdict(conf, id, ran_ms);
    else
        fputs("no verdict: it used no GPU\n", stderr);
}

int cmd_record(struct cmd_call *c)
{
    struct record_conf *conf = c->conf;
    if (!c->argc)
        return err_set(&c->err, -EINVAL, "which command? As in: muster record -- python train.py");
    char **argv = c->argv;
    struct recording r = {.csv = conf->csv != NULL, .rows = BUF_INIT(CSV_MAX)};
    struct local_sink sink = {&r, take_hello, take_facts, take_procs, take_batch};
    struct agent_conf agent;
    struct local *l = NULL;
    struct err err = {0};
    int why = 0, code;
    bool have = conf_default(&agent, &err) == 0, fits = have && opt_env(agent_opts, &agent, &err) == 0;

    buf_adds(&r.rows, "time,gpu,device,metric,unit,value\r\n");
    if (fits) /* with MUSTER_COLLECTOR and the like, as for an agent */
        agent.tick = conf->every;
    if (!fits || local_open(&l, &agent, &sink, &err) < 0)
        cli_fail(&record_help, 0, "no GPUs found: %s", err.msg);
    const char *slash = strrchr(argv[0], '/');
    const char *program = slash && slash[1] ? slash + 1 : argv[0];
    int64_t begin_ms = clock_mono_ms();
    struct label_facts facts = {.name = conf->name && conf->name[0] ? conf->name : program,
                                .argv = argv,
                                .start_ms = clock_wall_ms(),
                                .taken = tell_taken,
                                .arg = conf};
    r.child = spawn_start(argv, &why);
    if (r.child < 0) {
        code = cli_fail(&record_help, 127, "cannot start '%s': %s", argv[0], strerror(why));
    } else {
        facts.pid = r.child;
        r.from_ms = facts.start_ms;
        r.every_ms = conf->every;
        r.label = label_begin(&conf->client, &facts);
        int status = watch(r.child, l);
        int64_t ran_ms = clock_mono_ms() - begin_ms;
        code = spawn_code(status);
        struct label_end end = {.end_ms = clock_wall_ms(), .exit_code = code};
        if (!conf->quiet)
            tell(&r, conf->all, ran_ms);
        if (conf->csv && file_output(conf->csv, 0644, r.rows.p, r.rows.len, &err) < 0)
            cli_fail(&record_help, 0, "%s", err.msg);
        end_label(r.label, conf, &end, ANY(r.n_seen, i, r.seen[i].used), ran_ms);
    }
    local_close(l);
    if (have)
        conf_fini(&agent);
    proc_list_fini(&r.procs);
    buf_fini(&r.rows);
    free(r.seen);
    return code;
}
