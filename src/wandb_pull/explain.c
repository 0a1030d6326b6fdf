/* explain.c: collects the steps by which the rules came to a number, and writes them as text or as JSON. */
#include "wandb_pull/explain.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "report/report.h"

#define SHOWN_MAX 200 /* bytes of a value that are shown */
#define LABEL_MAX 2000
#define DAYS_MAX  31 /* days that are shown one by one */

static const struct {
    const char *word, *code;
} whys[] = {
    [RULE_APPLIES] = {"applies", "applies"},
    [RULE_OTHER_TEAM] = {"is for other teams", "other_team"},
    [RULE_OTHER_PROJECT] = {"is for other projects", "other_project"},
    [RULE_OTHER_DAY] = {"is for other days", "other_day"},
    [RULE_NO_VALUE] = {"has no value", "no_value"},
    [RULE_NOT_REACHED] = {"is not reached", "not_reached"},
};

struct step {
    const char *rule, *because;
    enum rule_reason why;
    size_t first, n; /* its values */
};

struct value {
    const char *name, *text;
};

struct steps {
    struct arena arena;
    size_t n, cap, n_values, cap_values;
    struct step *v;
    struct value *values;
    struct rule_answer answer;
    enum run_fate fate;
};

static const char *keep(struct steps *s, const char *text, size_t max)
{
    size_t n = text ? strlen(text) : 0;
    while (n > max && max && ((unsigned char)text[max] & 0xc0) == 0x80)
        max--; /* not within a character */
    return text ? arena_strn(&s->arena, text, MIN(n, max)) : NULL;
}

static void on_value(void *arg, const char *name, const char *value)
{
    struct steps *s = arg;
    VEC_ADD(s->values, s->n_values, s->cap_values,
            (struct value){keep(s, name, RULE_TEXT_MAX), keep(s, value, SHOWN_MAX)});
}

static void on_rule(void *arg, const char *rule, enum rule_reason why, const char *because)
{
    struct steps *s = arg;
    size_t first = s->n ? s->v[s->n - 1].first + s->v[s->n - 1].n : 0;
    VEC_ADD(s->v, s->n, s->cap,
            (struct step){keep(s, rule, LABEL_MAX), keep(s, because, RULE_BECAUSE), why, first, s->n_values - first});
}

int32_t explain_day(const struct wandb_config *c, const struct run_node *r)
{
    return zone_date(c->zone, r->created_ms);
}

static void take_steps(const struct explain_params *ask, struct steps *s)
{
    const struct wandb_config *c = ask->config;
    const struct rule_listener told = {on_value, on_rule, s};
    rules_apply(c->rules, ask->path->team, ask->path->project, explain_day(c, ask->run), ask->run, &told, &s->answer);
    s->fate = run_node_fate(c, ask->path->team, ask->path->project, ask->run, INT32_MIN, INT32_MAX, &s->answer);
}

static void steps_fini(struct steps *s)
{
    arena_fini(&s->arena);
    free(s->v);
    free(s->values);
}

/* ---- text ---- */

/* Text from outside, for a terminal. */
static void plain(struct buf *out, const char *s)
{
    if (str_utf8_ok(str_of(s)))
        buf_adds(out, s);
    else
        json_escape(out, str_of(s));
}

static void plain_after(struct buf *out, const char *before, const char *s)
{
    if (s) {
        buf_adds(out, before);
        plain(out, s);
    }
}

static void run_text(struct buf *out, const struct explain_params *ask)
{
    const struct run_node *r = ask->run;
    const struct zone *z = ask->config->zone;
    char span[24], from[24], to[24];

    plain(out, ask->path->team);
    plain_after(out, "/", ask->path->project);
    plain_after(out, "/", ask->path->id);
    plain_after(out, "  ", r->display);
    buf_addf(out, "\n  ran       %s to %s (%s), %s", zone_text(z, r->created_ms, from),
             zone_text(z, r->heartbeat_ms, to), ask->config->zone_name,
             clock_span(r->heartbeat_ms - r->created_ms, span));
    plain_after(out, ", ", r->state);
    plain_after(out, "\n  host      ", r->host ? r->host : "unknown");
    plain_after(out, ", user ", r->user);
    plain_after(out, "\n  page      ", ask->page);
    buf_adds(out, "\n  tags      ");
    run_node_tags(r, out);
    plain_after(out, "\n  runInfo   ", !r->gpu_info ? "no GPU" : r->gpu ? r->gpu : "a GPU");
    if (r->gpus >= 0)
        buf_addf(out, ", gpuCount %d", (int)r->gpus);
    if (r->cpus >= 0)
        buf_addf(out, ", cpuCount %d", (int)r->cpus);
}

