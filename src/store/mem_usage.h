/* mem_usage.h: counted hours, days and marks of the store in memory. */
#ifndef STORE_MEM_USAGE_H
#define STORE_MEM_USAGE_H

#include "store/store.h"

struct ram_span {
    char node[NODE_KEY_MAX], zone[64];
    int64_t at_ms, end_ms;
    struct buf bytes;
};
struct ram_mark {
    char node[NODE_KEY_MAX];
    int64_t at_ms, seq;
};
struct ram_usage {
    struct ram_spans {
        struct ram_span *v;
        size_t n, cap;
    } hours, days;
    struct ram_mark *marks;
    size_t n_marks, cap_marks;
};

void ram_usage_fini(struct ram_usage *u);
void ram_usage_put(struct ram_usage *u, const struct usage_put *p);
void ram_usage_mark(struct ram_usage *u, const char *node, int64_t at_ms, int64_t seq);
void ram_usage_move(struct ram_usage *u, const char *from, const char *to);
int ram_usage_ask(struct ram_usage *u, const struct usage_ask *ask,
                  int (*each)(void *arg, const char *node, const struct usage_span *span), void *arg, struct err *err);
void ram_usage_reach(struct ram_usage *u, void (*each)(void *arg, const char *node, int64_t first_ms, int64_t last_ms),
                     void *arg);

#endif
