/*
 * feature.c: runs `muster wandb` at its times. A worker reads the pulled runs; the clock, the child process and its
 * messages are handled here.
 */
#include "wandb/feature.h"
#include "hub/handlers.h"
#include "hub/self.h"

#include <errno.h>
#include <event2/event.h>

#include "alert/feature.h"
#include "base/clock.h"
#include "base/command.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/secret.h"
#include "base/workers.h"
#include "base/zone.h"
#include "cluster/feature.h"
#include "hub/peer_hubs.h"
#include "parse/ytree.h"
#include "wandb/as_jobs.h"
#include "wandb/carry.h"
#include "wandb/days.h"
#include "wandb/store.h"

#define TIMES_MAX   24
#define OUT_MAX     (1u << 20)
#define LIMIT_MS    (12 * 3600000ll)
#define RETRY_MS    900000ll
#define TRIES       4
#define LOOK_MS     300000 /* interval of the check for events of pulls that the hub did not start */
#define LOOK_LIMIT  20000
#define ADOPT_LIMIT 3600000
#define EVENTS_MAX  200 /* maximum read in one batch */
#define CONFIG_MAX  (1u << 20)
#define KEPT_AS     "wandb"
#define ZONE        "Asia/Tokyo" /* default of a dashboard's config.yaml */
#define SAID_MAX    320

#define SETTINGS wandb
#include "base/opt_def.h"

enum verb { PULL, PUSH, CHECK, VERBS };
static const char *const verb_words[VERBS] = {"pull", "push", "check"};

/* State of one of the verbs. */
struct turn {
    int32_t times[TIMES_MAX]; /* of day; empty for push */
    size_t n_times;
    int64_t slot_ms; /* the last time that came */
    int64_t done_ms; /* the last one handled: kept over a restart */
    bool due;
    int tries;
    int64_t again_ms;           /* not before */
    int64_t began_ms, ended_ms; /* the last time */
    int64_t good_ms;            /* when it last succeeded */
    char error[SAID_MAX];       /* of the last time; empty: it succeeded, or never ran. Kept over a restart */
};

struct notified { /* an event of the file */
    int64_t id, at_ms;
    enum wandb_event_kind kind;
    char text[200];
};

struct hub_wandb {
    struct hub *h;
    char self[512];
    struct zone *zone;
    struct turn turns[VERBS];
    struct command *running;
    enum verb verb; /* that runs */
    struct wandb_check *look;
    struct wandb_jobs *jobs;
    int64_t looked_ms;
    bool asked_file, stopped, loaded;
    bool led;         /* at the last check */
    int64_t event_id; /* the last one passed on: kept over a restart */
    /* last known contents of the file */
    bool has_pull;
    struct wandb_pull pull;
};

/* ---- times ---- */

int wandb_times(const struct opt_list *l, const char *what, int32_t *ret, size_t max, struct err *err)
{
    if (l->n > max)
        return err_set(err, -EINVAL, "%s: at most %zu times a day", what, max);
    for (size_t i = 0; i < l->n; i++)
        if (!minute_parse(str_of(l->v[i]), &ret[i]))
            return err_set(err, -EINVAL, "%s '%.40s' is not a time of day: write 00:15", what, l->v[i]);
    return (int)l->n;
}

void wandb_slots(const int32_t *minutes, size_t n, const struct zone *z, int64_t now_ms, int64_t *ret_last,
                 int64_t *ret_next)
{
    int32_t today = zone_date(z, now_ms);

    *ret_last = INT64_MIN;
    *ret_next = INT64_MAX;
    for (int32_t day = today - 1; day <= today + 1; day++)
        for (size_t i = 0; i < n; i++) {
            struct civil c;
            date_civil(day, &c);
            c.hour = minutes[i] / 60;
            c.minute = minutes[i] % 60;
            int64_t at_ms = zone_to_ms(z, &c);
            if (at_ms <= now_ms)
                *ret_last = MAX(*ret_last, at_ms);
            else
                *ret_next = MIN(*ret_next, at_ms);
        }
}

/* ---- settings ---- */

