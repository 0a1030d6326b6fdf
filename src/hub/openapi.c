/* openapi.c: the route table as an OpenAPI 3.1 document: a loop, so that it cannot forget a route. */
#include "base/json.h"
#include "hub/handlers.h"

static void parameter(struct json *j, struct str name, const char *where, struct str about)
{
    json_obj(j, NULL);
    json_str(j, "name", name);
    json_cstr(j, "in", where);
    if (strcmp(where, "path") == 0)
        json_bool(j, "required", true);
    if (about.len)
        json_str(j, "description", about);
    json_raw(j, "schema", STR("{\"type\":\"string\"}"));
    json_end_obj(j);
}

static void operation(struct json *j, const struct route *r, const char *method)
{
    static const char *const need[ROLE_COUNT] = {"read", "agent", "enroll", "member", "admin", "relay", "read", "hub"};
    struct str rest = str_of(r->params), one, name;
    const char *open = strchr(r->path, '{'), *close = open ? strchr(open, '}') : NULL;
    json_obj(j, method);
    json_cstr(j, "summary", r->summary);
    json_cstr(j, "x-muster-role", r->open ? "none" : r->agents ? "member or agent" : need[r->need]);
    if (r->write)
        json_bool(j, "x-muster-audit", !r->no_audit);
    if (r->params || open) {
        json_arr(j, "parameters");
        if (open)
            parameter(j, str_n(open + 1, (size_t)(close - open - 1 - (close[-1] == '*'))), "path", str_n("", 0));
        while (r->params && str_cut(&rest, ';', &one)) {
            one = str_trim(one);
            str_cut(&one, ':', &name);
            parameter(j, name, "query", str_trim(one));
        }
        json_end_arr(j);
    }
    if (!r->open) {
        /* {}: open, if so configured */
        json_raw(j, "security", r->need == ROLE_NONE ? STR("[{},{\"token\":[]}]") : STR("[{\"token\":[]}]"));
    }
    json_raw(j, "responses",
             STR("{\"200\":{\"description\":\"done\"},\"default\":{\"description\":\"RFC 9457 problem JSON\"}}"));
    json_end_obj(j);
}

/* Two features may have routes with the same path and different methods. */
static bool first_of_path(const struct route *const *at)
{
    for (const struct route *const *r = routes_all(); r < at; r++)
        if (strcmp((*r)->path, (*at)->path) == 0)
            return false;
    return true;
}

static void path(struct json *j, const struct route *const *from)
{
    static const char *const words[METHODS] = {"get", NULL, "post", "put", "patch", "delete"}; /* HEAD is as GET */

    json_obj(j, (*from)->path);
    for (const struct route *const *r = from; *r; r++)
        for (size_t i = 0; i < METHODS; i++)
            if (strcmp((*r)->path, (*from)->path) == 0 && words[i] && (*r)->methods >> i & 1)
                operation(j, *r, words[i]);
    json_end_obj(j);
}

enum reply_mode get_openapi(struct api *a, struct request *rq, struct reply *rp)
{
    rp->blob = cache_get(a->cache, STR("openapi"), 1, rq->now_ms); /* the table is what it is */
    if (rp->blob)
        return REPLY_NOW;
    struct buf out = BUF_INIT(1u << 20);
    struct json j = json_on(&out);
    json_obj(&j, NULL);
    json_cstr(&j, "openapi", "3.1.0");
    json_obj(&j, "info");
    json_cstr(&j, "title", "muster");
    json_cstr(&j, "version", a->version);
    json_end_obj(&j);
    json_obj(&j, "paths");
    for (const struct route *const *r = routes_all(); *r; r++)
        if (first_of_path(r))
            path(&j, r);
    json_end_obj(&j);
    json_raw(&j, "components", STR("{\"securitySchemes\":{\"token\":{\"type\":\"http\",\"scheme\":\"bearer\"}}}"));
    json_end_obj(&j);
    rp->blob = blob_new(&out);
    cache_keep(a->cache, STR("openapi"), 1, rq->now_ms, rp->blob);
    return REPLY_NOW;
}
