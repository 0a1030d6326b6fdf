/* What another hub's stream says: any bytes, in pieces of any size, give nodes that can be shown, or one error. */
#include <assert.h>
#include <stdlib.h>

#include "base/buf.h"
#include "follow/guest.h"
#include "format/render.h"
#include "stream/intake.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take(const uint8_t *data, size_t size, size_t step, bool own)
{
    struct intake in = {.own = own, .max_nodes = 100};
    struct err err = {0};
    AUTO_BUF b = BUF_INIT(1 << 24);
    int r = 0;

    intake_reset(&in, 1 << 20);
    for (size_t i = 0; r == 0 && i < size; i += step)
        r = intake_take(&in, str_n(data + i, size - i < step ? size - i : step), 1000, &err);
    struct view v = {.at_ms = 1000};
    for (size_t i = 0; i < in.news.nodes.n; i++)
        if (in.news.nodes.v[i]->node) {
            guest_make(in.news.nodes.v[i]->node, "munich", 5000);
            render_node(&b, &v, in.news.nodes.v[i]->node);
            buf_reset(&b);
        }
    struct stream_hub again;
    stream_hub_render(&in.news.hub, &b);
    assert(!in.news.hub.id[0] || (stream_hub_parse(buf_str(&b), &again) == 0 && again.n == in.news.hub.n));
    intake_fini(&in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    take(data, size, size ? data[0] % 7 + 1u : 1, true);
    take(data, size, size ? size : 1, false);
    return 0;
}
