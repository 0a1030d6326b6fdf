/* conf.c: the hub's own settings, and the tables of all features put together. */
#include "hub/conf.h"

#include <assert.h>
#include <errno.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "clickhouse/clickhouse.h"
#include "hub/feature.h"
#include "hub/reach.h"

#define OPTS_MAX 200

static const char *const colour_words[] = {"muster", "gpu-monitor", NULL};
static const char *const read_words[] = {"open", "token", NULL};

#define SETTING(...) OPT_ROW(hub_conf, __VA_ARGS__)
const struct opt hub_own_opts[] = {
#include "hub/settings.def"
    {0}};

struct opt hub_opts[OPTS_MAX + 1];

/* Where the settings of the next feature start. */
static size_t next_part(size_t at, const struct feature *f)
{
    const size_t align = _Alignof(max_align_t);

    return at + (f->settings_size + align - 1) / align * align;
}

/* Before main: tables of commands name hub_opts as they name any other. */
__attribute__((constructor)) static void join_tables(void)
{
    size_t n = 0, at = 0;

    for (const struct feature *const *f = features; *f; at = next_part(at, *f), f++)
        for (const struct opt *o = (*f)->settings; o && o->name; o++) {
            assert(n < OPTS_MAX);
            hub_opts[n] = *o;
            hub_opts[n++].offset += at;
        }
    assert(at <= sizeof(struct hub_conf));
}

const void *feature_settings(const struct hub_conf *conf, const struct feature *f)
{
    size_t at = 0;

    for (const struct feature *const *i = features; *i != f; i++)
        at = next_part(at, *i);
    return (const char *)conf + at;
}

const void *hub_conf_value(const struct hub_conf *conf, const char *name)
{
    return (const char *)conf + opt_find(hub_opts, str_of(name))->offset;
}

int hub_conf_data(const struct hub_conf *conf, char *out, size_t size, struct err *err)
{
    if (conf->data && conf->data[0])
        return mem_copy_str(out, size, conf->data) ? 0 : err_set(err, -ENAMETOOLONG, "data: the path is too long");
    int r = file_state_dir(NULL, out, size);
    return r < 0 ? err_set(err, r, "no folder for data: HOME is not set; use --data") : 0;
}

int hub_conf_check(UNUSED void *self, const struct hub_conf *conf, UNUSED void **next, struct err *err)
{
    char host[OWN_URL_MAX];

    if (!conf->listen.n)
        return err_set(err, -EINVAL, "listen: there must be an address");
    if (conf->address && !reach_host(conf->address, host))
        return err_set(err, -EINVAL,
                       "address: '%s' is not the address of a hub: write http://HOST:PORT or https://HOST",
                       conf->address);
    if (!conf->tls_cert != !conf->tls_key)
        return err_set(err, -EINVAL, "tls_cert and tls_key belong together: one of them is missing");
    if (conf->tls && conf->tls_cert)
        return err_set(err, -EINVAL, "tls makes a self-signed certificate: remove it, or remove tls_cert and tls_key");
    return conf->samples ? clickhouse_check(&(struct click_conf){.url = conf->samples}, err) : 0;
}