/* `zone` of the config.yaml. */
static int zone_of(const char *path, struct zone **ret, struct err *err)
{
    static const char *const only[] = {"zone", NULL};
    AUTO_BUF text = {0};
    AUTO_YTREE t = {0};
    int r = file_read(path, CONFIG_MAX, &text, err);

    r = r ?: ytree_read(buf_str(&text), &(struct ytree_params){.path = path, .only = only}, &t, err);
    const struct ynode *v = r == 0 ? ynode_get(t.root, "zone") : NULL;
    AUTO_FREE char *name = v && v->kind == YNODE_TEXT && !v->null ? mem_strn(v->text.p, v->text.len) : mem_str(ZONE);
    return r < 0 ? r : zone_load(name, ret, err);
}

static int check_settings(UNUSED void *self, const struct hub_conf *conf, UNUSED void **next, struct err *err)
{
    const struct wandb_settings *c = feature_settings(conf, &wandb_feature);
    int32_t times[TIMES_MAX];
    int r = wandb_times(&c->schedule, "wandb.schedule", times, TIMES_MAX, err);

    if (r >= 0)
        r = wandb_times(&c->check, "wandb.check", times, TIMES_MAX, err);
    if (r >= 0 && (c->schedule.n || c->check.n) && !c->config)
        r = err_set(err, -EINVAL, "wandb.schedule and wandb.check need wandb.config: the dashboard's config.yaml");
    if (r >= 0 && c->push && !c->schedule.n)
        r = err_set(err, -EINVAL, "wandb.push needs wandb.schedule: it follows a pull");
    return MIN(r, 0);
}

static const struct wandb_settings *settings_of(const struct hub_wandb *d)
{
    return feature_settings(&d->h->conf, &wandb_feature);
}

/* ---- state that is kept over a restart ---- */

static void state_read(struct hub_wandb *d, struct str rest)
{
    struct str word;
    int64_t v[4] = {0};

    for (size_t i = 0; i < ARRAY_LEN(v) && str_cut(&rest, ' ', &word); i++)
        str_int(word, &v[i]);
    d->turns[PULL].slot_ms = d->turns[PULL].done_ms = v[0];
    d->turns[CHECK].slot_ms = d->turns[CHECK].done_ms = v[1];
    d->event_id = v[2];
    d->turns[PUSH].due = v[3] != 0;
    for (int t = 0; t < VERBS && str_cut(&rest, '\n', &word); t++)
        snprintf(d->turns[t].error, SAID_MAX, "%.*s", (int)MIN(word.len, SAID_MAX - 1u), word.p);
}

static void state_load(struct hub_wandb *d)
{
    AUTO_BUF b = {0};
    struct err err = {0};

    d->loaded = true;
    if (store_get(d->h->store, GET_SETTING(KEPT_AS, &b), &err) == 1)
        state_read(d, buf_str(&b));
}

/* Another hub, which leads, pulled. */
static void hear_news(void *self, const struct hub_event *w)
{
    const struct store_setting *s =
        w->kind == HUB_EVENT_RECORD && w->record->kind == STORE_SETTING ? w->record->record : NULL;

    if (s && strcmp(s->name, KEPT_AS) == 0)
        state_read(self, s->value);
}

static void state_keep(struct hub_wandb *d)
{
    AUTO_BUF b = BUF_INIT(200 + VERBS * SAID_MAX);

    buf_addf(&b, "%lld %lld %lld %d ", (long long)d->turns[PULL].done_ms, (long long)d->turns[CHECK].done_ms,
             (long long)d->event_id, d->turns[PUSH].due);
    for (int t = 0; t < VERBS; t++)
        buf_addf(&b, "%s\n", d->turns[t].error);
    int r = hub_put_once(d->h, STORE_SETTING, &(struct store_setting){KEPT_AS, buf_str(&b)}, 1, NULL, NULL);
    if (r < 0)
        log_warn("wandb", "what was done cannot be noted: %s", store_error_text(r));
}

/* ---- pulled runs, on a worker ---- */

struct wandb_check {
    struct work_job job; /* first */
    struct hub_wandb *d;
    int64_t after;
    struct wandb_delivered carried; /* of a file in the folder of a hub whose store is on a server */
    int adopted;
    struct err adopt_err;
    int code;
    struct err err;
    bool has_pull;
    struct wandb_pull pull;
    size_t n, cap;
    struct notified *v;
};

