/* job.c: runs errands side by side on the loop. */
#include "wandb_pull/job.h"

#include <errno.h>

#include "base/mem.h"

struct running {
    struct wandb *w;
    size_t left; /* errands that are not done */
    struct err err;
};

struct one {
    struct running *all;
    const struct wandb_job *e;
};

static void step(struct one *o);

static void ended(struct one *o)
{
    if (--o->all->left == 0)
        event_base_loopbreak(wandb_base(o->all->w));
}

static void failed(struct one *o, int code, const struct err *err)
{
    if (!o->all->err.code) {
        o->all->err = *err;
        o->all->err.code = code == -EINVAL ? -EPROTO : code; /* W&B's no is not the user's mistake */
    }
    ended(o);
}

static void answered(void *arg, const struct wandb_answer *a)
{
    struct one *o = arg;
    struct err err = {0};

    if (a->err.code) {
        failed(o, a->err.code, &a->err);
        return;
    }
    int r = o->e->take(o->e->self, a, &err);
    if (r < 0)
        failed(o, r, &err);
    else
        step(o);
}

static void step(struct one *o)
{
    struct wandb_request q = {0};
    struct err err = {0};

    if (o->all->err.code) { /* another one failed */
        ended(o);
        return;
    }
    int r = o->e->next(o->e->self, &q, &err);
    if (r > 0)
        r = wandb_send(o->all->w, &q, answered, o, &err) < 0 ? err.code : 1;
    if (r < 0)
        failed(o, r, &err);
    else if (r == 0)
        ended(o);
}

int errands_run(struct wandb *w, const struct wandb_job *v, size_t n, struct err *err)
{
    struct running all = {.w = w, .left = n};
    AUTO_FREE struct one *ones = mem_zero(n + 1, sizeof(*ones));

    for (size_t i = 0; i < n; i++) {
        ones[i] = (struct one){&all, &v[i]};
        step(&ones[i]);
    }
    while (all.left)
        if (event_base_dispatch(wandb_base(w)) != 0 && all.left)
            return err_set(err, -EIO, "the loop ended before W&B had answered");
    if (all.err.code && err)
        *err = all.err;
    return all.err.code;
}

const json_t *answer_at(const json_t *data, const char *path)
{
    struct str rest = str_of(path), key;

    while (data && str_cut(&rest, '.', &key)) {
        char name[64];
        snprintf(name, sizeof(name), "%.*s", STR_ARG(key));
        data = json_object_get(data, name); /* returns NULL if data is not an object */
    }
    return data;
}

const char *answer_text(const json_t *data, const char *path)
{
    const char *s = json_string_value(answer_at(data, path));

    return s && s[0] ? s : NULL;
}
