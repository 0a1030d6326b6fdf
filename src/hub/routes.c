/* routes.c: the one table of what the hub answers, and the search for the line that fits a request. */
#include "hub/handlers.h"

#define GET (METHOD_GET | METHOD_HEAD)

/* clang-format off */
const struct route routes[] = {
    {GET, "/", ROLE_NONE, .any = true, .gate = root_allowed, .summary = "The page; plain text for curl and wget, or with term",
     .params = "term: plain text; detail: boxes instead of a table; list: names (of nodes) or processes (on them) instead, as the Slack bot lists them; node: one of them; width: columns, 80 unless told; colour: with colours; ascii: without UTF-8 marks; filter: which GPUs (docs/filter.md)", .handle = get_root},
    {METHOD_POST, "/", ROLE_NONE, .any = true, .write = true, .max_body = MAX_BOOKING_BODY, .gate = form_allowed,
     .summary = "GPU Monitor: its reservation form (host, id, name, date, comment, save or reset), where bookings.auth is open", .handle = post_form},
    {METHOD_POST, "/index.php", ROLE_NONE, .any = true, .write = true, .max_body = MAX_BOOKING_BODY, .gate = form_allowed,
     .summary = "The same", .handle = post_form},
    {GET, "/gpu_table", ROLE_NONE, .any = true, .gate = root_allowed, .summary = "Which GPUs there are, as a table; the page for browsers",
     .params = "term: plain text; width: columns; colour: with colours; filter: which GPUs", .handle = get_gpu_table},
    {GET, "/node/{node}", ROLE_NONE, .open = true, .summary = "The page: one node, by name or id", .handle = get_page},
    {GET, "/gpu/{device}", ROLE_NONE, .open = true, .summary = "The page: one GPU, by UUID", .handle = get_page},
    {GET, "/usage", ROLE_NONE, .open = true, .summary = "The page: who used how much", .handle = get_page},
    {GET, "/bookings", ROLE_NONE, .open = true, .summary = "The page: who has booked what", .handle = get_page},
    {GET, "/people", ROLE_NONE, .open = true, .summary = "The page: who holds what", .handle = get_page},
    {GET, "/events", ROLE_NONE, .open = true, .summary = "The page: what happened", .handle = get_page},
    {GET, "/alerts", ROLE_NONE, .open = true, .summary = "The page: what is wrong", .handle = get_page},
    {GET, "/login", ROLE_NONE, .open = true, .summary = "The page: log in with a token", .handle = get_page},
    {GET, "/add", ROLE_NONE, .open = true, .summary = "The page: add a node", .handle = get_page},
    {GET, "/assets/{file*}", ROLE_NONE, .open = true, .summary = "Files of the page; their names change with their content", .handle = get_asset},
    {GET, "/api/v1/metrics", ROLE_NONE, .open = true, .summary = "What screens must know beforehand: metrics with unit, kind and words; states with their marks; kinds of events", .handle = get_facts},
    {GET, "/api/v1/state", ROLE_NONE, .summary = "Everything now, as JSON, or as it was",
     .params = "at: a time gone by (docs/history.md); node: id or name of one node; all: retired nodes too; filter: which GPUs (docs/filter.md); me: whom 'mine' means without a token", .handle = get_state},
    {GET, "/api/v1/stream", ROLE_NONE, .summary = "The same as server-sent events: a snapshot, then nodes that changed and nodes that are gone",
     .params = "node: id or name of one node; filter: which GPUs (docs/filter.md); me: whom 'mine' means without a token", .handle = get_stream},
    {GET, "/api/v1/history", ROLE_NONE, .summary = "What was: columns of numbers, null where there is nothing (docs/history.md)",
     .params = "device: UUID, node:index, node, patterns, several; metric: names or patterns, several; from: time, an hour before to unless told; to: time, now unless told; step: length of a bin, or auto; points: at most so many per series when step is automatic, 500 unless told; agg: avg, min, max, sum, last, count, rate, or several; group: node, model, user, person, team or all; fold: mean, sum, min or max of a group's devices; tier: raw, minute or hour instead of what the step would choose; filter: only devices that fit now (docs/filter.md); format: json or csv, or a chart as png, svg or pdf", .handle = get_history},
    {GET, "/api/v1/nodes", ROLE_NONE, .summary = "Every node with its facts, retired ones included",
     .params = "filter: those with a GPU that matches (docs/filter.md); me: whom 'mine' means without a token", .handle = get_nodes},
    {METHOD_PATCH, "/api/v1/nodes/{id}", ROLE_ADMIN, .write = true, .max_body = MAX_SMALL_BODY,
     .summary = "Rename a node, retire it, set it under maintenance: {\"name\",\"retired\",\"maintenance\"}, each optional", .handle = patch_node},
    {METHOD_DELETE, "/api/v1/nodes/{node}", ROLE_ADMIN, .write = true, .max_body = MAX_SMALL_BODY,
     .summary = "Delete a node that never sent a sample, and its token; 409: it has", .handle = delete_node},
    {METHOD_POST, "/api/v1/nodes/{node}/join", ROLE_ADMIN, .write = true, .max_body = MAX_SMALL_BODY,
     .summary = "It takes the place of a silent node, history, usage and bookings included: {\"old\": NODE}; 409: that one is alive, or their samples overlap", .handle = post_node_join},
    {GET, "/api/v1/people", ROLE_NONE, .summary = "Who is on which GPUs now: how many, how much memory, since when",
     .params = "filter: on which GPUs (docs/filter.md); me: whom 'mine' means without a token; recent: also those who are on none but used some lately", .handle = get_people},
    {GET, "/api/v1/processes", ROLE_NONE, .summary = "Processes on the devices now; with from, those that were there since",
     .params = "from: time, for processes gone by; to: time, now unless told; device: UUID, with from; user: login, with from; by: process, or user to join what a person's processes cover; gap: seconds, stretches of a person no further apart are joined, 60 unless told; limit: how many, 2000 unless told, at most 20000; node: id or name of one node; format: csv or json; filter: which, also by user, program, slurm of each process (docs/filter.md); me: whom 'mine' means without a token", .handle = get_processes},
    {GET, "/api/v1/usage", ROLE_NONE, .summary = "Who used how much: held, busy and idle GPU time, memory, energy, cost (docs/usage.md)",
     .params = "by: person, team, project, company, node, model, device or job; from: time or date; to: time or date, whose end is meant; last: 30d unless told; period: hour, day, week, month, year or all; zone: Europe/Berlin, the hub's unless told; week-start: monday unless told; person, team, project, company, node, model, device: only of this one; filter: GPUs that fit now (docs/filter.md); format: json, table, csv, html, pdf, svg or png; width: columns of a table", .handle = get_usage},
    {GET, "/api/v1/idle", ROLE_NONE, .summary = "GPUs that somebody holds without work, the longest first",
     .params = "longer: at least so long, 30m unless told; filter: which GPUs (docs/filter.md); me: whom 'mine' means without a token; format: json or csv", .handle = get_idle},
    {METHOD_POST, "/api/v1/usage/recount", ROLE_ADMIN, .write = true, .max_body = MAX_SMALL_BODY,
     .summary = "Count every hour again, out of processes and minutes", .handle = post_recount},
    {GET, "/api/v1/events", ROLE_NONE, .summary = "What happened, newest first",
     .params = "node: id or name of one node; from: time; limit: how many, 100 unless told, at most 1000; filter: of GPUs that fit now, or of nodes that have such a GPU (docs/filter.md); me: whom 'mine' means without a token", .handle = get_events},
    {GET, "/api/v1/alerts", ROLE_NONE, .summary = "What is wrong now, the worst first, and who silenced what (docs/alerts.md)",
     .params = "all: what was resolved within a week, too; state: pending, firing, resolved or all; rule: pattern", .handle = get_alerts},
    {GET, "/api/v1/alerts/rules", ROLE_NONE, .summary = "The rules: when each fires, and what to do then", .handle = get_alert_rules},
    {GET, "/api/v1/alerts/test", ROLE_NONE, .summary = "What every rule that is on finds now, however long it has been so; or which alerts there would have been",
     .params = "last: over this time of history, as 7d; until: it ends then, now unless told; rule: pattern", .handle = get_alerts_test},
    {METHOD_POST, "/api/v1/alerts/test", ROLE_MEMBER, .write = true, .max_body = MAX_RULES_BODY,
     .summary = "The same over history with other rules: the body is the section alerts of a muster.yaml; nothing is changed",
     .params = "last: over this time, 7d unless told; until: it ends then, now unless told; rule: pattern", .handle = post_alerts_test},
    {METHOD_POST, "/api/v1/say", ROLE_NONE, .write = true, .max_body = MAX_SMALL_BODY,
     .summary = "What the Slack bot says to {\"text\"}, in the asker's name (docs/slack.md); \"talk\": true for talk that is not addressed to it", .handle = post_say},
    {METHOD_POST, "/api/v1/channels/{name}/test", ROLE_ADMIN, .write = true, .max_body = MAX_SMALL_BODY,
     .summary = "Send a test message through a channel, {\"to\"} where it leads to persons; answers when that went well, or with why not", .handle = post_channel_test},
    {GET, "/api/v1/silences", ROLE_NONE, .summary = "Of what nothing is told, until when, by whom and why", .handle = get_silences},
    {METHOD_POST, "/api/v1/silences", ROLE_MEMBER, .write = true, .max_body = MAX_SMALL_BODY,
     .summary = "Be silent about alerts: {\"rule\", \"node\", \"person\": patterns, \"for\": \"2h\" or \"until\", \"reason\"}", .handle = post_silence},
    {METHOD_DELETE, "/api/v1/silences/{id}", ROLE_MEMBER, .write = true, .max_body = MAX_SMALL_BODY, .summary = "End a silence", .handle = delete_silence},
    {GET, "/api/v1/jobs", ROLE_NONE, .summary = "Labelled spans: commands of `muster record`, Dask and Slurm jobs, W&B runs; newest start first (docs/jobs.md)",
     .params = "from: time; to: time, those that overlap the time between; node: id or name; device: UUID; person: login; kind: record, dask, wandb, slurm or another; parent: id of a job; limit: how many, 100 unless told, at most 1000; filter: which, a job being a process of its person on its GPUs (docs/filter.md); me: whom 'mine' means without a token; format: json or csv", .handle = get_jobs},
    {METHOD_POST, "/api/v1/jobs", ROLE_MEMBER, .agents = true, .write = true, .max_body = MAX_JOB_BODY,
     .summary = "Begin a job: {\"name\", \"kind\", \"person\", \"node\", \"devices\", \"pids\", \"parent\", \"start\", \"end\", \"attributes\", \"key\"}; sent again with the same key it is the same job", .handle = post_job},
    {GET, "/api/v1/jobs/{id}", ROLE_NONE, .summary = "One job", .handle = get_job},
    {METHOD_PATCH, "/api/v1/jobs/{id}", ROLE_MEMBER, .agents = true, .write = true, .max_body = MAX_JOB_BODY,
     .summary = "End a job, rename it, say more of it: {\"end\", \"name\", \"devices\", \"pids\", \"attributes\"}, each optional", .handle = patch_job},
    {GET, "/api/v1/bookings", ROLE_NONE, .summary = "Who has booked which GPUs, by start: those that are not over, or those of a time (docs/bookings.md)",
     .params = "from: time, now unless told; to: time; person: name; device: UUID; node: id or name; all: those that are over and those that were cancelled, too; me: whose are 'mine' where names are typed; format: json or csv", .handle = get_bookings},
    {METHOD_POST, "/api/v1/bookings", ROLE_NONE, .any = true, .write = true, .max_body = MAX_BOOKING_BODY, .gate = bookings_allowed,
     .summary = "Book: {\"gpus\": \"dgx2:0,1\" or \"devices\": [UUID] or \"count\", \"model\", \"node\", \"from\", \"until\" or \"for\": \"2d 4h\", \"comment\", \"person\"}; 409 says what is in the way", .handle = post_booking},
    {GET, "/api/v1/bookings.ics", ROLE_NONE, .summary = "The same as a calendar to subscribe to (RFC 5545)",
     .params = "person: name; device: UUID; node: id or name", .handle = get_bookings_ics},
    {GET, "/api/v1/bookings/{id}", ROLE_NONE, .summary = "One booking", .params = "me: whose are 'mine' where names are typed", .handle = get_booking},
    {METHOD_PATCH, "/api/v1/bookings/{id}", ROLE_NONE, .any = true, .write = true, .max_body = MAX_BOOKING_BODY, .gate = bookings_allowed,
     .summary = "Change a booking: {\"from\", \"until\" or \"for\" or \"extend\", \"comment\", \"devices\" or \"gpus\"}, each optional", .params = "person: who asks, where names are typed", .handle = patch_booking},
    {METHOD_DELETE, "/api/v1/bookings/{id}", ROLE_NONE, .any = true, .write = true, .max_body = MAX_SMALL_BODY, .gate = bookings_allowed,
     .summary = "Release a booking: one that is planned is cancelled, one that is active ends now", .params = "person: who asks, where names are typed", .handle = delete_booking},
    {GET, "/api/v1/waits", ROLE_NONE, .summary = "Who waits for GPUs, in order of arrival, and who was just given some (docs/wait.md)", .handle = get_waits},
    {METHOD_POST, "/api/v1/waits", ROLE_NONE, .any = true, .write = true, .max_body = MAX_SMALL_BODY, .gate = bookings_allowed,
     .summary = "Queue for GPUs: {\"count\", \"mem\": \"40G\", \"model\", \"node\", \"same_host\", \"free_for\": \"2m\", \"need\", \"hold\", \"tell\", \"person\", \"comment\"}, each optional", .handle = post_wait},
    {METHOD_POST, "/api/v1/waits/{id}", ROLE_NONE, .any = true, .write = true, .max_body = MAX_SMALL_BODY, .gate = bookings_allowed,
     .summary = "Still there: at least every 15 s, or the place is lost; answers whether the turn has come", .params = "person: who asks, where names are typed", .handle = post_wait_beat},
    {METHOD_DELETE, "/api/v1/waits/{id}", ROLE_NONE, .any = true, .write = true, .max_body = MAX_SMALL_BODY, .gate = bookings_allowed,
     .summary = "Leave the queue, or give back what was given", .params = "person: who asks, where names are typed", .handle = delete_wait},
    {GET, "/api/v1/free", ROLE_NONE, .summary = "So many GPUs that are free now, not booked, and nobody else's turn; 409 when there are too few",
     .params = "count: how many, 1 unless told; mem: memory that must be free, as 40G; model: pattern; node: pattern; same_host: true for all on one; free_for: free for so long, 15s unless told; need: not booked for so long, 1h unless told", .handle = get_free},
    {GET, "/api/v1/report", ROLE_NONE, .summary = "What companies used of the nodes assigned to them (docs/report.md)",
     .params = "source: agents, wandb, or both beside each other; agents unless told, or W&B where they saw nothing; period: daily, weekly, monthly, overall, summary, or runs (both, run by run), daily unless told; company: one of them, all unless told; from: day, the first with nodes unless told, or of a summary the first of the week; to: day, yesterday unless told; last: so long up to then, as 30d, instead of from; zone: whose days, as Europe/Berlin, the hub's unless told; week-start: monday to sunday, sunday unless told; partial: the month that is not over, too; headings: en or ja, for all but json; format: json, csv, table, html for a mail, or pdf; width: columns of a table; colour: with colours", .handle = get_report},
    {GET, "/api/v1/reports", ROLE_NONE, .summary = "Reports that go out by themselves: when next, when last, through which channels (docs/reports.md)", .handle = get_bulletins},
    {GET, "/api/v1/reports/{name}", ROLE_NONE, .summary = "One of them, as it would be now",
     .params = "format: text, html (in one file) or png (its chart); text unless told", .handle = get_bulletin},
    {METHOD_POST, "/api/v1/reports/{name}", ROLE_ADMIN, .write = true, .max_body = MAX_SMALL_BODY,
     .summary = "Send it now: {\"channel\"}, through all of its own unless told", .handle = post_bulletin},
    {METHOD_POST, "/api/v1/batches", ROLE_AGENT, .write = true, .max_body = 16u << 20,
     .summary = "Agents' batches (docs/wire.md); answers exactly the keys now stored",
     .params = "origin: from a relay: ssh:NAME or file:NAME, the node that has no agent", .handle = post_batches},
    {GET, "/api/v1/sources", ROLE_NONE, .summary = "Where relays have names of nodes from, how many, and which sources fail and why (docs/discovery.md)", .handle = get_sources},
    {METHOD_POST, "/api/v1/sources", ROLE_RELAY, .write = true, .max_body = 256u << 10,
     .summary = "A relay's sources: [{\"source\", \"way\", \"nodes\", \"error\", \"since\"}], kept for two minutes; or labels of its nodes: {\"labels\": {NODE: {NAME: VALUE}}}", .handle = post_sources},
    {GET, "/api/v1/wandb", ROLE_NONE, .summary = "What is pulled from Weights & Biases: when next, when last, and what failed (docs/wandb.md)", .handle = get_wandb},
    {METHOD_POST, "/api/v1/login", ROLE_NONE, .open = true, .write = true, .max_body = MAX_SMALL_BODY,
     .summary = "Swap a token, or what a link has, for a cookie: {\"token\"} or {\"once\"}", .handle = post_login},
    {METHOD_POST, "/api/v1/logout", ROLE_NONE, .any = true, .write = true, .max_body = MAX_SMALL_BODY,
     .summary = "End this session, or with {\"all\": true} every one of yours", .handle = post_logout},
    {METHOD_POST, "/api/v1/once", ROLE_MEMBER, .write = true, .max_body = MAX_SMALL_BODY,
     .summary = "What logs a browser in with this token, once and within ten minutes: {\"once\"}, for /login#once=", .handle = post_once},
    {GET, "/api/v1/whoami", ROLE_NONE, .any = true, .summary = "Whom the hub takes you for, and what time it has", .handle = get_whoami},
    {METHOD_POST, "/api/v1/tokens", ROLE_ADMIN, .write = true, .max_body = MAX_SMALL_BODY,
     .summary = "Make a token, shown once: {\"role\": enroll, agent, member or reader, \"person\", \"note\", \"expires\": 1d, \"uses\": nodes it may add}; with the command that adds a node", .handle = post_tokens},
    {GET, "/api/v1/openapi.json", ROLE_NONE, .open = true, .summary = "This table", .handle = get_openapi},
    {GET, "/metrics", ROLE_NONE, .summary = "Prometheus text, or OpenMetrics when Accept asks for it",
     .params = "filter: which GPUs (docs/filter.md)", .handle = get_metrics},
    {GET, "/healthz", ROLE_NONE, .open = true, .summary = "200 while the hub's loop turns", .handle = get_healthz},
    {GET, "/readyz", ROLE_NONE, .open = true, .summary = "200 while batches can be stored, else 503 and why", .handle = get_readyz},
    {GET, "/states/", ROLE_NONE, .summary = "vesta: every host", .params = "fetch_num: so many of the newest samples, oldest first, at most 500; filter: which GPUs (docs/filter.md)", .handle = get_states},
    {GET, "/states/{host}/", ROLE_NONE, .summary = "vesta: one host",
     .params = "fetch_num: so many of the newest samples, oldest first, at most 500; term: plain text", .handle = get_states_host},
    {METHOD_GET, "/register/", ROLE_NONE, .open = true, .write = true, .summary = "vesta: a sender makes itself known",
     .params = "host_name: its name; token: the vesta token", .gate = vesta_allowed, .handle = get_register},
    {METHOD_POST, "/update/host/{id}", ROLE_NONE, .open = true, .write = true, .max_body = 512u << 10,
     .summary = "vesta: a sender's sample", .params = "token: the vesta token", .gate = vesta_allowed, .handle = post_update},
    {METHOD_POST, "/notification/send_notification/slack/", ROLE_NONE, .open = true, .write = true, .max_body = 32u << 10,
     .summary = "vesta: the Slack bot says something to somebody: {\"text\", \"to\"}", .params = "token: the vesta token", .gate = vesta_allowed, .handle = post_notification},
    {METHOD_POST, "/slack/events", ROLE_NONE, .open = true, .max_body = MAX_SLACK_BODY, .gate = slack_allowed,
     .summary = "Slack: events of the bot, signed (docs/slack.md)", .handle = post_slack_events},
    {METHOD_POST, "/slack/command", ROLE_NONE, .open = true, .max_body = MAX_SLACK_BODY, .gate = slack_allowed,
     .summary = "Slack: a slash command, signed; the answer comes later", .handle = post_slack_command},
    {METHOD_POST, "/slack/action", ROLE_NONE, .open = true, .max_body = MAX_SLACK_BODY, .gate = slack_allowed,
     .summary = "Slack: a button, signed", .handle = post_slack_action},
    {GET, "/install", ROLE_NONE, .open = true, .summary = "A shell script that adds a node: curl -fsS URL/install | sh (it asks for a token), or | sh -s -- --token-file FILE", .handle = get_install},
    {GET, "/install/{file}", ROLE_NONE, .open = true, .summary = "The agent binary, muster-agent-<arch>, and its unit, muster-agent.service", .handle = get_install_file},
    {GET, "/sd/prometheus", ROLE_NONE, .summary = "Our nodes for a Prometheus (http_sd)",
     .params = "port: of the exporter to scrape there, 9100 unless told; filter: nodes with a GPU that matches (docs/filter.md)", .handle = get_sd},
    {GET, "/favicon.ico", ROLE_NONE, .open = true, .summary = "Nothing: the page names its own", .handle = get_favicon},
    {0},
};
/* clang-format on */

