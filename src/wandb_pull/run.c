/* run.c: reads a run out of W&B's JSON. */
#include "wandb_pull/run.h"

#include <errno.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/order.h"
#include "wandb_pull/rule.h"

#define TAGS_MAX 1000 /* of a run; more are ignored */

const char *const run_fate_words[RUN_FATES] = {
    [RUN_COUNTS] = "it counts",
    [RUN_NO_GPU] = "it reported no GPU (runInfo.gpu), and no rule gives a number",
    [RUN_EXCLUDED] = "a rule gives 0 GPUs, which leaves it out",
    [RUN_OUTSIDE] = "it ran on none of the requested days",
    [RUN_UNASSIGNED] = "it ran on no day on which its company was in the programme",
    [RUN_PROJECT] = "the company's patterns leave the project out",
    [RUN_NO_COMPANY] = "no company has the team",
};

/* ---- fields ---- */

/* NULL where it is not there, not text, empty, or longer than max; text from outside has no NUL within. */
static const char *text_of(const json_t *v, size_t max)
{
    const char *s = json_string_value(v);
    size_t n = json_string_length(v);
    return s && n && n <= max && strlen(s) == n ? s : NULL;
}

/* The same for text that others print on one line: without control characters. */
static const char *name_of(const json_t *v, size_t max)
{
    const char *s = text_of(v, max);
    return s && str_utf8_ok(str_of(s)) ? s : NULL;
}

static int32_t count_of(const json_t *v)
{
    int64_t n = -1;
    if (json_is_integer(v))
        n = json_integer_value(v);
    else if (json_is_string(v) && !str_int(str_of(json_string_value(v)), &n))
        n = -1;
    return n >= 0 && n <= RULE_GPUS_MAX ? (int32_t)n : -1;
}

bool run_time(struct str s, int64_t *ret_ms)
{
    char iso[64];
    s = str_trim(s);
    if (s.len < 19 || s.len + 2 > sizeof(iso) || s.p[4] != '-')
        return false;
    memcpy(iso, s.p, s.len);
    iso[s.len] = 0;
    if (!strpbrk(iso + 10, "Zz+-"))
        iso[s.len++] = 'Z';
    return clock_parse(iso, s.len, ret_ms) == 0;
}

static bool time_of(const json_t *v, int64_t *ret)
{
    return json_is_string(v) && run_time(str_n(json_string_value(v), json_string_length(v)), ret);
}

static const json_t *field(const json_t *object, const char *name)
{
    const json_t *v = json_object_get(object, name);
    return json_is_null(v) ? NULL : v;
}

int run_node_read(const json_t *node, struct run_node *ret, struct err *err)
{
    struct run_node r = {.gpus = -1, .cpus = -1};
    const json_t *info = field(node, "runInfo"), *user = field(node, "user");

    if (!json_is_object(node))
        return err_set(err, -EBADMSG, "a run is not an object");
    r.id = name_of(field(node, "name"), RUN_ID_MAX);
    if (!r.id)
        return err_set(err, -EBADMSG, "a run has no name");
    if (!time_of(field(node, "createdAt"), &r.created_ms))
        return err_set(err, -EBADMSG, "run '%.60s' has no time of creation", r.id);
    if (!time_of(field(node, "heartbeatAt"), &r.heartbeat_ms) || r.heartbeat_ms < r.created_ms)
        r.heartbeat_ms = r.created_ms;
    r.storage_id = name_of(field(node, "id"), RUN_TEXT_MAX);
    r.display = name_of(field(node, "displayName"), RUN_TEXT_MAX);
    r.state = name_of(field(node, "state"), RUN_ID_MAX);
    r.host = name_of(field(node, "host"), RUN_ID_MAX);
    r.user = name_of(field(user, "username"), RUN_ID_MAX);
    if (!r.user)
        r.user = name_of(field(user, "name"), RUN_ID_MAX);
    r.description = text_of(field(node, "description"), RUN_SCALAR_MAX);
    r.tags = json_is_array(field(node, "tags")) ? field(node, "tags") : NULL;
    r.gpu = name_of(field(info, "gpu"), RUN_TEXT_MAX);
    r.gpu_info = json_string_length(field(info, "gpu")) > 0;
    r.gpus = count_of(field(info, "gpuCount"));
    r.cpus = count_of(field(info, "cpuCount"));
    r.config.raw = field(node, "config");
    r.summary.raw = field(node, "summaryMetrics");
    *ret = r;
    return 0;
}

/* ---- JSON within JSON ---- */

