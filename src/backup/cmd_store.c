/* cmd_store.c: `muster store`: creates, shows and checks a store on PostgreSQL, and moves one to or from a folder. */
#include <errno.h>

#include "backup/move.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/order.h"
#include "cli/cli.h"
#include "cli/cmd.h"
#include "cli/progress.h"
#include "clickhouse/clickhouse.h"
#include "cluster/place.h"
#include "format/render.h"
#include "model/rows.h"
#include "sql/pg.h"

struct store_cmd_conf {
    char *store, *password_file;
    bool print, json, quiet;
};

static const struct opt store_opts[] = {
    OPT(store_cmd_conf, store, 's', OPT_STR, NULL, "URL", "the store, if no PLACE is given", .url = true),
    OPT(store_cmd_conf, password_file, 0, OPT_PATH, NULL, "FILE", "file with the password of the server",
        .default_text = "~/.pgpass"),
    OPT(store_cmd_conf, print, 0, OPT_BOOL, NULL, NULL, "init: print the SQL statements only", .verbs = "init"),
    OPT(store_cmd_conf, json, 0, OPT_BOOL, NULL, NULL, "status, check: print JSON", .verbs = "status check"),
    OPT(store_cmd_conf, quiet, 'q', OPT_BOOL, NULL, NULL, "print no progress", .verbs = "init check move"),
    {0},
};
const struct opt_cmd store_help = {
    .name = "muster store",
    .summary = "create, check and move a store that several hubs share",
    .args = "init|status|check|move [PLACE] [TO]",
    .about = "PLACE is postgres://USER@HOST/DATABASE, and for check and move also the data folder of a hub. `init` "
             "creates the tables or updates them, as a hub does at start; it also does so for samples in "
             "clickhouse://USER@HOST/DATABASE. `status` prints the hubs, which of them leads, and how far behind "
             "compaction is; for ClickHouse the state of each replica. `check` reads every chunk and every batch. "
             "`move` FROM TO copies the store of a folder to a server, or back, while no hub uses either; after an "
             "interruption the same command continues. FROM is not changed. Certificates, the local token and W&B's "
             "runs stay in the hub's data folder.",
    .examples = "muster store init postgres://muster@db/muster  # once; the role must own the database\n"
                "muster store status postgres://muster@db/muster  # who leads, and the lag of each hub\n"
                "muster store check /var/lib/muster  # is everything readable?\n"
                "muster store move /var/lib/muster postgres://muster@db/muster  # then `muster hub --store` there",
    .opts = store_opts,
    .conf_size = sizeof(struct store_cmd_conf),
    .no = (const int[]){EBUSY, ENOTEMPTY, ENODATA, ENOTSUP, 0},
};

/* ---- init ---- */

static int init_store(const struct store_cmd_conf *conf, const char *url, struct err *err)
{
    AUTO_BUF out = BUF_INIT(1 << 20);

    if (conf->print) {
        int code = clickhouse_is_place(url) ? clickhouse_print(url, &out, err) : 0;
        if (!clickhouse_is_place(url))
            store_print_tables(&out);
        return code < 0 ? code : cli_print(&store_help, &out);
    }
    int r = clickhouse_is_place(url)
                ? clickhouse_init(&(struct click_conf){.url = url, .password_file = conf->password_file}, err)
                : store_init(url, err);
    if (r >= 0 && clickhouse_is_place(url))
        r = 1;
    if (r >= 0 && !conf->quiet)
        fprintf(stderr, "%s\n", r ? "the tables are there" : "the tables are there already, and up to date");
    return MIN(r, 0);
}

/* ---- status ---- */

static void add_bytes(struct buf *out, const char *what, int64_t bytes)
{
    buf_addf(out, "%s ", what);
    render_amount(out, "bytes", (double)bytes);
}

static void write_status_json(struct buf *out, const struct status_sum *s)
{
    struct json j = json_on(out);

    json_obj(&j, NULL);
    json_arr(&j, "hubs");
    for (size_t i = 0; i < s->n_hubs; i++) {
        const struct status_hub *h = &s->hubs[i];
        char iso[32];
        json_obj(&j, NULL);
        json_int(&j, "id", h->id);
        json_cstr(&j, "name", h->name);
        json_some(&j, "url", h->url);
        json_cstr(&j, "version", h->version);
        json_cstr(&j, "started", clock_iso(h->started_ms, iso));
        json_bool(&j, "here", h->here);
        json_bool(&j, "leads", h->leads);
        json_bool(&j, "settings_differ", h->differs);
        json_int(&j, "batches_waiting", h->batches);
        json_end_obj(&j);
    }
    json_end_arr(&j);
    json_int(&j, "logs_waiting", s->logs);
    json_int(&j, "batches_waiting", s->batches);
    json_fixed(&j, "behind_s", s->behind_ms, 1000);
    json_int(&j, "chunks", s->chunks);
    json_int(&j, "bytes", s->bytes);
    json_int(&j, "chunk_bytes", s->chunk_bytes);
    json_int(&j, "batch_bytes", s->batch_bytes);
    json_bool(&j, "moving", s->moving);
    json_arr(&j, "versions");
    for (size_t i = 0; i < ARRAY_LEN(s->versions); i++)
        json_int(&j, NULL, s->versions[i]);
    json_end_arr(&j);
    json_end_obj(&j);
    buf_addc(out, '\n');
}

