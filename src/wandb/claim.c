/* claim.c: acquires the lease of the process that writes W&B runs; a thread with its own connection renews it. */
#include "wandb/claim.h"

#include <errno.h>
#include <poll.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rand.h"
#include "base/thread.h"
#include "sql/lease.h"
#include "sql/pg_place.h"

#define LEASE_MS 6000
#define KEEP_MS  1500
#define AGAIN_MS 250

struct wandb_claim {
    struct db *db;
    struct leases leases;
    struct lease lease;
    pthread_t thread;
    bool kept;
    int wake;
};

/*
 * If the lease is lost or the server is unreachable: once another process has the lease, the server rejects our puts.
 */
static void *keep(void *arg)
{
    struct wandb_claim *c = arg;
    struct pollfd p = {.fd = c->wake, .events = POLLIN};

    while (poll(&p, 1, KEEP_MS) == 0)
        lease_keep(&c->leases, &c->lease, NULL);
    return NULL;
}

static int wait_for_lease(struct wandb_claim *c, const char *url, struct err *err)
{
    AUTO_FREE char *shown = pg_shown_place(url);
    int64_t until_ms = clock_mono_ms() + LEASE_MS + 2ll * AGAIN_MS;
    int r;

    while ((r = lease_take(&c->leases, &c->lease, err)) == 0 && clock_mono_ms() < until_ms)
        poll(NULL, 0, AGAIN_MS);
    return r == 1  ? 0
           : r < 0 ? r
                   : err_set(err, -EBUSY,
                             "cannot write to the W&B runs in '%s': another process is doing so (a pull or an import); "
                             "wait for it, or stop it: a pull resumes where it stopped",
                             shown);
}

int wandb_claim_take(struct wandb_claim **ret, const char *url, struct err *err)
{
    struct wandb_claim *c = NEW(struct wandb_claim, .wake = wake_new());
    int r = db_open(&c->db, url, &lease_kind, DB_BESIDE, err);

    if (r == 0) {
        leases_init(&c->leases, c->db);
        lease_init(&c->lease, WANDB_LEASE, -(int64_t)(rand_u64() >> 1), LEASE_MS); /* hubs have numbers above 0 */
        r = wait_for_lease(c, url, err);
    }
    if (r == 0 && (c->wake < 0 || thread_start(&c->thread, NULL, keep, c) < 0))
        r = err_set(err, -EAGAIN, "cannot keep others from writing W&B runs: there is no thread");
    c->kept = r == 0;
    if (r < 0)
        wandb_claim_drop(c);
    else
        *ret = c;
    return r;
}

int64_t wandb_claim_epoch(const struct wandb_claim *c)
{
    return atomic_load(&c->lease.epoch);
}

void wandb_claim_drop(struct wandb_claim *c)
{
    if (!c)
        return;
    wake_ring(c->wake);
    if (c->kept)
        pthread_join(c->thread, NULL);
    if (c->db && atomic_load(&c->lease.epoch))
        lease_give_up(&c->leases, &c->lease, NULL);
    leases_fini(&c->leases);
    db_close(c->db);
    if (c->wake >= 0)
        close(c->wake);
    free(c);
}
