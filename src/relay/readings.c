/* readings.c: reads the five small files of one machine. */
#include "relay/readings.h"

#include <errno.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/order.h"
#include "collect/smi.h"
#include "model/work.h"

#define TAIL_ROWS    20 /* of GPUs: as many as the scripts keep */
#define SWEEP_MS     3000
#define FRESH_MS     60000
#define LITTLE_BYTES (10ll << 20)
#define DAY_S        86400ll
#define QUARTER_S    900ll
#define EAST_S       (14ll * 3600) /* no zone is further east */
#define DISKS_MAX    16
#define CHILDREN_MAX 8192
#define PEOPLE_MAX   8192

struct row {
    struct device_fact fact;
    struct sample sample;
    int64_t at; /* local */
};

struct app {
    int64_t at; /* local */
    char uuid[UUID_MAX], name[64];
    int32_t pid;
    int64_t mem; /* -1 unknown */
};

struct person { /* a line of ps */
    int32_t pid;
    int64_t start; /* local; 0 unknown */
    char user[64];
};

struct child {
    int32_t of, pid;
};

struct readings {
    size_t n_rows, cap_rows, n_apps, cap_apps, n_people, cap_people, n_children, cap_children, n_disks,
        left_out; /* disks, too many */
    struct row *rows;
    struct app *apps;
    struct person *people;
    struct child *children;
    struct disk disks[DISKS_MAX], root; /* root: of the status; its total is 0 if unknown */
    bool cut, users_taken;
    int64_t ram_used, ram_total, load1; /* -1: unknown */
    int32_t cpus;
    int64_t offset_ms; /* E4 */
};

struct readings *readings_new(void)
{
    return NEW(struct readings, .ram_used = -1, .ram_total = -1, .load1 = -1);
}

void readings_free(struct readings *r)
{
    if (!r)
        return;
    FREE_ALL(r->rows, r->apps, r->people, r->children, r);
}

/* ---- names and zones ---- */

bool readings_name(struct str file, struct str *ret_host, enum readings_file *ret)
{
    static const char *const ends[READINGS_FILES] = {"_gpus.csv", "_processes.csv", "_users.csv", "_status.csv",
                                                     "_disks.csv"};
    for (int i = 0; i < READINGS_FILES; i++) {
        struct str host = file;
        char key[NODE_KEY_MAX];
        if (!str_ends(file, ends[i]))
            continue;
        host.len -= strlen(ends[i]);
        if (host.len > ORIGIN_NAME_MAX)
            return false;
        snprintf(key, sizeof(key), "file:%.*s", STR_ARG(host));
        if (!node_origin_ok(str_of(key)))
            return false;
        *ret_host = host;
        *ret = (enum readings_file)i;
        return true;
    }
    return false;
}

int readings_zone(const char *text, struct readings_zone *ret, struct err *err)
{
    struct str s = str_of(text), hours, minutes = STR("0");
    int64_t h, m;
    if (str_eq_nocase(s, "auto") || str_eq_nocase(s, "utc")) {
        *ret = (struct readings_zone){.automatic = str_eq_nocase(s, "auto")};
        return 0;
    }
    bool west = str_starts(s, "-");
    if (str_skip(&s, "-") || str_skip(&s, "+")) {
        hours = str_n(s.p, MIN(s.len, 2u));
        if (s.len > 2)
            minutes = str_n(s.p + s.len - 2, 2);
        bool shape = s.len == 2 || s.len == 4 || (s.len == 5 && s.p[2] == ':');
        if (shape && str_int(hours, &h) && str_int(minutes, &m) && h >= 0 && h <= 14 && m >= 0 && m < 60) {
            *ret = (struct readings_zone){.offset_ms = (west ? -1 : 1) * (h * 3600 + m * 60) * 1000};
            return 0;
        }
    }
    return err_set(err, -EINVAL, "'%.40s' is no zone: auto, UTC, or an offset as +02:00", text);
}

static int64_t offset_of(const struct readings *r, const struct readings_zone *z)
{
    return z->automatic ? r->offset_ms : z->offset_ms;
}

/* ---- times, in the node's zone, counted as if it were UTC ---- */

/* "2026/11/15 08:41:39.123" */
static bool stamp(struct str s, int64_t *ret)
{
    char text[32];
    if (s.len < 19 || s.len > 26 || s.p[4] != '/' || s.p[7] != '/' || s.p[10] != ' ')
        return false;
    snprintf(text, sizeof(text), "%.4s-%.2s-%.2sT%.*sZ", s.p, s.p + 5, s.p + 8, (int)s.len - 11, s.p + 11);
    return clock_parse(text, strlen(text), ret) == 0 && *ret > 0;
}

