/* Any bytes as the answer with a run's samples: where the JSON library reads it, the samples are the library's. */
#include <jansson.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "wandb_pull/events.h"
#include "wandb_pull/graphql.h"
#include "wandb_pull/web_answer.h"

static void gather(void *arg, struct str sample)
{
    struct buf *b = arg;
    if (!sample.p)
        buf_reset(b);
    else {
        buf_u32(b, (uint32_t)sample.len);
        buf_addstr(b, sample);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    AUTO_BUF room = BUF_INIT(1 << 20), got = BUF_INIT(16 << 20), want = BUF_INIT(16 << 20);
    struct err err = {0};
    json_t *data = NULL;
    const json_t *list = NULL, *e;
    size_t i;

    if (n > 1 << 16)
        return 0;
    int64_t r = events_read("Ask", str_n(p, n), &room, gather, &got, &err);
    if ((r < 0) != (err.msg[0] != 0))
        abort();
    if (wandb_answer_data("Ask", 200, str_n(p, n), &data, NULL) == 0 && graphql_events_parse(data, &list, NULL) == 0) {
        json_array_foreach (list, i, e)
            if (json_is_string(e))
                gather(&want, str_n(json_string_value(e), json_string_length(e)));
        if (r < 0 || !str_eq_str(buf_str(&got), buf_str(&want)))
            abort();
    }
    json_decref(data);
    return 0;
}
