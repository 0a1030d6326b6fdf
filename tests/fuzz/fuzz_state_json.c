/* fuzz_state_json.c: any text as a hub's state: one error or nodes that every renderer can show. */
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "format/render.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = {0};
    struct read_state s;

    if (state_parse(str_n(data, size), &s, &err) < 0)
        return 0;
    struct view v = {.at_ms = s.at_ms, .demo = s.demo, .n = s.n, .of = s.of};
    AUTO_BUF b = BUF_INIT(1 << 20);
    struct term t = {.width = (int)(size % 200), .colour = size & 1, .ascii = size & 2};
    const struct node_now **p = mem_zero(v.n ? v.n : 1, sizeof(*p));
    for (size_t i = 0; i < v.n; i++)
        p[i] = &s.nodes[i];
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
    read_state_fini(&s);
    return 0;
}
