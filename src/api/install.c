/* install.c: adding a node with one line, the agent binary for it, and our nodes for a Prometheus. */
#include <errno.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "api/handlers.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "query/view.h"

#define AGENT_MAX (64u << 20)

extern const char asset_install[], asset_install_end[];
extern const char asset_agent_unit[], asset_agent_unit_end[]; /* the system service, for nodes where root installs */

/* The agent binary, shared and read again when it changed; NULL: there is none. */
static struct blob *agent_blob(struct api *a, int64_t now_ms)
{
    struct stat st;
    struct buf b;
    if (!a->agent_path || stat(a->agent_path, &st) < 0 || !S_ISREG(st.st_mode))
        return NULL;
    uint64_t version = (uint64_t)st.st_mtim.tv_sec * 1000003u + (uint64_t)st.st_mtim.tv_nsec + (uint64_t)st.st_size;
    struct blob *blob = cache_get(a->cache, STR("agent"), version, now_ms);
    if (blob)
        return blob;
    int64_t begin_us = clock_mono_us();
    if (file_read(a->agent_path, AGENT_MAX, &b, NULL) < 0)
        return NULL;
    blob = blob_new(&b);
    cache_put(a->cache, STR("agent"), version, now_ms, clock_mono_us() - begin_us, blob);
    return blob;
}

void own_url(const struct request *rq, char out[OWN_URL_MAX])
{
    struct str host = rq->header(rq, "Host");
    bool tls = rq->tls || str_eq_nocase(rq->header(rq, "X-Forwarded-Proto"), "https");
    for (size_t i = 0; i < host.len; i++) {
        char c = host.p[i];
        bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr(".-_:[]", c);
        if (!fine || !c)
            host.len = 0;
    }
    if (host.len == 0)
        host = STR("localhost:8765");
    snprintf(out, OWN_URL_MAX, "%s://%.*s", tls ? "https" : "http", (int)MIN(host.len, 250u), host.p);
}

enum reply_how get_install(struct api *a, struct request *rq, struct reply *rp)
{
    struct utsname un;
    char url[OWN_URL_MAX], sum[65] = "", curl[128] = "";
    uint8_t hash[32];
    struct blob *agent = agent_blob(a, rq->now_ms);
    uname(&un);
    own_url(rq, url);
    if (agent) {
        sha256(agent->plain.p, agent->plain.len, hash);
        for (size_t i = 0; i < sizeof(hash); i++)
            snprintf(sum + 2 * i, 3, "%02x", hash[i]);
        blob_unref(agent);
    }
    if (a->pin)
        snprintf(curl, sizeof(curl), "-k --pinnedpubkey %s ", a->pin);
    const struct {
        const char *mark, *value;
    } marks[] = {{"@URL@", url},
                 {"@PIN@", a->pin ? a->pin : ""},
                 {"@CURL@", curl},
                 {"@ARCH@", agent ? un.machine : ""},
                 {"@SUM@", sum}};
    rp->type = "text/plain; charset=utf-8";
    rp->body = BUF_INIT(256u << 10);
    /* cppcheck-suppress comparePointers ; one asset, two labels */
    struct str rest = str_n(asset_install, (uintptr_t)asset_install_end - (uintptr_t)asset_install);
    while (rest.len) {
        const char *at = memchr(rest.p, '@', rest.len);
        size_t n = at ? (size_t)(at - rest.p) : rest.len, used = n;
        buf_add(&rp->body, rest.p, n);
        struct str here = str_n(rest.p + n, rest.len - n);
        size_t i = 0;
        while (here.len && i < ARRAY_LEN(marks) && !str_starts(here, marks[i].mark))
            i++;
        if (here.len && i < ARRAY_LEN(marks)) {
            buf_adds(&rp->body, marks[i].value);
            used += strlen(marks[i].mark);
        } else if (here.len) {
            buf_addc(&rp->body, '@');
            used++;
        }
        rest = str_n(rest.p + used, rest.len - used);
    }
    return REPLY_NOW;
}

enum reply_how get_install_file(struct api *a, struct request *rq, struct reply *rp)
{
    struct utsname un;
    struct str name = rq->tail;
    uname(&un);
    if (str_eq(name, "muster-agent.service")) {
        rp->type = "text/plain; charset=utf-8";
        rp->body = BUF_INIT(64u << 10);
        /* cppcheck-suppress comparePointers ; one asset, two labels */
        buf_add(&rp->body, asset_agent_unit, (uintptr_t)asset_agent_unit_end - (uintptr_t)asset_agent_unit);
        return REPLY_NOW;
    }
    if (!str_skip(&name, "muster-agent-"))
        return reply_problem(rp, 404, "only muster-agent-<arch> and muster-agent.service are handed out here");
    if (!str_eq(name, un.machine))
        return reply_problem(rp, 404, "this hub has the agent for %s only: build one with `make agent` on the node",
                             un.machine);
    rp->blob = agent_blob(a, rq->now_ms);
    if (!rp->blob)
        return reply_problem(rp, 404, "there is no muster-agent beside the hub's own binary");
    rp->type = "application/octet-stream";
    rp->no_gzip = true;
    return REPLY_NOW;
}

enum reply_how get_sd(struct api *a, struct request *rq, struct reply *rp)
{
    struct view v;
    const struct node_now *one[1];
    struct view_ask ask = {.demo = a->demo};
    long long port = request_int(rq, "port", 9100, 1, 65535);
    char text[NAME_MAX_LEN + 16];
    AUTO_FILTER *filter = NULL;
    if (!request_filter(rq, rp, &filter))
        return REPLY_NOW;
    view_of(a->live, &ask, rq->now_ms, one, &v);
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
    return REPLY_NOW;
}
