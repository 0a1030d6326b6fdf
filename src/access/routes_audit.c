/* routes_audit.c: the route by which admins read the audit log. Its entries are JSON already, and go out as they are.
 */
#include "base/json.h"
#include "base/mem.h"
#include "base/when.h"
#include "hub/handlers.h"
#include "hub/hub.h"
#include "hub/past.h"
#include "store/records.h"

#define ROWS_BYTES (64u << 20)
#define ROWS_MAX   100000
#define ROWS_USUAL 1000

struct audit_list {
    struct async_query ask; /* first */
    int64_t from_ms, to_ms;
    size_t limit, n;
    bool lines; /* JSON lines */
    bool more;
    struct buf person; /* the field "person":"kim" of the entries; empty: all */
    struct buf *out;
    struct json j;
};

static void put_entry(void *arg, const struct note *n)
{
    struct audit_list *l = arg;

    if (l->more || (l->person.len && !memmem(n->bytes.p, n->bytes.len, l->person.p, l->person.len)))
        return;
    if (l->n == l->limit || l->out->len + n->bytes.len + 100 > l->out->max) {
        l->more = true;
        return;
    }
    l->n++;
    if (l->lines) {
        buf_addstr(l->out, n->bytes);
        buf_addc(l->out, '\n');
    } else {
        json_raw(&l->j, NULL, n->bytes);
    }
}

static void run_list(struct async_query *k, const struct past_source *past, struct reply *rp)
{
    struct audit_list *l = (struct audit_list *)k;
    struct err err = {0};

    rp->body = BUF_INIT(ROWS_BYTES);
    l->out = &rp->body;
    l->j = json_on(l->out);
    if (!l->lines) {
        json_obj(&l->j, NULL);
        json_arr(&l->j, "rows");
    }
    int r = past_each(past,
                      EACH_NOTE(NOTE_AUDIT, put_entry, l, .from_ms = note_id_at(l->from_ms),
                                .to_ms = note_id_at(l->to_ms), .limit = l->person.len ? AUDIT_MAX : l->limit + 1),
                      &err);
    if (r < 0) {
        reply_fini(rp);
        reply_problem(rp, 503, "the audit log cannot be read: %s", err.msg);
        return;
    }
    snprintf(rp->cache, sizeof(rp->cache), "no-store");
    if (l->lines) {
        rp->type = "application/x-ndjson";
        return;
    }
    json_end_arr(&l->j);
    json_bool(&l->j, "more", l->more);
    reply_object_end(rp, &l->j);
}

static void end_list(struct async_query *k)
{
    struct audit_list *l = (struct audit_list *)k;

    buf_fini(&l->person);
    free(l);
}

enum reply_mode get_audit(struct api *a, struct request *rq, struct reply *rp)
{
    struct str from = request_query(rq, "from"), to = request_query(rq, "to"), format = request_query(rq, "format"),
               person = request_query(rq, "person");
    struct err err = {0};
    int64_t from_ms = 0, to_ms = WHEN_END_MS;

    if ((from.len && when_parse(from, "from", rq->now_ms, &from_ms, &err) < 0) ||
        (to.len && when_parse(to, "to", rq->now_ms, &to_ms, &err) < 0))
        return reply_problem(rp, 400, "%s", err.msg);
    if (format.len && !str_eq(format, "json") && !str_eq(format, "jsonl"))
        return reply_problem(rp, 400, "unknown format '%.*s'; use json or jsonl", (int)MIN(format.len, 40u), format.p);
    if (person.len > 200)
        return reply_problem(rp, 400, "person must be at most 200 bytes");
    struct audit_list *l = NEW(struct audit_list, .ask = {.run = run_list, .end = end_list}, .from_ms = from_ms,
                               .to_ms = to_ms, .limit = (size_t)request_int(rq, "limit", ROWS_USUAL, 1, ROWS_MAX),
                               .lines = str_eq(format, "jsonl"), .person = BUF_INIT(2000));
    if (person.len) {
        buf_adds(&l->person, "\"person\":");
        json_escape(&l->person, person);
    }
    return query_async(a->hub, rq, rp, &l->ask);
}