/* "Sun Nov 15 08:41:39 2026" of ps; 0 in another language. */
static int64_t lstart(struct str s)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    struct str week, month, day, time, year;
    char text[32];
    int64_t d, y, at = 0;
    if (!str_word(&s, &week) || !str_word(&s, &month) || !str_word(&s, &day) || !str_word(&s, &time) ||
        !str_word(&s, &year) || month.len != 3 || time.len != 8 || !str_int(day, &d) || !str_int(year, &y) || d < 1 ||
        d > 31 || y < 1970 || y > 9999)
        return 0;
    char name[4] = {month.p[0], month.p[1], month.p[2], 0};
    const char *found = strstr(months, name);
    if (!found || (found - months) % 3)
        return 0;
    snprintf(text, sizeof(text), "%04d-%02d-%02dT%.8sZ", (int)y, (int)(found - months) / 3 + 1, (int)d, time.p);
    return clock_parse(text, strlen(text), &at) == 0 && at > 0 ? at : 0;
}

/*
 * Computes the node's offset east of UTC from uptime's clock time, "08:41:39", and the time of writing; rounds it to 15
 * min.
 */
static bool east(struct str tod, int64_t written_ms, int64_t *ret_ms)
{
    char text[32];
    int64_t at;
    if (tod.len != 8 || written_ms <= 0)
        return false;
    snprintf(text, sizeof(text), "1970-01-02T%.8sZ", tod.p);
    if (clock_parse(text, strlen(text), &at) < 0)
        return false;
    int64_t ahead = (at / 1000 - written_ms / 1000) % DAY_S;
    ahead = (ahead + 2 * DAY_S + QUARTER_S / 2) % DAY_S; /* 0 to a day, half a quarter more */
    ahead -= ahead % QUARTER_S;
    *ret_ms = (ahead > EAST_S ? ahead - DAY_S : ahead) * 1000;
    return true;
}

/* ---- GPUs ---- */

static struct row *row_of(struct readings *r, const char *uuid)
{
    return FIND(r->rows, r->n_rows, w, strcmp(w->fact.uuid, uuid) == 0);
}

static void row_value(struct row *w, enum metric m, struct str text, int64_t scale, int64_t max)
{
    int64_t v;
    if (str_fixed(text, scale, &v) && v >= 0 && v <= max)
        sample_set(&w->sample, m, v);
    else
        smi_remark(text, &w->fact);
}

/* "0, GPU-…, Tesla V100, 8018, 16160, 92, 40, 61, 2026/11/15 08:41:39.123" */
static bool gpu_row(struct str line, struct row *ret)
{
    struct str f[9], extra;
    int64_t index;
    struct row w = {.fact = {.minor = -1, .mig = -1, .vendor = VENDOR_NVIDIA}};
    for (size_t i = 0; i < ARRAY_LEN(f); i++) {
        if (!str_cut(&line, ',', &f[i]))
            return false;
        f[i] = str_trim(f[i]);
    }
    if (str_cut(&line, ',', &extra) || !str_int(f[0], &index) || index < 0 || index > 9999 || !f[1].len ||
        !stamp(f[8], &w.at))
        return false;
    w.fact.index = (int32_t)index;
    collect_text(w.fact.uuid, sizeof(w.fact.uuid), f[1]);
    collect_text(w.fact.name, sizeof(w.fact.name), f[2]);
    if (!name_ok(str_of(w.fact.uuid), UUID_MAX - 1))
        return false;
    row_value(&w, M_mem_used, f[3], 1 << 20, 1ll << 50);
    row_value(&w, M_mem_total, f[4], 1 << 20, 1ll << 50);
    row_value(&w, M_util, f[5], 100, 10000);
    row_value(&w, M_mem_util, f[6], 100, 10000);
    row_value(&w, M_temp, f[7], 1000, 1000000);
    *ret = w;
    return true;
}

COMPARE(by_index, struct row, ORDER(x->fact.index, y->fact.index) ?: strcmp(x->fact.uuid, y->fact.uuid))

