/* dialog_past.c: the bot's `usage` and `history`: the past as a table or a line, and as a picture. */
#include <ctype.h>
#include <math.h>

#include "base/order.h"
#include "format/render.h"

#include "base/clock.h"
#include "model/metric.h"
#include "people/people.h"
#include "slack/words.h"

/* "7d", "36h": as the API reads it. */
static struct str span_text(struct dialog *s, int64_t ms)
{
    char text[32];

    if (ms % DAY_MS == 0)
        snprintf(text, sizeof(text), "%lldd", (long long)(ms / DAY_MS));
    else
        snprintf(text, sizeof(text), "%lldm", (long long)MAX(1, ms / 60000));
    return str_of(dialog_keep(s, str_of(text)));
}

/* "7 days" */
static const char *span_words(struct dialog *s, int64_t ms)
{
    char text[40];

    if (ms % DAY_MS == 0)
        snprintf(text, sizeof(text), "%lld day%s", (long long)(ms / DAY_MS), ms == DAY_MS ? "" : "s");
    else if (ms % HOUR_MS == 0)
        snprintf(text, sizeof(text), "%lld hour%s", (long long)(ms / HOUR_MS), ms == HOUR_MS ? "" : "s");
    else
        snprintf(text, sizeof(text), "%lld minutes", (long long)(ms / 60000));
    return dialog_keep(s, str_of(text));
}

/* "last 7d", "last week"; or "7d" alone. */
static bool take_last(struct str word, struct str *rest, int64_t *ret)
{
    static const struct {
        const char *word;
        int64_t ms;
    } spans[] = {{"hour", HOUR_MS},    {"day", DAY_MS},        {"today", DAY_MS},
                 {"week", 7 * DAY_MS}, {"month", 30 * DAY_MS}, {"year", 365 * DAY_MS}};
    struct str alone = word;
    bool said = str_eq_nocase(word, "last") || str_eq_nocase(word, "past");

    if (said && dialog_span(rest, ret))
        return true;
    if (said && !str_word(rest, &alone))
        return false;
    size_t i = FIRST(ARRAY_LEN(spans), k, str_eq_nocase(alone, spans[k].word));
    if (i < ARRAY_LEN(spans)) {
        *ret = spans[i].ms;
        return true;
    }
    return isdigit((unsigned char)alone.p[0]) && dialog_span(&alone, ret);
}

/* ---- usage ---- */

/* Whose: as the API's parameter; NULL: a person. */
static const char *group_of(const struct people *c, const char *name)
{
    for (int k = 0; k < GROUP_KINDS; k++) {
        size_t n;
        const char *const *names = people_group_names(c, (enum group_kind)k, &n);
        if (ANY(n, i, strcmp(names[i], name) == 0))
            return group_words[k];
    }
    return NULL;
}

static bool kind_word(struct str w, const char **ret)
{
    size_t k = FIRST(GROUP_KINDS, i, str_eq_nocase(w, group_words[i]));

    if (k == GROUP_KINDS && !dialog_is_one(w, "person user", strncasecmp))
        return false;
    *ret = k < GROUP_KINDS ? group_words[k] : "person";
    return true;
}

struct usage_words {
    const char *whom, *kind, *by; /* NULL: everybody; a person or what it is; "" : not said */
    int64_t last_ms;
};

static bool read_usage(struct dialog *s, struct str rest, struct usage_words *u)
{
    static const char idle[] = "of for from the in did use used hours gpu gpus and";
    struct str w;

    *u = (struct usage_words){.last_ms = 7 * DAY_MS};
    while (str_word(&rest, &w)) {
        struct str next = rest, one;
        if (take_last(w, &rest, &u->last_ms) || dialog_is_one(w, idle, strncmp))
            continue;
        if (str_eq_nocase(w, "by") && str_word(&next, &one) && kind_word(one, &u->by)) {
            rest = next;
            continue;
        }
        if (!u->whom && kind_word(w, &u->kind))
            continue;
        if (u->whom)
            return dialog_no(s, "I do not understand '%.*s'. Examples: `usage me last 7d`, `usage vision last month`.",
                             DIALOG_ARG(w));
        bool me = dialog_is_one(w, "me my mine", strncasecmp),
             all = dialog_is_one(w, "all everybody everyone", strncasecmp);
        u->whom = me ? s->ask.person : all ? NULL : dialog_keep(s, w);
        if (me && !s->ask.person[0])
            return dialog_no(s, "I do not know your muster user. Give a name: `usage kim last 7d`.");
    }
    if (u->whom && !u->kind && !people_find(s->ask.people, u->whom))
        u->kind = group_of(s->ask.people, u->whom);
    return true;
}

