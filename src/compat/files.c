/* files.c: turns the settings into a list of machines to fetch files from and a folder to watch. */
#include "compat/files.h"

#include "base/mem.h"
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

static int list_of(const struct relay_settings *s, struct target_list *ret, struct err *err)
{
    struct target_list l = {0};
    int r = 0;
    for (size_t i = 0; i < s->files_pull.n && r == 0; i++)
        r = target_list_add(&l, str_of(s->files_pull.v[i]), NULL, err);
    if (r < 0) {
        target_list_fini(&l);
        return err_prefix(err, r, "files.pull");
    }
    *ret = l;
    return 0;
}

/* The sources of this list, with what holds for all. */
static struct relay_settings source_settings(const struct relay_settings *s)
{
    return (struct relay_settings){.sources = s->files_sources, /* borrowed */
                                   .source_token_file = s->source_token_file,
                                   .source_ca_file = s->source_ca_file,
                                   .source_only = s->source_only};
}

int files_check(const struct relay_settings *s, struct err *err)
{
    struct target_list l = {0};
    struct readings_zone z;
    struct relay_settings found = source_settings(s);
    int r = list_of(s, &l, err);
    target_list_fini(&l);
    if (r == 0 && (r = readings_zone(s->files_zone ? s->files_zone : "auto", &z, err)) < 0)
        err_prefix(err, r, "files.zone");
    if (r == 0 && (r = finder_check(&found, err)) < 0)
        err_prefix(err, r, "files");
    return r;
}

bool files_wanted(const struct relay_settings *s)
{
    return s->files_pull.n || s->files_sources.n || s->files_watch;
}

static void take_lists(void *arg)
{
    struct files *f = arg;
    struct target_list all = {0};
    for (size_t i = 0; i < f->fixed.n; i++) {
        const struct relay_target *t = &f->fixed.v[i];
        target_list_put(&all, str_of(t->name), t->host, NULL, t->port);
    }
    size_t own = all.n;
    finder_add(f->finder, &all);
    for (size_t i = own; i < all.n; i++) { /* GPU Monitor asks a host by its Node in Consul, not by its Address */
        free(all.v[i].host);
        all.v[i].host = mem_str(all.v[i].name);
    }
    pull_set(f->pull, &all, f->port, f->every_ms, f->at_once);
    target_list_fini(&all);
}

int files_set(struct files *f, const struct relay_settings *s, struct err *err)
{
    struct target_list l = {0};
    struct readings_zone z;
    struct relay_settings found = source_settings(s);
    int r = files_check(s, err) ?: list_of(s, &l, err) ?: finder_set(f->finder, &found, err);
    if (r < 0) {
        target_list_fini(&l);
        return r;
    }
    readings_zone(s->files_zone ? s->files_zone : "auto", &z, err);
    target_list_fini(&f->fixed);
    f->fixed = l;
    f->port = (int)s->files_port;
    f->every_ms = s->files_every;
    f->at_once = (size_t)s->files_connections;
    filehosts_zone(f->all, &z);
    take_lists(f);
    watch_set(f->watch, s->files_watch);
    return 0;
}

int files_new(struct files **ret, struct event_base *loop, struct post *post, struct err *err)
{
    struct files *f = NEW(struct files, .all = filehosts_new(loop, post));
    f->watch = watch_new(loop, f->all);
    f->finder = finder_new(loop, take_lists, f);
    int r = pull_new(&f->pull, loop, f->all, err);
    if (r < 0)
        files_free(f);
    else
        *ret = f;
    return r;
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
    finder_status_json(f->finder, "files", j);
    watch_status_json(f->watch, j);
}

size_t files_count(const struct files *f, size_t ret_states[COLLECT_STATES])
{
    return filehosts_count(f->all, ret_states);
}
