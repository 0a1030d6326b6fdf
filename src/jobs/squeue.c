/* squeue.c: reads what squeue and scontrol print. Formats as of Slurm 22.05's manuals. */
#include "jobs/squeue.h"

#include <errno.h>

#include "base/order.h"

#define LINE_MAX_LEN (64u << 10)
#define FIELD_MAX    200
#define DEPTH_MAX    3 /* brackets in one name */

/* ---- lists of hosts ---- */

static size_t digits(struct str s)
{
    return FIRST(MIN(s.len, 18u), i, s.p[i] < '0' || s.p[i] > '9');
}

static bool name_is(struct str pattern, struct str host, int depth);

/* "05-10" or "7" of a bracket: numbers are as wide as the first one is written. */
static bool range_is(struct str range, struct str after, struct str host, int depth)
{
    struct str low, high;
    uint64_t lo, hi, v;
    str_cut(&range, '-', &low);
    high = range.len ? range : low;
    if (!str_uint(low, &lo) || !str_uint(high, &hi))
        return false;
    for (size_t n = digits(host); n >= low.len && n > 0; n--) {
        struct str number = str_n(host.p, n);
        if ((n == low.len || number.p[0] != '0') && str_uint(number, &v) && v >= lo && v <= hi &&
            name_is(after, str_n(host.p + n, host.len - n), depth + 1))
            return true;
    }
    return false;
}

/* Does the pattern stand for this host? */
static bool name_is(struct str pattern, struct str host, int depth)
{
    int open = str_find(pattern, "["), close = open < 0 ? -1 : str_find(pattern, "]");
    if (open < 0)
        return str_eq_str(pattern, host);
    if (close < open || depth >= DEPTH_MAX || host.len < (size_t)open || memcmp(pattern.p, host.p, (size_t)open) != 0)
        return false;
    struct str inside = str_n(pattern.p + open + 1, (size_t)(close - open - 1)), range,
               after = str_n(pattern.p + close + 1, pattern.len - (size_t)close - 1),
               rest = str_n(host.p + open, host.len - (size_t)open);
    while (inside.len && str_cut(&inside, ',', &range))
        if (range_is(range, after, rest, depth))
            return true;
    return false;
}

/* The next name of a list: commas within brackets do not part names. */
static bool next_name(struct str *list, struct str *ret)
{
    size_t n = 0;
    bool inside = false;
    for (; n < list->len && (inside || list->p[n] != ','); n++)
        inside = list->p[n] == '[' || (inside && list->p[n] != ']');
    if (!list->len)
        return false;
    *ret = str_n(list->p, n);
    n = MIN(n + 1, list->len);
    *list = str_n(list->p + n, list->len - n);
    return true;
}

bool slurm_list_has(struct str list, const char *host)
{
    struct str name, whole = str_of(host), bare = whole;
    int dot = str_find(whole, ".");
    if (dot > 0)
        bare.len = (size_t)dot;
    while (next_name(&list, &name))
        if (name_is(name, whole, 0) || name_is(name, bare, 0))
            return true;
    return false;
}

/* ---- squeue ---- */

static const char *keep(struct slurm_jobs *j, struct str s)
{
    s = str_trim(s);
    size_t n = MIN(s.len, (size_t)FIELD_MAX);
    while (n && !str_utf8_ok(str_n(s.p, n)))
        n--;
    return arena_strn(&j->arena, s.p, n);
}

/* "1-02:03:04", "02:03:04", "3:04", in ms; -1: it is none. */
static int64_t used_of(struct str s)
{
    struct str days = STR("0"), part;
    uint64_t d, v;
    int64_t seconds = 0;
    if (str_find(s, "-") >= 0)
        str_cut(&s, '-', &days);
    if (!str_uint(days, &d) || d > 100000)
        return -1;
    int parts = 0;
    for (; s.len && str_cut(&s, ':', &part) && parts < 3; parts++) {
        if (!str_uint(part, &v) || v > 100000)
            return -1;
        seconds = seconds * 60 + (int64_t)v;
    }
    return parts >= 2 ? ((int64_t)d * 86400 + seconds) * 1000 : -1;
}

/* "gres:gpu:h200:2", "gres/gpu:2", "gpu", "gpu:1,craynetwork:1": GPUs per node. -1: no GPU. */
static int32_t gres_gpus(struct str s)
{
    struct str one;
    int64_t sum = -1;
    while (s.len && str_cut(&s, ',', &one)) {
        int paren = str_find(one, "(");
        if (paren >= 0)
            one.len = (size_t)paren;
        str_skip(&one, "gres:");
        str_skip(&one, "gres/");
        if (!str_skip(&one, "gpu") || (one.len && one.p[0] != ':' && one.p[0] != '='))
            continue;
        int colon = str_rfind(one, ":"), equal = str_rfind(one, "=");
        int at = MAX(colon, equal);
        int64_t n = 1;
        if (at >= 0 && !str_int(str_n(one.p + at + 1, one.len - (size_t)at - 1), &n))
            n = 1; /* "gpu:h200": one */
        sum = MAX(sum, 0) + MAX(0, MIN(n, 256));
    }
    return (int32_t)MIN(sum, 256);
}