void dialog_query_usage(struct dialog *s, struct str rest)
{
    AUTO_BUF target = BUF_INIT(8192);
    struct usage_words u;

    if (!read_usage(s, rest, &u))
        return;
    buf_adds(&target, "/api/v1/usage");
    dialog_param(&target, "last", span_text(s, u.last_ms));
    if (u.whom)
        dialog_param(&target, u.kind ? u.kind : "person", str_of(u.whom));
    dialog_param(&target, "by", str_of(u.by ? u.by : "person"));
    size_t whole = target.len;
    dialog_param(&target, "format", STR("table"));
    dialog_param(&target, "width", STR("84"));
    if (u.whom && !u.kind)
        dialog_param(&target, "period", u.last_ms <= 40 * DAY_MS ? STR("day") : STR("month"));
    dialog_get(s, target.p);
    buf_cut(&target, whole);
    dialog_param(&target, "period", u.last_ms <= 100 * DAY_MS ? STR("day") : STR("month"));
    dialog_param(&target, "format", STR("png"));
    dialog_get(s, target.p);
    s->what = u.whom ? u.whom : "all users";
    s->title = span_words(s, u.last_ms);
}

void dialog_reply_usage(struct dialog *s, size_t call, struct str body)
{
    char title[200];

    if (call == 0) {
        struct str rest = body, line;
        for (s->count = 0; str_cut(&rest, '\n', &line);)
            s->count += line.len > 0;
        dialog_head(s, "Usage of %s, last %s", s->what, s->title);
        if (s->count > 1) /* more than the head of the table */
            dialog_pre(s, "usage", body);
        else
            dialog_line(s, "No usage recorded for this period.");
    } else {
        snprintf(title, sizeof(title), "usage of %.80s, last %s", s->what, s->title);
        dialog_file(s, "usage.png", title, "image/png", body);
    }
}

/* ---- history ---- */

/* What people call metrics. */
static struct str metric_word(struct str w)
{
    static const struct {
        const char *said, *name;
    } names[] = {{"utilisation", "util"}, {"utilization", "util"}, {"usage", "util"},       {"load", "util"},
                 {"memory", "mem_used"},  {"mem", "mem_used"},     {"temperature", "temp"}, {"heat", "temp"},
                 {"watts", "power"},      {"energy", "power"},     {"clock", "clock_sm"},   {"clocks", "clock_sm"},
                 {"ram", "ram_used"},     {"disk", "disk_used"}};

    size_t i = FIRST(ARRAY_LEN(names), k, str_eq_nocase(w, names[k].said));

    return i < ARRAY_LEN(names) ? str_of(names[i].name) : w;
}

static void no_metric(struct dialog *s, struct str w)
{
    AUTO_BUF b = BUF_INIT(1024);
    static const enum metric usual[] = {M_util, M_mem_used, M_power, M_temp, M_sm_active, M_clock_sm};

    for (size_t i = 0; i < ARRAY_LEN(usual); i++)
        buf_addf(&b, "%s%s", i ? ", " : "", metrics[usual[i]].name);
    dialog_no(s, "Unknown metric '%.*s'. Available: %s and more. Example: `history dgx2:3 power last 24h`.",
              DIALOG_ARG(w), b.p);
}

