/* blacklist.c: reads the list, from bytes or from W&B. */
#include "wandb_pull/blacklist.h"

#include <errno.h>
#include <jansson.h>

#include "base/mem.h"
#include "base/str.h"
#include "wandb_pull/artifact_get.h"

/* "team/project/run": names have no slash in them. The parts are copied into one piece, which team points at. */
static bool split(const char *path, struct wandb_run *ret)
{
    struct str rest = str_of(path), part;

    if (strlen(path) > 3 * WANDB_NAME_MAX + 2 || !str_utf8_ok(rest))
        return false;
    str_skip(&rest, "/");
    char *own = mem_strn(rest.p, rest.len);
    struct str at = str_of(own);
    const char **const to[] = {&ret->team, &ret->project, &ret->id};
    for (size_t i = 0; i < ARRAY_LEN(to); i++) {
        if (!str_cut(&at, '/', &part) || part.len == 0 || part.len > WANDB_NAME_MAX || (i == 2 && at.len)) {
            free(own);
            return false;
        }
        own[part.p - own + (ptrdiff_t)part.len] = 0;
        *to[i] = part.p;
    }
    return true;
}

int blacklist_read(struct str text, struct blacklist *ret, struct err *err)
{
    json_error_t why;
    struct blacklist b = {0};
    int r = 0;

    if (text.len > BLACKLIST_BYTES_MAX)
        return err_set(err, -E2BIG, "the blacklist has more than %d bytes", BLACKLIST_BYTES_MAX);
    json_auto_t *list = json_loadb(text.p, text.len, JSON_REJECT_DUPLICATES, &why);
    if (!list)
        return err_set(err, -EINVAL, "line %d: %s", why.line, why.text);
    if (!json_is_array(list))
        return err_set(err, -EINVAL, "a blacklist is a JSON list of {\"run_path\": \"team/project/run\"}");
    size_t n = json_array_size(list);
    if (n > BLACKLIST_MAX)
        r = err_set(err, -E2BIG, "the blacklist has more than %d runs", BLACKLIST_MAX);
    b.v = mem_zero(n, sizeof(*b.v));
    for (size_t i = 0; r == 0 && i < n; i++) {
        const char *path = json_string_value(json_object_get(json_array_get(list, i), "run_path"));
        if (!path || !split(path, &b.v[i]))
            r = err_set(err, -EINVAL, "entry %zu of the blacklist: run_path is %s%.200s%s; expected team/project/run",
                        i + 1, path ? "'" : "", path ? path : "missing", path ? "'" : "");
        else
            b.n++;
    }
    if (r < 0)
        blacklist_fini(&b);
    else
        *ret = b;
    return r;
}

void blacklist_fini(struct blacklist *b)
{
    for (size_t i = 0; b && i < b->n; i++) {
        void *own = (void *)b->v[i].team;
        free(own);
    }
    if (b)
        free(b->v);
}

int blacklist_pull(struct wandb *w, const struct wandb_config *c, struct wandb_store *s, struct err *err)
{
    const struct wandb_place *at = &c->blacklist;
    AUTO_BLACKLIST b = {0};

    if (!at->entity || !at->project || !at->name)
        return 0;
    AUTO_FREE char *name = mem_fmt("%s:latest", at->name), *file = mem_fmt("%s.json", at->name);
    AUTO_ARTIFACT_GET g = {.entity = at->entity,
                           .project = at->project,
                           .name = name,
                           .file = file,
                           .max = BLACKLIST_BYTES_MAX};
    artifact_get_init(&g);
    int r = wandb_job_run(w, artifact_get_job(&g), err);
    bool there = r == 0 && g.found;
    if (there && g.empty)
        r = err_set(err, -ENOENT, "its newest version has no file '%s'", file);
    if (there && r == 0)
        r = blacklist_read(buf_str(&g.bytes), &b, err);
    if (there && r == 0)
        r = wandb_barred_set(s, b.v, b.n, err);
    if (r < 0)
        return err_prefix(err, r, "the blacklist '%.100s/%.100s/%.100s' could not be read, and the one before stays",
                          at->entity, at->project, at->name);
    return there;
}