static void head_text(struct buf *out, const struct explain_params *ask)
{
    const struct run_node *r = ask->run;
    const struct company *co = wandb_config_company(ask->config, ask->path->team);

    run_text(out, ask);
    plain_after(out, "\n  company   ", co ? co->name : "none has this team");
    if (co) {
        int32_t nodes = company_nodes_on(co, explain_day(ask->config, r));
        buf_addf(out, ", %d node%s when it began", (int)nodes, nodes == 1 ? "" : "s");
    }
    plain_after(out, "\n  config    cannot be read: ", r->config.bad);
    plain_after(out, "\n  summary   cannot be read: ", r->summary.bad);
    plain_after(out, "\n  metadata  cannot be read: ", r->metadata.bad);
    buf_adds(out, "\n\n");
}

/* ---- days ---- */

static int32_t last_day(const struct explain_params *ask)
{
    return zone_date(ask->config->zone, ask->run->heartbeat_ms);
}

/* The days that are not shown one by one. */
static int32_t more_days(const struct explain_params *ask)
{
    return MAX(last_day(ask) - explain_day(ask->config, ask->run) + 1 - DAYS_MAX, 0);
}

static int64_t minutes_on(const struct explain_params *ask, int32_t day)
{
    const struct zone *z = ask->config->zone;

    return run_minutes(ask->run->created_ms, ask->run->heartbeat_ms, zone_date_ms(z, day), zone_date_ms(z, day + 1));
}

static bool has_nodes(const struct explain_params *ask, int32_t day)
{
    const struct company *co = wandb_config_company(ask->config, ask->path->team);

    return co && company_nodes_on(co, day) > 0;
}

static bool has_nodes_ever(const struct explain_params *ask)
{
    int32_t day = explain_day(ask->config, ask->run), last = last_day(ask);

    while (day <= last && !has_nodes(ask, day))
        day++;
    return day <= last;
}

static void days_text(struct buf *out, const struct explain_params *ask, int32_t gpus)
{
    int32_t first = explain_day(ask->config, ask->run), last = last_day(ask) - more_days(ask);
    char day[16];

    for (int32_t d = first; d <= last; d++) {
        int64_t minutes = minutes_on(ask, d);
        buf_addf(out, "  %s  %lld min  %lld.%02lld GPU-hours%s\n", date_text(d, day), (long long)minutes,
                 (long long)(minutes * gpus / 60), (long long)(minutes * gpus % 60 * 100 / 60),
                 has_nodes(ask, d) ? "" : ", in no table: its company has no nodes that day");
    }
    if (more_days(ask))
        buf_addf(out, "  and %d more day%s\n", (int)more_days(ask), more_days(ask) == 1 ? "" : "s");
}

static void days_json(struct json *j, const struct explain_params *ask, int32_t gpus)
{
    int32_t first = explain_day(ask->config, ask->run), last = last_day(ask) - more_days(ask);
    char day[16];

    json_arr(j, "days");
    for (int32_t d = first; d <= last; d++) {
        int64_t minutes = minutes_on(ask, d);
        json_obj(j, NULL);
        json_cstr(j, "day", date_text(d, day));
        json_int(j, "minutes", minutes);
        json_fixed(j, "gpu_hours", minutes * gpus * 100 / 60, 100);
        json_bool(j, "nodes", has_nodes(ask, d));
        json_end_obj(j);
    }
    json_end_arr(j);
    json_int(j, "more_days", more_days(ask));
}