void dialog_query_history(struct dialog *s, struct str rest)
{
    static const char idle[] = "of for from the in on gpu node host show plot";
    AUTO_BUF target = BUF_INIT(8192);
    AUTO_BUF from = BUF_INIT(64);
    struct str w, place = {0}, metric = STR("util"), node, gpus;
    int64_t last_ms = DAY_MS;
    bool all = false, said = false;

    while (str_word(&rest, &w)) {
        if (dialog_is_one(w, idle, strncmp) || take_last(w, &rest, &last_ms))
            continue;
        if (!place.len && (dialog_is_node(s, w) || dialog_is_place(s, w, &node, &gpus) || memchr(w.p, '*', w.len)))
            place = w;
        else if (!place.len && (str_eq_nocase(w, "all") || str_eq_nocase(w, "cluster")))
            all = true;
        else if (!said && metric_by_name(metric_word(w)) >= 0) {
            metric = metric_word(w);
            said = true;
        } else if (!place.len && !all && !said && !str_eq_nocase(w, "me")) {
            dialog_no(s, "There is no node '%.*s'. Example: `history dgx2:3 power last 24h`.", DIALOG_ARG(w));
            return;
        } else {
            no_metric(s, w);
            return;
        }
    }
    if (!place.len && !all) {
        dialog_no(s, "Of which node or GPU? Examples: `history dgx2 util last 24h`, `history dgx2:3 power last 2h`, "
                     "`history all util`.");
        return;
    }
    buf_adds(&target, "/api/v1/history");
    dialog_param(&target, "device", all ? STR("*") : place);
    dialog_param(&target, "metric", metric);
    buf_addf(&from, "%lld", (long long)(s->ask.now_ms - last_ms));
    dialog_param(&target, "from", buf_str(&from));
    if (all)
        dialog_param(&target, "group", STR("node"));
    size_t whole = target.len;
    dialog_param(&target, "points", STR("100"));
    dialog_param(&target, "agg", STR("avg,max"));
    dialog_get(s, target.p);
    buf_cut(&target, whole);
    dialog_param(&target, "points", STR("120")); /* more is a thicket */
    dialog_param(&target, "format", STR("png"));
    dialog_get(s, target.p);
    s->what = dialog_keep(s, all ? STR("all nodes") : place);
    s->title = dialog_keep(s, metric);
    s->count = last_ms;
}

/* Sums over the columns of an answer. */
static void tell_numbers(struct dialog *s, struct str body)
{
    json_auto_t *o = json_loadb(body.p, body.len, 0, NULL);
    json_t *row, *v;
    double sum = 0, top = -INFINITY;
    size_t i, k, known = 0, n = 0;
    const char *unit = "";
    AUTO_BUF mean = BUF_INIT(64);
    AUTO_BUF most = BUF_INIT(64);

    json_array_foreach (json_object_get(o, "series"), i, row) {
        bool max = strcmp(slack_text(row, "agg"), "max") == 0;
        unit = slack_text(row, "unit")[0] ? slack_text(row, "unit") : unit;
        n += !max;
        json_array_foreach (json_object_get(row, "v"), k, v) {
            if (!json_is_number(v))
                continue;
            if (max)
                top = MAX(top, json_number_value(v));
            else {
                sum += json_number_value(v);
                known++;
            }
        }
    }
    if (!known) {
        s->refused = true;
        dialog_line(s, "No data for %s of %s in the last %s.", s->title, s->what, span_words(s, s->count));
    } else {
        render_amount(&mean, unit, sum / (double)known);
        dialog_head(s, "%s of %s, last %s", s->title, s->what, span_words(s, s->count));
        if (isfinite(top))
            render_amount(&most, unit, top);
        dialog_line(s, "Mean %s%s%s%s", mean.p, isfinite(top) ? ", highest " : "", isfinite(top) ? most.p : "",
                    n > 1 ? " over all." : ".");
    }
}

void dialog_reply_history(struct dialog *s, size_t call, struct str body)
{
    char title[200];

    if (call == 0)
        tell_numbers(s, body);
    else if (!s->refused) {
        snprintf(title, sizeof(title), "%s of %.80s, last %s", s->title, s->what, span_words(s, s->count));
        dialog_file(s, "history.png", title, "image/png", body);
    }
}