static int take_event(void *arg, const struct wandb_event *e)
{
    struct wandb_check *l = arg;

    VEC_ROOM(l->v, l->n, l->cap);
    struct notified *t = &l->v[l->n++];
    AUTO_FREE char *text = mem_fmt("%s%s%s: %.*s", wandb_event_words[e->kind], e->subject[0] ? " " : "", e->subject,
                                   (int)strcspn(e->text, "\n"), e->text); /* its addresses follow, line by line */
    *t = (struct notified){.id = e->id, .at_ms = e->at_ms, .kind = e->kind};
    mem_copy_str(t->text, sizeof(t->text), text);
    return l->n >= EVENTS_MAX;
}

static void look_run(struct work_job *j)
{
    struct wandb_check *l = (struct wandb_check *)j;
    AUTO_WANDB_STORE *s = NULL;
    const struct hub *h = l->d->h;

    if (strcmp(h->place, h->data) != 0)
        l->adopted = wandb_adopt(h->data, h->place, job_stopped, j, &l->carried, &l->adopt_err);
    int64_t r = wandb_store_open(&s, h->place, false, &l->err) ?: wandb_pull_last(s, &l->pull, &l->err);
    l->has_pull = r > 0;
    if (r >= 0)
        r = wandb_events_each(s, l->after, take_event, l, &l->err);
    l->code = (int)MIN(r, 0);
}

static void say_adopted(struct hub_wandb *d, const struct wandb_check *l)
{
    if (l->adopted > 0) {
        wandb_jobs_due(d->jobs);
        log_info("wandb", "moved %lld runs and %lld days of them from the data folder into the store",
                 (long long)l->carried.runs, (long long)l->carried.days);
    } else if (l->adopted < 0 && log_ratelimit(d->h, "wandb", clock_wall_ms())) {
        log_warn("wandb", "cannot move the runs of the data folder into the store: %s", l->adopt_err.msg);
    }
}

/* Stores the result of a pull that the hub did not start, such as one of cron. */
static void keep_others(struct hub_wandb *d, const struct notified *e)
{
    struct turn *t = &d->turns[PULL];
    struct str text = str_of(e->text);

    if (t->n_times)
        return;
    if (e->kind == WANDB_EVENT_DONE) {
        t->error[0] = '\0';
    } else if (e->kind == WANDB_EVENT_FAILED && !t->error[0]) {
        str_skip(&text, wandb_event_words[e->kind]);
        text = str_trim(text);
        snprintf(t->error, sizeof(t->error), "%.*s", STR_ARG(text));
    }
}

static void look_done(struct work_job *j)
{
    struct wandb_check *l = (struct wandb_check *)j;
    struct hub_wandb *d = l->d;
    int64_t before = d->event_id;

    d->look = NULL;
    d->looked_ms = clock_mono_ms();
    d->asked_file = d->asked_file || j->ran;
    say_adopted(d, l);
    if (j->ran && l->code < 0 && l->code != -ENOENT && log_ratelimit(d->h, "wandb", clock_wall_ms()))
        log_warn("wandb", "what was pulled cannot be read: %s", l->err.msg);
    if (j->ran && (l->code >= 0 || l->code == -ENOENT)) { /* else keep the last known state */
        d->has_pull = l->has_pull;
        d->pull = l->pull;
    }
    for (size_t i = 0; i < l->n && hub_leads(d->h); i++) {
        struct node_event e = {.at_ms = l->v[i].at_ms, .kind = EVENT_WANDB, .code = l->v[i].id};
        mem_copy_str(e.text, sizeof(e.text), l->v[i].text);
        hub_event(d->h, "", NULL, &e);
        log_line(l->v[i].kind == WANDB_EVENT_DONE ? LOG_INFO : LOG_WARN, "wandb", "%s", l->v[i].text);
        keep_others(d, &l->v[i]);
        d->event_id = MAX(d->event_id, l->v[i].id);
    }
    if (d->event_id != before)
        state_keep(d);
    free(l->v);
    free(l);
}

