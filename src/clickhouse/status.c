/* status.c: the status of each replica and of the tables; for `muster store status`. */
#include <errno.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "clickhouse/clickhouse.h"
#include "clickhouse/link.h"
#include "clickhouse/schema.h"

#define ANSWER_MAX 4096
#define TIMEOUT_MS 10000

static void copy_word(char *to, size_t size, struct str s)
{
    snprintf(to, size, "%.*s", STR_ARG(s));
}

/* The next field of a line of TSV as a number, or 0. */
static int64_t next_int(struct str *line)
{
    struct str s = STR("");
    int64_t v = 0;

    str_cut(line, '\t', &s);
    return str_int(s, &v) ? v : 0;
}

static struct str next_word(struct str *line)
{
    struct str s = STR("");

    str_cut(line, '\t', &s);
    return s;
}

static int ask_line(struct click_link *l, const char *sql, struct buf *answer, struct str *ret, struct err *err)
{
    int r = click_query_run(l, &(struct click_query){.sql = sql, .timeout_ms = TIMEOUT_MS}, answer, err);

    *ret = str_trim(buf_str(answer));
    return r;
}

static int ask_parts(struct click_link *l, const struct click_place *p, struct click_host *h, struct err *err)
{
    AUTO_BUF answer = BUF_INIT(ANSWER_MAX);
    AUTO_FREE char *sql = mem_fmt("SELECT version(), count(), sum(rows), sum(bytes), min(partition), max(partition)"
                                  " FROM system.parts WHERE active AND database = '%s' AND table IN ('%s', '%s')"
                                  " FORMAT TSV",
                                  p->database, click_tables[CLICK_SAMPLE], click_tables[CLICK_CUSTOM]);
    struct str line;
    int r = ask_line(l, sql, &answer, &line, err);

    if (r < 0)
        return r;
    copy_word(h->version, sizeof(h->version), next_word(&line));
    h->parts = next_int(&line);
    h->rows = next_int(&line);
    h->bytes = next_int(&line);
    copy_word(h->first, sizeof(h->first), next_word(&line));
    copy_word(h->last, sizeof(h->last), next_word(&line));
    return 0;
}

static int ask_replica(struct click_link *l, const struct click_place *p, struct click_host *h, struct err *err)
{
    AUTO_BUF answer = BUF_INIT(ANSWER_MAX);
    AUTO_FREE char *sql = mem_fmt("SELECT max(is_readonly), sum(queue_size), max(absolute_delay) FROM system.replicas"
                                  " WHERE database = '%s' AND table IN ('%s', '%s') FORMAT TSV",
                                  p->database, click_tables[CLICK_SAMPLE], click_tables[CLICK_CUSTOM]);
    struct str line;
    int r = p->replicated ? ask_line(l, sql, &answer, &line, err) : -ENOENT;

    if (r < 0)
        return r == -ENOENT ? 0 : r;
    h->read_only = next_int(&line) != 0;
    h->queue = next_int(&line);
    h->delay_s = next_int(&line);
    return 0;
}

static void ask_host(struct click_link *l, const struct click_place *p, size_t i, struct click_host *h)
{
    struct err err = {0};

    mem_copy_str(h->host, sizeof(h->host), p->hosts[i]);
    click_link_pin(l, i);
    h->up = ask_parts(l, p, h, &err) == 0 && ask_replica(l, p, h, &err) == 0;
    mem_copy_str(h->why, sizeof(h->why), h->up ? "" : err.msg);
}

int clickhouse_status(const struct click_conf *conf, struct click_host ret[CLICK_HOSTS], struct err *err)
{
    AUTO_BUF password = {0};
    struct click_place p;
    struct click_link *l;
    int r = click_place_read(str_of(conf->url), &p, err);

    if (r == 0 && conf->password_file)
        r = file_read_secret(conf->password_file, &password, err);
    if (r < 0)
        return r;
    r = click_link_new(&l, &p, password.p, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < p.n_hosts; i++) {
        ret[i] = (struct click_host){0};
        ask_host(l, &p, i, &ret[i]);
    }
    click_link_free(l);
    return (int)p.n_hosts;
}
