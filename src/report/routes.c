/* routes.c: the routes of scheduled reports: which there are, how one looks now, and sending it at once. */
#include <jansson.h>

#include "base/json.h"
#include "base/order.h"
#include "hub/handlers.h"
#include "people/people.h"
#include "report/feature.h"

static const struct scheduled_now *find(struct api *a, struct request *rq, struct reply *rp)
{
    size_t n;
    const struct scheduled_now *v = hub_schedules_now(a->hub, rq->now_ms, &n);
    const struct scheduled_now *found = FIND(v, n, e, str_eq(rq->tail, e->b->name));

    if (found)
        return found;
    AUTO_BUF names = BUF_INIT(400);
    for (size_t i = 0; i < n; i++)
        buf_addf(&names, "%s%s", i ? ", " : "there is ", v[i].b->name);
    reply_problem(rp, 404, "there is no report '%.*s': %s", (int)MIN(rq->tail.len, 100u), rq->tail.p,
                  n ? buf_str(&names).p : "muster.yaml names none under reports");
    return NULL;
}

static void scheduled_json(struct json *j, const struct scheduled_now *x)
{
    char at[8], what[48];
    int64_t next_ms = x->b->n_channels ? x->next.at_ms : 0;

    snprintf(at, sizeof(at), "%02d:%02d", x->b->at / 60 % 24, x->b->at % 60);
    scheduled_title(x->b, what);
    json_obj(j, NULL);
    json_cstr(j, "name", x->b->name);
    json_cstr(j, "what", what);
    json_cstr(j, "every", period_words[x->b->every]);
    json_cstr(j, "at", at);
    json_cstr(j, "zone", zone_name(x->zone));
    json_arr(j, "channels");
    for (size_t i = 0; i < x->b->n_channels; i++)
        json_cstr(j, NULL, x->b->channels[i]);
    json_end_arr(j);
    json_cstr(j, "filter", x->b->filter);
    json_cstr(j, "company", x->b->company);
    json_cstr(j, "team", x->b->team);
    json_known(j, "next", next_ms > 0, next_ms);
    json_known(j, "sent", x->sent_ms > 0, x->sent_ms);
    json_cstr(j, "error", x->error[0] ? x->error : NULL);
    json_end_obj(j);
}

static enum reply_mode get_bulletins(struct api *a, struct request *rq, struct reply *rp)
{
    size_t n, companies = 0;
    const struct scheduled_now *v = hub_schedules_now(a->hub, rq->now_ms, &n);

    struct json j = reply_object(rp, 1u << 20);
    json_int(&j, "at", rq->now_ms);
    json_int(&j, "companies", a->people && people_companies(a->people, &companies) ? (int64_t)companies : 0);
    json_arr(&j, "rows");
    for (size_t i = 0; i < n; i++)
        scheduled_json(&j, &v[i]);
    json_end_arr(&j);
    return reply_object_end(rp, &j);
}

static enum reply_mode get_bulletin(struct api *a, struct request *rq, struct reply *rp)
{
    static const char *const words[] = {"text", "html", "png"};
    struct str format = request_query(rq, "format");
    const struct scheduled_now *x = find(a, rq, rp);
    size_t i = FIRST(ARRAY_LEN(words), k, !format.len || str_eq(format, words[k]));

    if (!x)
        return REPLY_NOW;
    if (i == ARRAY_LEN(words))
        return reply_problem(rp, 400, "format '%.*s' is not known: there are text, html and png",
                             (int)MIN(format.len, 40u), format.p);
    struct async_query *k = scheduled_query(a, x->b, x->zone, &x->last, 0, words[i], rq->now_ms);
    k->costly = i > 0;
    return query_async(a->hub, rq, rp, k);
}

static enum reply_mode post_bulletin(struct api *a, struct request *rq, struct reply *rp)
{
    const struct scheduled_now *x = find(a, rq, rp);
    json_auto_t *o = x ? read_object(rq, rp) : NULL;
    json_t *channel = json_object_get(o, "channel");

    if (!o)
        return REPLY_NOW;
    if (channel && !json_is_string(channel))
        return reply_problem(rp, 400, "channel is not a text: the name of a channel");
    if (!channel && !x->b->n_channels)
        return reply_problem(rp, 400, "report '%s' has no channel: name one in \"channel\"", x->b->name);
    return hub_schedules_send(a->hub, rq, rp, x->b->name, channel ? json_string_value(channel) : "");
}

/* clang-format off */
const struct route report_routes[] = {
    {GET, "/api/v1/report", ROLE_NONE, .summary = "What companies used of the nodes assigned to them (docs/report.md)",
     .params = "source: agents, wandb, or both side by side (default: agents, or W&B where they have no data); period: daily, weekly, monthly, overall, summary, or runs (both, run by run) (default: daily); company: one company (default: all); from: day (default: the first with nodes, of a summary the first of the week); to: day (default: yesterday); last: length of the period up to then, e.g. 30d, instead of from; zone: time zone of the days, e.g. Europe/Berlin (default: the hub's); week-start: monday to sunday (default: sunday); partial: include the current month; headings: en or ja, for all but json; format: json, csv, table, html for a mail, or pdf; width: columns of a table; colour: with colours", .handle = get_report},
    {GET, "/api/v1/reports", ROLE_NONE, .summary = "Scheduled reports: next time, last time, channels (docs/reports.md)", .handle = get_bulletins},
    {GET, "/api/v1/reports/{name}", ROLE_NONE, .summary = "One of them, as it would be now",
     .params = "format: text, html (in one file) or png (its chart) (default: text)", .handle = get_bulletin},
    {METHOD_POST, "/api/v1/reports/{name}", ROLE_ADMIN, .write = true, .max_body = MAX_SMALL_BODY,
     .summary = "Send it now: {\"channel\"} (default: all its channels)", .handle = post_bulletin},
    {0},
};
/* clang-format on */