static const char *word_of(const struct status_hub *h)
{
    return h->leads ? "leads" : h->here ? "here" : "gone";
}

static void write_status(struct buf *out, const struct status_sum *s)
{
    static const struct column_spec cols[] =
        {{.name = "hub", .title = "HUB", .type = CELL_INT, .weight = 9},
         {.name = "name", .title = "NAME", .weight = 8},
         {.name = "state", .title = "STATE", .weight = 9},
         {.name = "url", .title = "ADDRESS", .weight = 7},
         {.name = "version", .title = "VERSION", .weight = 5},
         {.name = "started", .title = "STARTED", .weight = 4},
         {.name = "waiting", .title = "BATCHES WAITING", .type = CELL_INT, .right = true, .weight = 6},
         {.name = "note", .title = "NOTE", .weight = 6}};
    AUTO_ROWS r = ROWS_OF(cols);
    char iso[32], span[24];

    for (size_t i = 0; i < s->n_hubs; i++) {
        const struct status_hub *h = &s->hubs[i];
        struct cell *c = rows_add(&r);
        cell_int(&c[0], h->id);
        cell_some_text(&c[1], h->name);
        cell_text(&c[2], str_of(word_of(h)));
        cell_some_text(&c[3], h->url);
        cell_some_text(&c[4], h->version);
        cell_text(&c[5], str_of(clock_iso(h->started_ms, iso)));
        cell_int(&c[6], h->batches);
        cell_some_text(&c[7], h->differs ? "its settings differ from the leader's" : "");
    }
    if (s->n_hubs)
        render_rows_text(out, &r, &(struct term){.width = cli_width(160), .colour = false});
    else
        buf_adds(out, "no hub uses it\n");
    buf_addf(out, "%lld batches in %lld logs are not in chunks yet", (long long)s->batches, (long long)s->logs);
    if (s->behind_ms > 0)
        buf_addf(out, ", the oldest since %s", clock_span(s->behind_ms, span));
    buf_addf(out, "\n%lld chunks; ", (long long)s->chunks);
    add_bytes(out, "chunks", s->chunk_bytes);
    add_bytes(out, ", batches", s->batch_bytes);
    add_bytes(out, ", all", s->bytes);
    buf_addf(out, "\n%s", s->moving ? "a move into it is not finished: continue with `muster store move`\n" : "");
}

static int show_status(const struct store_cmd_conf *conf, const char *url, struct err *err)
{
    AUTO_BUF out = BUF_INIT(8 << 20);
    struct status_sum s;
    int r = store_status(url, &s, err);

    if (r == 0 && conf->json)
        write_status_json(&out, &s);
    else if (r == 0)
        write_status(&out, &s);
    free(s.hubs);
    if (r < 0)
        return r;
    return conf->json ? cli_print_json(&store_help, &out) : cli_print(&store_help, &out);
}

/* ---- status of ClickHouse ---- */

static void write_samples_json(struct buf *out, const struct click_host *v, size_t n)
{
    struct json j = json_on(out);

    json_obj(&j, NULL);
    json_arr(&j, "hosts");
    for (size_t i = 0; i < n; i++) {
        json_obj(&j, NULL);
        json_cstr(&j, "host", v[i].host);
        json_bool(&j, "up", v[i].up);
        json_some(&j, "why", v[i].why);
        json_some(&j, "version", v[i].version);
        json_int(&j, "rows", v[i].rows);
        json_int(&j, "bytes", v[i].bytes);
        json_int(&j, "parts", v[i].parts);
        json_some(&j, "first_day", v[i].first);
        json_some(&j, "last_day", v[i].last);
        json_bool(&j, "read_only", v[i].read_only);
        json_int(&j, "queue", v[i].queue);
        json_int(&j, "delay_s", v[i].delay_s);
        json_end_obj(&j);
    }
    json_end_arr(&j);
    json_end_obj(&j);
    buf_addc(out, '\n');
}

static void write_samples(struct buf *out, const struct click_host *h)
{
    char span[24];

    buf_addf(out, "%s: ", h->host);
    if (!h->up) {
        buf_addf(out, "away: %s\n", h->why);
        return;
    }
    buf_addf(out, "ClickHouse %s, ", h->version);
    if (h->parts)
        buf_addf(out, "%lld rows of %s to %s in %lld parts, ", (long long)h->rows, h->first, h->last,
                 (long long)h->parts);
    add_bytes(out, h->parts ? "" : "no samples yet,", h->bytes);
    if (h->read_only)
        buf_adds(out, "; read only: it does not reach ZooKeeper");
    else if (h->queue)
        buf_addf(out, "; behind the other replicas by %s, %lld steps", clock_span(h->delay_s * 1000, span),
                 (long long)h->queue);
    buf_addc(out, '\n');
}

