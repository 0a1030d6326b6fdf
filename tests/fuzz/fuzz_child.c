/* Messages of the collector process, one after another (a byte pair of length before each), into one reader. */
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "collect/child_msg.h"
#include "model/state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
    if (!ok)
        abort();
}

static void in_bounds(const struct child_msg *m)
{
    check(m->facts.n_devices <= DEVICES_MAX && m->facts.n_custom <= CUSTOM_MAX && m->procs.n <= PROCS_MAX);
    check(m->status < COLLECT_STATES && m->event.kind < EVENT_KINDS);
    if (m->type == CHILD_TICK) {
        check(m->tick.n_slots == m->facts.n_devices + 1);
        for (size_t i = 0; i < m->tick.n_uses; i++)
            check(m->tick.uses[i].proc < m->procs.n && m->tick.uses[i].slot <= m->facts.n_devices);
    }
}

/* What was taken can be written, and is taken again. */
static void round_trip(struct child_msg *m)
{
    AUTO_BUF b = {0};
    int r = m->type == CHILD_FACTS   ? child_msg_facts(&b, &m->facts)
            : m->type == CHILD_TICK  ? child_msg_tick(&b, &m->tick)
            : m->type == CHILD_EVENT ? child_msg_event(&b, &m->event)
                                     : child_msg_status(&b, m->status, m->why);

    check(r == 0);
    if (m->type != CHILD_PROCS)
        check(child_msg_read(m, b.p, b.len, NULL) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct child_msg m = {0};
    struct rd r = rd_of(data, size);

    while (rd_left(&r) > 2) {
        size_t n = rd_u16(&r);
        n = MIN(n, rd_left(&r));
        const uint8_t *p = rd_bytes(&r, n);
        struct err err = {0};
        if (child_msg_read(&m, p, n, &err) == 0) {
            in_bounds(&m);
            round_trip(&m);
        } else
            check(err.msg[0] != 0);
    }
    child_msg_fini(&m);
    return 0;
}
