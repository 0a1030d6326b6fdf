/* tagged.c: reads a list of runs, page by page, and writes a list of tags back. */
#include "wandb_push/tagged.h"

#include <errno.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/order.h"
#include "wandb_push/upsert.h"

#define PAGE     50
#define TEXT_MAX (16u << 20)

static const char runs[] =
    "query Runs($project:String!,$entity:String!,$cursor:String,$perPage:Int=50,$order:String,$filters:JSONString){"
    "project(name:$project,entityName:$entity){runs(filters:$filters,after:$cursor,first:$perPage,order:$order){"
    "edges{node{id name displayName notes group tags config}} pageInfo{endCursor hasNextPage}}}}";

void tagged_init(struct tagged *t)
{
    t->text = BUF_INIT(65536);
}

static void run_fini(struct tagged_run *r)
{
    FREE_ALL(r->storage_id, r->id, r->display, r->notes, r->group, r->config);
    for (size_t i = 0; i < r->n_tags; i++)
        free(r->tags[i]);
    free(r->tags);
}

void tagged_fini(struct tagged *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n; i++)
        run_fini(&t->v[i]);
    free(t->v);
    free(t->cursor);
    buf_fini(&t->text);
    *t = (struct tagged){0};
}

bool tagged_has(const struct tagged_run *r, const char *tag)
{
    return ANY(r->n_tags, i, strcmp(r->tags[i], tag) == 0);
}

static int next(void *self, struct wandb_request *ret, struct err *err)
{
    struct tagged *t = self;
    AUTO_BUF filter = BUF_INIT(4096);

    if (t->done)
        return 0;
    json_print(&filter, "{'tags':{'$in':[%s]}}", t->tag);
    buf_reset(&t->text);
    json_print(&t->text, "{'project':%s,'entity':%s,'cursor':%s,'perPage':%lld,'order':'-created_at','filters':%s}",
               t->project, t->entity, t->cursor, (long long)PAGE, filter.p);
    *ret = (struct wandb_request){.op = "Runs", .query = runs, .variables = buf_str(&t->text)};
    return t->text.err || filter.err ? err_set(err, -EMSGSIZE, "a name is too long for W&B") : 1;
}

static char *text_of(const json_t *node, const char *key)
{
    return mem_str(json_string_value(json_object_get(node, key)));
}

/* Skips a run whose id or tags cannot be read. */
static void add(struct tagged *t, const json_t *node)
{
    const json_t *tags = json_object_get(node, "tags");
    struct tagged_run r = {.storage_id = text_of(node, "id"), .id = text_of(node, "name")};

    r.tags = mem_zero(json_array_size(tags) + 1, sizeof(*r.tags));
    for (size_t i = 0; i < json_array_size(tags); i++) {
        const char *tag = json_string_value(json_array_get(tags, i));
        if (tag)
            r.tags[r.n_tags++] = mem_str(tag);
    }
    if (!r.storage_id || !r.id || !tagged_has(&r, t->tag)) {
        run_fini(&r);
        return;
    }
    r.display = text_of(node, "displayName");
    r.notes = text_of(node, "notes");
    r.group = text_of(node, "group");
    r.config = text_of(node, "config");
    VEC_ADD(t->v, t->n, t->cap, r);
}

static int take(void *self, const struct wandb_answer *a, struct err *err)
{
    struct tagged *t = self;
    const json_t *project = json_object_get(a->data, "project"), *list = json_object_get(project, "runs");
    const json_t *edges = json_object_get(list, "edges");
    const char *cursor = answer_text(list, "pageInfo.endCursor");

    if (!project || json_is_null(project)) {
        t->done = true;
        return 0;
    }
    if (!json_is_array(edges))
        return err_set(err, -EBADMSG, "W&B's answer has no list of runs of '%.100s/%.100s'", t->entity, t->project);
    for (size_t i = 0; i < json_array_size(edges); i++)
        add(t, json_object_get(json_array_get(edges, i), "node"));
    if (t->n > TAGGED_MAX)
        return err_set(err, -E2BIG, "more than %d runs have the tag '%.60s'", TAGGED_MAX, t->tag);
    t->done = !json_is_true(answer_at(list, "pageInfo.hasNextPage")) || !json_array_size(edges);
    if (!t->done && (!cursor || (t->cursor && strcmp(t->cursor, cursor) == 0)))
        return err_set(err, -EBADMSG, "W&B's list of runs of '%.100s/%.100s' has no next page", t->entity, t->project);
    free(t->cursor);
    t->cursor = mem_str(cursor);
    return 0;
}

struct wandb_job tagged_job(struct tagged *t)
{
    return (struct wandb_job){next, take, t};
}

/* ---- untag ---- */

static int untag_next(void *self, struct wandb_request *ret, struct err *err)
{
    struct untag *u = self;
    const struct tagged_run *r = u->run;

    if (u->done)
        return 0;
    if (!u->text.max)
        u->text = BUF_INIT(TEXT_MAX);
    buf_reset(&u->text);
    json_print(&u->text, "{'id':%s,'displayName':%s,'notes':%s,'groupName':%s,'config':%s,'tags':", r->storage_id,
               r->display, r->notes, r->group, r->config);
    struct json j = json_on(&u->text);
    json_arr(&j, NULL);
    for (size_t i = 0; i < r->n_tags; i++)
        if (strcmp(r->tags[i], u->tag) != 0)
            json_cstr(&j, NULL, r->tags[i]);
    json_end_arr(&j);
    buf_addc(&u->text, '}');
    return upsert_request(&u->text, ret, err);
}

static int untag_take(void *self, const struct wandb_answer *a, struct err *err)
{
    struct untag *u = self;

    if (!answer_text(a->data, "upsertBucket.bucket.id"))
        return err_set(err, -EBADMSG, "W&B's answer has no run, so '%.60s' may still be tagged", u->run->id);
    u->done = true;
    buf_fini(&u->text);
    return 0;
}

struct wandb_job untag_job(struct untag *u)
{
    return (struct wandb_job){untag_next, untag_take, u};
}

void untag_fini(struct untag *u)
{
    if (u)
        buf_fini(&u->text);
}
