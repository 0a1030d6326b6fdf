/*
 * feature.c: people in the hub: reads the files and Unix groups, and builds a new struct people when any of them
 * changes. Routes and streams get the new one. `getent` reads the groups in a child process, since a name service may
 * be slow; the loop never waits for it.
 */
#include <errno.h>

#include "base/clock.h"
#include "base/command.h"
#include "base/file.h"
#include "base/log.h"
#include "base/order.h"
#include "base/timer.h"
#include "hub/hub.h"
#include "people/feature.h"
#include "people/people_build.h"

#define FILE_MAX   (1u << 20)
#define GETENT_MAX (8u << 20)
#define GETENT_MS  60000
#define AGAIN_MS   900000 /* groups change rarely, and reading them may be expensive for a directory server */
#define ARGS_MAX   256

#define SETTINGS people
#include "base/opt_def.h"

enum stage { BY_NAME, BY_PATTERN, OWN_GROUPS, STAGES };

/* The complete texts of the files. */
struct people_files {
    struct buf aliases, companies;
};

struct hub_people {
    struct hub *h;
    struct people_files files;
    struct unix_groups groups, fresh;
    struct timer *timer;
    struct command *running;
    enum stage stage;
    bool failed, said;
};

static void people_files_fini(struct people_files *f)
{
    buf_fini(&f->aliases);
    buf_fini(&f->companies);
}

/* A dashboard's config.yaml, for its companies. */
static const char *companies_file(const struct hub_conf *conf)
{
    const struct people_settings *c = feature_settings(conf, &people_feature);
    return c->companies_file ? c->companies_file : *(char *const *)hub_conf_value(conf, "wandb.config");
}

static int make(const struct hub_conf *conf, const struct unix_groups *groups, const struct people_files *files,
                struct people **ret, struct err *err)
{
    const struct people_settings *c = feature_settings(conf, &people_feature);
    struct zone *zone = NULL;
    int r = zone_load(*(char *const *)hub_conf_value(conf, "usage.zone"), &zone, err);
    if (r < 0)
        return r;
    const struct people_src src = {.people = &c->people,
                                   .teams = &c->teams,
                                   .projects = &c->projects,
                                   .companies = &c->companies,
                                   .aliases = buf_str(&files->aliases),
                                   .aliases_path = c->aliases,
                                   .wandb = buf_str(&files->companies),
                                   .wandb_path = companies_file(conf),
                                   .ignore = &c->ignore,
                                   .groups = groups,
                                   .unix_groups = &c->unix_groups,
                                   .zone = zone};
    r = people_new(&src, ret, err);
    zone_free(zone);
    return r;
}

/* ---- Unix groups ---- */

static bool is_pattern(const char *s)
{
    return strpbrk(s, "*?[") != NULL;
}

static const struct opt_list *groups_of(const struct hub_people *d)
{
    return &((const struct people_settings *)feature_settings(&d->h->conf, &people_feature))->unix_groups;
}

/* Lists the names to pass to "getent group". Returns their number. */
static size_t names_of(const struct hub_people *d, const char *argv[ARGS_MAX], size_t n)
{
    const struct opt_list *l = groups_of(d);
    size_t n_wanted, from = n;
    const char *const *wanted = people_unix_groups(d->h->api.people, &n_wanted);
    for (size_t i = 0; i < l->n && n + 1 < ARGS_MAX; i++)
        if (!is_pattern(l->v[i]))
            argv[n++] = l->v[i];
    for (size_t i = 0; i < n_wanted && n + 1 < ARGS_MAX; i++)
        argv[n++] = wanted[i];
    argv[n] = NULL;
    return n - from;
}

static bool has_patterns(const struct opt_list *l)
{
    return ANY(l->n, i, is_pattern(l->v[i]));
}

static void put(struct hub_people *d, struct people *c)
{
    struct api *a = &d->h->api;
    people_unref(a->people);
    a->people = c;
    cache_reset(a->cache);
    hub_publish(d->h, &(struct hub_event){.kind = HUB_EVENT_PEOPLE, .now_ms = clock_wall_ms()});
}

static void finish(struct hub_people *d)
{
    struct people *c = NULL;
    struct err err = {0};
    timer_after(d->timer, AGAIN_MS);
    bool silent = d->failed || (d->groups.n && !d->fresh.n); /* keep the old groups if getent fails */
    if (silent || unix_groups_same(&d->groups, &d->fresh)) {
        unix_groups_fini(&d->fresh);
        return;
    }
    unix_groups_fini(&d->groups);
    d->groups = d->fresh;
    d->fresh = (struct unix_groups){0};
    if (make(&d->h->conf, &d->groups, &d->files, &c, &err) < 0) {
        log_error("people", "%s", err.msg);
        return;
    }
    log_info("people", "%zu Unix groups with %zu members", d->groups.n, d->groups.members);
    put(d, c);
}

static void next(struct hub_people *d);