static void step_text(struct buf *out, const struct steps *s, const struct step *one)
{
    buf_addf(out, "%s %s\n", one->why == RULE_APPLIES ? "*" : " ", one->rule);
    for (size_t k = 0; k < one->n; k++) {
        const struct value *v = &s->values[one->first + k];
        buf_addf(out, "      %s = ", v->name);
        plain(out, v->text ? v->text : "not there");
        buf_addc(out, '\n');
    }
    buf_addf(out, "      %s", whys[one->why].word);
    plain_after(out, ": ", one->because);
    buf_addc(out, '\n');
}

/* NULL: it counts. */
static const char *why_not(const struct explain_params *ask, const struct steps *s)
{
    if (s->fate != RUN_COUNTS)
        return run_fate_words[s->fate];
    if (ask->barred)
        return "the blacklist has it, so that it is kept, and in no table";
    if (!has_nodes_ever(ask))
        return "its company has no nodes on any of its days, so that it is kept, and in no table";
    return run_node_ignored(ask->run, ask->config)
               ? "one of its tags is in ignore_tags, so that it is kept, and in the summary's ignore_runs alone"
               : NULL;
}

void explain_text(struct buf *out, const struct explain_params *ask)
{
    struct steps s = {0};
    take_steps(ask, &s);
    head_text(out, ask);
    buf_addf(out, "%d GPU%s, by %s\n\n", (int)s.answer.gpus, s.answer.gpus == 1 ? "" : "s", s.answer.rule);
    for (size_t i = 0; i < s.n; i++)
        step_text(out, &s, &s.v[i]);
    if (why_not(ask, &s)) {
        buf_addf(out, "\nIt does not count: %s.\n", why_not(ask, &s));
    } else {
        buf_adds(out, "\nIt counts:\n");
        days_text(out, ask, s.answer.gpus);
    }
    if (ask->stored_rule && (ask->stored_gpus != s.answer.gpus || strcmp(ask->stored_rule, s.answer.rule) != 0))
        buf_addf(out,
                 "\nThe last pull counted %d GPU%s, by %s: the rules or the run have changed since. A pull of its days "
                 "counts again.\n",
                 (int)ask->stored_gpus, ask->stored_gpus == 1 ? "" : "s", ask->stored_rule);
    steps_fini(&s);
}

/* ---- JSON ---- */

static void step_json(struct json *j, const struct steps *s, const struct step *one)
{
    json_obj(j, NULL);
    json_cstr(j, "rule", one->rule);
    json_cstr(j, "what", whys[one->why].code);
    json_cstr(j, "because", one->because);
    json_arr(j, "values");
    for (size_t k = 0; k < one->n; k++) {
        const struct value *v = &s->values[one->first + k];
        json_obj(j, NULL);
        json_cstr(j, "name", v->name);
        json_cstr(j, "value", v->text);
        json_end_obj(j);
    }
    json_end_arr(j);
    json_end_obj(j);
}

void explain_json(struct buf *out, const struct explain_params *ask)
{
    struct json j = json_on(out);
    struct steps s = {0};
    char iso[32], day[16];
    const struct company *co = wandb_config_company(ask->config, ask->path->team);

    take_steps(ask, &s);
    json_obj(&j, NULL);
    json_cstr(&j, "team", ask->path->team);
    json_cstr(&j, "project", ask->path->project);
    json_cstr(&j, "run", ask->path->id);
    json_cstr(&j, "company", co ? co->name : NULL);
    json_cstr(&j, "created", clock_iso(ask->run->created_ms, iso));
    json_cstr(&j, "heartbeat", clock_iso(ask->run->heartbeat_ms, iso));
    json_cstr(&j, "day", date_text(explain_day(ask->config, ask->run), day));
    json_int(&j, "gpus", s.answer.gpus);
    json_cstr(&j, "rule", s.answer.rule);
    json_bool(&j, "ignored", run_node_ignored(ask->run, ask->config));
    json_bool(&j, "counts", !why_not(ask, &s));
    json_cstr(&j, "why_not", why_not(ask, &s));
    if (ask->page)
        json_cstr(&j, "page", ask->page);
    days_json(&j, ask, s.answer.gpus);
    json_arr(&j, "rules");
    for (size_t i = 0; i < s.n; i++)
        step_json(&j, &s, &s.v[i]);
    json_end_arr(&j);
    json_end_obj(&j);
    buf_addc(out, '\n');
    steps_fini(&s);
}