static int show_samples(const struct store_cmd_conf *conf, const char *url, struct err *err)
{
    AUTO_BUF out = BUF_INIT(1 << 20);
    struct click_host v[CLICK_HOSTS];
    int n = clickhouse_status(&(struct click_conf){.url = url, .password_file = conf->password_file}, v, err);

    if (n < 0)
        return n;
    for (int i = 0; i < n && !conf->json; i++)
        write_samples(&out, &v[i]);
    if (conf->json)
        write_samples_json(&out, v, (size_t)n);
    int r = conf->json ? cli_print_json(&store_help, &out) : cli_print(&store_help, &out);
    return r == EXIT_OK && !ANY((size_t)n, i, v[i].up) ? EXIT_NO : r;
}

/* ---- check ---- */

static int check_store(const struct store_cmd_conf *conf, const char *place, struct err *err)
{
    AUTO_BUF out = BUF_INIT(4096);
    struct progress p;
    struct store_sum s;

    progress_start(&p, "reading", "pieces", 0, conf->quiet);
    int r = store_check(place, &(struct backup_watch){progress_watch, &p}, &s, err);
    progress_end(&p);
    if (r < 0)
        return r;
    bool bad = s.damaged_chunks || s.damaged_batches || s.astray;
    if (conf->json)
        json_print(&out,
                   "{'nodes':%lld,'chunks':%lld,'chunk_bytes':%lld,'damaged_chunks':%lld,'batches':%lld,"
                   "'damaged_batches':%lld,'astray':%lld}\n",
                   (long long)s.nodes, (long long)s.chunks, (long long)s.bytes, (long long)s.damaged_chunks,
                   (long long)s.batches, (long long)s.damaged_batches, (long long)s.astray);
    else
        buf_addf(&out,
                 "%lld nodes, %lld chunks (%lld damaged), %lld batches not yet in chunks (%lld damaged), %lld rows of "
                 "no log\n",
                 (long long)s.nodes, (long long)s.chunks, (long long)s.damaged_chunks, (long long)s.batches,
                 (long long)s.damaged_batches, (long long)s.astray);
    r = conf->json ? cli_print_json(&store_help, &out) : cli_print(&store_help, &out);
    return r == EXIT_OK && bad ? EXIT_NO : r;
}

/* ---- move ---- */

static int move_store(const struct store_cmd_conf *conf, const char *from, const char *to, struct err *err)
{
    struct progress p;
    struct move_sum s;

    progress_start(&p, "moving", "rows", 0, conf->quiet);
    int r = store_move(from, to, &(struct backup_watch){progress_watch, &p}, &s, err);
    progress_end(&p);
    if (r == 0 && !conf->quiet)
        fprintf(stderr, "%s%lld chunks and %lld records are there, and counted; what was moved from is left as it is\n",
                s.resumed ? "resumed where it had stopped: " : "", (long long)s.chunks, (long long)s.records);
    return r;
}

/* libpq reads it from the environment. */
static int take_password(const char *path, struct err *err)
{
    AUTO_BUF password = {0};
    int r = path ? file_read_secret(path, &password, err) : 0;

    if (path && r == 0)
        setenv("PGPASSWORD", password.p, 1);
    return r;
}

int cmd_store(struct cmd_call *c)
{
    const struct store_cmd_conf *conf = c->conf;
    const char *verb = c->argc ? c->argv[0] : "", *place = c->argc > 1 ? c->argv[1] : conf->store;
    bool init = strcmp(verb, "init") == 0, status = strcmp(verb, "status") == 0, check = strcmp(verb, "check") == 0,
         move = strcmp(verb, "move") == 0;

    if (!(init || status || check || move) || (move ? c->argc != 3 : c->argc > 2))
        return err_set(&c->err, -EINVAL, "expected init, status or check and a PLACE, or move FROM TO");
    if (!place && !(init && conf->print))
        return err_set(&c->err, -EINVAL, "no store: name it as postgres://USER@HOST/DATABASE");
    if ((status || (init && !conf->print)) && !pg_is_place(place) && !clickhouse_is_place(place))
        return err_set(&c->err, -EINVAL,
                       "'%s' is no postgres://...: a folder has one hub, and `muster doctor` looks after it", place);
    int r = take_password(conf->password_file, &c->err);
    if (r < 0)
        return cli_fail(&store_help, EXIT_REACH, "%s", c->err.msg);
    return init     ? init_store(conf, place, &c->err)
           : status ? (clickhouse_is_place(place) ? show_samples : show_status)(conf, place, &c->err)
           : check  ? check_store(conf, place, &c->err)
                    : move_store(conf, place, c->argv[2], &c->err);
}
