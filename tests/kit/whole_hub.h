/*
 * whole_hub.h: a hub with everything that belongs to it, for a test or a fuzz target: its store is in a folder of its
 * own, the test turns its loop, and nobody reaches it over the network.
 */
#ifndef TESTS_KIT_WHOLE_HUB_H
#define TESTS_KIT_WHOLE_HUB_H

#include "access/tokens.h"
#include "base/log.h"
#include "hub/hub.h"
#include "hub/server.h"
#include "temp_store.h"

/* settings: lines of muster.yaml; "": none. Whatever goes wrong ends the test program. */
static inline struct hub *whole_hub_open(const char *settings)
{
    const struct opt *listen = opt_find(hub_opts, STR("listen"));
    struct hub_conf conf = {0};
    struct err err = {0};
    struct hub *h = NULL;
    opt_defaults(hub_opts, &conf);
    int r = opt_yaml(hub_opts, &conf, str_of(settings), "settings", &err);
    opt_clear(listen, &conf);
    if (r == 0)
        r = opt_set(listen, &conf, STR("127.0.0.1:0"), &err);
    free(conf.data);
    conf.data = dir_new_quick();
    conf.commit = 10;
    conf.log_level = LOG_ERROR;
    if (r == 0)
        r = hub_open(&h, &conf, &err);
    if (r < 0) {
        fprintf(stderr, "no hub: %s\n", err.msg);
        abort();
    }
    log_set_level(LOG_ERROR);
    return h;
}

static uint64_t whole_hub_reads; /* of the test itself, on the hub's store and the hub's thread */

/* Whatever was asked of it: its loop read nothing from its disk. */
static inline void whole_hub_close(struct hub *h)
{
    char *folder = mem_str(h->data);
    struct store_stat st;
    store_stat(h->store, &st);
    if (st.waits != whole_hub_reads) {
        fprintf(stderr, "the loop waited for the disk %llu times\n", (unsigned long long)st.waits);
        abort();
    }
    whole_hub_reads = 0;
    hub_close(h);
    dir_free(folder);
}

/* The token of this text is known from now on; as it is put again it can be revoked. */
static inline void whole_hub_token(struct hub *h, const char *text, enum role role, const char *person, bool revoked)
{
    struct store_token st = {.created_ms = 1, .revoked_ms = revoked};
    if (!token_split(str_of(text), st.id, st.hash))
        abort();
    mem_copy_str(st.role, sizeof(st.role), role_words[role]);
    mem_copy_str(st.person, sizeof(st.person), person);
    struct store *beside = NULL; /* as `muster token new` does */
    if (store_open_tools(&beside, h->data, NULL, NULL) < 0 || store_put_now(beside, STORE_TOKEN, &st, NULL) < 0)
        abort();
    store_close(beside);
    if (tokens_load(h->tokens, NULL) < 0) /* as the hub's thread does once a second */
        abort();
    whole_hub_reads += 2;
}

#endif
