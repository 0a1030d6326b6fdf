/* last_minute.h: mean of a metric over the last minute. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { MINUTE_PARTS = 6, MINUTE_PART_MS = 10000 };
struct last_minute {
    int64_t at_ms; /* the newest sample; 0: none */
    struct last_minute_part {
        int64_t from_ms, sum, n;
    } parts[MINUTE_PARTS];
};
/* Times rise; a sample that is not newer is ignored. */
void last_minute_add(struct last_minute *m, int64_t at_ms, int64_t v);
int64_t last_minute_mean(const struct last_minute *m); /* of the minute before the newest sample; 0: none */
