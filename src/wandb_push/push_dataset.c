/*
 * push_dataset.c: merges all_runs_data at W&B with what the store has, in both places. The old tool took a dataset that
 * it could not read for an empty one, and wrote history back as the rows of one day; here every doubt is an error.
 */
#include "wandb_push/push_dataset.h"

#include <errno.h>

#include "base/mem.h"
#include "wandb_pull/artifact_get.h"
#include "wandb_push/artifact.h"
#include "wandb_push/logged.h"

#define DATASET_BYTES_MAX (256u << 20) /* as much as can be sent */
#define ARTIFACT_NAME_MAX 128          /* of an artifact */

struct taking {
    struct wandb_store *store;
    int64_t taken;
    uint64_t bad_line;
    char why[200]; /* of the first row that cannot be read */
};

/* ---- in ---- */

static int take_row(void *arg, const struct dataset_row *row, struct err *err)
{
    struct taking *t = arg;
    enum wandb_put put = WANDB_ROW_SAME;
    int r = wandb_row_put(t->store, &row->run, &row->day, &put, err);

    t->taken += r == 0 && (put == WANDB_ROW_NEW || put == WANDB_ROW_NEWER);
    return r;
}

static void bad_row(void *arg, uint64_t line, const char *why)
{
    struct taking *t = arg;

    if (!t->bad_line) {
        t->bad_line = line;
        mem_copy_str(t->why, sizeof(t->why), why);
    }
}

/* Into the store. A row that cannot be read could not be written back. */
static int take_in(const struct push_params *ask, const struct artifact_get *g, struct push_sum *sum, struct err *err)
{
    struct taking t = {.store = ask->store};
    struct dataset_take take = {take_row, bad_row, &t};
    struct dataset *d = dataset_new(ask->config->zone, &take);

    int r = dataset_feed(d, buf_str(&g->bytes), err) ?: dataset_end(d, err);
    r = r ?: wandb_rows_end(ask->store, ask->now_ms, err);
    dataset_free(d);
    if (r == 0 && t.bad_line)
        r = err_set(err, -EBADMSG, "line %llu: %s", (unsigned long long)t.bad_line, t.why);
    sum->taken = t.taken;
    if (r == 0)
        return 0;
    r = r == -EINVAL ? -EBADMSG : r; /* it is not the user who got that wrong */
    err->code = r;
    return err_prefix(err, r, "'%.100s' of '%.150s' cannot be read, and so is not overwritten", g->file, g->name);
}

static int read_remote(const struct push_params *ask, struct artifact_get *g, struct push_sum *sum, struct err *err)
{
    artifact_get_init(g);
    int r = wandb_job_run(ask->w, artifact_get_job(g), err);

    if (r < 0)
        return err_prefix(err, r, "the dataset cannot be read, and so is not overwritten");
    if (g->found && g->empty)
        return err_set(err, -EBADMSG, "artifact '%.150s' has no file '%.150s', and so is not overwritten", g->name,
                       g->file);
    return g->found ? take_in(ask, g, sum, err) : 0;
}

/* ---- out ---- */

static int add_piece(void *arg, struct str piece)
{
    return buf_addstr(arg, piece);
}

static int write_versions(const struct push_params *ask, struct artifact *v, size_t n, struct err *err)
{
    char name[40], day[16];
    AUTO_LOGGED run = {.entity = ask->config->dataset.entity,
                       .project = ask->config->dataset.project,
                       .name = name,
                       .job_type = "update-dataset",
                       .config = "{}",
                       .at_ms = ask->now_ms};
    struct wandb_job e[2];

    snprintf(name, sizeof(name), "Update_%s", date_text(ask->to, day));
    artifact_init(&v[0]);
    run.salt = v[0].digest; /* of this very dataset */
    logged_init(&run);
    int r = wandb_job_run(ask->w, logged_begin(&run), err);
    for (size_t i = 0; i < n; i++) {
        v[i].run = run.id;
        if (i)
            artifact_init(&v[i]);
        e[i] = artifact_job(&v[i]);
    }
    return r ?: errands_run(ask->w, e, n, err) ?: wandb_job_run(ask->w, logged_finish(&run), err);
}

static int write_remote(const struct push_params *ask, const struct artifact_get *g, const struct buf *csv,
                        struct err *err)
{
    const struct wandb_place *at = &ask->config->dataset;
    const char *gone = ask->config->deleted_name;
    AUTO_FREE char *gone_file = gone ? mem_fmt("%s.csv", gone) : NULL;
    AUTO_BUF deleted = BUF_INIT(DATASET_BYTES_MAX);
    struct artifact v[2] = {{.entity = at->entity,
                             .project = at->project,
                             .type = "dataset",
                             .name = at->name,
                             .file = g->file,
                             .bytes = buf_str(csv),
                             .newest = g->found ? g->id : ""}};

    int64_t r = gone ? dataset_write_deleted(ask->store, ask->config->zone, 0, add_piece, &deleted, err) : 0;
    v[1] = (struct artifact){.entity = at->entity,
                             .project = at->project,
                             .type = "dataset",
                             .name = gone,
                             .file = gone_file,
                             .bytes = buf_str(&deleted)};
    if (r >= 0)
        r = write_versions(ask, v, gone ? 2 : 1, err);
    artifact_fini(&v[0]);
    artifact_fini(&v[1]);
    return (int)MIN(r, 0);
}

/* What W&B takes for the name of an artifact. */
static bool name_ok(const char *s)
{
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.");

    return n && n < ARTIFACT_NAME_MAX && !s[n];
}

int push_dataset(const struct push_params *ask, struct push_sum *sum, struct err *err)
{
    const struct wandb_place *at = &ask->config->dataset;
    const char *gone = ask->config->deleted_name;
    AUTO_BUF csv = BUF_INIT(DATASET_BYTES_MAX);
    struct dataset_params all = {ask->columns, ask->config->zone, INT32_MIN, INT32_MAX};

    if (!name_ok(at->name) || (gone && !name_ok(gone)))
        return err_set(err, -EINVAL, "'%.100s' cannot be the name of an artifact", name_ok(at->name) ? gone : at->name);
    AUTO_FREE char *name = mem_fmt("%s:latest", at->name), *file = mem_fmt("%s.csv", at->name);
    AUTO_ARTIFACT_GET g = {.entity = at->entity,
                           .project = at->project,
                           .name = name,
                           .file = file,
                           .max = DATASET_BYTES_MAX};
    int r = read_remote(ask, &g, sum, err);
    if (r == 0) {
        int64_t rows = dataset_write(ask->store, &all, add_piece, &csv, err);
        sum->rows = rows;
        r = rows < 0 ? (int)rows : 0;
        if (csv.err)
            r = err_set(err, -EMSGSIZE, "the dataset is longer than %u MiB", DATASET_BYTES_MAX >> 20);
    }
    sum->sent = r == 0 && !(g.found && str_eq_str(buf_str(&g.bytes), buf_str(&csv)));
    return sum->sent ? write_remote(ask, &g, &csv, err) : r;
}
