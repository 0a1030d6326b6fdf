/*
 * routes_tokens.c: the route by which an admin makes a token from the page, to add a node or for a person. The token is
 * shown once.
 */
#include <jansson.h>

#include "access/auth.h"
#include "base/json.h"
#include "base/plain.h"
#include "hub/handlers.h"
#include "hub/hub.h"
#include "hub/past.h"
#include "hub/reach.h"

struct token_job {
    struct async_query ask; /* first */
    struct store_token t;
    char text[64];
    enum reach reach;
    struct buf command; /* of an enroll token */
};

static void token_run(struct async_query *k, const struct past_source *past, struct reply *rp)
{
    struct token_job *job = (struct token_job *)k;
    struct err err = {0};
    if (past->put_now(past->arg, STORE_TOKEN, &job->t, &err) < 0) {
        reply_problem(rp, 503, "the token could not be kept: %s", err.msg);
        return;
    }
    rp->status = 201;
    snprintf(rp->cache, sizeof(rp->cache), "no-store");
    struct json j = reply_object(rp, 4096);
    json_cstr(&j, "id", job->t.id);
    json_cstr(&j, "role", job->t.role);
    json_cstr(&j, "token", job->text);
    if (job->t.expires_ms)
        json_int(&j, "expires", job->t.expires_ms);
    if (strcmp(job->t.role, role_words[ROLE_ENROLL]) == 0) {
        json_some(&j, "command", job->command.p);
        json_some(&j, "detail", reach_sentences[job->reach]);
        if (job->t.uses)
            json_int(&j, "uses", job->t.uses);
    }
    reply_object_end(rp, &j);
}

static void token_end(struct async_query *k)
{
    struct token_job *job = (struct token_job *)k;
    if (job->command.len) /* the secret is in both */
        memset(job->command.p, 0, job->command.len);
    buf_fini(&job->command);
    memset(job, 0, sizeof(*job));
    free(job);
}

static bool fill(json_t *v, char *to, size_t size)
{
    return json_is_string(v) && name_ok(str_n(json_string_value(v), json_string_length(v)), size - 1) &&
           plain_typed(str_of(json_string_value(v))) && mem_copy_str(to, size, json_string_value(v));
}

/* NULL, or what is wrong with it. */
static const char *read_token(json_t *o, struct store_token *t)
{
    const char *key;
    json_t *v;
    int64_t span_ms;
    json_object_foreach (o, key, v) {
        if (strcmp(key, "role") == 0 && json_is_string(v)) {
            int role = role_by_word(str_of(json_string_value(v)));
            if (role != ROLE_ENROLL && role != ROLE_AGENT && role != ROLE_MEMBER && role != ROLE_READER)
                return "role must be enroll, agent, member or reader; admins are made on the hub with `muster token "
                       "new`";
            mem_copy_str(t->role, sizeof(t->role), role_words[role]);
        } else if (strcmp(key, "person") == 0) {
            if (!fill(v, t->person, sizeof(t->person)))
                return "person must be a login: text of at most 63 bytes without quotes, slashes, " CONTROLS;
        } else if (strcmp(key, "note") == 0) {
            if (!fill(v, t->note, sizeof(t->note)))
                return "note must be text of at most 127 bytes without quotes, slashes, " CONTROLS;
        } else if (strcmp(key, "expires") == 0) {
            if (!json_is_string(v) || !str_duration_ms(str_of(json_string_value(v)), &span_ms) ||
                span_ms < TOKEN_SPAN_MIN || span_ms > TOKEN_SPAN_MAX)
                return "expires must be a time from now, as \"1d\": between a minute and ten years";
            t->expires_ms = t->created_ms + span_ms;
        } else if (strcmp(key, "uses") == 0) {
            t->uses = json_integer_value(v);
            if (!json_is_integer(v) || t->uses < 1 || t->uses > TOKEN_USES_MAX)
                return "uses must be a number of nodes between 1 and 1000000";
        } else {
            return "only role, person, note, expires and uses can be given";
        }
    }
    if (t->uses && strcmp(t->role, role_words[ROLE_ENROLL]) != 0)
        return "only an enroll token has uses";
    bool member = strcmp(t->role, role_words[ROLE_MEMBER]) == 0;
    if (!t->role[0])
        return "a role is needed: enroll, agent, member or reader";
    if (member && !t->person[0])
        return "a member's token names a person: give person";
    return !member && t->person[0] ? "only a member's token names a person" : NULL;
}

enum reply_mode post_tokens(struct api *a, struct request *rq, struct reply *rp)
{
    json_auto_t *o = read_object(rq, rp);
    struct store_token t = {.created_ms = rq->now_ms};
    char url[OWN_URL_MAX];
    if (!o)
        return REPLY_NOW;
    const char *wrong = read_token(o, &t);
    if (wrong)
        return reply_problem(rp, 400, "%s", wrong);
    trail_add(rq->trail, t.role);
    struct token_job *job = NEW(struct token_job, .ask = {.run = token_run, .end = token_end});
    token_new(t.id, t.hash, job->text);
    job->t = t;
    job->command = BUF_INIT(1024);
    job->reach = reach_url(a, rq, url);
    if (job->reach == REACH_OK)
        reach_command(a, url, job->text, &job->command);
    return query_async(a->hub, rq, rp, &job->ask);
}
