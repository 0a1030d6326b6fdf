/* config.c: reads config.yaml. Companies are read by people/, which knows them from other places as well. */
#include "wandb_pull/config.h"

#include <errno.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/rand.h"
#include "parse/ytree.h"
#include "people/people_build.h"
#include "report/report.h"
#include "wandb_pull/rule.h"

#define TEXT_MAX      255
#define URL_MAX       1023
#define TAGS_MAX      1000
#define SAMPLES_MAX   1000000
#define CPUS_MAX      100000000
#define FLIGHT_MAX    256
#define RATE_MAX      1000000 /* requests a second */
#define PROJECT_START date_of(2024, 10, 25)

struct reading {
    struct wandb_config *c;
    const struct ytree *t;
    struct err *err;
};

/* ---- values ---- */

static int read_text(struct reading *rd, const struct ynode *v, const char *what, size_t max, const char **ret)
{
    struct str s = v->kind == YNODE_TEXT ? str_trim(v->text) : str_n("", 0);
    if (v->null)
        return 0;
    if (!s.len || s.len > max || !str_utf8_ok(s))
        return yfail(rd, v, "%s: expected up to %zu bytes of plain text", what, max);
    *ret = arena_strn(&rd->c->arena, s.p, s.len);
    return 0;
}

static int read_int(struct reading *rd, const struct ynode *v, const char *what, int64_t max, int32_t *ret)
{
    int64_t n;
    if (v->null)
        return 0;
    if (v->kind != YNODE_TEXT || !str_int(str_trim(v->text), &n) || n < 1 || n > max)
        return yfail(rd, v, "%s: expected a whole number from 1 to %lld", what, (long long)max);
    *ret = (int32_t)n;
    return 0;
}

/* {entity: ..., project: ..., artifact_name: ...}: other keys are theirs. */
static int read_place(struct reading *rd, const struct ynode *v, const char *what, const char *name_key,
                      struct wandb_place *ret)
{
    int r = 0;
    if (v->null)
        return 0;
    if (v->kind != YNODE_MAP)
        return yfail(rd, v, "%s: expected entity, project and %s under it", what, name_key);
    for (size_t i = 0; i < v->n && r == 0; i++) {
        struct str key = v->keys[i].text;
        if (str_eq(key, "entity"))
            r = read_text(rd, &v->v[i], "entity", TEXT_MAX, &ret->entity);
        else if (str_eq(key, "project"))
            r = read_text(rd, &v->v[i], "project", TEXT_MAX, &ret->project);
        else if (str_eq(key, name_key))
            r = read_text(rd, &v->v[i], name_key, TEXT_MAX, &ret->name);
    }
    return r;
}

/* ---- keys ---- */

static int key_alert(struct reading *rd, const struct ynode *v)
{
    if (!v->null && (v->kind != YNODE_TEXT || !str_bool(v->text, &rd->c->enable_alert)))
        return yfail(rd, v, "enable_alert: expected true or false");
    return 0;
}

static int key_tags(struct reading *rd, const struct ynode *v)
{
    const struct ynode *items = v->kind == YNODE_LIST ? v->v : v;
    size_t n = v->kind == YNODE_LIST ? v->n : 1;
    if (v->null)
        return 0;
    if (v->kind == YNODE_MAP || n > TAGS_MAX)
        return yfail(rd, v, "ignore_tags: expected a list of up to %d tags", TAGS_MAX);
    const char **tags = arena_alloc(&rd->c->arena, MAX(n, 1u), sizeof(*tags));
    for (size_t i = 0; i < n; i++) {
        int r = items[i].null ? yfail(rd, &items[i], "ignore_tags: expected a tag")
                              : read_text(rd, &items[i], "ignore_tags", TEXT_MAX, &tags[i]);
        if (r < 0)
            return r;
        for (char *p = (char *)tags[i]; *p; p++)
            *p = *p >= 'A' && *p <= 'Z' ? (char)(*p + 32) : *p;
    }
    rd->c->ignore_tags = tags;
    rd->c->n_ignore_tags = n;
    return 0;
}

static int key_dashboard(struct reading *rd, const struct ynode *v)
{
    return read_place(rd, v, "dashboard", "tag_for_latest", &rd->c->dashboard);
}

