/* self.c: collects what the hub says of itself: notices, lines of the log, its own metrics. */
#include "hub/self.h"

#include <errno.h>

#include "base/clock.h"
#include "base/log.h"
#include "hub/easel.h"
#include "hub/trusted_clock.h"
#include "nodes/sources.h"
#include "now/streams.h"
#include "store/aside.h"
#include "usage/ledger.h"
#include "wandb/feature.h"

#define LOOK_MS 3000 /* files are moved away by people */

static void look_aside(struct hub *h)
{
    int64_t now_ms = clock_mono_ms();
    struct aside_sum sum;
    if (h->aside_ms && now_ms - h->aside_ms < LOOK_MS)
        return;
    h->aside_ms = now_ms;
    if (aside_look(h->data, &sum) == 0)
        aside_words(&sum, h->aside, sizeof(h->aside));
}

/* What stays until somebody does something about it stands behind what is going on now. */
static void add_aside(struct hub *h, char out[NOTICE_MAX])
{
    size_t n = strlen(out);
    if (h->data[0])
        look_aside(h);
    if (h->aside[0])
        snprintf(out + n, NOTICE_MAX - n, "%s%s", n ? "; " : "", h->aside);
}

static void notice_now(struct hub *h, char out[NOTICE_MAX])
{
    struct store_stat st;
    int64_t doubt_ms = trusted_clock_now_doubt();
    char span[24];
    store_stat(h->store, &st);
    if (st.last_error == -ENOSPC)
        snprintf(out, NOTICE_MAX, "store full: the disk has no room; agents keep their samples until there is");
    else if (st.last_error)
        snprintf(out, NOTICE_MAX, "the store cannot write, agents keep their samples: %.150s", st.error);
    else if (st.history_error == -ENOSPC)
        snprintf(out, NOTICE_MAX, "store full: new samples are kept, but history cannot be compacted");
    else if (st.history_error)
        snprintf(out, NOTICE_MAX, "history is not kept up: %.180s", st.history_why);
    else if (doubt_ms)
        snprintf(out, NOTICE_MAX,
                 "the hub's clock jumped %s by %s: nothing goes by age until it has run evenly for an hour",
                 doubt_ms > 0 ? "ahead" : "back", clock_span(doubt_ms > 0 ? doubt_ms : -doubt_ms, span));
    else
        sources_said_notice(h->api.sources, clock_wall_ms(), out);
    if (!out[0] && h->wandb)
        wandb_desk_notice(h->wandb, out, NOTICE_MAX);
}

void self_notice(struct hub *h, char out[NOTICE_MAX])
{
    out[0] = 0;
    notice_now(h, out);
    add_aside(h, out);
}

void self_metrics(struct hub *h, struct buf *out, bool openmetrics)
{
    struct store_stat st;
    struct httpd_stat hs;
    store_stat(h->store, &st);
    httpd_stat(h->httpd, &hs);
    const struct {
        const char *name, *help;
        bool counter;
        uint64_t v;
    } all[] = {
        {"muster_hub_batches", "batches taken from agents", true, h->batches},
        {"muster_hub_repeats", "batches that were stored already", true, h->repeats},
        {"muster_hub_refused", "requests of agents that were refused", true, h->refused},
        {"muster_hub_commits", "group commits of the store", true, st.commits},
        {"muster_hub_usage_counts", "hours of nodes whose usage was counted", true, ledger_counted(h->ledger)},
        {"muster_hub_pieces", "pieces of answers about very many nodes", true, easel_turns(h->easel)},
        {"muster_hub_store_records", "records put in the store, batches aside", true, st.records},
        {"muster_hub_store_steps", "what records cost the database, in steps of its machine", true, st.steps},
        {"muster_hub_requests", "HTTP requests answered", true, hs.requests},
        {"muster_hub_connections", "HTTP connections now", false, hs.connections},
        {"muster_hub_streams", "live readers now", false, streams_count(h->streams)},
        {"muster_hub_store_bytes", "size of the store on disk", false, (uint64_t)MAX(st.files_bytes, 0)},
        {"muster_hub_store_queue_bytes", "waiting to be written", false, st.queue_bytes},
        {"muster_hub_store_failing", "1 while the store cannot write", false, st.last_error || st.history_error},
        {"muster_hub_store_full", "1 while the store's disk has no room", false,
         st.last_error == -ENOSPC || st.history_error == -ENOSPC},
        {"muster_hub_store_damaged_logs", "log files set aside since the start", true, st.damaged},
        {"muster_hub_store_damaged_columns", "columns of history that could not be read since the start", true,
         st.damaged_columns},
        {"muster_hub_clock_doubted", "1 while the hub's clock has jumped and nothing goes by age", false,
         trusted_clock_now_doubt() != 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        const char *total = all[i].counter ? "_total" : "", *family = openmetrics ? "" : total;
        buf_addf(out, "# TYPE %s%s %s\n# HELP %s%s %s\n%s%s %llu\n", all[i].name, family,
                 all[i].counter ? "counter" : "gauge", all[i].name, family, all[i].help, all[i].name, total,
                 (unsigned long long)all[i].v);
    }
}

static void say_store(struct hub *h)
{
    struct store_stat st;
    store_stat(h->store, &st);
    if (st.last_error == h->store_said)
        return;
    if (st.last_error)
        log_error("store", "%s: agents keep their batches until it works again",
                  st.error[0] ? st.error : strerror(-st.last_error));
    else
        log_info("store", "works again");
    h->store_said = st.last_error;
}

/* The same for screens; and in the log what only they would tell. */
static void say_notice(struct hub *h)
{
    char notice[NOTICE_MAX];
    const char *was = live_notice(h->live);
    self_notice(h, notice);
    if (strcmp(notice, was ? was : "") == 0)
        return;
    if (notice[0] && !h->store_said)
        log_warn("hub", "%s", notice);
    live_set_notice(h->live, notice);
    streams_tell(h->streams, notice);
}

void self_say(struct hub *h)
{
    say_store(h);
    say_notice(h);
}
