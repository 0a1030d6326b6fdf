/*
 * wiredump.c: a wire stream on standard input as one JSON object per line, for integration tests: what was sent, by
 * the reader that the hub uses. Ends with status 1 and a sentence at the first thing that is not right.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/json.h"
#include "wire/wire.h"

static void hex64(struct json *j, const char *key, uint64_t v)
{
    char text[20];

    snprintf(text, sizeof(text), "%016llx", (unsigned long long)v);
    json_cstr(j, key, text);
}

static int dump_hello(struct json *j, const struct frame *f, struct err *err)
{
    struct hello h;
    int r = wire_hello(f, &h, err);

    if (r < 0)
        return r;
    json_cstr(j, "type", "hello");
    hex64(j, "run", h.run);
    json_int(j, "sent_ms", h.sent_ms);
    json_int(j, "since_ms", h.state_since_ms);
    json_cstr(j, "collect", collect_words[h.collect]);
    json_int(j, "stuck", h.stuck);
    json_int(j, "backlog", h.backlog);
    json_cstr(j, "name", h.name);
    json_cstr(j, "why", h.why);
    return 0;
}

static int dump_facts(struct json *j, const struct frame *f, struct err *err)
{
    struct node_fact n = {0};
    int r = wire_facts(f, &n, err);

    if (r < 0)
        return r;
    json_cstr(j, "type", "facts");
    hex64(j, "id", f->id);
    json_cstr(j, "name", n.name);
    json_cstr(j, "driver", n.driver);
    json_cstr(j, "agent", n.agent);
    json_cstr(j, "collector", n.collector);
    json_int(j, "tick_ms", n.tick_ms);
    json_arr(j, "devices");
    for (size_t i = 0; i < n.n_devices; i++) {
        json_obj(j, NULL);
        json_cstr(j, "uuid", n.devices[i].uuid);
        json_bool(j, "lost", n.devices[i].lost);
        json_end_obj(j);
    }
    json_end_arr(j);
    node_fact_fini(&n);
    return 0;
}

static int dump_procs(struct json *j, const struct frame *f, struct err *err)
{
    struct proc_list l = {0};
    int r = wire_procs(f, &l, err);

    if (r < 0)
        return r;
    json_cstr(j, "type", "procs");
    hex64(j, "id", f->id);
    json_arr(j, "procs");
    for (size_t i = 0; i < l.n; i++) {
        json_obj(j, NULL);
        json_int(j, "pid", l.v[i].pid);
        json_cstr(j, "user", l.v[i].user);
        json_cstr(j, "name", l.v[i].name);
        json_cstr(j, "cmd", l.v[i].cmd);
        json_end_obj(j);
    }
    json_end_arr(j);
    proc_list_fini(&l);
    return 0;
}

static void dump_column(struct json *j, const struct batch *b, const struct column *c)
{
    int m = metric_by_no(c->metric);
    char custom[24];

    json_obj(j, NULL);
    snprintf(custom, sizeof(custom), "custom%u", c->metric);
    json_cstr(j, "metric", m >= 0 ? metrics[m].name : custom);
    json_int(j, "slot", c->slot);
    json_arr(j, "v");
    for (size_t t = 0; t < b->n_ticks; t++)
        if (column_has(c, t))
            json_int(j, NULL, c->v[t]);
        else
            json_none(j, NULL);
    json_end_arr(j);
    json_end_obj(j);
}

static int dump_batch(struct json *j, struct wire_dec *dec, const struct frame *f, struct err *err)
{
    struct batch b;
    int r = wire_batch(dec, f, &b, err);

    if (r < 0)
        return r;
    json_cstr(j, "type", "batch");
    hex64(j, "run", b.key.run);
    json_uint(j, "number", b.key.number);
    hex64(j, "facts", b.facts);
    hex64(j, "procs", b.procs);
    json_arr(j, "at_ms");
    for (size_t i = 0; i < b.n_ticks; i++)
        json_int(j, NULL, b.at_ms[i]);
    json_end_arr(j);
    json_arr(j, "columns");
    for (size_t i = 0; i < b.n_columns; i++)
        dump_column(j, &b, &b.columns[i]);
    json_end_arr(j);
    json_arr(j, "uses");
    for (size_t i = 0; i < b.n_uses; i++) {
        json_obj(j, NULL);
        json_int(j, "proc", b.uses[i].proc);
        json_int(j, "slot", b.uses[i].slot);
        json_int(j, "mem", b.uses[i].mem);
        json_end_obj(j);
    }
    json_end_arr(j);
    json_arr(j, "events");
    for (size_t i = 0; i < b.n_events; i++) {
        json_obj(j, NULL);
        json_cstr(j, "kind", b.events[i].kind < EVENT_KINDS ? event_words[b.events[i].kind] : "?");
        json_int(j, "slot", b.events[i].slot);
        json_int(j, "code", b.events[i].code);
        json_cstr(j, "text", b.events[i].text);
        json_end_obj(j);
    }
    json_end_arr(j);
    return 0;
}

static int dump(struct wire_dec *dec, const struct frame *f, struct buf *out, struct err *err)
{
    struct json j = json_on(out);
    char id[33];
    int r = 0;

    json_obj(&j, NULL);
    json_cstr(&j, "node", node_id_text(&f->node, id));
    switch (f->type) {
    case FRAME_HELLO:
        r = dump_hello(&j, f, err);
        break;
    case FRAME_FACTS:
        r = dump_facts(&j, f, err);
        break;
    case FRAME_PROCS:
        r = dump_procs(&j, f, err);
        break;
    case FRAME_BATCH:
        r = dump_batch(&j, dec, f, err);
        break;
    }
    json_end_obj(&j);
    buf_addc(out, '\n');
    return r;
}

int main(void)
{
    AUTO_BUF in = BUF_INIT(256u << 20), out = BUF_INIT(256u << 20);
    struct wire_dec *dec = wire_dec_new();
    struct err err = {0};
    struct frame f;
    int r = buf_read_fd(&in, STDIN_FILENO);
    struct rd rd = rd_of(in.p ? in.p : "", in.len);

    if (r == 0)
        r = wire_check_start(&rd, &err);
    while (r >= 0 && (r = wire_next(&rd, &f, &err)) == 1) {
        buf_reset(&out);
        r = dump(dec, &f, &out, &err);
        fwrite(out.p, 1, out.len, stdout);
    }
    wire_dec_free(dec);
    if (r < 0)
        fprintf(stderr, "wiredump: %s\n", err.msg);
    return r < 0;
}
