/* pace.c: how often agents must send, and when within that interval. */
#include "nodes/pace.h"

#include "nodes/feature.h"

#define RATE_MAX    2000 /* maximum requests per second of all agents while a client is connected */
#define PHASE_MS    100  /* agents send together: a burst costs less than a trickle … */
#define PHASE_GROUP 1000 /* … but not ten thousand at the same time */

bool pace_watched(const struct hub *h, int64_t now_ms)
{
    return api_watched(&h->api, now_ms);
}

int64_t pace_interval_ms(const struct hub *h, int64_t now_ms)
{
    const struct nodes_settings *s = feature_settings(&h->conf, &nodes_feature);

    if (!pace_watched(h, now_ms))
        return s->interval;
    /* more nodes would make more requests per second than allowed */
    return MIN(s->interval, MAX(s->watch_interval, (int64_t)live_count(h->live) * 1000 / RATE_MAX));
}

int64_t pace_phase_ms(const struct hub *h, const char *node, int64_t interval_ms)
{
    uint64_t groups = 1 + live_count(h->live) / PHASE_GROUP, sum = 0;

    for (const char *c = node; *c; c++)
        sum = sum * 31 + (unsigned char)*c;
    return (int64_t)(PHASE_MS + PHASE_MS * (sum % groups)) % interval_ms;
}
