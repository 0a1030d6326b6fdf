/* handlers.h: the functions that the route tables point at, one per response. */
#pragma once

#include "hub/api.h"

/* The routes of each feature, defined next to its handlers. */
extern const struct route access_routes[], now_routes[], nodes_routes[], book_routes[], jobs_routes[], history_routes[],
    usage_routes[], alert_routes[], report_routes[], slack_routes[], notify_routes[], wandb_routes[], compat_routes[],
    follow_routes[], hub_routes[];

#define GET (METHOD_GET | METHOD_HEAD) /* methods of a route that reads */

typedef enum reply_mode handler(struct api *a, struct request *rq, struct reply *rp);

/* page.c: the page, its files, and the facts behind all screens */
handler get_page, get_asset, get_facts;
/* Whether the client is a browser, which needs a page instead of JSON. */
bool wants_page(const struct request *rq);
/* The page in place of an error: it shows that there is no such view (404), or the login form (401). */
void page_instead(struct api *a, const struct request *rq, int status, struct reply *rp);
void page_of_foreign_host(struct reply *rp, struct str host); /* 421 */
#define FETCH_MAX 500                                         /* vesta's fetch_num */
/* jobs/routes_put.c */
handler post_job, patch_job;
/* jobs/routes_verdict.c */
handler get_verdict;
handler get_advise; /* usage/routes_advise.c */
#define MAX_JOB_BODY 65536
/* book/routes_put.c */
handler post_booking, patch_booking, delete_booking;
handler post_form; /* compat/form.c */
bool form_allowed(struct api *a, struct request *rq, struct reply *rp);
bool bookings_allowed(struct api *a, struct request *rq, struct reply *rp);
#define MAX_BOOKING_BODY 32768
/* book/routes_waits.c: the wait queue, and the GPUs that are free now */
handler get_waits, post_wait, post_wait_beat, delete_wait, get_free;
/* nodes/sources.c: the sources of a relay's node names */
handler get_sources, post_sources;
/* nodes/install.c: adding a node, service discovery */
handler get_install, get_install_command, get_install_file, get_sd;
/* access/routes_tokens.c */
handler post_tokens;
handler get_audit; /* access/routes_audit.c */
/* usage/routes_people.c: users and their GPUs; get_spans is get_processes with from= */
handler get_people, get_spans;
/* report/routes_report.c: hours of companies compared with their assignment */
handler get_report;
/* routes_idle.c: allocated but idle GPUs */
handler get_idle;
/* routes_test.c: findings of the rules now or in the past; POST: other rules */
handler get_alerts_test, post_alerts_test;
/* slack/routes_say.c: replies of the bot */
handler post_say;
#define MAX_SLACK_BODY (256u << 10)
/* access/admit.c */
handler get_whoami;
bool request_user_check(struct api *a, struct request *rq, struct reply *rp); /* api.h */
/* openapi.c */
handler get_openapi;

/* A rendered response that clients share, by key and version (cache.h). reply_cached: true if rp has it already.
 * reply_keep: caches rp->body, made since begin_us, for later requests. */
bool reply_cached(const struct api *a, const struct request *rq, struct str key, uint64_t version, struct reply *rp);
void reply_keep(const struct api *a, const struct request *rq, struct str key, uint64_t version, int64_t begin_us,
                struct reply *rp);
/* Whether this client may read the cluster's state; false: rp has the error. */
bool can_read(const struct api *a, const struct request *rq, struct reply *rp);
#define MAX_SMALL_BODY 4096
#define MAX_RULES_BODY 262144