static void look(struct hub_wandb *d)
{
    struct wandb_check *l =
        NEW(struct wandb_check, .job = {.run = look_run, .done = look_done}, .d = d, .after = d->event_id);
    d->looked_ms = clock_mono_ms();
    if (work_add(d->h->work, &l->job, strcmp(d->h->place, d->h->data) == 0 ? LOOK_LIMIT : ADOPT_LIMIT) < 0)
        free(l);
    else
        d->look = l;
}

/* ---- the child ---- */

/*
 * Stores the last error message of a command; for a check, which prints its findings to standard output, the first
 * finding.
 */
static void keep_error(struct hub_wandb *d, const struct command_result *r, char out[SAID_MAX])
{
    struct str error = str_of(r->error), said = r->out, line = {0};

    out[0] = 0;
    if (!r->error)
        return;
    str_skip(&error, d->self);
    while (!str_skip(&error, ": ") && str_line(&said, &line) && !str_trim(line).len) {
    }
    line = str_trim(line);
    error = str_trim(error);
    snprintf(out, SAID_MAX, "%.*s%s%.*s", (int)MIN(line.len, 150u), line.len ? line.p : "", line.len ? ": " : "",
             (int)MIN(error.len, 160u), error.len ? error.p : "");
    out[strcspn(out, "\n")] = '\0'; /* state_keep writes it as a line */
}

/* After losing the lead: resets to the stored state; the leading hub continues from there. */
static void leave_lead(struct hub_wandb *d)
{
    for (int v = 0; v < VERBS; v++) {
        struct turn *t = &d->turns[v];
        t->slot_ms = t->done_ms;
        t->due = v == PUSH && t->due;
        t->tries = 0;
        t->again_ms = 0;
        t->error[0] = '\0';
    }
    d->led = false;
}

static void ended(void *arg, const struct command_result *r)
{
    struct hub_wandb *d = arg;
    struct turn *t = &d->turns[d->verb];
    int64_t now_ms = clock_wall_ms();
    char span[24], before[SAID_MAX];
    bool pulled = d->verb == PULL && (r->status == 0 || r->status == 1 || r->status == 3); /* at least in part */

    d->running = NULL;
    if (!hub_leads(d->h)) { /* the leading hub continues */
        leave_lead(d);
        return;
    }
    t->ended_ms = now_ms;
    mem_copy_str(before, sizeof(before), t->error);
    keep_error(d, r, t->error);
    d->turns[PUSH].due |= pulled && settings_of(d)->push;
    if (!r->error) {
        t->tries = 0;
        t->good_ms = now_ms;
        log_info("wandb", "%s is done after %s", verb_words[d->verb], clock_span(now_ms - t->began_ms, span));
    } else if (d->verb != CHECK && ++t->tries < TRIES) {
        t->due = true;
        t->again_ms = clock_mono_ms() + RETRY_MS;
        log_warn("wandb", "%s failed, and is tried again in %s: %s", verb_words[d->verb], clock_span(RETRY_MS, span),
                 t->error);
    } else {
        t->tries = 0;
        log_error("wandb", "%s failed: %s", verb_words[d->verb], t->error);
    }
    bool seen_to = !t->due && (t->done_ms != t->slot_ms || d->verb == PUSH);
    if (seen_to)
        t->done_ms = t->slot_ms;
    if (seen_to || strcmp(before, t->error) != 0)
        state_keep(d);
    if (pulled)
        wandb_jobs_due(d->jobs);
    if (!d->stopped && !d->look)
        look(d); /* fetch its events */
}

/* The day after the last complete one, if that is before yesterday. */
static const char *start_day(const struct hub_wandb *d, int64_t now_ms, char out[16])
{
    int32_t yesterday = zone_date(d->zone, now_ms) - 1;
    return d->has_pull && d->pull.to + 1 < yesterday ? date_text(d->pull.to + 1, out) : NULL;
}

