/* squeue.c: reads the output of squeue and scontrol. Formats as recorded from Slurm 22.05. */
#include "jobs/squeue.h"

#include <errno.h>

#include "base/order.h"

#define RECORD_MAX (64u << 10)
#define FIELD_MAX  200
#define DEPTH_MAX  3 /* brackets in one name */

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

/* Does the pattern match this host? */
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

/* "1-02:03:04", "02:03:04", "3:04", in ms; -1: invalid. */
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

/* "cpu=2,mem=1G,node=2,gres/gpu=4,gres/gpu:h200=4": the untyped entry is the total. -1: no GPU, or Slurm does not count
 * them (AccountingStorageTRES lacks gres/gpu). */
static int64_t tres_gpus(struct str s, int64_t *ret_nodes)
{
    struct str item, name;
    int64_t v, total = -1, typed = -1;
    *ret_nodes = 0;
    while (s.len && str_cut(&s, ',', &item)) {
        str_cut(&item, '=', &name);
        if (!str_int(item, &v) || v < 0 || v > 1 << 20)
            continue;
        if (str_eq(name, "node"))
            *ret_nodes = v;
        else if (str_eq(name, "gres/gpu"))
            total = v;
        else if (str_starts(name, "gres/gpu:"))
            typed = MAX(typed, 0) + v;
    }
    return total >= 0 ? total : typed;
}

enum {
    ID,
    MARK,
    USER,
    NODES,
    ALLOCATED,
    PER_NODE,
    PER_JOB,
    PER_TASK,
    PER_SOCKET,
    USED,
    START,
    ACCOUNT,
    PARTITION,
    FIELDS
};

void slurm_format(struct buf *out, const char *mark)
{
    buf_addf(out,
             "JobID:|%s|,UserName:|,NodeList:|,tres-alloc:|,tres-per-node:|,tres-per-job:|,tres-per-task:|,"
             "tres-per-socket:|,TimeUsed:|,StartTime:|,Account:|,Partition:|,Name:",
             mark);
}

/* How many GPUs a job has on each node, 0: unknown. False: it has none. */
static bool job_gpus(const struct str f[FIELDS], int32_t *ret_per_node)
{
    int64_t nodes, total = tres_gpus(str_trim(f[ALLOCATED]), &nodes);
    int32_t per_node = gres_gpus(str_trim(f[PER_NODE]));
    *ret_per_node = MAX(per_node, 0);
    if (total > 0 && nodes > 0)
        *ret_per_node = total % nodes ? 0 : (int32_t)MIN(total / nodes, 256);
    return total > 0 || per_node > 0 || gres_gpus(str_trim(f[PER_JOB])) > 0 || gres_gpus(str_trim(f[PER_TASK])) > 0 ||
           gres_gpus(str_trim(f[PER_SOCKET])) > 0;
}

static bool is_marked(struct str line, const char *mark)
{
    struct str id, found;
    return str_cut(&line, '|', &id) && str_cut(&line, '|', &found) && str_eq(found, mark);
}

/* The next record: a marked line and the unmarked lines that continue its name. Without a mark, one line. */
static struct str cut_record(struct str *text, const char *mark)
{
    struct str all = *text, line = {0}, ahead;
    str_line(text, &line);
    if (is_marked(line, mark))
        for (ahead = *text; str_line(&ahead, &line) && !is_marked(line, mark);)
            *text = ahead;
    all.len -= text->len;
    all.len -= str_ends(all, "\n");
    return all;
}

static bool add_job(struct slurm_jobs *j, struct str record, const char *mark)
{
    struct str f[FIELDS];
    int64_t id;
    int32_t per_node;
    if (record.len > RECORD_MAX || !is_marked(record, mark))
        return false;
    for (int i = 0; i < FIELDS; i++)
        if (!str_cut(&record, '|', &f[i]))
            return false;
    int64_t used = used_of(str_trim(f[USED]));
    if (!record.p || !str_int(str_trim(f[ID]), &id) || id <= 0 || used < 0 || !str_trim(f[USER]).len)
        return false;
    if (!job_gpus(f, &per_node) || j->n >= SLURM_JOBS)
        return true;
    struct str nodes = str_trim(f[NODES]);
    VEC_ROOM(j->v, j->n, j->cap);
    j->v[j->n++] = (struct slurm_job){.id = id,
                                      .used_ms = used,
                                      .per_node = per_node,
                                      .user = keep(j, f[USER]),
                                      .nodes = arena_strn(&j->arena, nodes.p, nodes.len),
                                      .start = keep(j, f[START]),
                                      .account = keep(j, f[ACCOUNT]),
                                      .partition = keep(j, f[PARTITION]),
                                      .name = keep(j, record),
                                      .full_name = str_n(arena_strn(&j->arena, record.p, record.len), record.len)};
    return true;
}

