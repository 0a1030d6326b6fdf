/* since.c: converts the states and start times of a node and its devices to bytes and back. */
#include "nodes/since.h"

#include <errno.h>

#include "base/rand.h"

#define MARK     'T'  /* not a frame type; 'S' was the format without the last report */
#define SAW_WORK 0x80 /* in a device's state */

static uint32_t gpu_of(const struct device_now *d)
{
    return (uint32_t)fnv64(d->fact.uuid, strlen(d->fact.uuid));
}

int since_put(struct buf *out, const struct node_now *n, unsigned how)
{
    size_t before = out->len;

    buf_u8(out, MARK);
    buf_u8(out, (uint8_t)how);
    buf_zigzag(out, n->at_ms);
    buf_u8(out, (uint8_t)n->state);
    buf_zigzag(out, n->since_ms);
    buf_varint(out, n->n_devices);
    for (size_t i = 0; i < n->n_devices; i++) {
        const struct device_now *d = &n->devices[i];
        buf_varint(out, gpu_of(d));
        buf_u8(out, (uint8_t)(d->state | (live_saw_work(n, i) ? SAW_WORK : 0)));
        buf_zigzag(out, d->since_ms);
        buf_zigzag(out, d->idle_since_ms);
        buf_zigzag(out, d->util_mean);
    }
    if (!out->err)
        return 0;
    out->err = 0;
    buf_cut(out, before);
    return -EMSGSIZE;
}

bool since_is(struct str bytes)
{
    return bytes.len > 0 && bytes.p[0] == MARK;
}

unsigned since_parse(struct str bytes, int64_t *ret_heard_ms)
{
    struct rd r = rd_of(bytes.p, bytes.len);

    rd_u8(&r);
    unsigned how = rd_u8(&r);
    *ret_heard_ms = rd_zigzag(&r);
    return r.bad ? 0 : how;
}

static size_t find_gpu(const struct node_now *n, size_t first, uint32_t gpu)
{
    for (size_t i = 0; i < n->n_devices; i++) {
        size_t at = (first + i) % n->n_devices; /* usually in the same order */
        if (gpu_of(&n->devices[at]) == gpu)
            return at;
    }
    return n->n_devices;
}

int since_show(struct live *l, struct node_now *n, struct str bytes, bool better)
{
    struct rd r = rd_of(bytes.p, bytes.len);
    bool earlier = false;

    rd_u8(&r);
    better |= (rd_u8(&r) & SINCE_TAKES) != 0;
    rd_zigzag(&r);
    uint8_t state = rd_u8(&r);
    int64_t since_ms = rd_zigzag(&r);
    uint64_t devices = rd_varint(&r);
    if (r.bad || devices > DEVICES_MAX)
        return -EBADMSG;
    earlier |= live_since(l, n, NULL, &(struct live_since){.state = state, .since_ms = since_ms});
    for (uint64_t i = 0; i < devices; i++) {
        uint32_t gpu = (uint32_t)rd_varint(&r);
        uint8_t how = rd_u8(&r);
        struct live_since s = {.state = how & ~SAW_WORK, .work = how & SAW_WORK};
        s.since_ms = rd_zigzag(&r);
        s.idle_ms = rd_zigzag(&r);
        s.util_mean = rd_zigzag(&r);
        s.better = better;
        size_t at = r.bad ? n->n_devices : find_gpu(n, (size_t)i, gpu);
        if (r.bad)
            return -EBADMSG;
        if (at < n->n_devices)
            earlier |= live_since(l, n, &n->devices[at], &s);
    }
    return earlier;
}
