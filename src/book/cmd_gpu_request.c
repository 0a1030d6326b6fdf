/* cmd_gpu_request.c: converts the requested GPUs to URL parameters, to JSON, and to a search on this machine. */
#include "book/cmd_gpu_request.h"

#include <inttypes.h>
#include <jansson.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/cmd.h"

void gpu_request_json(struct json *j, const struct gpu_request_conf *w, int64_t count)
{
    json_int(j, "count", count);
    json_int(j, "mem", w->mem);
    json_some(j, "model", w->model);
    json_some(j, "node", w->host);
    json_bool(j, "same_host", w->same_host);
    json_int(j, "free_for", w->free_for);
    json_int(j, "need", w->need);
}

static void add_number(struct buf *path, const char *name, int64_t v)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRId64, v);
    client_param(path, name, text);
}

void gpu_request_params(struct buf *path, const struct gpu_request_conf *w, int64_t count)
{
    add_number(path, "count", count);
    add_number(path, "mem", w->mem);
    client_param(path, "model", w->model);
    client_param(path, "node", w->host);
    client_param(path, "same_host", w->same_host ? "true" : "false");
    add_number(path, "free_for", w->free_for);
    add_number(path, "need", w->need);
}

struct pick_request gpu_request_local(const struct gpu_request_conf *w, int64_t count, int64_t now_ms)
{
    struct gpu_request to = {.count = count,
                             .mem = w->mem,
                             .model = str_of(w->model ? w->model : ""),
                             .node = str_of(w->host ? w->host : ""),
                             .one_node = w->same_host,
                             .free_ms = w->free_for,
                             .need_ms = w->need};

    return gpu_request_pick(&to, "", 0, now_ms);
}

const char *gpu_request_host(char out[NAME_MAX_LEN])
{
    out[0] = 0;
    gethostname(out, NAME_MAX_LEN - 1);
    out[NAME_MAX_LEN - 1] = 0;
    out[strcspn(out, ".")] = 0;
    return out;
}

void found_read(json_t *o, struct found_gpus *ret)
{
    const char *where = json_string_value(json_object_get(o, "where"));
    char own[NAME_MAX_LEN];
    json_t *one;
    size_t i;

    ret->here = true;
    ret->free_until_ms = json_integer_value(json_object_get(o, "free_until"));
    gpu_request_host(own);
    mem_copy_str(ret->places, sizeof(ret->places), where ? where : "");
    buf_reset(&ret->uuids);
    json_array_foreach (json_object_get(o, "devices"), i, one) {
        const char *uuid = json_string_value(json_object_get(one, "device"));
        const char *node = json_string_value(json_object_get(one, "node"));
        struct str head = str_of(node ? node : "");
        head.len = strcspn(head.p, ".");
        ret->here &= str_eq(head, own);
        buf_addf(&ret->uuids, "%s%s", ret->uuids.len ? "," : "", uuid ? uuid : "");
    }
}
