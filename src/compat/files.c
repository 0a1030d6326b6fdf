/* files.c: turns the settings into a list of machines to fetch files from and a folder to watch. */
#include "compat/files.h"

#include <stdlib.h>

#include "compat/pull.h"
#include "compat/watch.h"
#include "relay/finder.h"

struct files {
    struct filehosts *all;
    struct pull *pull;
    struct watch *watch;
    struct finder *finder;
    struct target_list fixed;
    int port;
    int64_t every_ms;
    size_t at_once;
};

static int list_of(const struct files_settings *s, struct target_list *ret, struct err *err)
{
    struct target_list l = {0};
    int r = 0;
    for (size_t i = 0; i < s->pull.n && r == 0; i++)
        r = target_list_add(&l, str_of(s->pull.v[i]), NULL, err);
    if (r < 0) {
        target_list_fini(&l);
        return err_prefix(err, r, "files.pull");
    }
    *ret = l;
    return 0;
}

/* The sources of this list, with what holds for all. */
static struct ssh_settings source_settings(const struct files_settings *s, const struct ssh_settings *sources)
{
    struct ssh_settings all = {.sources = s->sources,
                               .source_token_file = sources->source_token_file,
                               .source_ca_file = sources->source_ca_file,
                               .source_only = sources->source_only};
    return all; /* borrowed */
}

int files_check(const struct files_settings *s, const struct ssh_settings *sources, struct err *err)
{
    struct target_list l = {0};
    struct readings_zone z;
    struct ssh_settings found = source_settings(s, sources);
    int r = list_of(s, &l, err);
    target_list_fini(&l);
    if (r == 0 && (r = readings_zone(s->zone ? s->zone : "auto", &z, err)) < 0)
        err_prefix(err, r, "files.zone");
    if (r == 0 && (r = finder_check(&found, err)) < 0)
        err_prefix(err, r, "files");
    return r;
}

bool files_wanted(const struct files_settings *s)
{
    return s->pull.n || s->sources.n || s->watch;
}

static void take_lists(void *arg)
{
    struct files *f = arg;
    struct target_list all = {0};
    for (size_t i = 0; i < f->fixed.n; i++) {
        const struct relay_target *t = &f->fixed.v[i];
        target_list_put(&all, str_of(t->name), t->host, NULL, t->port);
    }
    finder_add(f->finder, &all);
    pull_set(f->pull, &all, f->port, f->every_ms, f->at_once);
    target_list_fini(&all);
}

int files_set(struct files *f, const struct files_settings *s, const struct ssh_settings *sources, struct err *err)
{
    struct target_list l = {0};
    struct readings_zone z;
    struct ssh_settings found = source_settings(s, sources);
    int r = files_check(s, sources, err);
    if (r == 0)
        r = list_of(s, &l, err);
    if (r == 0)
        r = finder_set(f->finder, &found, err);
    if (r < 0) {
        target_list_fini(&l);
        return r;
    }
    readings_zone(s->zone ? s->zone : "auto", &z, err);
    target_list_fini(&f->fixed);
    f->fixed = l;
    f->port = (int)s->port;
    f->every_ms = s->every;
    f->at_once = (size_t)s->connections;
    filehosts_zone(f->all, &z);
    take_lists(f);
    watch_set(f->watch, s->watch);
    return 0;
}

int files_new(struct files **ret, struct event_base *loop, struct post *post, struct err *err)
{
    struct files *f = mem_zero(1, sizeof(*f));
    f->all = filehosts_new(loop, post);
    f->watch = watch_new(loop, f->all);
    f->finder = finder_new(loop, take_lists, f);
    int r = pull_new(&f->pull, loop, f->all, err);
    if (r < 0) {
        files_free(f);
        return r;
    }
    *ret = f;
    return 0;
}

void files_free(struct files *f)
{
    if (!f)
        return;
    finder_free(f->finder);
    pull_free(f->pull);
    watch_free(f->watch);
    filehosts_free(f->all);
    target_list_fini(&f->fixed);
    free(f);
}

void files_sources(const struct files *f, struct json *j)
{
    finder_tell(f->finder, "files", j);
    watch_tell(f->watch, j);
}

size_t files_count(const struct files *f, size_t ret_states[COLLECT_STATES])
{
    return filehosts_count(f->all, ret_states);
}