static void begin(struct hub_wandb *d, enum verb verb)
{
    const struct wandb_settings *c = settings_of(d);
    struct turn *t = &d->turns[verb];
    struct err err = {0};
    char day[16], end[16];
    int64_t now_ms = clock_wall_ms();
    const char *start = verb == PULL ? start_day(d, now_ms, day) : NULL, *password_file;
    const char *store = cluster_store(&d->h->conf, &password_file);
    AUTO_FREE char *epoch = store ? mem_fmt("%lld", (long long)hub_epoch(d->h)) : NULL;
    const struct {
        const char *flag, *value;
    } flags[] = {{"--config", c->config},
                 {"--data", store ? NULL : d->h->data},
                 {"--store", store},
                 {"--store-password-file", password_file},
                 {"--epoch", epoch},
                 {"--key-file", c->key_file},
                 {"--base-url", c->base_url},
                 {"--start-date", start},
                 {"--end-date", start ? date_text(zone_date(d->zone, now_ms) - 1, end) : NULL}};
    const char *argv[4 + ARRAY_LEN(flags) * 2] = {d->self, "wandb", verb_words[verb]};
    size_t n = 3;

    for (size_t i = 0; i < ARRAY_LEN(flags); i++)
        if (flags[i].value) {
            argv[n++] = flags[i].flag;
            argv[n++] = flags[i].value;
        }
    d->verb = verb;
    t->due = false;
    t->began_ms = now_ms;
    log_info("wandb", "%s begins%s%s", verb_words[verb], start ? " with " : "", start ? start : "");
    if (command_start(&d->running, d->h->loop, argv, NEEDS_WANDB, OUT_MAX, LIMIT_MS, ended, d, &err) < 0)
        ended(d, &(struct command_result){.error = err.msg, .status = -1});
}

/* ---- the clock ---- */

/* Has a time come, or passed while the hub was down? At the first start there is nothing to check yet. */
static void clock_turn(struct hub_wandb *d, enum verb verb, int64_t now_ms)
{
    struct turn *t = &d->turns[verb];
    int64_t last_ms, next_ms;

    wandb_slots(t->times, t->n_times, d->zone, now_ms, &last_ms, &next_ms);
    if (last_ms == INT64_MIN || last_ms <= t->slot_ms)
        return;
    t->due = verb != CHECK || t->slot_ms;
    t->tries = 0;
    t->again_ms = 0;
    t->slot_ms = last_ms;
    if (!t->due) {
        t->done_ms = last_ms;
        state_keep(d);
    }
}

static void tick(void *self, int64_t now_ms)
{
    struct hub_wandb *d = self;
    int64_t mono_ms = clock_mono_ms();

    if (d->stopped)
        return;
    if (d->led && !hub_leads(d->h)) {
        leave_lead(d);
    } else if (!d->led && hub_leads(d->h)) {
        d->led = true;
        d->asked_file = false; /* the previous leader may have pulled */
    }
    wandb_jobs_tick(d->jobs, settings_of(d)->base_url);
    if (!d->look && !d->running && (!d->asked_file || mono_ms - d->looked_ms >= LOOK_MS))
        look(d);
    if (!d->zone || !d->asked_file || d->look)
        return; /* the start day is unknown yet */
    if (!hub_leads(d->h))
        return;
    clock_turn(d, PULL, now_ms);
    clock_turn(d, CHECK, now_ms);
    for (int v = 0; v < VERBS && !d->running && !d->look; v++)
        if (d->turns[v].due && mono_ms >= d->turns[v].again_ms && (v != PUSH || settings_of(d)->push))
            begin(d, (enum verb)v);
}

/* ---- start, settings and end ---- */

static void say_error(struct hub *h, char out[NOTICE_MAX])
{
    const struct hub_wandb *d = feature_self(&h->features, &wandb_feature);

    for (int v = 0; d && v < VERBS && !out[0]; v++)
        if (d->turns[v].error[0])
            snprintf(out, NOTICE_MAX, "Weights & Biases: %s failed: %.140s", verb_words[v], d->turns[v].error);
}

static void *open_wandb(struct hub *h)
{
    struct hub_wandb *d = NEW(struct hub_wandb, .h = h);
    char self[sizeof(d->self)];

    d->jobs = wandb_jobs_new(h);
    mem_copy_str(d->self, sizeof(d->self), file_self(self, sizeof(self)));
    report_take_source(h, &wandb_runs);
    hub_alerts_wandb(h, say_error);
    return d;
}

static void take_times(struct turn *t, const struct opt_list *l)
{
    t->n_times = (size_t)MAX(wandb_times(l, "", t->times, TIMES_MAX, NULL), 0);
    t->due = t->due && t->n_times;
    if (!t->n_times)
        t->error[0] = '\0';
}