static bool path_matches(const char *pattern, struct str path, struct str *tail)
{
    const char *brace = strchr(pattern, '{');
    if (!brace)
        return str_eq(path, pattern);
    size_t head = (size_t)(brace - pattern);
    const char *after = strchr(brace, '}') + 1;
    if (path.len < head || memcmp(path.p, pattern, head) != 0)
        return false;
    struct str rest = str_n(path.p + head, path.len - head);
    if (*after && after[1]) { /* "/channels/{name}/test" */
        if (!str_ends(rest, after))
            return false;
        rest.len -= strlen(after);
    } else if (*after == '/' && rest.len && rest.p[rest.len - 1] == '/') {
        rest.len--; /* "/states/x" is as good as "/states/x/" */
    }
    if (rest.len == 0 || (after[-2] != '*' && memchr(rest.p, '/', rest.len)))
        return false;
    *tail = rest;
    return true;
}

/* The route, or NULL with *allowed the methods the path has (0: no such path). */
static const struct route *route_find(struct request *rq, int *allowed)
{
    *allowed = 0;
    for (const struct route *r = routes; r->path; r++) {
        if (!path_matches(r->path, rq->path, &rq->tail))
            continue;
        if (r->methods & rq->method)
            return r;
        *allowed |= r->methods;
    }
    return NULL;
}

