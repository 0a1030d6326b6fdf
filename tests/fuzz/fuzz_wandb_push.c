/* Any JSON as W&B's answers while a push or a check goes on: each errand ends, or asks something that is whole. */
#include <stdlib.h>

#include "base/mem.h"
#include "wandb_pull/artifact_get.h"
#include "wandb_push/check.h"
#include "wandb_push/logged.h"
#include "wandb_push/tagged.h"

#define STEPS 12 /* the same answer again and again */

static void play(struct wandb_job e, json_t *data, struct str body)
{
    struct wandb_answer a = {.status = 200, .data = data, .body = body};

    for (int i = 0; i < STEPS; i++) {
        struct wandb_request q = {0};
        struct err err = {0};
        int r = e.next(e.self, &q, &err);
        if (r <= 0)
            return;
        if (!q.op || !(q.query ? q.variables.len : q.url != NULL))
            abort();
        if (e.take(e.self, &a, &err) < 0) {
            if (!err.msg[0])
                abort();
            return;
        }
    }
}

static void runs_of(json_t *data, struct str body)
{
    struct table_set set = {.tag = "Acme", .n = 1, .v = {{.key = "company_summary"}}};
    struct logged l = {.entity = "e",
                       .project = "p",
                       .name = "Tables_1",
                       .job_type = "j",
                       .tag = "Acme",
                       .latest = "latest",
                       .set = &set,
                       .config = "{}"};
    struct tagged t = {.entity = "e", .project = "p", .tag = "latest"};

    logged_init(&l);
    play(logged_begin(&l), data, body);
    play(logged_files(&l), data, body);
    play(artifact_job(&l.artifacts[0]), data, body);
    logged_fini(&l);
    tagged_init(&t);
    play(tagged_job(&t), data, body);
    if (t.n) {
        struct untag u = {.run = &t.v[0], .tag = "latest"};
        play(untag_job(&u), data, body);
        untag_fini(&u);
    }
    tagged_fini(&t);
}

static void artifacts_of(json_t *data, struct str body)
{
    for (int step = ARTIFACT_CREATE; step < ARTIFACT_DONE; step++) {
        struct artifact a = {.entity = "e",
                             .project = "p",
                             .run = "r",
                             .type = "t",
                             .name = "n",
                             .file = "f",
                             .bytes = STR("x"),
                             .newest = ""};
        artifact_init(&a);
        a.step = (enum artifact_step)step;
        a.id = mem_str("A1");
        a.url = mem_str("http://u");
        play(artifact_job(&a), data, body);
        artifact_fini(&a);
    }
    for (int step = 0; step < 3; step++) {
        struct artifact_get g =
            {.entity = "e", .project = "p", .name = "n:latest", .file = "f", .max = 1 << 20, .step = step};
        artifact_get_init(&g);
        g.url = step == 2 ? mem_str("http://u") : NULL;
        g.id = step ? mem_str("A1") : NULL;
        play(artifact_get_job(&g), data, body);
        artifact_get_fini(&g);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static const struct company co = {.name = "Acme"};
    struct tagged none = {.tag = "latest"};
    struct check_board b = {.day = 20582, .tagged = &none};
    struct findings f = {0};
    json_t *data = json_loadb((const char *)p, n, 0, NULL);

    if (json_is_object(data)) {
        runs_of(data, str_n(p, n));
        artifacts_of(data, str_n(p, n));
    }
    json_decref(data);
    check_table(&b, &co, "r1", str_n(p, n), &f);
    findings_fini(&f);
    return 0;
}
