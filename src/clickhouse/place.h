/* place.h: the address of stored samples: clickhouse://user@host:8123,other:8123/database?replicated&secure */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

#define CLICK_HOSTS 8u
#define CLICK_WORD  64u

struct click_place {
    char user[CLICK_WORD], database[CLICK_WORD];
    char hosts[CLICK_HOSTS][264]; /* host:port, tried in this order */
    size_t n_hosts;
    bool secure;     /* https */
    bool replicated; /* the tables are replicated, with ZooKeeper and the macros {shard} and {replica} */
    int64_t quorum;  /* number of replicas that must have a row before it counts as stored; 0: only the queried one */
};

/* Returns -EINVAL with a message in err. A password in it is an error: passwords are read from a file. */
int click_place_read(struct str url, struct click_place *ret, struct err *err);