static bool squeue_line(struct slurm_jobs *j, struct str line)
{
    enum { ID, USER, NODES, GRES, USED, START, ACCOUNT, PARTITION, FIELDS };
    struct str f[FIELDS];
    int64_t id;
    if (line.len > LINE_MAX_LEN)
        return false;
    for (int i = 0; i < FIELDS; i++)
        if (!str_cut(&line, '|', &f[i]))
            return false;
    int64_t used = used_of(str_trim(f[USED]));
    if (!line.p || !str_int(str_trim(f[ID]), &id) || id <= 0 || used < 0 || !str_trim(f[USER]).len)
        return false;
    int32_t gpus = gres_gpus(str_trim(f[GRES]));
    if (gpus <= 0 || j->n >= SLURM_JOBS)
        return true;
    struct str nodes = str_trim(f[NODES]);
    VEC_ROOM(j->v, j->n, j->cap);
    j->v[j->n++] = (struct slurm_job){.id = id,
                                      .used_ms = used,
                                      .per_node = gpus,
                                      .user = keep(j, f[USER]),
                                      .nodes = arena_strn(&j->arena, nodes.p, nodes.len),
                                      .start = keep(j, f[START]),
                                      .account = keep(j, f[ACCOUNT]),
                                      .partition = keep(j, f[PARTITION]),
                                      .name = keep(j, line)};
    return true;
}

COMPARE(by_id, struct slurm_job, ORDER(x->id, y->id))

int slurm_squeue(struct slurm_jobs *ret, struct str text, struct err *err)
{
    struct str line, first = STR("");
    size_t good = 0;
    while (str_line(&text, &line)) {
        if (!str_trim(line).len)
            continue;
        bool ok = squeue_line(ret, line);
        good += ok;
        ret->skipped += !ok;
        if (!ok && !first.len)
            first = line;
    }
    if (!good && first.len)
        return err_set(err, -EBADMSG, "squeue prints what is no job: '%.*s'",
                       str_utf8_ok(first) ? (int)MIN(first.len, 80u) : 0, first.p);
    SORT(ret->v, ret->n, by_id);
    return 0;
}

/* ---- scontrol ---- */

static void set_bits(uint64_t bits[4], struct str list)
{
    struct str range, low;
    uint64_t lo, hi;
    while (list.len && str_cut(&list, ',', &range)) {
        str_cut(&range, '-', &low);
        if (!str_uint(low, &lo))
            continue;
        hi = lo;
        if (range.len && !str_uint(range, &hi))
            continue;
        for (; lo <= hi && lo < 256; lo++)
            bits[lo / 64] |= 1ull << lo % 64;
    }
}

/* "gpu:h200:2(IDX:0-1),gpu:a100:1(IDX:3)" */
static bool gres_indices(struct str s, uint64_t bits[4])
{
    bool any = false;
    for (int at; (at = str_find(s, "(IDX:")) >= 0;) {
        struct str kind = str_n(s.p, (size_t)at);
        int comma = str_rfind(kind, ",");
        kind = str_n(kind.p + comma + 1, kind.len - (size_t)(comma + 1));
        s = str_n(s.p + at + 5, s.len - (size_t)at - 5);
        int close = str_find(s, ")");
        if (close < 0)
            break;
        if (str_starts(kind, "gpu")) {
            set_bits(bits, str_n(s.p, (size_t)close));
            any = true;
        }
        s = str_n(s.p + close + 1, s.len - (size_t)close - 1);
    }
    return any;
}

static void scontrol_line(struct slurm_jobs *jobs, struct str line)
{
    struct slurm_part parts[SLURM_PARTS];
    struct slurm_job key = {0}, *job = NULL;
    struct str word, nodes = STR("");
    size_t n = 0;
    while (str_word(&line, &word)) {
        if (str_skip(&word, "JobId=")) {
            if (job || !str_int(word, &key.id) || !jobs->n) /* a name may hold anything: the first one counts */
                continue;
            job = bsearch(&key, jobs->v, jobs->n, sizeof(*jobs->v), by_id);
        } else if (str_skip(&word, "Nodes=")) {
            nodes = word;
        } else if (str_skip(&word, "GRES=") && nodes.len && job && n < SLURM_PARTS) {
            struct slurm_part p = {0};
            if (gres_indices(word, p.gpus)) {
                p.nodes = arena_strn(&jobs->arena, nodes.p, nodes.len);
                parts[n++] = p;
            }
            nodes = STR("");
        }
    }
    if (!job || !n || job->n_parts)
        return;
    job->parts = arena_alloc(&jobs->arena, n, sizeof(*job->parts));
    memcpy(job->parts, parts, n * sizeof(*parts));
    job->n_parts = n;
}

void slurm_scontrol(struct slurm_jobs *jobs, struct str text)
{
    struct str line;
    while (str_line(&text, &line))
        if (line.len <= LINE_MAX_LEN)
            scontrol_line(jobs, line);
}

void slurm_jobs_fini(struct slurm_jobs *j)
{
    arena_fini(&j->arena);
    free(j->v);
    *j = (struct slurm_jobs){0};
}
