/*
 * routes_put.c: the routes that start, end and change jobs. Persons may do so for themselves, an agent for its node, an
 * admin for all. The id is derived from the labelling client and the key it chose, so a retry is the same job.
 */
#include <errno.h>
#include <jansson.h>

#include "access/auth.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/plain.h"
#include "base/rand.h"
#include "base/when.h"
#include "hub/hub.h"
#include "hub/record_fetch.h"
#include "jobs/auto.h"
#include "jobs/routes.h"
#include "now/live.h"

#define KEY_MAX  200
#define AHEAD_MS 3600000 /* a clock may be off, but not by more */

/* A body read. Text points into the JSON, or into what is freed with the draft. */
struct draft {
    json_t *o;
    const char *name, *kind, *person, *key;
    char *node, *devices, *pids, *attrs; /* owned; NULL: not given */
    int64_t start_ms, end_ms, parent;    /* -1: not given; parent 0 */
};

#define AUTO_DRAFT __attribute__((cleanup(draft_fini))) struct draft

static void draft_fini(struct draft *d)
{
    json_decref(d->o);
    FREE_ALL(d->node, d->devices, d->pids, d->attrs);
}

/* ---- to the store: replies when it is durable ---- */

struct labelling {
    struct hub *h;
    struct late *late;
    int64_t id;
    int status; /* when it went well */
};

static void answer_label(void *arg, struct record_result *found)
{
    struct labelling *l = arg;
    struct reply rp = {0};
    if (found->r == -ENOSPC)
        reply_problem(&rp, 507, "the hub's disk is full: try again later");
    else if (found->r < 0)
        reply_problem(&rp, 503, "the hub cannot store: %s",
                      found->err.msg[0] ? found->err.msg : store_error_text(found->r));
    else if (found->r == 0)
        reply_problem(&rp, 404, "the job was deleted while it was changed: it was older than the retention");
    else
        reply_job(&rp, &l->h->api, found->job, true);
    if (found->r == 1)
        rp.status = l->status;
    if (found->r == -EAGAIN)
        snprintf(rp.extra, sizeof(rp.extra), "Retry-After: 2");
    httpd_late_reply(l->late, &rp);
    free(l);
}

/* Replies with the stored job: of two concurrent requests with one key that is the first. */
static void labelled(void *arg, int result)
{
    struct labelling *l = arg;
    struct record_result none = {.r = result};
    if (result == 0)
        none.r = look_up(l->h, STORE_JOB, l->id, answer_label, l, &none.err);
    if (none.r < 0)
        answer_label(l, &none);
}

/* change NULL: the job is new. */
static enum reply_mode store_label(struct hub *h, struct request *rq, const struct job_fact *j,
                                   const struct job_change *change)
{
    struct labelling *l = mem_alloc(sizeof(*l));
    int64_t now_ms = clock_wall_ms();
    *l = (struct labelling){h, httpd_late(rq), j->id, change ? 200 : 201};
    if (strcmp(j->kind, "slurm") == 0 && j->node[0]) /* who has what from Slurm counts */
        hub_time(h, j->node, j->start_ms, now_ms, now_ms);
    if (change)
        store_put(h->store, STORE_JOB_CHANGE, change, 1, labelled, l);
    else
        store_put(h->store, STORE_JOB, j, 1, labelled, l);
    return REPLY_LATER;
}

/* ---- members ---- */

static bool take_text(json_t *v, const char *name, size_t max, const char **ret, struct reply *rp)
{
    struct str s = str_n(json_string_value(v), json_string_length(v));
    if (!json_is_string(v) || !s.len || s.len > max || !plain_typed(s))
        return reply_refuse(rp, 400, "%s must be text of 1 to %zu bytes without " CONTROLS, name, max);
    *ret = s.p;
    return true;
}

