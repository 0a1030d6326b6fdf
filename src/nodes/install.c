/*
 * install.c: what a new node needs: the install script and the agent binary. Also the list of nodes as Prometheus
 * targets.
 */
#include <sys/stat.h>
#include <sys/utsname.h>

#include "access/auth.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/order.h"
#include "base/rand.h"
#include "http/address.h"
#include "hub/handlers.h"
#include "hub/reach.h"
#include "now/view.h"

#define AGENT_MAX (64u << 20)

extern const char asset_install[], asset_install_end[];
extern const char asset_agent_unit[], asset_agent_unit_end[]; /* the system service, if root installs */

/* Identifies a version of the agent binary; 0: no binary. */
static uint64_t agent_version(const struct api *a)
{
    struct stat st;
    if (!a->agent_path || stat(a->agent_path, &st) < 0 || !S_ISREG(st.st_mode))
        return 0;
    return (uint64_t)st.st_mtim.tv_sec * 1000003u + (uint64_t)st.st_mtim.tv_nsec + (uint64_t)st.st_size + 1;
}

/* The agent binary, shared, and read again after a change; NULL if missing. */
static struct blob *agent_blob(struct api *a, int64_t now_ms)
{
    struct buf b;
    uint64_t version = agent_version(a);
    struct blob *blob = version ? cache_get(a->cache, STR("agent"), version, now_ms) : NULL;
    if (blob || !version || file_read(a->agent_path, AGENT_MAX, &b, NULL) < 0)
        return blob;
    blob = blob_new(&b);
    cache_keep(a->cache, STR("agent"), version, now_ms, blob);
    return blob;
}

/* Its SHA-256 in hexadecimal, computed once per version; "" if missing. */
static void agent_sum(struct api *a, int64_t now_ms, char out[65])
{
    uint8_t hash[32];
    uint64_t version = agent_version(a);
    struct blob *sum = version ? cache_get(a->cache, STR("agent sum"), version, now_ms) : NULL;
    out[0] = 0;
    if (!sum) {
        struct blob *agent = version ? agent_blob(a, now_ms) : NULL;
        struct buf text = BUF_INIT(128);
        if (!agent)
            return;
        sha256(agent->plain.p, agent->plain.len, hash);
        buf_addx(&text, hash, sizeof(hash));
        blob_unref(agent);
        sum = blob_new(&text);
        cache_keep(a->cache, STR("agent sum"), version, now_ms, sum);
    }
    snprintf(out, 65, "%s", sum->plain.p);
    blob_unref(sum);
}

static struct str agent_unit(void)
{
    /* cppcheck-suppress comparePointers ; one asset, two labels */
    return str_n(asset_agent_unit, (uintptr_t)asset_agent_unit_end - (uintptr_t)asset_agent_unit);
}

/* Not cached: the URL comes from the client's Host header and must never reach another client. */
enum reply_mode get_install(struct api *a, struct request *rq, struct reply *rp)
{
    struct utsname un;
    char url[OWN_URL_MAX], sum[65], unit_sum[65], curl[128] = "";
    uint8_t hash[32];
    uname(&un);
    if (!reach_requested(a, rq, url))
        return reply_problem(rp, 421,
                             "this hub does not know itself as '%.*s': set `address` to the URL that other machines "
                             "use",
                             (int)MIN(rq->header(rq, "Host").len, 200u), rq->header(rq, "Host").p);
    agent_sum(a, rq->now_ms, sum);
    sha256(agent_unit().p, agent_unit().len, hash);
    hex_text(hash, sizeof(hash), unit_sum);
    rp->type = "text/plain; charset=utf-8";
    if (a->pin)
        snprintf(curl, sizeof(curl), "-k --pinnedpubkey %s ", a->pin);
    const struct {
        const char *mark, *value;
    } marks[] = {{"@URL@", url},   {"@PIN@", a->pin ? a->pin : ""},
                 {"@CURL@", curl}, {"@ARCH@", sum[0] ? un.machine : ""},
                 {"@SUM@", sum},   {"@UNIT_SUM@", unit_sum}};
    rp->body = BUF_INIT(256u << 10);
    struct buf *out = &rp->body;
    /* cppcheck-suppress comparePointers ; one asset, two labels */
    struct str rest = str_n(asset_install, (uintptr_t)asset_install_end - (uintptr_t)asset_install);
    while (rest.len) {
        const char *at = memchr(rest.p, '@', rest.len);
        size_t n = at ? (size_t)(at - rest.p) : rest.len, used = n;
        buf_add(out, rest.p, n);
        struct str here = str_n(rest.p + n, rest.len - n);
        size_t i = FIRST(ARRAY_LEN(marks), k, str_starts(here, marks[k].mark));
        if (here.len && i < ARRAY_LEN(marks)) {
            buf_adds(out, marks[i].value);
            used += strlen(marks[i].mark);
        } else if (here.len) {
            buf_addc(out, '@');
            used++;
        }
        rest = str_n(rest.p + used, rest.len - used);
    }
    return REPLY_NOW;
}