static void allow_header(int methods, char *out, size_t size)
{
    static const struct {
        int m;
        const char *word;
    } words[] = {{METHOD_GET, "GET"}, {METHOD_HEAD, "HEAD"},   {METHOD_POST, "POST"},
                 {METHOD_PUT, "PUT"}, {METHOD_PATCH, "PATCH"}, {METHOD_DELETE, "DELETE"}};
    size_t n = (size_t)snprintf(out, size, "Allow: ");
    const char *sep = "";
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (methods & words[i].m) {
            n += (size_t)snprintf(out + n, size - n, "%s%s", sep, words[i].word);
            sep = ", ";
        }
}

static bool reads(const struct api *a, const struct request *rq)
{
    return rq->may_read || a->read_open || rq->role == ROLE_READER || rq->role == ROLE_MEMBER || rq->role == ROLE_ADMIN;
}

static bool may(const struct api *a, const struct request *rq)
{
    const struct route *r = rq->route;
    if (r->open || r->any)
        return true;
    switch (r->need) {
    case ROLE_NONE:
        return reads(a, rq);
    case ROLE_AGENT:
        return rq->role == ROLE_AGENT || rq->role == ROLE_ENROLL || rq->role == ROLE_RELAY;
    case ROLE_RELAY:
        return rq->role == ROLE_RELAY;
    case ROLE_MEMBER:
        return rq->role == ROLE_MEMBER || rq->role == ROLE_ADMIN || (r->agents && rq->role == ROLE_AGENT);
    default:
        return rq->role == ROLE_ADMIN;
    }
}

