/*
 * telemetry.h: what a cluster of GPUs would say, invented and the same each time: hosts of 8 GPUs, half of them on one
 * training job, the others idle, waving, inferring or in a notebook; 30 metrics each. One generator for every
 * benchmark, so that all stores get the same values.
 */
#ifndef BENCH_TELEMETRY_H
#define BENCH_TELEMETRY_H

#include "model/fact.h"
#include "model/gather.h"

#define TELEMETRY_METRICS 30
#define TELEMETRY_PER     8 /* GPUs per host */

struct telemetry_metric {
    const char *name;   /* as the peers call it: unit in the name */
    const char *muster; /* of metrics.def; NULL: declared as a custom metric of this name */
    int64_t times;      /* the same value in muster's unit */
    enum unit unit;     /* of a custom metric; one of it is `per` stored ones */
    int64_t per;
};
extern const struct telemetry_metric telemetry_metrics[TELEMETRY_METRICS];
enum { TELEMETRY_POWER = 10 }; /* the one that is added up to see that nobody lost anything */

struct telemetry;
struct telemetry *telemetry_new(int gpus, int64_t t0_ms, int64_t step_ms, uint64_t seed);
void telemetry_free(struct telemetry *t);
int telemetry_hosts(const struct telemetry *t);
int telemetry_gpus_of(const struct telemetry *t, int host);
const char *telemetry_uuid(const struct telemetry *t, int gpu);
int64_t telemetry_at_ms(const struct telemetry *t, int host, int64_t tick); /* hosts tick apart, by less than a step */
void telemetry_step(struct telemetry *t, int gpu, int64_t v[TELEMETRY_METRICS]); /* its next tick; GPUs are apart */

/* As muster takes it. The facts borrow from themselves: devices and custom are ended with node_fact_fini. */
void telemetry_facts(const struct telemetry *t, int host, struct node_fact *ret);
/* A host's next tick into g, dated at_ms. Power is added to *power. */
void telemetry_gather(struct telemetry *t, int host, int64_t at_ms, struct gather *g, int64_t *power);

#endif