enum reply_mode get_install_command(struct api *a, struct request *rq, struct reply *rp)
{
    AUTO_BUF command = BUF_INIT(1024);
    char url[OWN_URL_MAX];
    enum reach reach = reach_url(a, rq, url);
    struct json j = reply_object(rp, 4096);
    if (reach == REACH_OK) {
        reach_command(a, url, "TOKEN", &command);
        json_cstr(&j, "url", url);
        json_cstr(&j, "command", command.p);
    } else {
        json_cstr(&j, "why", reach_words[reach]);
        json_cstr(&j, "detail", reach_sentences[reach]);
    }
    return reply_object_end(rp, &j);
}

enum reply_mode get_install_file(struct api *a, struct request *rq, struct reply *rp)
{
    struct utsname un;
    struct str name = rq->tail;
    uname(&un);
    if (str_eq(name, "muster-agent.service")) {
        rp->type = "text/plain; charset=utf-8";
        rp->body = BUF_INIT(64u << 10);
        buf_addstr(&rp->body, agent_unit());
        return REPLY_NOW;
    }
    if (!str_skip(&name, "muster-agent-"))
        return reply_problem(rp, 404, "only muster-agent-<arch> and muster-agent.service are handed out here");
    if (!str_eq(name, un.machine))
        return reply_problem(rp, 404, "this hub has the agent for %s only: build one with `make agent` on the node",
                             un.machine);
    rp->blob = agent_blob(a, rq->now_ms);
    if (!rp->blob)
        return reply_problem(rp, 404, "muster-agent is not in the folder of the hub's binary");
    rp->type = "application/octet-stream";
    rp->no_gzip = true;
    return REPLY_NOW;
}

enum reply_mode get_sd(struct api *a, struct request *rq, struct reply *rp)
{
    struct view v;
    struct view_query ask = {.demo = a->demo};
    long long port = request_int(rq, "port", 9100, 1, 65535);
    char text[NAME_MAX_LEN + 16];
    AUTO_FILTER *filter = NULL;
    if (!request_filter(rq, rp, &filter))
        return REPLY_NOW;
    view_of(a->live, &ask, rq->now_ms, &v);
    AUTO_BUF key = BUF_INIT(4096);
    buf_addf(&key, "sd|%lld|%s", port, filter ? filter_key(filter) : "");
    if (reply_cached(a, rq, buf_str(&key), v.version, rp))
        return REPLY_NOW;
    int64_t begin_us = clock_thread_us();
    rp->body = BUF_INIT(64u << 20);
    struct json j = json_on(&rp->body);
    json_arr(&j, NULL);
    for (size_t i = 0; i < v.n; i++) {
        const struct node_now *n = v.nodes[i];
        if (filter && !filter_match_node(filter, n, rq->now_ms))
            continue;
        const char *host = n->address[0] && !address_is_loopback(n->address) ? n->address : n->name;
        json_obj(&j, NULL);
        json_arr(&j, "targets");
        snprintf(text, sizeof(text), strchr(host, ':') ? "[%s]:%lld" : "%s:%lld", host, port);
        json_cstr(&j, NULL, text);
        json_end_arr(&j);
        json_obj(&j, "labels");
        json_cstr(&j, "__meta_muster_id", n->key);
        json_cstr(&j, "__meta_muster_node", n->name);
        json_cstr(&j, "__meta_muster_state", node_words[n->state]);
        json_cstr(&j, "__meta_muster_gpu_model", n->n_devices ? n->devices[0].fact.name : "");
        snprintf(text, sizeof(text), "%zu", n->n_devices);
        json_cstr(&j, "__meta_muster_gpus", text);
        json_end_obj(&j);
        json_end_obj(&j);
    }
    json_end_arr(&j);
    reply_keep(a, rq, buf_str(&key), v.version, begin_us, rp);
    return REPLY_NOW;
}
