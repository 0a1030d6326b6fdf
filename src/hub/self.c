/* self.c: collects the hub's own notices, log lines and metrics. */
#include "hub/self.h"

#include <errno.h>
#include <sys/statvfs.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/secret.h"
#include "clickhouse/clickhouse.h"
#include "hub/render_queue.h"
#include "hub/trusted_clock.h"
#include "store/quarantine.h"

#define LOOK_MS 3000       /* files are moved away by people */
#define LEAST   (64 << 10) /* a folder with less room is full */

/* A store in this folder reports a full disk itself. */
static void look_at_folder(struct hub *h)
{
    int64_t now_ms = clock_mono_ms();
    struct quarantine_summary sum;
    struct statvfs fs;
    if (!h->data[0] || (h->looked_ms && now_ms - h->looked_ms < LOOK_MS))
        return;
    h->looked_ms = now_ms;
    if (strcmp(h->place, h->data) != 0)
        h->full = statvfs(h->data, &fs) == 0 && fs.f_blocks && (uint64_t)fs.f_bavail * fs.f_frsize < LEAST;
    else if (quarantine_list(h->data, &sum) == 0)
        quarantine_text(&sum, h->aside, sizeof(h->aside));
}

/* Appends notices that stay until an admin acts to the current ones. */
static void add_folder(struct hub *h, char out[NOTICE_MAX])
{
    size_t n = strlen(out);
    const char *also = n ? "; " : "";
    look_at_folder(h);
    if (h->full)
        snprintf(out + n, NOTICE_MAX - n,
                 "%sno room in the hub's own folder (%.100s): nothing can be written there until there is", also,
                 h->data);
    else if (h->aside[0])
        snprintf(out + n, NOTICE_MAX - n, "%s%s", also, h->aside);
}

/* For an hour after a jump of the clock; other notices come before it. */
static void add_clock(char out[NOTICE_MAX])
{
    int64_t doubt_ms = trusted_clock_now_doubt();
    size_t n = strlen(out);
    char span[24];
    if (doubt_ms)
        snprintf(out + n, NOTICE_MAX - n,
                 "%sthe hub's clock jumped %s by %s: nothing is deleted by age until it has run evenly for an hour",
                 n ? "; " : "", doubt_ms > 0 ? "ahead" : "back", clock_span(doubt_ms > 0 ? doubt_ms : -doubt_ms, span));
}

const char *self_damage(struct hub *h)
{
    struct store_stat st;

    store_stat(h->store, &st);
    return st.damaged_columns ? "stored history is damaged: samples may be missing; `muster store check` counts the "
                                "damage, `muster restore` puts back a backup"
                              : "";
}

static void add_damage(struct hub *h, char out[NOTICE_MAX])
{
    const char *damage = self_damage(h);
    size_t n = strlen(out);

    if (damage[0])
        snprintf(out + n, NOTICE_MAX - n, "%s%s", n ? "; " : "", damage);
}

static void own_notice(const struct store_stat *st, char out[NOTICE_MAX])
{
    if (st->last_error == -ENOSPC)
        snprintf(out, NOTICE_MAX, "store full: the disk has no room; agents keep their samples until there is");
    else if (st->last_error)
        snprintf(out, NOTICE_MAX, "the store cannot write, agents keep their samples: %.150s", st->error);
    else if (st->history_error == -ENOSPC)
        snprintf(out, NOTICE_MAX, "store full: new samples are kept, but history cannot be compacted");
    else if (st->history_error)
        snprintf(out, NOTICE_MAX, "history is not kept up: %.180s", st->history_why);
    else if (st->archive_error)
        snprintf(out, NOTICE_MAX, "samples are kept here and wait for ClickHouse (%llu logs, %lld MB): %.120s",
                 (unsigned long long)st->archive_logs, (long long)(st->archive_bytes >> 20), st->archive_why);
}

void status_metric(struct status *s, const char *name, const char *help, bool counter, uint64_t v)
{
    const char *total = counter ? "_total" : "", *family = s->openmetrics ? "" : total;
    if (s->metrics)
        buf_addf(s->metrics, "# TYPE %s%s %s\n# HELP %s%s %s\n%s%s %llu\n", name, family, counter ? "counter" : "gauge",
                 name, family, help, name, total, (unsigned long long)v);
}

void status_clear(struct status *s, const char *what, const char *host, const char *todo)
{
    if (s->clear && !s->clear[0])
        snprintf(s->clear, NOTICE_MAX, "%.80s can go to %.64s without TLS: %s", what, host, todo);
}

/* One replica without TLS is enough. */
static void archive_status(const struct hub_conf *conf, struct status *s)
{
    char host[SECRET_HOST_MAX];
    if (conf->samples && conf->samples_password_file && clickhouse_in_clear(conf->samples, host))
        status_clear(s, "the password for ClickHouse and all samples", host, "add ?secure to the address of samples");
}

