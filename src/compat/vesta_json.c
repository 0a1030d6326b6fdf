/* vesta_json.c: /states/ as vesta's README documents it: MiB, percent, and a timestamp that is the number
 * YYYYMMDDhhmmss in the server's local time, or a text where vesta's settings had a form for it. What is not known is
 * null. */
#include "format/render.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/order.h"
#include "format/words.h"

#define MIB ((int64_t)1 << 20)

static void key(struct json *j, const char *name) /* a name from outside: escaped */
{
    if (j->comma)
        buf_addc(j->out, ',');
    json_escape(j->out, str_of(name));
    buf_addc(j->out, ':');
    j->comma = false;
}

static void value(struct json *j, const char *name, const struct sample *s, enum metric m, int64_t per)
{
    json_known(j, name, sample_has(s, m), s->v[m] / per);
}

static void put_stamp(struct json *j, const struct view *v, int64_t at_ms)
{
    char when[32];

    time_as(at_ms, v->time_form, when);
    if (v->time_form == TIME_NUMBER)
        json_raw(j, "timestamp", str_of(when));
    else
        json_cstr(j, "timestamp", when);
}

static void put_procs(struct json *j, const struct device_now *d)
{
    json_arr(j, "processes");
    for (size_t i = 0; i < d->n_procs; i++) {
        const struct proc_now *p = &d->procs[i];
        char pid[16];
        json_obj(j, NULL);
        json_cstr(j, "name", p->fact->name);
        snprintf(pid, sizeof(pid), "%d", (int)p->fact->pid);
        json_cstr(j, "pid", pid);
        json_known(j, "used_memory", p->mem >= 0, p->mem / MIB);
        json_cstr(j, "user", p->fact->user);
        json_end_obj(j);
    }
    json_end_arr(j);
}

/* Of a sender's GPU what its newest post said: a value that it did not give is unknown, not that of the post before. */
static void newest_of(const struct node_now *n, const struct device_now *d, struct sample *ret)
{
    *ret = d->now;
    for (unsigned m = 0; m < M_COUNT && strcmp(n->fact.collector, "vesta") == 0; m++)
        if (d->v_at_ms[m] < d->at_ms)
            bits_clear(&ret->have, m);
}

static void put_gpu(struct json *j, const struct node_now *n, const struct device_now *d)
{
    struct sample newest, *s = &newest;
    char when[32];
    int64_t left = 0;

    newest_of(n, d, &newest);
    bool known = memory_left(s, &left);
    json_obj(j, NULL);
    json_known(j, "available_memory", known, left / MIB);
    json_int(j, "device_num", d->fact.index);
    json_cstr(j, "gpu_name", d->fact.name);
    value(j, "gpu_volatile", s, M_util, 100);
    put_procs(j, d);
    value(j, "temperature", s, M_temp, 1000);
    json_cstr(j, "timestamp", device_stamp(n, d, when));
    value(j, "total_memory", s, M_mem_total, MIB);
    value(j, "used_memory", s, M_mem_used, MIB);
    json_cstr(j, "uuid", d->fact.uuid);
    json_end_obj(j);
}

/* "gpu:0"; a MIG instance shares its GPU's number and adds its own. */
static void gpu_key(struct json *j, const struct device_now *d)
{
    char name[40];

    if (d->fact.parent[0])
        snprintf(name, sizeof(name), "gpu:%d.%d", (int)d->fact.index, (int)d->fact.mig);
    else
        snprintf(name, sizeof(name), "gpu:%d", (int)d->fact.index);
    key(j, name);
}

const char *vesta_status(const struct node_now *n)
{
    if (!n->at_ms || n->awaited)
        return "waiting for re-uplink";
    return node_is_silent(n) ? "down" : "running";
}

static void put_entry(struct json *j, const struct view *v, const struct node_now *n, bool data)
{
    json_obj(j, NULL);
    json_obj(j, "gpu_data");
    for (size_t i = 0; data && i < n->n_devices; i++)
        if (n->devices[i].at_ms && n->devices[i].state != DEV_LOST) {
            gpu_key(j, &n->devices[i]);
            put_gpu(j, n, &n->devices[i]);
        }
    json_end_obj(j);
    if (n->at_ms && !n->never_sampled)
        put_stamp(j, v, n->at_ms);
    else
        json_cstr(j, "timestamp", "no entry received.");
    json_end_obj(j);
}

static void start_host(struct json *j, const char *name)
{
    key(j, name);
    json_obj(j, NULL);
    json_arr(j, "data");
}

static void end_host(struct json *j, const char *address, const char *status)
{
    json_end_arr(j);
    json_cstr(j, "ip_address", address);
    json_cstr(j, "status", status);
    json_end_obj(j);
}

/* always: the data even of a host that is down, as vesta answers for one host. */
static void put_host(struct json *j, const struct view *v, const struct node_now *n, bool always)
{
    const char *status = vesta_status(n);

    start_host(j, n->name);
    put_entry(j, v, n, always || strcmp(status, "down") != 0);
    end_host(j, n->address, status);
}

bool vesta_needs_history(const struct node_now *n, bool alone)
{
    return !ANY(n->n_devices, i, n->devices[i].at_ms) && !n->never_sampled && n->at_ms &&
           (alone || strcmp(vesta_status(n), "down") != 0);
}

void render_vesta_member(struct buf *out, const struct view *v, const struct node_now *n, bool alone)
{
    struct json j = json_on(out);

    put_host(&j, v, n, alone);
}

void render_vesta_past(struct buf *out, const struct view *v, const char *name, const char *address, const char *status,
                       int64_t at_ms, const struct node_now *entries, size_t n)
{
    struct json j = json_on(out);
    const struct node_now none = {.at_ms = at_ms};

    j.comma = out->len > 1 && out->p[out->len - 1] == '}';
    start_host(&j, name);
    for (size_t i = 0; i < n; i++)
        put_entry(&j, v, &entries[i], true);
    if (n == 0)
        put_entry(&j, v, &none, false);
    end_host(&j, address, status);
}

void render_vesta_states(struct buf *out, const struct view *v)
{
    struct json j = json_on(out);

    json_obj(&j, NULL);
    for (size_t i = 0; i < v->n && out->err == 0; i++)
        if (i == 0 || strcmp(v->nodes[i - 1]->name, v->nodes[i]->name) != 0) /* a key once; twins stand side by side */
            put_host(&j, v, v->nodes[i], false);
    json_end_obj(&j);
    buf_addc(out, '\n');
}

void render_vesta_host(struct buf *out, const struct view *v, const struct node_now *n)
{
    struct json j = json_on(out);

    json_obj(&j, NULL);
    put_host(&j, v, n, true);
    json_end_obj(&j);
    buf_addc(out, '\n');
}