static bool refuse(const struct request *rq, struct reply *rp)
{
    static const char *const made_with[ROLE_COUNT] = {"member", "agent", "enroll", "member", "admin", "relay"};
    const char *need = made_with[rq->route->need];
    if (rq->role == ROLE_NONE)
        snprintf(rp->extra, sizeof(rp->extra), "WWW-Authenticate: Bearer realm=\"muster\"");
    if (rq->role == ROLE_NONE && rq->route->need == ROLE_NONE && rq->loopback) {
        reply_problem(rp, 401,
                      "this hub asks everybody for a token, on its own machine too: ask whoever runs it for one made "
                      "with `muster token new --role member --person YOUR-LOGIN`, and give it with --token-file, in "
                      "MUSTER_TOKEN, or as 'Authorization: Bearer TOKEN'; who runs it has one in admin.token in its "
                      "data folder");
    } else if (rq->role == ROLE_NONE) {
        reply_problem(rp, 401,
                      "this needs a token: make one on the hub with `muster token new --role %s` and send it as "
                      "'Authorization: Bearer TOKEN'",
                      need);
    } else {
        reply_problem(rp, 403,
                      "a token of role '%s' may not do this: it takes one made with `muster token new --role %s`",
                      role_words[rq->role], need);
    }
    return false;
}