static void take_gpus(struct readings *r, struct str text, UNUSED int64_t written_ms)
{
    struct str line;
    size_t rows = 0, was = r->n_rows;
    bool again = false;
    struct row *old = r->rows;
    r->rows = NULL;
    r->n_rows = r->cap_rows = 0;
    while (str_line(&text, &line)) {
        struct row w;
        if (!gpu_row(line, &w))
            continue;
        struct row *same = row_of(r, w.fact.uuid);
        rows++;
        again |= same != NULL;
        if (same) {
            *same = w;
        } else if (r->n_rows < DEVICES_MAX) {
            VEC_ADD(r->rows, r->n_rows, r->cap_rows, w);
        }
    }
    r->cut = rows >= TAIL_ROWS && !again;
    for (size_t i = 0; r->cut && i < was; i++) /* E2 */
        if (!row_of(r, old[i].fact.uuid) && r->n_rows < DEVICES_MAX)
            VEC_ADD(r->rows, r->n_rows, r->cap_rows, old[i]);
    free(old);
    SORT(r->rows, r->n_rows, by_index);
}

/* ---- processes ---- */

/* "2026/11/15 08:41:39.123, GPU-…, 6400, python, 31415"; the name may have commas. */
static bool app_row(struct str line, struct app *ret)
{
    struct str at, uuid, mem;
    struct app a = {.mem = -1};
    int64_t pid;
    int last = str_rfind(line, ",");
    if (last < 0 || !str_int(str_trim(str_n(line.p + last + 1, line.len - (size_t)last - 1)), &pid) || pid <= 0 ||
        pid > INT32_MAX)
        return false;
    line.len = (size_t)last;
    if (!str_cut(&line, ',', &at) || !str_cut(&line, ',', &uuid) || !str_cut(&line, ',', &mem) || !line.p ||
        !stamp(str_trim(at), &a.at))
        return false;
    a.pid = (int32_t)pid;
    if (!str_fixed(str_trim(mem), 1 << 20, &a.mem) || a.mem < 0 || a.mem > 1ll << 50)
        a.mem = -1;
    collect_text(a.uuid, sizeof(a.uuid), uuid);
    line = str_trim(line);
    int slash = str_rfind(line, "/");
    size_t path = slash < 0 ? 0 : (size_t)slash + 1;
    collect_text(a.name, sizeof(a.name), str_n(line.p + path, line.len - path));
    *ret = a;
    return true;
}

static void take_processes(struct readings *r, struct str text, UNUSED int64_t written_ms)
{
    struct str line;
    r->n_apps = 0;
    while (str_line(&text, &line)) {
        struct app a;
        if (!app_row(line, &a))
            continue;
        struct app *same = FIND(r->apps, r->n_apps, e, e->pid == a.pid && strcmp(e->uuid, a.uuid) == 0);
        if (same)
            *same = a;
        else if (r->n_apps < PROCS_MAX)
            VEC_ADD(r->apps, r->n_apps, r->cap_apps, a);
    }
}

/* {"31415": ["31416", "31417"]}: every number before a colon is a GPU's, the others are its children. */
static void take_children(struct readings *r, struct str line)
{
    int32_t of = 0;
    for (size_t i = 0; i < line.len;) {
        size_t at = i;
        int64_t pid;
        while (i < line.len && line.p[i] >= '0' && line.p[i] <= '9')
            i++;
        if (i == at) {
            i++;
            continue;
        }
        if (!str_int(str_n(line.p + at, i - at), &pid) || pid <= 0 || pid > INT32_MAX)
            continue;
        size_t next = i;
        while (next < line.len && (line.p[next] == '"' || line.p[next] == ' '))
            next++;
        if (next < line.len && line.p[next] == ':') {
            of = (int32_t)pid;
        } else if (of && r->n_children < CHILDREN_MAX) {
            VEC_ADD(r->children, r->n_children, r->cap_children, (struct child){of, (int32_t)pid});
        }
    }
}

static void take_users(struct readings *r, struct str text, UNUSED int64_t written_ms)
{
    struct str line, pid, user;
    int64_t n;
    r->n_people = r->n_children = 0;
    r->users_taken = text.len > 0;
    while (str_line(&text, &line)) {
        struct str rest = str_trim(line);
        if (str_starts(rest, "{")) {
            take_children(r, rest);
            continue;
        }
        if (!str_word(&rest, &pid) || !str_word(&rest, &user) || !str_int(pid, &n) || n <= 0 || n > INT32_MAX)
            continue;
        if (r->n_people == PEOPLE_MAX)
            return;
        VEC_ROOM(r->people, r->n_people, r->cap_people);
        struct person *p = &r->people[r->n_people++];
        *p = (struct person){.pid = (int32_t)n, .start = lstart(rest)};
        collect_text(p->user, sizeof(p->user), user);
    }
}

