/* cmd_free.c: `muster free N`: N GPUs that are free now, for scripts. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/plain.h"
#include "base/time_text.h"
#include "base/zone.h"
#include "book/cmd_gpu_request.h"
#include "cli/cli.h"
#include "cli/cmd.h"
#include "now/cmd_local.h"

struct free_conf {
    struct client_conf client;
    struct gpu_request_conf wish;
    bool uuids, json;
};

static const struct opt free_opts[] = {
    CLIENT_OPTS(free_conf, client),
    GPU_REQUEST_OPTS(free_conf, wish),
    OPT(free_conf, uuids, 'u', OPT_BOOL, NULL, NULL, "print comma-separated UUIDs, for CUDA_VISIBLE_DEVICES"),
    OPT(free_conf, json, 0, OPT_BOOL, NULL, NULL, "print JSON"),
    {0},
};
const struct opt_cmd free_help = {
    .name = "muster free",
    .summary = "print GPUs that are free now",
    .args = "[N]",
    .about =
        "Prints N GPUs (default: 1) that are free, not booked and not reserved by the wait queue, on one node if "
        "possible: 'dgx2:0,1'. GPUs without a booking in the next 24 hours come first; for other GPUs it prints on "
        "standard error until when they are free. It queries the hub (--hub, MUSTER_HUB, or the hub on this machine). "
        "Without a hub it checks this machine only, without --for and bookings. If there are too few GPUs it prints "
        "nothing on standard output and exits with 1. To queue for GPUs use `muster wait`.",
    .examples = "muster free 2 --model H200\n"
                "CUDA_VISIBLE_DEVICES=$(muster free 1 --host \"$(hostname)\" --uuids) python train.py\n"
                "muster free 8 --same-host --json",
    .opts = free_opts,
    .conf_size = sizeof(struct free_conf),
    .no = (const int[]){EEXIST, EBUSY, EACCES, ENOENT, 0},
};

static int from_hub(const struct free_conf *conf, int64_t count, struct found_gpus *ret, struct buf *raw,
                    struct err *err)
{
    AUTO_BUF path = BUF_INIT(8192);

    buf_adds(&path, "/api/v1/free");
    gpu_request_params(&path, &conf->wish, count);
    int r = client_request(&conf->client, "GET", path.p, str_of(""), raw, err);
    if (r < 0)
        return r;
    json_auto_t *o = client_json(buf_str(raw));
    found_read(o, ret);
    return ret->uuids.len ? 0 : err_set(err, -EREMOTEIO, "the hub sent an unexpected response; is it a muster hub?");
}

static int from_here(const struct free_conf *conf, int64_t count, struct found_gpus *ret, struct buf *raw,
                     struct err *err)
{
    struct local_view h = {0};
    struct gpu_request_conf w = conf->wish;
    AUTO_BUF places = BUF_INIT(BOOKING_PLACES_MAX);
    size_t n;
    int r = local_view_once(&h, err);

    w.free_for = 0; /* the past is unknown to this single read */
    if (r >= 0) {
        live_tick(h.live, clock_wall_ms());
        const struct node_now *const *nodes = live_nodes(h.live, false, &n);
        struct pick_request p = gpu_request_local(&w, count, clock_wall_ms());
        r = pick_among(nodes, n, NULL, &p, &ret->uuids, err);
    }
    if (r == 0) {
        pick_places(h.live, buf_str(&ret->uuids), &places);
        mem_copy_str(ret->places, sizeof(ret->places), places.p);
        struct json j = json_on(raw);
        json_obj(&j, NULL);
        json_cstr(&j, "where", ret->places);
        json_arr(&j, "devices");
        struct str rest = buf_str(&ret->uuids), one;
        while (str_cut(&rest, ',', &one)) {
            json_obj(&j, NULL);
            json_str(&j, "device", one);
            json_end_obj(&j);
        }
        json_end_arr(&j);
        json_end_obj(&j);
        buf_addc(raw, '\n');
    }
    local_view_close(&h);
    return r;
}

/* To standard error: standard output is for scripts. */
static void note_booking(int64_t from_ms, int64_t count)
{
    char from[MOMENT_TEXT];
    struct zone *zone = NULL;

    zone_load(NULL, &zone, NULL);
    cli_fail(&free_help, EXIT_OK, "%s booked from %s", count == 1 ? "it is" : "one of them is",
             time_text(from_ms, zone, from));
    zone_free(zone);
}

int cmd_free(struct cmd_call *c)
{
    const struct free_conf *conf = c->conf;
    struct found_gpus f = {.uuids = BUF_INIT(BOOKING_DEVICES * (size_t)UUID_MAX)};
    AUTO_BUF raw = BUF_INIT(1u << 20), out = BUF_INIT(1u << 20);
    int64_t count = 1;

    if (c->argc > 1 || (c->argc && (!str_int(str_of(c->argv[0]), &count) || count < 1 || count > BOOKING_DEVICES)))
        return err_set(&c->err, -EINVAL, "how many? A number from 1 to %d, as in: muster free 2", BOOKING_DEVICES);
    int r = client_hub_responds(&conf->client) ? from_hub(conf, count, &f, &raw, &c->err)
                                               : from_here(conf, count, &f, &raw, &c->err);
    if (r == 0 && conf->json)
        plain_json(&out, buf_str(&raw));
    else if (r == 0)
        buf_addf(&out, "%s\n", conf->uuids ? f.uuids.p : f.places);
    buf_fini(&f.uuids);
    if (r == 0 && f.free_until_ms)
        note_booking(f.free_until_ms, count);
    if (r == -EBUSY || r == -EEXIST) /* too few are free: a hub replies 409 */
        return cli_fail(&free_help, EXIT_NO, "%s; wait with `muster wait -n %" PRId64 "`", c->err.msg, count);
    return r < 0 ? r : cli_print(&free_help, &out);
}