void self_status(void *self, struct status *s)
{
    struct hub *h = self;
    struct store_stat st;
    struct httpd_stat hs;
    store_stat(h->store, &st);
    httpd_stat(h->httpd, &hs);
    own_notice(&st, s->notice);
    archive_status(&h->conf, s);
    const struct {
        const char *name, *help;
        bool counter;
        uint64_t v;
    } all[] = {
        {"muster_hub_commits", "group commits of the store", true, st.commits},
        {"muster_hub_pieces", "pieces of answers about very many nodes", true, render_queue_piece_count(h->easel)},
        {"muster_hub_store_records", "records put in the store, batches aside", true, st.records},
        {"muster_hub_store_steps", "what records cost the database, in steps of its machine", true, st.steps},
        {"muster_hub_requests", "HTTP requests answered", true, hs.requests},
        {"muster_hub_connections", "HTTP connections now", false, hs.connections},
        {"muster_hub_store_bytes", "size of the store on disk", false, (uint64_t)MAX(st.files_bytes, 0)},
        {"muster_hub_store_queue_bytes", "waiting to be written", false, st.queue_bytes},
        {"muster_hub_store_failing", "1 while the store cannot write", false, st.last_error || st.history_error},
        {"muster_hub_store_full", "1 while the store's disk has no room", false,
         st.last_error == -ENOSPC || st.history_error == -ENOSPC},
        {"muster_hub_store_damaged_logs", "log files set aside since the start", true, st.damaged},
        {"muster_hub_store_damaged_columns", "columns of history that could not be read since the start", true,
         st.damaged_columns},
        {"muster_hub_samples_rows", "rows that ClickHouse took since the start", true, st.archive_rows},
        {"muster_hub_samples_waiting_bytes", "what waits for ClickHouse", false, (uint64_t)st.archive_bytes},
        {"muster_hub_samples_failing", "1 while ClickHouse does not take samples", false, st.archive_error != 0},
        {"muster_hub_samples_missed", "logs that were too old before ClickHouse took them", true, st.archive_missed},
        {"muster_hub_clock_doubted", "1 while the hub's clock has jumped and nothing is deleted by age", false,
         trusted_clock_now_doubt() != 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        status_metric(s, all[i].name, all[i].help, all[i].counter, all[i].v);
}

/* A secret without TLS is shown in any case: if there is no room, the end of the rest is only in the log. */
static void add_clear(struct hub *h, const char *clear, char out[NOTICE_MAX])
{
    char rest[NOTICE_MAX];
    size_t room = NOTICE_MAX - MIN(strlen(clear) + sizeof("…; "), NOTICE_MAX - 1u);

    if (out[0] && strlen(out) + strlen("; ") + strlen(clear) < NOTICE_MAX) {
        snprintf(rest, sizeof(rest), "%s; ", out);
    } else if (out[0]) {
        if (strcmp(h->long_notice, out) != 0)
            log_warn("hub", "%s", out);
        memcpy(h->long_notice, out, NOTICE_MAX);
        mem_copy_str(rest, room, out);
        mem_copy_str(rest + strlen(rest), sizeof("…; "), "…; ");
    } else {
        rest[0] = 0;
    }
    snprintf(out, NOTICE_MAX, "%s%s", rest, clear);
}

void self_notice(struct hub *h, char out[NOTICE_MAX])
{
    char clear[NOTICE_MAX] = "";
    out[0] = 0;
    features_status(&h->features, &(struct status){.notice = out, .clear = clear});
    add_clock(out);
    add_damage(h, out);
    add_folder(h, out);
    if (clear[0])
        add_clear(h, clear, out);
}

void self_metrics(struct hub *h, struct buf *out, bool openmetrics)
{
    char notice[NOTICE_MAX] = "";
    features_status(&h->features, &(struct status){.notice = notice, .metrics = out, .openmetrics = openmetrics});
}

/* Readers meet the same damage again: at most a line an hour. */
static void say_damage(struct hub *h, uint64_t columns)
{
    int64_t now_ms = clock_mono_ms();

    if (columns <= h->damage_said || (h->damage_said && now_ms - h->damage_said_ms < HOUR_MS))
        return;
    log_error("store", "%s; columns that could not be read since the start: %llu", self_damage(h),
              (unsigned long long)columns);
    h->damage_said = columns;
    h->damage_said_ms = now_ms;
}

void self_log(struct hub *h)
{
    struct store_stat st;
    store_stat(h->store, &st);
    say_damage(h, st.damaged_columns);
    if (st.last_error == h->store_said)
        return;
    if (st.last_error)
        log_error("store", "%s: agents keep their batches until it works again",
                  st.error[0] ? st.error : store_error_text(st.last_error));
    else
        log_info("store", "works again");
    h->store_said = st.last_error;
}