/* ---- the machine ---- */

/* Of a long path the end, whole folders if there are any: that is where mounts and volumes differ. */
static struct str end_of(struct str s, size_t size)
{
    if (s.len < size)
        return s;
    s = str_n(s.p + s.len - (size - 1), size - 1);
    int folder = MAX(str_find(s, "/"), 0);
    return str_n(s.p + folder, s.len - (size_t)folder);
}

bool disk_row(struct str line, struct disk *ret)
{
    struct str source, size, used, avail, share;
    struct disk d = {0};
    if (!str_word(&line, &source) || !str_word(&line, &size) || !str_word(&line, &used) || !str_word(&line, &avail) ||
        !str_word(&line, &share) || !str_ends(share, "%") || !str_int(size, &d.total) || !str_int(used, &d.used) ||
        !str_int(avail, &d.avail) || d.total <= 0 || d.total > 1ll << 43 || d.used < 0 || d.used > d.total)
        return false;
    d.avail = MAX(-d.used / 2, MIN(d.avail, 1ll << 43)) * 1024; /* below 0: root uses part of its reserve */
    d.total <<= 10;
    d.used <<= 10;
    line = str_trim(line);
    collect_text(d.source, sizeof(d.source), end_of(source, sizeof(d.source)));
    collect_text(d.mount, sizeof(d.mount), end_of(line, sizeof(d.mount)));
    bool mounted = str_starts(line, "/");
    d.mount[0] = '/'; /* of an end without folders, too */
    *ret = d;
    return mounted;
}

void disk_sum(struct disk *all, const struct disk *d)
{
    all->total = MIN(all->total + d->total, 1ll << 60);
    all->used = MIN(all->used + d->used, 1ll << 60);
    all->avail = MIN(all->avail + MAX(0, d->avail), 1ll << 60);
}

void disk_sample(const struct disk *all, struct sample *ret)
{
    if (all->total <= 0)
        return;
    sample_set(ret, M_disk_used, all->used);
    sample_set(ret, M_disk_total, all->total);
    sample_set(ret, M_disk_avail, all->avail);
}

static void take_disks(struct readings *r, struct str text, UNUSED int64_t written_ms)
{
    struct str line;
    r->n_disks = r->left_out = 0;
    while (str_line(&text, &line)) {
        struct disk d;
        if (!str_starts(line, "/dev/") || !disk_row(line, &d))
            continue; /* its header, a tmpfs: nothing of ours */
        if (ANY(r->n_disks, i, strcmp(r->disks[i].source, d.source) == 0))
            continue;
        if (r->n_disks < DISKS_MAX)
            r->disks[r->n_disks++] = d;
        else
            r->left_out++;
    }
}

/* " 08:41:39 up 3 days,  1:02,  2 users,  load average: 0.52, 0.58, 0.59", or with 0,52 */
static void take_uptime(struct readings *r, struct str line, int at, int64_t written_ms)
{
    struct str rest = str_n(line.p + at, line.len - (size_t)at), word, tod;
    char text[24];
    str_cut(&rest, ':', &word);
    if (str_word(&rest, &word)) {
        if (str_ends(word, ","))
            word.len--;
        snprintf(text, sizeof(text), "%.*s", (int)MIN(word.len, sizeof(text) - 1), word.p);
        for (char *c = text; *c; c++)
            *c = *c == ',' ? '.' : *c;
        if (!str_fixed(str_of(text), metrics[M_load1].per, &r->load1) || r->load1 < 0 || r->load1 > 1ll << 40)
            r->load1 = -1;
    }
    if (str_word(&line, &tod))
        east(tod, written_ms, &r->offset_ms);
}

/* Lines may be missing, so each is recognised by its form. */
static void take_status(struct readings *r, struct str text, int64_t written_ms)
{
    struct str line;
    r->ram_used = r->ram_total = r->load1 = -1;
    r->root.total = 0;
    while (str_line(&text, &line)) {
        struct str rest = str_trim(line), total, used;
        int64_t n, m;
        int at = str_find(rest, "load average");
        if (str_skip(&rest, "Mem:")) {
            if (str_word(&rest, &total) && str_word(&rest, &used) && str_int(total, &n) && str_int(used, &m) && n > 0 &&
                n < 1ll << 33 && m >= 0 && m <= n) {
                r->ram_total = n << 20;
                r->ram_used = m << 20;
            }
        } else if (at >= 0) {
            take_uptime(r, rest, at, written_ms);
        } else if (str_int(rest, &n)) {
            r->cpus = n > 0 && n < 1 << 20 ? (int32_t)n : 0;
        } else {
            disk_row(rest, &r->root);
        }
    }
}

