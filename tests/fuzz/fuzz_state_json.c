/* fuzz_state_json.c: any text as a hub's state: one error or nodes that every renderer can show. */
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "format/render.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = {0};
    struct node_now *nodes;
    struct view v = {0};
    char notice[NOTICE_MAX];

    if (state_parse(str_n(data, size), &nodes, &v.n, &v.demo, &v.at_ms, &v.of, notice, &err) < 0)
        return 0;
    AUTO_BUF b = BUF_INIT(1 << 20);
    struct term t = {.width = (int)(size % 200), .colour = size & 1, .ascii = size & 2};
    const struct node_now **p = mem_zero(v.n ? v.n : 1, sizeof(*p));
    for (size_t i = 0; i < v.n; i++)
        p[i] = &nodes[i];
    v.nodes = p;
    render_state(&b, &v);
    buf_reset(&b);
    render_prom(&b, &v, size & 1);
    buf_reset(&b);
    render_term_summary(&b, &v, &t);
    buf_reset(&b);
    render_term_detail(&b, &v, &t);
    buf_reset(&b);
    render_term_table(&b, &v, &t);
    buf_reset(&b);
    render_vesta_states(&b, &v);
    free(p);
    for (size_t i = 0; i < v.n; i++)
        node_now_fini(&nodes[i]);
    free(nodes);
    return 0;
}