bool may_read(const struct api *a, const struct request *rq, struct reply *rp)
{
    return reads(a, rq) || refuse(rq, rp);
}

/* Behind a proxy a request comes from the proxy's address: who really asks stands in a header, which anybody can
 * write. It is believed from configured proxies only; from others it can take rights away, never give them. */
static void settle_peer(const struct api *a, struct request *rq)
{
    struct str forwarded = rq->header(rq, "X-Forwarded-For");
    if (forwarded.len || rq->header(rq, "Forwarded").len || rq->header(rq, "X-Real-IP").len)
        rq->loopback = false;
    if (forwarded.len && address_in(rq->peer, a->proxies, a->n_proxies)) {
        int comma = str_rfind(forwarded, ",");
        struct str last = str_trim(str_n(forwarded.p + comma + 1, forwarded.len - (size_t)(comma + 1)));
        snprintf(rq->peer, sizeof(rq->peer), "%.*s", (int)MIN(last.len, sizeof(rq->peer) - 1), last.p);
    }
}

/* The route of its path. False: rp has a 404 or a 405. */
static bool find_route(struct request *rq, struct reply *rp)
{
    int allowed;

    rq->route = route_find(rq, &allowed);
    if (rq->route)
        return true;
    if (!allowed) {
        reply_problem(rp, 404, "there is nothing at '%.*s'; /api/v1/openapi.json lists what there is",
                      (int)MIN(rq->path.len, 200u), rq->path.p);
    } else {
        allow_header(allowed, rp->extra, sizeof(rp->extra));
        reply_problem(rp, 405, "this path takes %s", rp->extra + strlen("Allow: "));
    }
    return false;
}

