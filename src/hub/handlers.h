/* handlers.h: what the route table points at; one function per answer. */
#ifndef HUB_HANDLERS_H
#define HUB_HANDLERS_H

#include "hub/api.h"

/* What each feature answers: the table stands with its handlers. */
extern const struct route access_routes[], now_routes[], nodes_routes[], book_routes[], jobs_routes[], history_routes[],
    usage_routes[], alert_routes[], report_routes[], slack_routes[], notify_routes[], wandb_routes[], compat_routes[],
    hub_routes[];

#define GET (METHOD_GET | METHOD_HEAD) /* of a route that is read */

typedef enum reply_how handler(struct api *a, struct request *rq, struct reply *rp);

/* now.c: what is so at this moment */
handler get_root, get_gpu_table, get_state, get_stream, get_processes, get_metrics, get_states, get_states_host;
bool root_allowed(struct api *a, struct request *rq, struct reply *rp); /* its text is data, its page is not */
/* web.c: the page, its files, and the facts behind all screens */
handler get_page, get_asset, get_facts;
/* history.c: what was */
handler get_history;
enum reply_how get_state_at(struct api *a, struct request *rq, struct reply *rp); /* get_state with at= */
struct view;
enum reply_how get_states_past(struct api *a, struct request *rq, struct reply *rp,
                               const struct view *v); /* vesta's with fetch_num above 1 */
#define FETCH_MAX 500
/* nodes/routes.c: nodes and their administration, events */
handler get_nodes, patch_node, delete_node, post_node_join, get_events, post_batches;
/* health.c */
handler get_healthz, get_readyz, get_favicon;
/* sessions.c: logging in and out */
handler post_login, post_logout, post_once;
/* jobs.c, routes_put.c: labelled spans */
handler get_jobs, get_job, post_job, patch_job;
#define MAX_JOB_BODY 65536
/* bookings.c, routes_put.c */
handler get_bookings, get_bookings_ics, get_booking, post_booking, patch_booking, delete_booking;
handler post_form; /* form.c */
bool form_allowed(struct api *a, struct request *rq, struct reply *rp);
bool bookings_allowed(struct api *a, struct request *rq, struct reply *rp);
#define MAX_BOOKING_BODY 32768
/* waits.c: who waits for GPUs, and what could be had now */
handler get_waits, post_wait, post_wait_beat, delete_wait, get_free;
/* compat/routes.c: vesta's senders */
handler get_register, post_update, post_notification;
bool vesta_allowed(struct api *a, struct request *rq, struct reply *rp);
/* sources.c: where relays have names of nodes from */
handler get_sources, post_sources;
/* wandb/routes.c */
handler get_wandb;
/* install.c: adding a node, service discovery */
handler get_install, get_install_file, get_sd;
/* How the asker reached us: what a command to paste must use too. Only characters that cannot end a quoted shell word.
 */
#define OWN_URL_MAX 280
void own_url(const struct request *rq, char out[OWN_URL_MAX]);
/* tokens.c */
handler post_tokens;
/* people.c: who is on what; get_spans is get_processes with from= */
handler get_people, get_spans;
/* report.c: companies' hours against what was assigned */
handler get_report;
/* usage.c: who used how much */
handler get_usage, post_recount;
/* routes_idle.c: held without work */
handler get_idle;
/* alerts.c: what is wrong, and silences */
handler get_alerts, get_alert_rules, get_silences, post_silence, delete_silence;
/* channel_test.c: a test message through a channel */
handler post_channel_test;
/* routes_test.c: what the rules find now, or would have found; POST: other rules */
handler get_alerts_test, post_alerts_test;
/* say.c: what the bot says */
handler post_say;
/* bulletins.c: reports that go out by themselves */
handler get_bulletins, get_bulletin, post_bulletin;
/* slack.c: what Slack posts */
handler post_slack_events, post_slack_command, post_slack_action;
bool slack_allowed(struct api *a, struct request *rq, struct reply *rp);
#define MAX_SLACK_BODY (256u << 10)
/* who.c */
handler get_whoami;
/* openapi.c */
handler get_openapi;

/* A rendering that readers share, by key and version (cache.h). kept: true, it is in rp already. keep: what was made
 * into rp->body since begin_us is for the next, too. */
bool reply_kept(const struct api *a, const struct request *rq, struct str key, uint64_t version, struct reply *rp);
void reply_keep(const struct api *a, const struct request *rq, struct str key, uint64_t version, int64_t begin_us,
                struct reply *rp);
/* Whether this reader may see what the cluster does; false: rp says what it takes. */
bool may_read(const struct api *a, const struct request *rq, struct reply *rp);
/* The Authorization header, cookie or proxy's word into rq's role and token. False: rp has a 401. */
bool who_asks(struct api *a, struct request *rq, struct reply *rp);
#define MAX_SMALL_BODY 4096
#define MAX_RULES_BODY 262144
/* A body that is one JSON object, the caller's. NULL: rp has a 400 that says what is wrong with it. */
struct json_t;
struct json_t *read_object(const struct request *rq, struct reply *rp);

#endif