void readings_take(struct readings *r, enum readings_file which, struct str text, int64_t written_ms)
{
    static void (*const takers[READINGS_FILES])(struct readings * r, struct str text, int64_t written_ms) = {
        [READINGS_GPUS] = take_gpus,     [READINGS_PROCESSES] = take_processes, [READINGS_USERS] = take_users,
        [READINGS_STATUS] = take_status, [READINGS_DISKS] = take_disks,
    };
    int end = str_rfind(text, "\n") + 1;
    text.len = (size_t)end; /* E1: not a line that is still being written */
    if (which < READINGS_FILES)
        takers[which](r, text, written_ms);
}

/* ---- combining the files ---- */

static int64_t newest_row(const struct readings *r)
{
    int64_t at = 0;
    for (size_t i = 0; i < r->n_rows; i++)
        at = MAX(at, r->rows[i].at);
    return at;
}

int64_t readings_at(const struct readings *r, const struct readings_zone *z)
{
    int64_t at = newest_row(r);
    return at ? MAX(at - offset_of(r, z), 1) : 0;
}

static const struct person *person_of(const struct readings *r, int32_t pid)
{
    return FIND(r->people, r->n_people, p, p->pid == pid);
}

/* Of the first child that ps knows. */
static const struct person *heir_of(const struct readings *r, int32_t pid)
{
    const struct person *heir = NULL;
    for (size_t i = 0; !heir && i < r->n_children; i++)
        heir = r->children[i].of == pid ? person_of(r, r->children[i].pid) : NULL;
    return heir;
}

struct dead { /* ended processes on a GPU whose children keep the memory */
    int32_t first, second;
    size_t n;
    int32_t alone; /* a process without a row in ps and without children; 0 if none */
    size_t n_alone;
};

static void alone_words(const struct dead *dead, struct buf *out)
{
    buf_addf(out, "process %d has probably ended but still holds memory", (int)dead->alone);
    if (dead->n_alone > 1)
        buf_addf(out, "; %zu more such", dead->n_alone - 1);
}

/* Lists at most `most` children of the first process, and the second process if requested. */
static void dead_words(const struct readings *r, const struct dead *dead, size_t most, bool second, struct buf *out)
{
    size_t n = 0;
    buf_addf(out, "process %d has ended but its children keep the memory:", (int)dead->first);
    for (size_t i = 0; i < r->n_children; i++)
        if (r->children[i].of == dead->first && person_of(r, r->children[i].pid) && n++ < most)
            buf_addf(out, " %d", (int)r->children[i].pid);
    if (n > most)
        buf_addf(out, " and %zu more", n - most);
    if (dead->n > 1 && second)
        buf_addf(out, "; process %d too", (int)dead->second);
    else if (dead->n > 1)
        buf_addf(out, "; %zu more such", dead->n - 1);
}

/* As many of the children are named as there is room for, four at most. */
static void note_dead(const struct readings *r, struct device_reading *d)
{
    struct dead dead = {0};
    AUTO_BUF note = BUF_INIT(256);
    for (size_t i = 0; i < d->n_uses; i++) {
        int32_t pid = d->uses[i].pid;
        if (person_of(r, pid))
            continue;
        if (heir_of(r, pid))
            *(dead.n++ ? &dead.second : &dead.first) = pid;
        else if (r->users_taken && !dead.n_alone++)
            dead.alone = pid;
    }
    if ((!dead.n && !dead.n_alone) || d->fact.note[0])
        return;
    if (!dead.n)
        alone_words(&dead, &note);
    for (int try = 0; dead.n && try < 8 && (try == 0 || note.len >= sizeof(d->fact.note)); try++) {
        buf_reset(&note);
        dead_words(r, &dead, (size_t)(4 - try % 4), dead.n == 2 && try < 4, &note);
    }
    collect_text(d->fact.note, sizeof(d->fact.note), buf_str(&note));
}

