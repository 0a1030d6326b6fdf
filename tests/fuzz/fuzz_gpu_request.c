/* What a wait's record says of the GPUs it asks for: any bytes. What is read is within bounds, and is read back the
 * same. */
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "book/queue.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_FREE char *text = mem_strn((const char *)data, size);
    AUTO_BUF again = BUF_INIT(1u << 20);
    struct booking h = {.kind = BOOKING_WAIT, .count = 1, .model = "", .where = text, .devices = ""};
    struct gpu_request w, got;

    gpu_request_parse(&h, &w);
    gpu_request_format(&w, &again);
    if (again.err)
        return 0;
    h.where = again.p;
    gpu_request_parse(&h, &got);
    if (w.mem < 0 || w.free_ms < 0 || w.mem != got.mem || w.one_node != got.one_node || w.need_ms != got.need_ms ||
        !str_eq_str(w.node, got.node))
        abort();
    return 0;
}
