/* Filters: any bytes. What is taken runs on a device with everything and on one with nothing; what is not has a column
 * inside the text, or just behind it, and a sentence. */
#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "now/filter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW 1700000000000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct node_now n;
    static struct device_now full, empty;
    static struct proc_fact fact = {.pid = 7, .slurm_job = 77, .user = "kim", .name = "python", .container = "3f9a"};
    static struct proc_now p = {.fact = &fact};
    static struct custom_fact custom[2] = {{.name = "tokens", .per = INT64_MAX}, {.name = "Queue depth", .per = 1}};
    static struct custom_now values[2] = {{METRIC_CUSTOM, INT64_MIN, NOW}, {METRIC_CUSTOM + 1, INT64_MAX, NOW}};
    static char labels[] = "rack=a1\nteam=Vision & <sound>\n";
    struct filter *f = NULL;
    struct filter_err err = {0};

    if (!full.n_procs) {
        mem_copy_str(n.name, sizeof(n.name), "dgx1");
        mem_copy_str(n.fact.driver, sizeof(n.fact.driver), "580.65.06");
        mem_copy_str(full.fact.name, sizeof(full.fact.name), "NVIDIA H200");
        mem_copy_str(full.fact.uuid, sizeof(full.fact.uuid), "GPU-1");
        n.labels = labels;
        n.fact.custom = custom;
        n.fact.n_custom = 2;
        full.custom = &values[0];
        n.custom = &values[1];
        full.n_custom = n.n_custom = 1;
        full.procs = &p;
        full.n_procs = 1;
        full.state = DEV_BUSY;
        full.at_ms = full.since_ms = NOW - 1000;
        for (int m = 0; m < M_COUNT; m++)
            sample_set(metrics[m].scope == SCOPE_NODE ? &n.now : &full.now, (enum metric)m, INT64_MAX - m);
    }
    if (filter_new(str_n(data, size), "kim", &f, &err) < 0) {
        assert(!f && err.message[0] && err.column >= 1 && err.column <= size + 1);
        return 0;
    }
    assert(filter_text(f)[0] && filter_key(f)[0]);
    filter_match(f, &n, &full, NOW);
    filter_match(f, &n, &empty, NOW);
    filter_match(f, &n, NULL, NOW);
    filter_match_proc(f, &n, &full, &p, NOW);
    struct filter_kinds kinds = {0};
    char said[FILTER_SAID];
    filter_see(f, &n, NOW, &kinds);
    filter_describe(f, &kinds, said);
    assert(str_utf8_ok(str_of(said)) || !str_utf8_ok(str_n(data, size)));
    /* Reading what was kept gives the same filter. */
    struct filter *again = NULL;
    assert(filter_new(str_of(filter_text(f)), "kim", &again, &err) == 0);
    assert(filter_match(f, &n, &full, NOW) == filter_match(again, &n, &full, NOW));
    filter_free(again);
    filter_free(f);
    return 0;
}
