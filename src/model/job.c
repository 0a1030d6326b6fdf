/* job.c: copying, comparing and naming jobs. */
#include "model/job.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/rand.h"
#include "base/str.h"
#include "model/fact.h"

static const struct record_field fields[] = {
#define FIELD(no, field, ...) RECORD_FIELD(job_fact, no, field, __VA_ARGS__),
#define KEY(no, field, ...)   RECORD_FIELD(job_fact, no, field, __VA_ARGS__, .put = PUT_KEY, .none = 1),
#include "model/job.def"
};
const struct record_kind job_record = {"jobs", fields, ARRAY_LEN(fields), sizeof(struct job_fact)};

struct job_fact *job_copy(const struct job_fact *j)
{
    return record_copy(&job_record, j);
}

struct job_fact job_changed(const struct job_fact *j, const struct job_change *c)
{
    struct job_fact to = *j;

    to.start_ms = c->start_ms ? c->start_ms : j->start_ms;
    to.parent = c->parent == JOB_NO_PARENT ? 0 : c->parent ? c->parent : j->parent;
    to.end_ms = c->end_ms >= 0 ? c->end_ms : j->end_ms;
    to.name = c->name ? c->name : j->name;
    to.person = c->person ? c->person : j->person;
    to.node = c->node ? c->node : j->node;
    to.devices = c->devices ? c->devices : j->devices;
    to.pids = c->pids ? c->pids : j->pids;
    to.attrs = c->attrs ? c->attrs : j->attrs;
    return to;
}

static const char *other_text(const char *was, const char *is)
{
    return strcmp(was, is) != 0 ? is : NULL;
}

bool job_difference(const struct job_fact *was, const struct job_fact *is, struct job_change *ret)
{
    *ret = (struct job_change){.id = is->id,
                               .end_ms = was->end_ms != is->end_ms ? is->end_ms : -1,
                               .start_ms = was->start_ms != is->start_ms ? is->start_ms : 0,
                               .parent = was->parent == is->parent ? 0
                                         : is->parent              ? is->parent
                                                                   : JOB_NO_PARENT,
                               .name = other_text(was->name, is->name),
                               .person = other_text(was->person, is->person),
                               .node = other_text(was->node, is->node),
                               .devices = other_text(was->devices, is->devices),
                               .pids = other_text(was->pids, is->pids),
                               .attrs = other_text(was->attrs, is->attrs)};
    return ret->end_ms >= 0 || ret->start_ms || ret->parent || ret->name || ret->person || ret->node || ret->devices ||
           ret->pids || ret->attrs;
}

static bool same(const char *want, const char *have)
{
    return !want || !want[0] || strcmp(want, have) == 0;
}

static bool lists(const char *devices, const char *want)
{
    return !want || !want[0] || str_listed(devices, str_of(want));
}

bool job_fits(const struct job_fact *j, const struct job_query *ask)
{
    bool begun = !ask->to_ms || j->start_ms < ask->to_ms;
    /* a job of zero length is present at its start */
    bool lasts = !j->end_ms || j->end_ms > ask->from_ms || (j->end_ms == j->start_ms && j->start_ms >= ask->from_ms);

    return begun && lasts && (!ask->parent || ask->parent == j->parent) && same(ask->node, j->node) &&
           same(ask->person, j->person) && same(ask->kind, j->kind) && lists(j->devices, ask->device);
}

int job_order(const void *x, const void *y)
{
    const struct job_fact *a = *(const struct job_fact *const *)x, *b = *(const struct job_fact *const *)y;

    return ORDER(b->start_ms, a->start_ms) ?: ORDER(b->id, a->id);
}

int64_t job_wandb_id(const char *team, const char *project, const char *run)
{
    AUTO_BUF b = BUF_INIT(4096);

    buf_addf(&b, "wandb\n%s\n%s\n%s", team, project, run);
    int64_t id = (int64_t)(fnv64(b.p, b.len) & INT64_MAX);
    return id ? id : 1;
}

const char *job_id_text(int64_t id, char out[JOB_ID_LEN])
{
    snprintf(out, JOB_ID_LEN, "%016" PRIx64, (uint64_t)id);
    return out;
}
