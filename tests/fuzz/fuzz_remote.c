/* What a shell on another machine prints: any bytes, line by line, then what came of them. */
#include <stdlib.h>

#include "relay/remote.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
    if (!ok)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct remote *r = remote_new(5000);
    struct reading got = {0};
    struct node_fact f = {0};
    struct str text = str_n(data, size), line;
    int64_t mono_ms = 1;

    remote_begin(r, mono_ms);
    while (str_line(&text, &line)) {
        mono_ms += 100;
        if (remote_line(r, line, mono_ms) == REMOTE_TICK) {
            reading_reset(&got);
            remote_read(r, 1794737172345, mono_ms, &got);
            check(got.n_devices <= DEVICES_MAX);
            for (size_t i = 0; i < got.n_devices; i++)
                for (size_t k = 0; k < got.devices[i].n_uses; k++) {
                    const struct proc_fact *p = got.devices[i].uses[k].known;
                    check(!p || (str_utf8_ok(str_of(p->user)) && str_utf8_ok(str_of(p->cmd))));
                }
        }
        check(str_utf8_ok(str_of(remote_error(r))));
    }
    remote_fact(r, &f);
    check(str_utf8_ok(str_of(f.name)) && str_utf8_ok(str_of(f.os)));
    reading_fini(&got);
    remote_free(r);
    return 0;
}