static int key_dataset(struct reading *rd, const struct ynode *v)
{
    int r = read_place(rd, v, "dataset", "artifact_name", &rd->c->dataset);
    const struct ynode *deleted = ynode_get(v, "deleted_runs_artifact_name");
    if (r == 0 && deleted)
        r = read_text(rd, deleted, "deleted_runs_artifact_name", TEXT_MAX, &rd->c->deleted_name);
    return r;
}

static int key_blacklist(struct reading *rd, const struct ynode *v)
{
    return read_place(rd, v, "blacklist", "artifact_name", &rd->c->blacklist);
}

static int key_zone(struct reading *rd, const struct ynode *v)
{
    struct err why = {0};
    int r = read_text(rd, v, "zone", ZONE_NAME_MAX, &rd->c->zone_name);
    if (r == 0 && zone_load(rd->c->zone_name, &rd->c->zone, &why) < 0)
        r = yfail(rd, v, "zone: %s", why.msg);
    return r;
}

static int key_url(struct reading *rd, const struct ynode *v)
{
    const char *url = NULL;
    int r = read_text(rd, v, "base_url", URL_MAX, &url);
    if (r < 0 || !url)
        return r;
    struct str s = str_of(url);
    if ((!str_starts(s, "https://") && !str_starts(s, "http://")) || strpbrk(url, " \t\"<>?#@"))
        return yfail(rd, v, "base_url: expected an address, as " WANDB_BASE_URL);
    while (str_ends(s, "/"))
        s.len--;
    rd->c->base_url = arena_strn(&rd->c->arena, s.p, s.len);
    return 0;
}

static int key_samples(struct reading *rd, const struct ynode *v)
{
    return read_int(rd, v, "samples", SAMPLES_MAX, &rd->c->samples);
}

static int key_flight(struct reading *rd, const struct ynode *v)
{
    return read_int(rd, v, "in_flight", FLIGHT_MAX, &rd->c->in_flight);
}

static int key_rate(struct reading *rd, const struct ynode *v)
{
    int64_t milli;
    if (v->null)
        return 0;
    if (v->kind != YNODE_TEXT || !str_fixed(str_trim(v->text), 1000, &milli) || milli < 1 || milli > RATE_MAX * 1000ll)
        return yfail(rd, v, "rate: expected requests a second, from 0.001 to %d", RATE_MAX);
    rd->c->rate_milli = (int32_t)milli;
    return 0;
}

static int key_start(struct reading *rd, const struct ynode *v)
{
    if (!v->null && (v->kind != YNODE_TEXT || !date_parse(str_trim(v->text), &rd->c->project_start)))
        return yfail(rd, v, "project_start: expected a day, as 2024-10-25");
    return 0;
}

/* {Acme: 2704}: only existing companies; the table of another one would have no reader. */
static int key_cpus(struct reading *rd, const struct ynode *v)
{
    int r = 0;
    if (v->null)
        return 0;
    if (v->kind != YNODE_MAP || v->n > TAGS_MAX)
        return yfail(rd, v, "cpu_tables: expected companies, and how many CPUs each is lent");
    rd->c->cpu_tables = arena_alloc(&rd->c->arena, MAX(v->n, 1u), sizeof(*rd->c->cpu_tables));
    for (size_t i = 0; i < v->n && r == 0; i++) {
        struct cpu_lent *to = &rd->c->cpu_tables[rd->c->n_cpu_tables++];
        r = read_text(rd, &v->keys[i], "cpu_tables", TEXT_MAX, &to->company);
        if (r == 0)
            r = v->v[i].null ? yfail(rd, &v->v[i], "cpu_tables: expected how many CPUs")
                             : read_int(rd, &v->v[i], "cpu_tables", CPUS_MAX, &to->cpus);
    }
    return r;
}

static const struct key {
    const char *name;
    int (*read)(struct reading *rd, const struct ynode *v); /* NULL: read elsewhere */
} keys[] = {
    {"enable_alert", key_alert}, {"ignore_tags", key_tags},    {"ignore_tag", key_tags}, {"dashboard", key_dashboard},
    {"dataset", key_dataset},    {"blacklist", key_blacklist}, {"zone", key_zone},       {"base_url", key_url},
    {"samples", key_samples},    {"in_flight", key_flight},    {"rate", key_rate},       {"project_start", key_start},
    {"cpu_tables", key_cpus},    {"gpu_count", NULL},
};