static void take_settings(void *self, UNUSED void *next)
{
    struct hub_wandb *d = self;
    const struct wandb_settings *c = settings_of(d);
    struct err err = {0};

    if (!d->loaded)
        state_load(d);
    zone_free(d->zone);
    d->zone = NULL;
    take_times(&d->turns[PULL], &c->schedule);
    take_times(&d->turns[CHECK], &c->check);
    d->turns[PUSH].due = d->turns[PUSH].due && d->turns[PULL].n_times;
    if (!c->push)
        d->turns[PUSH].error[0] = '\0';
    if (c->config && zone_of(c->config, &d->zone, &err) < 0)
        log_error("wandb", "nothing is pulled: %s", err.msg);
}

/* Stops the running command. */
static void stop_running(void *self)
{
    struct hub_wandb *d = self;

    d->stopped = true;
    command_stop(d->running);
    d->running = NULL;
}

static void close_wandb(void *self)
{
    struct hub_wandb *d = self;

    stop_running(d);
    wandb_jobs_free(d->jobs);
    zone_free(d->zone);
    free(d);
}

static void say_failed(void *self, struct status *s)
{
    const struct hub_wandb *d = self;
    char host[SECRET_HOST_MAX];

    say_error(d->h, s->notice);
    if (settings_of(d)->base_url && secret_in_clear(settings_of(d)->base_url, host))
        status_clear(s, "the key for Weights & Biases", host, "use https:// in wandb.base_url");
}

/* When it runs next: at its time, or when it is tried again. A push follows a pull. 0: never. */
static int64_t next_ms(const struct hub_wandb *d, enum verb v, int64_t now_ms)
{
    const struct turn *t = &d->turns[v];
    int64_t last_ms, next = INT64_MAX;

    if (!d->zone || (v == PUSH && !settings_of(d)->push))
        return 0;
    wandb_slots(t->times, t->n_times, d->zone, now_ms, &last_ms, &next);
    if (t->due)
        next = MIN(next, now_ms + MAX(t->again_ms - clock_mono_ms(), 0));
    else if (v == PUSH)
        next = next_ms(d, PULL, now_ms);
    return next == INT64_MAX ? 0 : next;
}

static void json_at(struct json *j, const char *key, int64_t ms)
{
    if (ms)
        json_fixed(j, key, ms, 1000);
    else
        json_cstr(j, key, NULL);
}

void hub_wandb_json(const struct hub_wandb *d, struct buf *out)
{
    struct json j = json_on(out);
    int64_t now_ms = clock_wall_ms();
    char day[16];

    json_obj(&j, NULL);
    json_bool(&j, "scheduled", d->turns[PULL].n_times > 0);
    json_cstr(&j, "zone", d->zone ? zone_name(d->zone) : NULL);
    json_cstr(&j, "running", d->running ? verb_words[d->verb] : NULL);
    json_obj(&j, "pulled"); /* the newest that came to its end */
    json_cstr(&j, "from", d->has_pull ? date_text(d->pull.from, day) : NULL);
    json_cstr(&j, "to", d->has_pull ? date_text(d->pull.to, day) : NULL);
    json_at(&j, "at", d->has_pull ? d->pull.begun_ms : 0);
    json_end_obj(&j);
    for (int v = 0; v < VERBS; v++) {
        const struct turn *t = &d->turns[v];
        json_obj(&j, verb_words[v]);
        json_at(&j, "next", next_ms(d, (enum verb)v, now_ms));
        json_at(&j, "began", t->began_ms);
        json_at(&j, "ended", t->ended_ms);
        json_at(&j, "good", t->good_ms);
        json_int(&j, "tries", t->tries);
        json_cstr(&j, "error", t->error[0] ? t->error : NULL);
        json_end_obj(&j);
    }
    json_end_obj(&j);
    buf_addc(out, '\n');
}

const struct feature wandb_feature = {
    .name = "wandb",
    FEATURE_SETTINGS(wandb),
    .routes = wandb_routes,
    .open = open_wandb,
    .prepare = check_settings,
    .take = take_settings,
    .hear = hear_news,
    .tick = tick,
    .status = say_failed,
    .stop = stop_running,
    .close = close_wandb,
};