static void add_use(const struct readings *r, const struct app *a, int64_t offset_ms, struct reading *ret,
                    struct device_reading *d)
{
    const struct person *p = person_of(r, a->pid);
    if (!p)
        p = heir_of(r, a->pid);
    bool little = sample_has(&d->sample, M_mem_used) && d->sample.v[M_mem_used] < LITTLE_BYTES;
    if (!p && little)
        return; /* E3 */
    struct raw_use u = {.pid = a->pid, .kind = PROC_COMPUTE, .mem = a->mem, .sm = -1};
    u.known = reading_known(ret, a->pid, a->name);
    if (u.known && p) {
        mem_copy_str(u.known->user, sizeof(u.known->user), p->user);
        u.known->start_ms = p->start ? MAX(p->start - offset_ms, 0) : 0;
    }
    device_reading_use(d, u);
}

static void read_uses(const struct readings *r, int64_t newest, int64_t offset_ms, struct reading *ret)
{
    int64_t last = 0;
    for (size_t i = 0; i < r->n_apps; i++)
        last = MAX(last, r->apps[i].at);
    for (size_t i = 0; i < r->n_apps; i++) {
        const struct app *a = &r->apps[i];
        if (last - a->at > SWEEP_MS || newest - a->at > FRESH_MS)
            continue;
        struct device_reading *d = FIND(ret->devices, ret->n_devices, e, strcmp(e->fact.uuid, a->uuid) == 0);
        if (d)
            add_use(r, a, offset_ms, ret, d);
    }
    for (size_t i = 0; i < ret->n_devices; i++)
        note_dead(r, &ret->devices[i]);
}

/* "disk:mnt:data_1", and where another mount has become that already "disk:mnt:data_1_2" */
static void name_disk(const struct disk *d, const struct reading *ret, char out[sizeof(ret->custom->name)])
{
    char name[sizeof(ret->custom->name)], more[24] = "";
    size_t room = sizeof(name) - 1;
    snprintf(name, sizeof(name), "disk%s", d->mount);
    for (char *p = name; *p; p++) {
        bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9');
        *p = *p == '/' ? ':' : plain ? *p : '_';
    }
    mem_copy_str(out, sizeof(name), name);
    for (size_t nth = 2; ANY(ret->n_custom, i, strcmp(ret->custom[i].name, out) == 0); nth++) {
        size_t len = (size_t)snprintf(more, sizeof(more), "_%zu", nth), at = MIN(strlen(name), room - len);
        memcpy(out, name, at);
        memcpy(out + at, more, len + 1);
    }
}

static void add_disk(const struct disk *d, struct reading *ret)
{
    char name[sizeof(ret->custom->name)];
    name_disk(d, ret, name);
    struct custom_reading *c = reading_custom(ret);
    if (!c)
        return;
    mem_copy_str(c->name, sizeof(c->name), name);
    c->unit = UNIT_RATIO;
    c->kind = KIND_GAUGE;
    c->per = 10000;
    int64_t used = d->used >> 10, all = MAX((d->used + d->avail) >> 10, 1); /* in KiB, at most 2^43 */
    c->v = (used * 10000 + all - 1) / all;                                  /* up, as df rounds */
}

static void read_node(const struct readings *r, struct reading *ret)
{
    const struct disk *disks = r->n_disks ? r->disks : &r->root;
    size_t n = r->n_disks ? r->n_disks : r->root.total > 0;
    struct disk all = {0};
    if (r->ram_total > 0) {
        sample_set(&ret->node, M_ram_total, r->ram_total);
        sample_set(&ret->node, M_ram_used, r->ram_used);
    }
    if (r->load1 >= 0)
        sample_set(&ret->node, M_load1, r->load1);
    for (size_t i = 0; i < n; i++) {
        add_disk(&disks[i], ret);
        disk_sum(&all, &disks[i]);
    }
    disk_sample(&all, &ret->node);
}

bool readings_read(const struct readings *r, const struct readings_zone *z, struct reading *ret)
{
    int64_t newest = newest_row(r), offset_ms = offset_of(r, z);
    for (size_t i = 0; i < r->n_rows; i++) {
        const struct row *w = &r->rows[i];
        bool old = newest - w->at > FRESH_MS;
        if (old && !r->cut)
            continue; /* E2 */
        struct device_reading *d = reading_add(ret);
        d->fact = w->fact;
        if (!old)
            d->sample = w->sample;
    }
    read_uses(r, newest, offset_ms, ret);
    reading_no_work(ret, NO_WORK_SMI);
    read_node(r, ret);
    return ret->n_devices || r->ram_total > 0 || r->load1 >= 0 || ret->n_custom;
}

size_t readings_left_out(const struct readings *r)
{
    return r->left_out;
}

int32_t readings_cpus(const struct readings *r)
{
    return r->cpus;
}
