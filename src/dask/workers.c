/* workers.c: finds the workers' files in a folder, and reads the companion file of each. */
#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"
#include "dask/samples.h"

#define FILES_MAX 100000
#define ABOUT_MAX (4u << 20)

/* "worker_10.csv" -> 10 */
static bool number_of(const char *path, int64_t *ret)
{
    const char *slash = strrchr(path, '/');
    struct str s = str_of(slash ? slash + 1 : path);
    if (!str_ends(s, ".csv"))
        return false;
    s.len -= 4;
    int at = str_rfind(s, "_");
    struct str digits = str_n(s.p + at + 1, s.len - (size_t)(at + 1));
    return at >= 0 && digits.len && digits.p[0] >= '0' && digits.p[0] <= '9' && str_int(digits, ret);
}

COMPARE(cmp, struct worker_file, ORDER(x->number, y->number) ?: strcmp(x->path, y->path))

static int find_in(const char *path, DIR *d, struct worker_files *w, struct err *err)
{
    size_t cap = 0;
    struct dirent *e;
    while ((e = readdir(d))) {
        AUTO_FREE char *full = mem_fmt("%s/%s", path, e->d_name);
        int64_t number;
        struct stat st;
        if (!number_of(e->d_name, &number) || stat(full, &st) < 0 || !S_ISREG(st.st_mode))
            continue;
        if (w->n == FILES_MAX)
            return err_set(err, -E2BIG, "'%s' has more than %d files of workers", path, FILES_MAX);
        VEC_ADD(w->v, w->n, cap, (struct worker_file){number, mem_str(full), st.st_size});
    }
    if (!w->n)
        return err_set(err, -ENOENT, "'%s' has no files of workers: expected names as worker_0.csv", path);
    qsort(w->v, w->n, sizeof(*w->v), cmp);
    for (size_t i = 1; i < w->n; i++)
        if (w->v[i].number == w->v[i - 1].number)
            return err_set(err, -EEXIST, "'%s' and '%s' are both of worker %lld", w->v[i - 1].path, w->v[i].path,
                           (long long)w->v[i].number);
    return 0;
}

int worker_files_find(const char *path, struct worker_files *ret, struct err *err)
{
    struct worker_files w = {0};
    struct stat st;
    size_t cap = 0;
    int r = 0;
    if (stat(path, &st) < 0)
        return err_set(err, -errno, "cannot open '%s': %s", path, strerror(errno));
    if (!S_ISDIR(st.st_mode)) {
        int64_t number = 0;
        number_of(path, &number);
        VEC_ADD(w.v, w.n, cap, (struct worker_file){number, mem_str(path), st.st_size});
    } else {
        DIR *d = opendir(path);
        r = d ? find_in(path, d, &w, err) : err_set(err, -errno, "cannot open '%s': %s", path, strerror(errno));
        if (d)
            closedir(d);
    }
    if (r < 0)
        worker_files_fini(&w);
    else
        *ret = w;
    return r;
}

void worker_files_fini(struct worker_files *w)
{
    for (size_t i = 0; i < w->n; i++)
        free(w->v[i].path);
    free(w->v);
    *w = (struct worker_files){0};
}

/* ---- companions ---- */

static json_t *companion(const char *csv_path)
{
    struct str s = str_of(csv_path);
    AUTO_BUF text = {0};
    AUTO_FREE char *path = mem_fmt("%.*s.json", (int)s.len - (str_ends(s, ".csv") ? 4 : 0), csv_path);
    if (file_read(path, ABOUT_MAX, &text, NULL) < 0)
        return NULL;
    return json_loadb(buf_str(&text).p, text.len, 0, NULL);
}

static void take(const json_t *o, const char *key, char *out, size_t size)
{
    const char *s = json_string_value(json_object_get(o, key));
    out[0] = 0;
    if (s && str_utf8_ok(str_of(s)))
        mem_copy_str(out, size, s);
}

void samples_about(const char *csv_path, struct samples_about *ret)
{
    json_auto_t *o = companion(csv_path);
    take(o, "name", ret->name, sizeof(ret->name));
    take(o, "host", ret->host, sizeof(ret->host));
}

const char *samples_unit(const char *csv_path, const char *metric, char out[32])
{
    static const struct {
        const char *name, *unit;
    } known[] = {{"total-mem", "bytes"}, {"mem-util", "%"}, {"compute-util", "%"}, {"mem-used-percent", "%"}};
    json_auto_t *o = companion(csv_path);
    json_t *column;
    size_t i;
    out[0] = 0;
    json_array_foreach (json_object_get(o, "columns"), i, column) {
        const char *name = json_string_value(json_object_get(column, "name"));
        if (name && strcmp(name, metric) == 0)
            take(column, "unit", out, 32);
    }
    for (i = 0; i < ARRAY_LEN(known) && !out[0]; i++)
        if (strcmp(known[i].name, metric) == 0)
            mem_copy_str(out, 32, known[i].unit);
    if (strcmp(out, "percent") == 0)
        mem_copy_str(out, 32, "%");
    return out;
}
