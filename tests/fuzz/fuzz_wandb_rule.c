/* Rules' expressions: any bytes; up to the first NUL the expression, behind it the text its patterns look at. What is
 * taken gives a number of GPUs or none; what is not has a column within the text, or just behind it. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "wandb_pull/pattern.h"
#include "wandb_pull/rule.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *nul = size ? memchr(data, 0, size) : NULL;
    struct str expr = str_n(data, nul ? (size_t)(nul - data) : size);
    struct str text = nul ? str_n(nul + 1, (size_t)(data + size - nul - 1)) : str_n("4Nodes", 6);
    struct rule_expr *e = NULL;
    struct pattern *p = NULL;
    struct str found;
    struct err err = {0};
    unsigned column;

    if (pattern_new(expr, &p, &err) == 0) {
        if (pattern_find(p, text, &found))
            assert(found.p >= text.p && found.p + found.len <= text.p + text.len);
        pattern_free(p);
    } else {
        assert(err.code == -EINVAL && err.msg[0]);
    }
    if (rule_expr_new(expr, &e, &err) < 0) {
        assert(!e && sscanf(err.msg, "column %u: ", &column) == 1 && column >= 1 && column <= expr.len + 1);
        return 0;
    }
    json_t *node =
        json_pack("{s:s, s:s, s:s%, s:s, s:{s:s, s:i}}", "name", "x", "createdAt", "2024-11-01T00:00:00", "description",
                  text.p, text.len, "config",
                  "{\"a\":{\"value\":3},\"b\":\"{'value': 8}\",\"c\":{\"value\":{\"d\":\"9\"}},\"e\":-1,\"f\":1e30}",
                  "runInfo", "gpu", "H100", "gpuCount", 8);
    struct run_node run;
    if (node && run_node_read(node, &run, NULL) == 0) {
        int32_t gpus = -1;
        int r = rule_expr_run(e, &run, NULL, &gpus, NULL);
        if (r == -EAGAIN) {
            run_node_metadata(&run, text);
            r = rule_expr_run(e, &run, NULL, &gpus, NULL);
        }
        assert(r == -ENODATA || (r == 0 && gpus >= 0 && gpus <= RULE_GPUS_MAX));
        run_node_fini(&run);
    }
    json_decref(node);
    rule_expr_free(e);
    return 0;
}