static void on_done(void *arg, const struct command_result *r)
{
    struct hub_people *d = arg;
    d->running = NULL;
    /* getent exits with 2 if a name does not exist, and prints the others */
    if (r->error && d->stage != OWN_GROUPS && !(d->stage == BY_NAME && r->out.len)) {
        d->failed |= d->stage == BY_PATTERN;
        if (!d->said)
            log_warn("people", "Unix groups cannot be read: %s", r->error);
        d->said = true;
    } else if (d->stage == OWN_GROUPS) {
        unix_groups_primary(&d->fresh, r->out);
        d->said = d->failed && d->said;
    } else {
        unix_groups_add(&d->fresh, r->out, d->stage == BY_PATTERN ? groups_of(d) : NULL);
    }
    d->stage++;
    next(d);
}

static void next(struct hub_people *d)
{
    const char *argv[ARGS_MAX] = {"getent", "group"};
    struct err err = {0};
    if (d->stage == BY_NAME && !names_of(d, argv, 2))
        d->stage = BY_PATTERN;
    if (d->stage == BY_PATTERN && !has_patterns(groups_of(d)))
        d->stage = OWN_GROUPS;
    if (d->stage == OWN_GROUPS && (!d->fresh.n || d->failed))
        d->stage = STAGES;
    if (d->stage == STAGES) {
        finish(d);
        return;
    }
    if (d->stage != BY_NAME)
        argv[2] = NULL;
    if (d->stage == OWN_GROUPS)
        argv[1] = "passwd";
    if (command_start(&d->running, d->h->loop, argv, 0, GETENT_MAX, GETENT_MS, on_done, d, &err) < 0) {
        log_warn("people", "Unix groups cannot be read: %s", err.msg);
        timer_after(d->timer, AGAIN_MS);
    }
}

static void look(void *self)
{
    struct hub_people *d = self;
    size_t n;
    people_unix_groups(d->h->api.people, &n);
    timer_stop(d->timer);
    command_stop(d->running);
    d->running = NULL;
    unix_groups_fini(&d->fresh);
    d->stage = BY_NAME;
    d->failed = false;
    if (n || groups_of(d)->n)
        next(d);
}

/* ---- start, settings and end ---- */

struct people_next {
    struct people *people;
    struct people_files files;
};

static void *open_people(struct hub *h)
{
    struct hub_people *d = mem_zero(1, sizeof(*d));
    h->api.people = people_empty();
    d->h = h;
    d->timer = timer_new(h->loop, look, d);
    return d;
}

static void close_people(void *self)
{
    struct hub_people *d = self;
    people_unref(d->h->api.people);
    d->h->api.people = NULL;
    command_stop(d->running);
    timer_free(d->timer);
    unix_groups_fini(&d->groups);
    unix_groups_fini(&d->fresh);
    people_files_fini(&d->files);
    free(d);
}

static void drop_people(void *next)
{
    struct people_next *n = next;
    if (!n)
        return;
    people_unref(n->people);
    people_files_fini(&n->files);
    free(n);
}

/* Reads all of conf about people, including files. self NULL: no groups are known yet. */
static int prepare_people(void *self, const struct hub_conf *conf, void **next, struct err *err)
{
    struct hub_people *d = self;
    const struct people_settings *c = feature_settings(conf, &people_feature);
    struct people_next *n = *next = mem_zero(1, sizeof(*n));
    int r = c->aliases ? file_read(c->aliases, FILE_MAX, &n->files.aliases, err) : 0;
    if (r == 0 && companies_file(conf))
        r = file_read(companies_file(conf), FILE_MAX, &n->files.companies, err);
    for (size_t i = 0; r == 0 && i < c->unix_groups.n; i++)
        if (c->unix_groups.v[i][0] == '-' || !c->unix_groups.v[i][0])
            r = err_set(err, -EINVAL, "people_unix_groups: '%s' is not a group", c->unix_groups.v[i]);
    return r < 0 ? r : make(conf, d ? &d->groups : NULL, &n->files, &n->people, err);
}

int people_of_conf(const struct hub_conf *conf, struct people **ret, struct err *err)
{
    void *next = NULL;
    int r = prepare_people(NULL, conf, &next, err);

    if (r == 0)
        *ret = people_ref(((struct people_next *)next)->people);
    drop_people(next);
    return r;
}

/* Applies the new people, and starts reading Unix groups if needed. */
static void take_people(void *self, void *next)
{
    struct hub_people *d = self;
    struct people_next *n = next;
    people_files_fini(&d->files);
    d->files = n->files;
    n->files = (struct people_files){0};
    put(d, n->people);
    n->people = NULL;
    drop_people(n);
    look(d);
}

const struct feature people_feature = {
    .name = "people",
    FEATURE_SETTINGS(people),
    .open = open_people,
    .prepare = prepare_people,
    .drop = drop_people,
    .take = take_people,
    .close = close_people,
};
