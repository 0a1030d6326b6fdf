/* nvml_events.c: one thread waiting in nvmlEventSetWait, one short queue. There is no history before registration. */
#include "collect/nvml_events.h"

#include <errno.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/order.h"
#include "collect/worker.h"

enum { QUEUE = 64, WAIT_MS = 1000 }; /* each wait costs 45 us of processor; ending may take as long as one */

struct nvml_events {
    const struct nvml *lib;
    struct nvml_dev *const *devs;
    size_t n;
    void *set;
    struct worker *thread;
    atomic_bool stop;
    pthread_mutex_t lock;
    size_t first, count; /* of queue, under lock */
    struct nvml_event_list queue[QUEUE];
};

static void put(struct nvml_events *e, const struct nvml_event *ev)
{
    size_t i = FIRST(e->n, k, e->devs[k]->handle == ev->device);
    if (i == e->n)
        return;
    LOCKED(&e->lock);
    if (e->count < QUEUE) /* a storm repeats itself: the first events suffice */
        e->queue[(e->first + e->count++) % QUEUE] = (struct nvml_event_list){clock_wall_ms(), ev->type, ev->data, i};
}

static void events_main(void *arg)
{
    struct nvml_events *e = arg;
    while (!atomic_load(&e->stop)) {
        struct nvml_event ev = {0};
        int rc = e->lib->set_wait(e->set, &ev, WAIT_MS);
        if (rc == 0)
            put(e, &ev);
        else if (nvml_judge(rc) >= NVML_STALE)
            break; /* the tick will see the same */
        else if (rc != NVML_TIMEOUT)
            usleep(WAIT_MS * 1000); /* a lost GPU makes the call return immediately, every time */
    }
}

static bool register_all(struct nvml_events *e)
{
    bool any = false;
    for (size_t i = 0; i < e->n; i++) {
        nvml_u64 types = NVML_EVENT_XID | NVML_EVENT_DOUBLE_BIT | NVML_EVENT_MIG, can = 0;
        const struct nvml_dev *d = e->devs[i];
        if (!d->handle || d->parent || e->lib->event_types(d->handle, &can) != 0 || !(types & can))
            continue;
        any |= e->lib->event_register(d->handle, types & can, e->set) == 0;
    }
    return any;
}

struct nvml_events *nvml_events_start(const struct nvml *lib, struct nvml_dev *const *devs, size_t n)
{
    void *set;
    if (!lib->set_new || !lib->set_free || !lib->set_wait || !lib->event_types || !lib->event_register ||
        lib->set_new(&set) != 0)
        return NULL;
    struct nvml_events *e = NEW(struct nvml_events, .lib = lib, .devs = devs, .n = n, .set = set);
    pthread_mutex_init(&e->lock, NULL);
    if (!register_all(e)) {
        nvml_events_free(e);
        return NULL;
    }
    e->thread = worker_new(events_main, NULL, e);
    worker_kick(e->thread);
    return e;
}

bool nvml_events_next(struct nvml_events *e, struct nvml_event_list *ret)
{
    if (!e)
        return false;
    LOCKED(&e->lock);
    if (!e->count)
        return false;
    *ret = e->queue[e->first];
    e->first = (e->first + 1) % QUEUE;
    e->count--;
    return true;
}

int nvml_events_free(struct nvml_events *e)
{
    if (!e)
        return 0;
    atomic_store(&e->stop, true);
    if (e->thread && !worker_settle(e->thread, NVML_STOP_MS))
        return -ETIMEDOUT;
    worker_free(e->thread);
    e->lib->set_free(e->set);
    pthread_mutex_destroy(&e->lock);
    free(e);
    return 0;
}