static bool take_kind(json_t *v, const char **ret, struct reply *rp)
{
    if (!take_text(v, "kind", JOB_KIND_MAX - 1, ret, rp))
        return false;
    for (const char *c = *ret; *c; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') || strchr("_.-", *c)))
            return reply_wrong(rp, "kind must be of small letters, digits, _ . and -: record, dask, wandb, slurm, or "
                                   "your own");
    if (strcmp(*ret, AUTO_KIND) == 0)
        return reply_wrong(rp, "kind auto is the hub's own: of what nobody labelled");
    return true;
}

static bool take_person(json_t *v, const char **ret, struct reply *rp)
{
    struct str s = str_n(json_string_value(v), json_string_length(v));
    if (!json_is_string(v) || !name_ok(s, 63) || !plain_typed(s))
        return reply_wrong(rp, "person must be a login: text of at most 63 bytes without quotes, slashes, " CONTROLS);
    *ret = s.p;
    return true;
}

static bool take_when(json_t *v, const char *name, int64_t now_ms, int64_t *ret, struct reply *rp)
{
    char number[32] = "";
    struct str s = str_n(json_string_value(v), json_string_length(v));
    struct err err = {0};
    if (json_is_integer(v)) {
        snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT, json_integer_value(v));
        s = str_of(number);
    } else if (!json_is_string(v))
        return reply_refuse(rp, 400, "%s must be a time: \"2026-11-15T10:46:12Z\", \"now\", or milliseconds since 1970",
                            name);
    if (when_parse(s, name, now_ms, ret, &err) < 0)
        return reply_wrong(rp, err.msg);
    if (*ret > now_ms + AHEAD_MS)
        return reply_refuse(rp, 400, "%s is a time to come", name);
    return true;
}

static bool take_devices(const struct api *a, json_t *v, char **ret, struct reply *rp)
{
    AUTO_BUF b = BUF_INIT((size_t)JOB_DEVICES * UUID_MAX);
    size_t i;
    json_t *one;
    if (!json_is_array(v) || json_array_size(v) > JOB_DEVICES)
        return reply_wrong(rp, "devices must be a list of at most 256 UUIDs or NODE:N");
    json_array_foreach (v, i, one) {
        struct str s = str_n(json_string_value(one), json_string_length(one));
        if (!names_are_local(a, s, rp))
            return false;
        if (!json_is_string(one) || !name_ok(s, UUID_MAX - 1) || memchr(s.p, ',', s.len))
            return reply_wrong(rp, "devices must be NODE:N or UUIDs, as in /api/v1/state: \"GPU-3f9a...\"");
        if (!device_named(a, s, rp, &s))
            return false;
        buf_addf(&b, "%s%.*s", b.len ? "," : "", STR_ARG(s));
    }
    free(*ret);
    *ret = mem_str(b.p ? b.p : "");
    return true;
}

static bool take_pids(json_t *v, char **ret, struct reply *rp)
{
    AUTO_BUF b = BUF_INIT((size_t)JOB_PIDS * 12);
    size_t i;
    json_t *one;
    if (!json_is_array(v) || json_array_size(v) > JOB_PIDS)
        return reply_wrong(rp, "pids must be a list of at most 256 numbers");
    json_array_foreach (v, i, one) {
        json_int_t pid = json_integer_value(one);
        if (!json_is_integer(one) || pid < 1 || pid > INT32_MAX)
            return reply_wrong(rp, "pids must be numbers of processes");
        buf_addf(&b, "%s%" JSON_INTEGER_FORMAT, b.len ? "," : "", pid);
    }
    free(*ret);
    *ret = mem_str(b.p ? b.p : "");
    return true;
}

static bool take_attrs(json_t *v, char **ret, struct reply *rp)
{
    char *text = json_is_object(v) ? json_dumps(v, JSON_COMPACT) : NULL;
    if (!text || strlen(text) > JOB_ATTRS_MAX) {
        free(text);
        return reply_wrong(rp, "attributes must be a JSON object of at most 4096 bytes");
    }
    free(*ret);
    *ret = text;
    return true;
}

static bool take_parent(json_t *v, int64_t *ret, struct reply *rp)
{
    struct str s = str_n(json_string_value(v), json_string_length(v));
    return (json_is_string(v) && job_id_parse(s, ret)) || reply_wrong(rp, "parent must be a job's id: 16 hex digits");
}

static bool take_node(struct api *a, json_t *v, char **ret, struct reply *rp)
{
    const char *name = json_string_value(v);
    const struct node_now *n = name && name[0] ? live_find(a->live, name) : NULL;
    if (!n && name && !names_are_local(a, str_of(name), rp))
        return false;
    if (!n)
        return reply_refuse(rp, name ? 404 : 400, "no node is called '%.128s'; /api/v1/nodes lists them",
                            name ? name : "");
    free(*ret);
    *ret = mem_str(n->key);
    return true;
}