COMPARE(by_id, struct slurm_job, ORDER(x->id, y->id))

int slurm_squeue(struct slurm_jobs *ret, struct str text, const char *mark, struct err *err)
{
    struct str first = STR("");
    size_t good = 0;
    while (text.len) {
        struct str record = cut_record(&text, mark);
        if (!str_trim(record).len)
            continue;
        bool ok = add_job(ret, record, mark);
        good += ok;
        ret->skipped += !ok;
        if (!ok && !first.len)
            first = record;
    }
    if (!good && first.len)
        return err_set(err, -EBADMSG, "cannot read squeue's output, which begins '%.*s'; it needs Slurm 20.11 or newer",
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

/* The job of the record at the start of text, or NULL. *ret: its text from the name's end up to the first word that its
 * user may have written. */
static struct slurm_job *record_job(struct slurm_jobs *jobs, struct str text, struct str *ret)
{
    struct slurm_job key = {0}, *job;
    struct str line = text, id;
    int at = str_find(str_n(text.p, MIN(text.len, 1000u)), " JobName=");
    if (at < 0 || !str_skip(&line, "JobId=") || !str_word(&line, &id) || !str_int(id, &key.id))
        return NULL;
    job = bsearch(&key, jobs->v, jobs->n, sizeof(*jobs->v), by_id);
    struct str name = str_drop(text, (size_t)at + strlen(" JobName="));
    if (!job || name.len < job->full_name.len || memcmp(name.p, job->full_name.p, job->full_name.len) != 0)
        return NULL;
    struct str rest = str_drop(name, job->full_name.len);
    int end = str_find(str_n(rest.p, MIN(rest.len, RECORD_MAX)), " MinCPUsNode=");
    if (end < 0 || !str_starts(rest, " UserId="))
        return NULL;
    *ret = str_n(rest.p, (size_t)end);
    return job;
}

static size_t read_parts(struct slurm_jobs *jobs, struct str text, struct slurm_part parts[SLURM_PARTS])
{
    struct str word, nodes = STR("");
    size_t n = 0;
    while (n < SLURM_PARTS && str_word(&text, &word)) {
        if (str_skip(&word, "Nodes=")) {
            nodes = word;
        } else if (str_skip(&word, "GRES=") && nodes.len) {
            struct slurm_part p = {0};
            if (gres_indices(word, p.gpus)) {
                p.nodes = arena_strn(&jobs->arena, nodes.p, nodes.len);
                parts[n++] = p;
            }
            nodes = STR("");
        }
    }
    return n;
}

static void add_parts(struct slurm_jobs *jobs, struct slurm_job *job, struct str text)
{
    struct slurm_part parts[SLURM_PARTS];
    size_t n = read_parts(jobs, text, parts);
    job->n_parts = 0;
    if (job->records++ || !n)
        return;
    job->parts = arena_alloc(&jobs->arena, n, sizeof(*job->parts));
    memcpy(job->parts, parts, n * sizeof(*parts));
    job->n_parts = n;
}

void slurm_scontrol(struct slurm_jobs *jobs, struct str text)
{
    struct str line, found;
    for (struct str record = text; jobs->n && str_line(&text, &line); record = text) {
        struct slurm_job *job = str_starts(line, "JobId=") ? record_job(jobs, record, &found) : NULL;
        if (job)
            add_parts(jobs, job, found);
    }
}

void slurm_jobs_fini(struct slurm_jobs *j)
{
    arena_fini(&j->arena);
    free(j->v);
    *j = (struct slurm_jobs){0};
}
