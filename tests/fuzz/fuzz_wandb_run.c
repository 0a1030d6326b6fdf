/* Runs as the server tells of them: any JSON. What is read has a name and its times in order, and rules get along with
 * it. */
#include <assert.h>
#include <stdlib.h>

#include "base/buf.h"
#include "wandb_pull/config.h"
#include "wandb_pull/rule.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char config[] =
    "companies:\n- {company: a, teams: [a], schedule: [{date: 2024-01-01, assigned_gpu_node: 1}]}\n"
    "ignore_tags: [other_gpu]\n"
    "gpu_count:\n"
    "- {project: q, gpus: metadata.slurm.nnodes * 8}\n"
    "- {gpus: 'match(description, \"(?i)(\\d+)nodes?\") * 8'}\n"
    "- {gpus: summary.gpus}\n"
    "- {gpus: 'config.trainer.num_nodes * 8 or config[\"world size\"]'}\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct wandb_config *c;
    if (!c && wandb_config_read(STR(config), "c", &c, NULL) < 0)
        abort();
    json_t *node = json_loadb((const char *)data, size, JSON_ALLOW_NUL, NULL);
    struct run_node r;
    struct err err = {0};
    if (!node)
        return 0;
    if (run_node_read(node, &r, &err) == 0) {
        struct rule_answer a = {0};
        struct buf tags = BUF_INIT(1 << 20);
        assert(r.id[0] && r.created_ms <= r.heartbeat_ms);
        run_node_tags(&r, &tags);
        run_node_ignored(&r, c);
        assert(rules_apply(c->rules, "a", "p", 20000, &r, NULL, &a) == RULES_DONE && a.gpus >= 0 && a.rule);
        if (rules_apply(c->rules, "a", "q", 20000, &r, NULL, &a) == RULES_NEED_METADATA) {
            run_node_metadata(&r, str_n(data, size));
            assert(rules_apply(c->rules, "a", "q", 20000, &r, NULL, &a) == RULES_DONE);
        }
        run_node_fate(c, "a", "p", &r, 19000, 21000, &a);
        buf_fini(&tags);
        run_node_fini(&r);
    } else {
        assert(err.msg[0]);
    }
    json_decref(node);
    return 0;
}