/* One member. False: rp has the response. */
static bool take(struct api *a, const struct request *rq, struct draft *d, const char *key, json_t *v, bool fresh,
                 struct reply *rp)
{
    if (strcmp(key, "name") == 0)
        return take_text(v, key, JOB_NAME_MAX, &d->name, rp);
    if (strcmp(key, "end") == 0)
        return take_when(v, key, rq->now_ms, &d->end_ms, rp);
    if (strcmp(key, "devices") == 0)
        return take_devices(a, v, &d->devices, rp);
    if (strcmp(key, "pids") == 0)
        return take_pids(v, &d->pids, rp);
    if (strcmp(key, "attributes") == 0)
        return take_attrs(v, &d->attrs, rp);
    if (fresh && strcmp(key, "kind") == 0)
        return take_kind(v, &d->kind, rp);
    if (fresh && strcmp(key, "person") == 0)
        return take_person(v, &d->person, rp);
    if (fresh && strcmp(key, "node") == 0)
        return take_node(a, v, &d->node, rp);
    if (fresh && strcmp(key, "parent") == 0)
        return take_parent(v, &d->parent, rp);
    if (fresh && strcmp(key, "start") == 0)
        return take_when(v, key, rq->now_ms, &d->start_ms, rp);
    if (fresh && strcmp(key, "key") == 0)
        return take_text(v, key, KEY_MAX, &d->key, rp);
    return reply_refuse(rp, 400, "'%.40s' is not understood: %s", key,
                        fresh ? "name, kind, person, node, devices, pids, parent, start, end, attributes and key can "
                                "be given"
                              : "name, end, devices, pids and attributes can be changed");
}

static bool draft_read(struct api *a, const struct request *rq, struct draft *d, bool fresh, struct reply *rp)
{
    const char *key;
    json_t *v;
    *d = (struct draft){.o = read_object(rq, rp), .start_ms = -1, .end_ms = -1};
    bool good = d->o != NULL;
    json_object_foreach (d->o, key, v)
        good = good && take(a, rq, d, key, v, fresh, rp);
    return good;
}

/* The current node of a device; NULL: unknown. */
static const char *node_of_devices(struct api *a, const char *devices)
{
    struct str rest = str_of(devices), first;
    const struct node_now *n;
    return str_cut(&rest, ',', &first) && live_find_device(a->live, first, &n) ? n->key : NULL;
}

/* ---- who ---- */

static void owner_of(const struct request *rq, char out[NODE_KEY_MAX + 16])
{
    if (rq->who->role == ROLE_AGENT)
        snprintf(out, NODE_KEY_MAX + 16, "node:%s", rq->who->token.node);
    else if (rq->who->token.person[0])
        snprintf(out, NODE_KEY_MAX + 16, "person:%s", rq->who->token.person);
    else
        snprintf(out, NODE_KEY_MAX + 16, "token:%s", rq->who->token.id);
}

/* Whose it may be, and where. False: rp has a 403. */
static bool may_label(const struct request *rq, const struct draft *d, struct reply *rp)
{
    if (rq->who->role == ROLE_AGENT && !rq->who->token.node[0])
        reply_problem(rp, 403, "this agent's token belongs to no node yet: it does when its agent has sent");
    else if (rq->who->role == ROLE_AGENT && d->node && strcmp(d->node, rq->who->token.node) != 0)
        reply_problem(rp, 403, "an agent labels jobs of its own node only");
    else if (rq->who->role == ROLE_MEMBER && d->person && strcmp(d->person, rq->who->token.person) != 0)
        reply_problem(rp, 403, "this token is %s's: only an admin labels jobs of another user",
                      rq->who->token.person[0] ? rq->who->token.person : "nobody");
    else
        return true;
    return false;
}

static bool may_change(const struct request *rq, const struct job_fact *j)
{
    char owner[NODE_KEY_MAX + 16];
    owner_of(rq, owner);
    if (rq->who->role == ROLE_AGENT)
        return rq->who->token.node[0] && strcmp(rq->who->token.node, j->node) == 0;
    return rq->who->role == ROLE_ADMIN || strcmp(owner, j->owner) == 0 ||
           (rq->who->token.person[0] && strcmp(rq->who->token.person, j->person) == 0);
}