static void decode(struct run_scalar *s, struct str text)
{
    if (text.len > RUN_SCALAR_MAX) {
        s->bad = "it is too long";
        return;
    }
    s->tree = json_loadb(text.p, text.len, JSON_ALLOW_NUL, NULL);
    if (!json_is_object(s->tree)) {
        s->bad = "it is not a JSON object";
        json_decref(s->tree);
        s->tree = NULL;
    }
}

const json_t *run_scalar_get(struct run_scalar *s)
{
    if (s->decoded)
        return s->tree;
    s->decoded = true;
    if (json_is_object(s->raw))
        s->tree = json_incref((json_t *)s->raw); /* a server that decoded it */
    else if (json_string_length(s->raw))
        decode(s, str_n(json_string_value(s->raw), json_string_length(s->raw)));
    else if (s->raw)
        s->bad = "it is not JSON text";
    return s->tree;
}

void run_node_metadata(struct run_node *r, struct str text)
{
    json_decref(r->metadata.tree);
    r->metadata = (struct run_scalar){.decoded = true};
    if (text.len)
        decode(&r->metadata, text);
}

void run_node_fini(struct run_node *r)
{
    json_decref(r->config.tree);
    json_decref(r->summary.tree);
    json_decref(r->metadata.tree);
    r->config.tree = r->summary.tree = r->metadata.tree = NULL;
}

/* ---- tags ---- */

int run_node_tags(const struct run_node *r, struct buf *ret)
{
    struct json j = json_on(ret);
    json_arr(&j, NULL);
    for (size_t i = 0; i < MIN(json_array_size(r->tags), TAGS_MAX); i++) {
        const json_t *t = json_array_get(r->tags, i);
        if (json_is_string(t))
            json_str(&j, NULL, str_n(json_string_value(t), json_string_length(t)));
    }
    json_end_arr(&j);
    return ret->err;
}

bool run_node_ignored(const struct run_node *r, const struct wandb_config *c)
{
    for (size_t i = 0; i < MIN(json_array_size(r->tags), TAGS_MAX); i++) {
        const json_t *t = json_array_get(r->tags, i);
        struct str tag = str_n(json_string_value(t), json_string_length(t));
        if (tag.p && ANY(c->n_ignore_tags, k, str_eq_nocase(tag, c->ignore_tags[k])))
            return true;
    }
    return false;
}

/* ---- where it is ---- */

/* One part of an address, %20 and the like undone. */
static bool part(struct str s, char out[RUN_ID_MAX + 1])
{
    size_t n = 0;
    for (size_t i = 0; i < s.len; i++) {
        uint64_t code;
        char c = s.p[i];
        if (c == '%' && i + 2 < s.len && str_hex(str_n(s.p + i + 1, 2), &code)) {
            c = (char)code;
            i += 2;
        }
        if (n == RUN_ID_MAX || !c)
            return false;
        out[n++] = c;
    }
    out[n] = 0;
    return n > 0 && str_utf8_ok(str_n(out, n));
}

bool run_path_parse(struct str s, struct run_path *ret)
{
    struct run_path p;
    struct str at[8], host;
    size_t n = 0;
    int url = str_find(s, "://");

    if (url > 0) {
        s = str_drop(s, (size_t)url + 3);
        if (!str_cut(&s, '/', &host))
            return false;
    }
    s.len = FIRST(s.len, i, s.p[i] == '?' || s.p[i] == '#');
    while (n < ARRAY_LEN(at) && str_cut(&s, '/', &at[n]))
        n++;
    while (n && !at[n - 1].len)
        n--; /* a slash at the end */
    size_t id = n >= 4 && str_eq(at[2], "runs") ? 3 : 2;
    if (n <= id || (url > 0 ? id == 2 : n != id + 1))
        return false;
    if (!part(at[0], p.team) || !part(at[1], p.project) || !part(at[id], p.id))
        return false;
    *ret = p;
    return true;
}

/* ---- does it count ---- */

enum run_fate run_node_fate(const struct wandb_config *c, const char *team, const char *project,
                            const struct run_node *r, int32_t from, int32_t to, const struct rule_answer *answer)
{
    const struct company *co = wandb_config_company(c, team);
    int32_t first = zone_date(c->zone, r->created_ms), last = zone_date(c->zone, r->heartbeat_ms);

    if (!co)
        return RUN_NO_COMPANY;
    if (!company_counts(co, project))
        return RUN_PROJECT;
    if (first > to || last < from)
        return RUN_OUTSIDE;
    if (!wandb_company_active(co, first, last))
        return RUN_UNASSIGNED;
    if (answer && !answer->by_rule && !r->gpu_info)
        return RUN_NO_GPU;
    if (answer && answer->by_rule && !answer->gpus)
        return RUN_EXCLUDED;
    return RUN_COUNTS;
}
