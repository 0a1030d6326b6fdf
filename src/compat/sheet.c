/* sheet.c: the old script's three commands as one script, and what the lines it prints mean. */
#include "compat/sheet.h"

#include "base/csv.h"
#include "base/mem.h"
#include "collect/collect.h"

#define CELL_MAX 128

struct row {
    int64_t load, load_mem; /* -1: the driver would not say */
    int64_t index;
    char name[CELL_MAX], uuid[CELL_MAX]; /* with the blank before them */
};

struct app {
    char uuid[CELL_MAX]; /* without */
    char user[64];
};

struct sheet {
    size_t n_rows, n_apps;
    struct row rows[SHEET_ROWS];
    struct app *apps; /* SHEET_APPS of them */
    bool header, whole;
    char why[160];
};

struct sheet *sheet_new(void)
{
    struct sheet *s = mem_zero(1, sizeof(*s));
    s->apps = mem_zero(SHEET_APPS, sizeof(*s->apps));
    return s;
}

void sheet_free(struct sheet *s)
{
    if (!s)
        return;
    free(s->apps);
    free(s);
}

const char *sheet_script(void)
{
    return "LC_ALL=C; export LC_ALL\n"
           "PATH=$PATH:/usr/local/bin:/usr/bin:/bin:/usr/local/nvidia/bin:/opt/bin; export PATH\n"
           "(\n"
           "if ! command -v nvidia-smi >/dev/null; then echo 'X there is no nvidia-smi'; echo Z; exit; fi\n"
           "nvidia-smi --query-gpu=utilization.gpu,utilization.memory,index,gpu_name,gpu_uuid --format=csv </dev/null "
           "2>&1 | while IFS= read -r l; do printf 'G %s\\n' \"$l\"; done\n"
           "nvidia-smi --query-compute-apps=pid,gpu_uuid --format=csv </dev/null 2>/dev/null | while IFS= read -r l; "
           "do\n"
           "  p=${l%%,*}\n"
           "  case $p in ''|*[!0-9]*) continue; esac\n"
           /* gone, or only hidden from us (hidepid) */
           "  u=$(ps -o user= $p 2>/dev/null) || case $(kill -0 $p 2>&1) in *'No such process'*) u=Zombie;; *) u=?; "
           "esac\n"
           "  printf 'A %s, %s\\n' \"$u\" \"${l#*, }\"\n"
           "done\n"
           "echo Z\n"
           ") </dev/null &\n"
           /* The other end went away: so does all of this. */
           "trap 'trap - TERM; kill 0' EXIT TERM HUP INT\n"
           "while read -r l; do :; done\n";
}

/* ---- lines ---- */

/* Into a cell that holds it whole, without controls; longer ones are cut. */
static void take_cell(char to[CELL_MAX], struct str s)
{
    size_t n = MIN(s.len, (size_t)CELL_MAX - 1);
    for (size_t i = 0; i < n; i++)
        to[i] = (unsigned char)s.p[i] < 32 ? ' ' : s.p[i];
    to[n] = 0;
}

static bool percent(struct str s, int64_t *ret)
{
    s = str_trim(s);
    if (str_starts(s, "[")) { /* [N/A], [Not Supported] */
        *ret = -1;
        return true;
    }
    if (s.len && s.p[s.len - 1] == '%')
        s = str_trim(str_n(s.p, s.len - 1));
    return str_int(s, ret) && *ret >= 0 && *ret <= 100;
}

/* "91 %, 38 %, 0, GeForce GTX 1080 Ti, GPU-fa" */
static bool take_gpu(struct sheet *s, struct str line)
{
    struct str load, mem, index, name, uuid;
    struct row *r = &s->rows[s->n_rows];
    if (s->n_rows == SHEET_ROWS || !str_cut(&line, ',', &load) || !str_cut(&line, ',', &mem) ||
        !str_cut(&line, ',', &index) || !str_cut(&line, ',', &name) || !str_cut(&line, ',', &uuid) || line.len ||
        !percent(load, &r->load) || !percent(mem, &r->load_mem) || !str_int(str_trim(index), &r->index))
        return false;
    take_cell(r->name, name);
    take_cell(r->uuid, uuid);
    s->n_rows++;
    return true;
}

static void take_app(struct sheet *s, struct str line)
{
    struct str user;
    if (s->n_apps == SHEET_APPS || !str_cut(&line, ',', &user))
        return;
    struct app *a = &s->apps[s->n_apps++];
    char cell[CELL_MAX];
    take_cell(cell, str_trim(user));
    mem_copy_str(a->user, sizeof(a->user), cell);
    take_cell(a->uuid, str_trim(line));
}

static void fail(struct sheet *s, struct str words)
{
    if (!s->why[0])
        collect_text(s->why, sizeof(s->why), words);
}

void sheet_line(struct sheet *s, struct str line)
{
    if (line.len && line.p[line.len - 1] == '\r')
        line.len--;
    if (str_eq(line, "Z"))
        s->whole = true;
    else if (str_skip(&line, "X "))
        fail(s, line);
    else if (str_skip(&line, "A "))
        take_app(s, line);
    else if (!str_skip(&line, "G "))
        return; /* a greeting of the login shell */
    else if (!s->header && str_starts(line, "utilization.gpu"))
        s->header = true;
    else if (str_trim(line).len && (!s->header || !take_gpu(s, line)))
        fail(s, line);
}

bool sheet_ended(const struct sheet *s)
{
    return s->whole;
}

bool sheet_whole(const struct sheet *s)
{
    return s->whole && s->header && !s->why[0];
}

const char *sheet_reason(const struct sheet *s)
{
    return s->why;
}

/* ---- rows ---- */

static void add_number(struct buf *out, int64_t v)
{
    if (v >= 0)
        buf_addi(out, v);
    buf_addc(out, ',');
}

void sheet_rows(const struct sheet *s, const char *host, struct buf *out)
{
    for (size_t i = 0; i < s->n_rows; i++) {
        const struct row *r = &s->rows[i];
        struct str uuid = str_trim(str_of(r->uuid));
        AUTO_BUF users = BUF_INIT(1u << 20);
        for (size_t k = 0; k < s->n_apps; k++)
            if (str_eq(uuid, s->apps[k].uuid))
                buf_addf(&users, "%s%s", users.len ? ", " : "", s->apps[k].user);
        buf_addf(out, "%zu,", i);
        add_number(out, r->load);
        add_number(out, r->load_mem);
        buf_addf(out, "%lld,", (long long)r->index);
        const char *const cells[] = {r->name, r->uuid, host, buf_str(&users).p};
        for (size_t k = 0; k < ARRAY_LEN(cells); k++) {
            buf_adds(out, k ? "," : "");
            csv_add(out, cells[k]); /* as Python's csv writes it: quoted only where it must be */
        }
        buf_addc(out, '\n');
    }
}