/* ---- all of it ---- */

static int read_all(struct wandb_config *c, struct str text, struct err *err)
{
    const char *only[ARRAY_LEN(keys) + 1] = {0};
    AUTO_YTREE t = {0};
    struct reading rd = {c, &t, err};
    size_t n;

    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        only[i] = keys[i].name;
    int r = ytree_read(text, &(struct ytree_params){.path = c->path, .only = only}, &t, err);
    for (size_t i = 0; i < ARRAY_LEN(keys) && r == 0; i++) {
        const struct ynode *v = keys[i].read ? ynode_get(t.root, keys[i].name) : NULL;
        if (v)
            r = keys[i].read(&rd, v);
    }
    if (r == 0 && !c->zone)
        r = zone_load(c->zone_name, &c->zone, err);
    r = r ?: people_new(&(struct people_src){.wandb = text, .wandb_path = c->path, .zone = c->zone}, &c->people, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < c->n_cpu_tables; i++)
        if (!people_company(c->people, c->cpu_tables[i].company))
            return yfail(&rd, ynode_get(t.root, "cpu_tables"), "cpu_tables: no company is called '%.100s'",
                         c->cpu_tables[i].company);
    const struct company *companies = people_companies(c->people, &n);
    return rules_read(&t, ynode_get(t.root, "gpu_count"), companies, n, &c->rules, err);
}

int wandb_config_read(struct str text, const char *path, struct wandb_config **ret, struct err *err)
{
    struct wandb_config *c = NEW(struct wandb_config, .hash = fnv64(text.p, text.len), .zone_name = "Asia/Tokyo",
                                 .dashboard = {.name = "latest"}, .base_url = WANDB_BASE_URL, .samples = WANDB_SAMPLES,
                                 .in_flight = WANDB_FLIGHT, .project_start = PROJECT_START);
    c->path = arena_str(&c->arena, path);
    int r = read_all(c, text, err);
    if (r < 0)
        wandb_config_free(c);
    else
        *ret = c;
    return r;
}

int wandb_config_load(const char *path, struct wandb_config **ret, struct err *err)
{
    AUTO_BUF text = {0};
    int r = file_read(path, YTREE_TEXT, &text, err);
    return r < 0 ? r : wandb_config_read(buf_str(&text), path, ret, err);
}

void wandb_config_free(struct wandb_config *c)
{
    if (!c)
        return;
    rules_free(c->rules);
    people_unref(c->people);
    zone_free(c->zone);
    arena_fini(&c->arena);
    free(c);
}

/* ---- what follows from it ---- */

const struct company *wandb_config_company(const struct wandb_config *c, const char *team)
{
    size_t n;
    const struct company *co = people_companies(c->people, &n);
    return report_company(co, n, &(struct run_day){.team = team});
}

bool wandb_company_active(const struct company *co, int32_t from, int32_t to)
{
    int32_t first, end;
    return !company_period(co, &first, &end) || (from <= end && to >= first);
}

int wandb_config_days(const struct wandb_config *c, int32_t today, int32_t *from, int32_t *to, struct err *err)
{
    char a[16], b[16];
    bool only_end = *from == INT32_MIN && *to != INT32_MIN;
    int32_t last = *to == INT32_MIN ? today - 1 : *to;
    int32_t first = only_end ? c->project_start : *from == INT32_MIN ? today - 1 : *from;
    if (first > last)
        return err_set(err, -EINVAL, "the start, %s, is after the end, %s", date_text(first, a), date_text(last, b));
    *from = first;
    *to = last;
    return 0;
}

int32_t wandb_config_samples(const struct wandb_config *c, int64_t created_ms, int64_t heartbeat_ms)
{
    int64_t minutes = (heartbeat_ms - created_ms) / 60000 + 1;
    return (int32_t)MIN(MAX(minutes, WANDB_SAMPLES_MIN), MAX(c->samples, 1));
}