static bool may_then_gate(struct api *a, struct request *rq, struct reply *rp)
{
    if (!may(a, rq))
        return refuse(rq, rp);
    return !rq->route->gate || rq->route->gate(a, rq, rp);
}

bool api_admit_inside(struct api *a, struct request *rq, struct reply *rp)
{
    rq->census = a->census;
    return find_route(rq, rp) && may_then_gate(a, rq, rp);
}

/* Two people cannot ask at once: one of the names is the client's own. A comma is part of a name ("Lee, Kim"). */
static bool names_several(const struct api *a, const struct request *rq)
{
    return rq->header_count && rq->header_count(rq, a->proxy_header) > 1;
}

bool api_admit(struct api *a, struct request *rq, struct reply *rp)
{
    struct str host = rq->header(rq, "Host");
    rq->census = a->census;
    if (host.len && !host_allowed(host, a->host_names, a->n_host_names)) {
        reply_problem(rp, 421, "this hub is not known as '%.*s'; if it should be, add that name to host_names",
                      (int)MIN(host.len, 200u), host.p);
        return false;
    }
    if (!find_route(rq, rp))
        return false;
    if (a->proxy_header && names_several(a, rq)) {
        reply_problem(rp, 400, "more than one %s", a->proxy_header);
        return false;
    }
    struct str origin = rq->header(rq, "Origin");
    bool browser = rq->header(rq, "Cookie").len > 0 || (a->proxy_header && rq->header(rq, a->proxy_header).len > 0);
    if (rq->route->write && !origin_allowed(origin, host, browser && rq->method != METHOD_GET)) {
        reply_problem(rp, 403, "a page of '%.*s' may not write here: the Origin of a write must be this hub",
                      (int)MIN(origin.len, 200u), origin.p);
        return false;
    }
    bool from_proxy = a->proxy_header && address_in(rq->peer, a->proxies, a->n_proxies);
    if (!who_asks(a, rq, rp))
        return false;
    if (from_proxy)
        rq->loopback = false;
    settle_peer(a, rq);
    return may_then_gate(a, rq, rp);
}

enum reply_how api_handle(struct api *a, struct request *rq, struct reply *rp)
{
    if (!rq->route && !api_admit(a, rq, rp))
        return REPLY_NOW;
    if (rq->body.len > rq->route->max_body)
        return reply_problem(rp, 413, "the body is %zu bytes; this path takes at most %zu", rq->body.len,
                             rq->route->max_body);
    return rq->route->handle(a, rq, rp);
}