static int64_t id_of(const char *owner, const char *key)
{
    AUTO_BUF b = BUF_INIT(1024);
    uint8_t hash[32], chance[16];
    uint64_t id = 0;
    buf_addf(&b, "%s\n", owner);
    if (key) {
        buf_adds(&b, key);
    } else {
        rand_bytes(chance, sizeof(chance));
        buf_add(&b, chance, sizeof(chance));
    }
    sha256(b.p, b.len, hash);
    for (size_t i = 0; i < 8; i++)
        id = id << 8 | hash[i];
    id &= INT64_MAX;
    return id ? (int64_t)id : 1;
}

/* ---- routes ---- */

static enum reply_mode put_draft(struct api *a, struct request *rq, const struct draft *d, struct reply *rp)
{
    char owner[NODE_KEY_MAX + 16];
    const char *node = rq->who->role == ROLE_AGENT ? rq->who->token.node : d->node;
    AUTO_FREE struct job_fact *parent = NULL, *kept = NULL;
    struct err err = {0};
    owner_of(rq, owner);
    if (!node)
        node = node_of_devices(a, d->devices);
    struct job_fact j = {.id = id_of(owner, d->key),
                         .parent = d->parent,
                         .start_ms = d->start_ms >= 0 ? d->start_ms : rq->now_ms,
                         .end_ms = MAX(d->end_ms, 0),
                         .name = d->name,
                         .kind = d->kind ? d->kind : "custom",
                         .person = d->person                     ? d->person
                                   : rq->who->role == ROLE_AGENT ? ""
                                                                 : rq->who->token.person,
                         .owner = owner,
                         .node = node ? node : "",
                         .devices = d->devices ? d->devices : "",
                         .pids = d->pids ? d->pids : "",
                         .attrs = d->attrs ? d->attrs : ""};
    if (j.end_ms && j.end_ms < j.start_ms)
        return reply_problem(rp, 400, "end is before start");
    int r = d->parent ? record_fetch_job(a->hub, rq, d->parent, &parent, &err) : 1;
    if (r == 0)
        return reply_problem(rp, 400, "parent is not known: there is no such job");
    if (r == 1)
        r = d->key ? record_fetch_job(a->hub, rq, j.id, &kept, &err) : 0;
    if (r == -EINPROGRESS)
        return REPLY_LATER;
    if (r < 0)
        return reply_problem(rp, 503, "jobs cannot be read: %s", err.msg);
    if (r == 1) { /* a repeated request: the stored job stays */
        reply_job(rp, a, kept, true);
        return REPLY_NOW;
    }
    return store_label(a->hub, rq, &j, NULL);
}

enum reply_mode post_job(struct api *a, struct request *rq, struct reply *rp)
{
    AUTO_DRAFT d = {0};
    if (!draft_read(a, rq, &d, true, rp) || !may_label(rq, &d, rp))
        return REPLY_NOW;
    return d.name ? put_draft(a, rq, &d, rp)
                  : reply_problem(rp, 400, "a name is needed: {\"name\": \"train\", \"kind\": \"record\", ...}");
}

enum reply_mode patch_job(struct api *a, struct request *rq, struct reply *rp)
{
    AUTO_FREE struct job_fact *j = NULL;
    AUTO_DRAFT d = {0};
    int r = job_of_path(a, rq, rp, &j);
    if (r != 1)
        return reply_mode_of_fetch(r);
    if (!may_change(rq, j))
        return reply_problem(rp, 403,
                             "this job is somebody else's: its person, an admin or its node's agent changes it");
    if (!draft_read(a, rq, &d, false, rp))
        return REPLY_NOW;
    if (d.end_ms >= 0 && d.end_ms < j->start_ms)
        return reply_problem(rp, 400, "end is before start");
    struct job_change c = {.id = j->id,
                           .end_ms = d.end_ms,
                           .name = d.name,
                           .node = j->node[0] ? NULL : node_of_devices(a, d.devices),
                           .devices = d.devices,
                           .pids = d.pids,
                           .attrs = d.attrs};
    return store_label(a->hub, rq, j, &c);
}
