/* cmd_talk.c: makes a client for W&B out of the options. */
#include "wandb_pull/cmd_talk.h"

#include <errno.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/secret.h"
#include "cli/cli.h"
#include "cli/cmd.h"
#include "cluster/place.h"
#include "wandb/store.h"
#include "wandb_pull/key.h"

static int server_place(const struct runs_conf *conf, struct talk *t, struct err *err)
{
    AUTO_FREE char *place = place_of(conf->store, conf->password_file, err);

    if (!place)
        return -EINVAL;
    return mem_copy_str(t->where, sizeof(t->where), place) ? 0 : err_set(err, -EINVAL, "--store is too long");
}

int talk_place(const struct runs_conf *conf, bool make, struct talk *t, struct err *err)
{
    t->epoch = conf->epoch;
    t->shown = conf->store ? conf->store : t->where;
    if (conf->store)
        return server_place(conf, t, err);
    bool known = conf->data ? mem_copy_str(t->where, sizeof(t->where), conf->data)
                            : file_state_dir(NULL, t->where, sizeof(t->where)) == 0;

    if (!known)
        return err_set(err, -EINVAL, "there is no folder for wandb.db: name one with --data");
    return make ? file_mkdirs(t->where, 0700, err) : 0;
}

int talk_store(const struct talk *t, bool write, struct wandb_store **ret, struct err *err)
{
    int r = wandb_store_open(ret, t->where, write, err);

    if (r == 0)
        wandb_store_lead(*ret, t->epoch);
    return r;
}

const char *talk_base_url(const char *flag, const struct wandb_config *c)
{
    const char *env = getenv("WANDB_BASE_URL");

    return flag ? flag : env && env[0] ? env : c->base_url;
}

static int find_key(const struct talk_conf *conf, struct talk *t, struct err *err)
{
    struct key_params ask = {.flag = conf->api, .file = conf->key_file, .base_url = t->base_url};

    char host[SECRET_HOST_MAX];
    if (key_find(&ask, &t->key, err) < 0)
        return -ENOKEY; /* whatever is wrong with it, it is not in the config */
    if (secret_in_clear(t->base_url, host))
        fprintf(stderr, "muster wandb: the key for Weights & Biases can go to %s without TLS: use https://\n", host);
    return 0;
}

static int talk_open(const struct talk_conf *conf, bool make, struct talk *ret, struct err *err)
{
    int r = wandb_config_load(conf->config, &ret->config, err);
    if (r < 0)
        return r;
    ret->base_url = talk_base_url(conf->base_url, ret->config);
    r = talk_place(&conf->runs, make, ret, err) ?: find_key(conf, ret, err);
    if (r < 0)
        return r;
    ret->base = event_base_new();
    struct wandb_conf how = {.base = ret->base_url,
                             .key = ret->key.p,
                             .ca_file = conf->ca_file,
                             .in_flight = ret->config->in_flight,
                             .tries = (int)conf->tries,
                             .wait_ms = conf->retry_wait,
                             .rate = ret->config->rate_milli / 1000.0};
    return ret->base ? wandb_new(&ret->w, ret->base, &how, err) : err_set(err, -EIO, "there is no event loop");
}

void talk_close(struct talk *t)
{
    if (!t)
        return;
    wandb_free(t->w);
    if (t->base)
        event_base_free(t->base);
    key_wipe(&t->key);
    wandb_config_free(t->config);
    *t = (struct talk){0};
}

int talk_run(struct cmd_call *c, bool make, int (*run)(struct cmd_call *c, struct talk *t))
{
    AUTO_TALK t = {0};
    return talk_open(c->conf, make, &t, &c->err) ?: run(c, &t);
}

static int one_day(const char *flag, const char *text, int32_t *ret, struct err *err)
{
    *ret = INT32_MIN;
    if (text && !date_parse(str_of(text), ret))
        return err_set(err, -EINVAL, "%s '%.40s': expected a day, as 2026-11-14", flag, text);
    return 0;
}

int talk_days(const struct talk *t, const char *start, const char *end, int32_t *ret_from, int32_t *ret_to,
              struct err *err)
{
    int r = one_day("--start-date", start, ret_from, err) ?: one_day("--end-date", end, ret_to, err);

    return r ?: wandb_config_days(t->config, zone_date(t->config->zone, clock_wall_ms()), ret_from, ret_to, err);
}
