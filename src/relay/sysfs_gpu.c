/* sysfs_gpu.c: turns lines out of /sys into a reading. */
#include "relay/sysfs_gpu.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"
#include "model/work.h"
#include "relay/amd_json.h"

#define KFD_MAX  64
#define USES_MAX PROCS_MAX

#define CHANNELS 2 /* of power and energy: the card's, the package's */

struct card { /* values that need more than one file */
    char name[16];
    uint32_t device_id;
    char unique[24];
    int64_t pwm, pwm_max; /* -1: unknown */
    char label[5][12];    /* of temp1 … temp5 */
    int64_t temp[5];      /* m°C, -1: unknown */
    int64_t energy_uj[CHANNELS], power_uw, power_now_uw, idle_ms;
    int64_t limit_uw[4]; /* in order of priority; 0 if none */
};

struct before { /* a card's counters of the round before */
    char name[16];
    int64_t energy_uj[CHANNELS], idle_ms, mono_ms;
    bool package; /* the card's energy counter does not change: use the package's */
};

struct sysfs_gpu {
    size_t n;
    struct card cards[DEVICES_MAX];
    struct reading coming, now; /* coming.devices[i] is cards[i] */
    struct reading json;        /* from the tools */
    struct buf text;
    bool in_json, in_round, fresh, json_fresh;
    char words[120];
    size_t n_kfd, n_uses, n_uses_now, n_before;
    struct kfd {
        uint32_t id;
        char pci[20], parent[20]; /* parent: the GPU of this partition */
    } kfd[KFD_MAX];
    struct kfd_use {
        int32_t pid;
        uint32_t id;
        int64_t mem;
    } uses[USES_MAX], uses_now[USES_MAX];
    struct before before[DEVICES_MAX];
};

struct sysfs_gpu *sysfs_gpu_new(void)
{
    return NEW(struct sysfs_gpu, .text = BUF_INIT(AMD_JSON_MAX));
}

void sysfs_gpu_free(struct sysfs_gpu *c)
{
    if (!c)
        return;
    reading_fini(&c->coming);
    reading_fini(&c->now);
    reading_fini(&c->json);
    buf_fini(&c->text);
    free(c);
}

void sysfs_gpu_begin(struct sysfs_gpu *c)
{
    reading_reset(&c->coming);
    reading_reset(&c->json);
    c->n = c->n_kfd = c->n_uses = c->n_before = 0;
    c->in_json = c->in_round = false;
    c->words[0] = 0;
}

/* ---- files ---- */

static struct card *card_of(struct sysfs_gpu *c, struct str name, struct device_reading **ret)
{
    size_t at = FIRST(c->n, i, str_eq(name, c->cards[i].name));
    if (at < c->n) {
        *ret = &c->coming.devices[at];
        return &c->cards[at];
    }
    struct str digits = name;
    int64_t index;
    if (c->n == DEVICES_MAX || name.len >= sizeof(c->cards[0].name) || !str_skip(&digits, "card") ||
        !str_int(digits, &index) || index < 0 || index > 4096)
        return NULL;
    struct card *k = &c->cards[c->n++];
    *k = (struct card){.temp = {-1, -1, -1, -1, -1}, .pwm = -1, .pwm_max = -1};
    k->power_uw = k->power_now_uw = k->idle_ms = -1;
    memcpy(k->name, name.p, name.len);
    *ret = reading_add(&c->coming);
    (*ret)->fact.index = (int32_t)index;
    return k;
}

/* Files whose number is the value of a metric. */
static const struct {
    const char *file;
    enum metric m;
    int64_t times, by;
} plain[] = {
    {"gpu_busy_percent", M_util, 100, 1},        {"mem_busy_percent", M_mem_util, 100, 1},
    {"mem_info_vram_total", M_mem_total, 1, 1},  {"mem_info_vram_used", M_mem_used, 1, 1},
    {"current_link_width", M_pcie_width, 1, 1},  {"pcie_replay_count", M_pcie_replay, 1, 1},
    {"freq1_input", M_clock_sm, 1, 1},           {"freq2_input", M_clock_mem, 1, 1},
    {"gt_act_freq_mhz", M_clock_sm, 1000000, 1}, {"gt_max_freq_mhz", M_clock_sm_max, 1000000, 1},
    {"act_freq", M_clock_sm, 1000000, 1},        {"max_freq", M_clock_sm_max, 1000000, 1},
};

static bool take_plain(struct device_reading *d, struct str file, struct str value)
{
    int64_t v;
    size_t i = FIRST(ARRAY_LEN(plain), k, str_eq(file, plain[k].file));
    if (i < ARRAY_LEN(plain) && str_int(value, &v) && v >= 0 && v < INT64_MAX / plain[i].times)
        sample_set(&d->sample, plain[i].m, v * plain[i].times / plain[i].by);
    return i < ARRAY_LEN(plain);
}

/* "16.0 GT/s PCIe" */
static void take_link(struct device_reading *d, struct str value)
{
    static const int64_t speeds[] = {25, 50, 80, 160, 320, 640};
    struct str word;
    int64_t tenths;
    if (!str_word(&value, &word) || !str_fixed(word, 10, &tenths))
        return;
    for (size_t i = 0; i < ARRAY_LEN(speeds); i++)
        if (tenths == speeds[i])
            sample_set(&d->sample, M_pcie_gen, (int64_t)i + 1);
}

/* temp2_input, temp2_label */
static bool take_temp(struct card *k, struct str file, struct str value)
{
    if (!str_skip(&file, "temp") || file.len < 2 || file.p[0] < '1' || file.p[0] > '5')
        return false;
    size_t i = (size_t)(file.p[0] - '1');
    int64_t v;
    file = str_n(file.p + 1, file.len - 1);
    if (str_eq(file, "_label"))
        collect_text(k->label[i], sizeof(k->label[i]), value);
    else if (str_eq(file, "_input") && str_int(value, &v) && v > 0 && v < 1000000)
        k->temp[i] = v;
    return true;
}

static bool take_number(struct str file, struct str value, struct card *k)
{
    const struct {
        const char *file;
        int64_t *to;
    } all[] = {{"pwm1", &k->pwm},
               {"pwm1_max", &k->pwm_max},
               {"energy1_input", &k->energy_uj[0]},
               {"energy2_input", &k->energy_uj[1]},
               {"power1_max", &k->limit_uw[0]},
               {"power2_max", &k->limit_uw[1]},
               {"power1_rated_max", &k->limit_uw[2]},
               {"power1_cap", &k->limit_uw[3]},
               {"power1_average", &k->power_uw},
               {"power1_input", &k->power_now_uw},
               {"rc6_residency_ms", &k->idle_ms},
               {"idle_residency_ms", &k->idle_ms}};
    int64_t v;
    size_t i = FIRST(ARRAY_LEN(all), n, str_eq(file, all[n].file));
    if (i < ARRAY_LEN(all) && str_int(value, &v) && v >= 0)
        *all[i].to = v;
    return i < ARRAY_LEN(all);
}

static bool take_fact(struct card *k, struct device_fact *f, struct str file, struct str value)
{
    uint64_t v = 0;
    if (str_eq(file, "vendor") && str_hex(value, &v))
        f->vendor = v == 0x1002 ? VENDOR_AMD : v == 0x8086 ? VENDOR_INTEL : VENDOR_UNKNOWN;
    else if (str_eq(file, "device") && str_hex(value, &v))
        k->device_id = (uint32_t)v;
    else if (str_eq(file, "unique_id") && str_hex(value, &v) && v)
        snprintf(k->unique, sizeof(k->unique), "%llx", (unsigned long long)v);
    else if (str_eq(file, "product_name"))
        collect_text(f->name, sizeof(f->name), value);
    else if (str_eq(file, "serial_number"))
        collect_text(f->serial, sizeof(f->serial), value);
    else if (str_eq(file, "slot"))
        collect_pci(f->pci, value);
    else if (str_eq(file, "runtime_status"))
        f->asleep = str_eq(value, "suspended");
    else
        return false;
    return true;
}

static bool take_file(struct sysfs_gpu *c, struct str name, struct str file, struct str value)
{
    struct device_reading *d = NULL;
    struct card *k = card_of(c, name, &d);
    if (!k)
        return false;
    if (str_eq(file, "current_link_speed")) {
        take_link(d, value);
        return true;
    }
    return take_fact(k, &d->fact, file, value) || take_plain(d, file, value) || take_temp(k, file, value) ||
           take_number(file, value, k);
}

/* "kfd 51202 0 768": location is bus, device, function as eight, five and three bits. The function of a partition of an
 * MI300 is the partition's number. */
static bool take_kfd(struct sysfs_gpu *c, struct str rest)
{
    struct str id, domain, location;
    uint64_t n, dom, loc;
    if (!str_word(&rest, &id) || !str_word(&rest, &domain) || !str_word(&rest, &location) || !str_uint(id, &n) ||
        !str_uint(domain, &dom) || !str_uint(location, &loc) || n > UINT32_MAX || dom > 0xffff || loc > 0xffff ||
        c->n_kfd == KFD_MAX)
        return false;
    struct kfd *k = &c->kfd[c->n_kfd++];
    k->id = (uint32_t)n;
    snprintf(k->pci, sizeof(k->pci), "%04x:%02x:%02x.%x", (unsigned)dom, (unsigned)loc >> 8 & 0xff,
             (unsigned)loc >> 3 & 0x1f, (unsigned)loc & 7);
    memcpy(k->parent, k->pci, sizeof(k->parent));
    k->parent[strlen(k->parent) - 1] = '0';
    return true;
}

static bool take_proc(struct sysfs_gpu *c, struct str rest)
{
    struct str pid, id, mem;
    int64_t p, bytes;
    uint64_t n;
    if (!str_word(&rest, &pid) || !str_word(&rest, &id) || !str_word(&rest, &mem) || !str_int(pid, &p) || p <= 0 ||
        p > INT32_MAX || !str_uint(id, &n) || n > UINT32_MAX || !str_int(mem, &bytes) || bytes < 0 ||
        c->n_uses == USES_MAX)
        return false;
    c->uses[c->n_uses++] = (struct kfd_use){(int32_t)p, (uint32_t)n, bytes};
    return true;
}

/* ---- a round ---- */

static void warm(struct sample *s, const struct card *k)
{
    static const struct {
        const char *label;
        enum metric m;
    } what[] = {{"junction", M_temp}, {"pkg", M_temp}, {"edge", M_temp}, {"mem", M_temp_mem}, {"vram", M_temp_mem}};
    for (size_t w = 0; w < ARRAY_LEN(what); w++) /* edge after junction: where both are, it counts */
        for (size_t i = 0; i < ARRAY_LEN(k->temp); i++)
            if (k->temp[i] >= 0 && strcmp(k->label[i], what[w].label) == 0)
                sample_set(s, what[w].m, k->temp[i]);
    if (!sample_has(s, M_temp) && k->temp[0] >= 0 && !k->label[0][0])
        sample_set(s, M_temp, k->temp[0]);
}

static struct before *before_of(struct sysfs_gpu *c, const char *name, bool *is_new)
{
    size_t i = FIRST(c->n_before, k, strcmp(c->before[k].name, name) == 0);
    *is_new = i == c->n_before;
    if (i == DEVICES_MAX)
        return NULL;
    c->n_before += *is_new;
    return &c->before[i];
}

/* The energy channel that counts: the card's, else the package's. Linux 6.16 has a card counter that stays 0. */
static size_t energy_channel(const struct card *k, const struct before *b)
{
    bool stuck = b && b->energy_uj[0] == k->energy_uj[0] && b->energy_uj[1] && b->energy_uj[1] < k->energy_uj[1];
    return k->energy_uj[0] && !(b && b->package) && !stuck ? 0 : 1;
}

/*
 * Intel's drivers have only counters: power is energy over time, use is the time in which the GPU was not idle. A
 * counter that is 0 or does not change is unknown.
 */
static void differences(struct sysfs_gpu *c, struct sample *s, const struct card *k, int64_t mono_ms)
{
    bool is_new;
    struct before *b = before_of(c, k->name, &is_new);
    const struct before *old = is_new ? NULL : b;
    int64_t ms = old ? mono_ms - old->mono_ms : 0;
    size_t ch = energy_channel(k, old);
    if (k->energy_uj[ch])
        sample_set(s, M_energy, k->energy_uj[ch] / 1000);
    if (ms > 0 && old->energy_uj[ch] && k->energy_uj[ch] > old->energy_uj[ch])
        sample_set(s, M_power, (k->energy_uj[ch] - old->energy_uj[ch]) / ms); /* uJ / ms = mW */
    if (ms > 0 && old->idle_ms >= 0 && k->idle_ms >= old->idle_ms)
        sample_set(s, M_util, MAX(10000 - (k->idle_ms - old->idle_ms) * 10000 / ms, 0));
    if (!b)
        return;
    *b = (struct before){.idle_ms = k->idle_ms, .mono_ms = mono_ms, .package = ch == 1 && k->energy_uj[1]};
    memcpy(b->energy_uj, k->energy_uj, sizeof(b->energy_uj));
    memcpy(b->name, k->name, sizeof(b->name));
}

static void drawn(struct sample *s, const struct card *k)
{
    if (k->power_uw >= 0 || k->power_now_uw >= 0)
        sample_set(s, M_power, (k->power_uw >= 0 ? k->power_uw : k->power_now_uw) / 1000);
    size_t limit = FIRST(ARRAY_LEN(k->limit_uw), i, k->limit_uw[i]);
    if (limit < ARRAY_LEN(k->limit_uw))
        sample_set(s, M_power_limit, k->limit_uw[limit] / 1000);
}

/* Without any counter the power stays absent; the note is the reason. */
static void explain_power(struct device_fact *f, const struct card *k)
{
    if (k->power_uw < 0 && k->power_now_uw < 0 && !k->energy_uj[0] && !k->energy_uj[1])
        mem_copy_str(f->note, sizeof(f->note), "no power: the driver has no counter of power or energy");
}

static void round_end(struct sysfs_gpu *c, int64_t mono_ms)
{
    for (size_t i = 0; i < c->n; i++) {
        struct card *k = &c->cards[i];
        struct device_reading *d = &c->coming.devices[i];
        struct device_fact *f = &d->fact;
        warm(&d->sample, k);
        differences(c, &d->sample, k, mono_ms);
        drawn(&d->sample, k);
        explain_power(f, k);
        if (k->pwm >= 0 && k->pwm_max > 0 && k->pwm <= k->pwm_max)
            sample_set(&d->sample, M_fan, k->pwm * 10000 / k->pwm_max);
        if (!f->name[0])
            snprintf(f->name, sizeof(f->name), "%s GPU %04x", f->vendor == VENDOR_INTEL ? "Intel" : "AMD",
                     k->device_id & 0xffff);
        if (k->unique[0])
            snprintf(f->uuid, sizeof(f->uuid), "amd-%s", k->unique);
        if (f->asleep)
            d->sample = (struct sample){0};
    }
    struct reading old = c->now;
    c->now = c->coming;
    c->coming = old;
    memcpy(c->uses_now, c->uses, c->n_uses * sizeof(c->uses[0]));
    c->n_uses_now = c->n_uses;
    c->fresh = true;
}

bool sysfs_gpu_line(struct sysfs_gpu *c, struct str line, int64_t mono_ms)
{
    struct str first, second;
    if (str_eq(line, "{")) {
        reading_reset(&c->coming);
        c->n = c->n_kfd = c->n_uses = 0;
        c->in_round = true;
        return true;
    }
    if (!c->in_round)
        return false;
    if (str_eq(line, "}")) {
        c->in_round = false;
        round_end(c, mono_ms);
        return true;
    }
    if (!str_word(&line, &first))
        return false;
    if (str_eq(first, "kfd") || str_eq(first, "proc"))
        return str_eq(first, "kfd") ? take_kfd(c, line) : take_proc(c, line);
    if (str_eq(first, "driver")) {
        collect_text(c->coming.driver, sizeof(c->coming.driver), line);
        return true;
    }
    return str_word(&line, &second) && take_file(c, first, second, str_trim(line));
}

/* ---- the tools ---- */

void sysfs_gpu_json_begin(struct sysfs_gpu *c)
{
    buf_reset(&c->text);
    c->in_json = true;
}

void sysfs_gpu_json_line(struct sysfs_gpu *c, struct str line)
{
    if (!c->in_json)
        return;
    buf_addstr(&c->text, line);
    buf_addc(&c->text, '\n');
}

bool sysfs_gpu_json_end(struct sysfs_gpu *c)
{
    struct err err = {0};
    struct str text = buf_str(&c->text), line;
    if (!c->in_json)
        return false;
    c->in_json = false;
    for (size_t i = 0; i < c->json.n_devices; i++)
        c->json.devices[i].sample = (struct sample){0};
    int r = c->text.err ? -1 : amd_json(text, &c->json, &err);
    if (r < 0) {
        bool any = str_line(&text, &line) && str_trim(line).len;
        collect_text(c->words, sizeof(c->words), any ? line : str_of(err.msg));
    } else {
        c->words[0] = 0;
        c->json_fresh = true;
    }
    return r == 0;
}

const char *sysfs_gpu_words(const struct sysfs_gpu *c)
{
    return c->words;
}

/* ---- results ---- */

/* A GPU without its own id is identified by its place, which includes the machine. */
static void by_place(struct device_fact *f, const char *host)
{
    char place[UUID_MAX];
    size_t n = 0;
    if (f->uuid[0])
        return;
    snprintf(place, sizeof(place), "%s-%.40s-%s", f->vendor == VENDOR_INTEL ? "intel" : "amd", host[0] ? host : "host",
             f->pci);
    if (!f->pci[0])
        snprintf(place + strlen(place), sizeof(place) - strlen(place), "%d", f->index);
    for (; place[n]; n++)
        f->uuid[n] = place[n] <= ' ' || place[n] > '~' || place[n] == '"' || place[n] == '\\' ? '-' : place[n];
    f->uuid[n] = 0;
}

static const struct device_reading *card_at(const struct sysfs_gpu *c, const char *pci)
{
    return FIND(c->now.devices, c->now.n_devices, d, strcmp(d->fact.pci, pci) == 0);
}

/* A process on several partitions of one GPU is one use. */
static void put_use(struct device_reading *d, const struct kfd_use *from)
{
    struct raw_use *use = FIND(d->uses, d->n_uses, u, u->pid == from->pid);
    if (use)
        use->mem += from->mem;
    else
        device_reading_use(d, (struct raw_use){from->pid, PROC_COMPUTE, from->mem, -1, NULL});
}

static void put_uses(const struct sysfs_gpu *c, struct device_reading *d)
{
    for (size_t i = 0; i < c->n_kfd && d->fact.pci[0]; i++) {
        const struct kfd *node = &c->kfd[i];
        const char *pci = card_at(c, node->pci) ? node->pci : node->parent;
        for (size_t k = 0; k < c->n_uses_now && strcmp(pci, d->fact.pci) == 0; k++)
            if (c->uses_now[k].id == node->id)
                put_use(d, &c->uses_now[k]);
    }
}

static void add(const struct sysfs_gpu *c, const struct device_reading *from, bool fresh, const char *host,
                struct reading *ret)
{
    struct device_fact f = from->fact;
    by_place(&f, host);
    if (ret->n_devices >= DEVICES_MAX || ANY(ret->n_devices, i, strcmp(ret->devices[i].fact.uuid, f.uuid) == 0))
        return;
    struct device_reading *d = reading_add(ret);
    d->fact = f;
    if (fresh)
        d->sample = from->sample;
    put_uses(c, d);
}

COMPARE(by_index, struct device_reading, ORDER(x->fact.index, y->fact.index))

bool sysfs_gpu_read(struct sysfs_gpu *c, const char *host, struct reading *ret)
{
    bool amd = false;
    for (size_t i = 0; i < c->now.n_devices; i++) {
        struct device_reading *d = &c->now.devices[i];
        const struct device_reading *named =
            FIND(c->json.devices, c->json.n_devices, e, d->fact.pci[0] && strcmp(e->fact.pci, d->fact.pci) == 0);
        if (named && named->fact.name[0])
            memcpy(d->fact.name, named->fact.name, sizeof(d->fact.name));
        amd = amd || d->fact.vendor == VENDOR_AMD;
        if (d->fact.vendor != VENDOR_UNKNOWN)
            add(c, d, c->fresh, host, ret);
    }
    for (size_t i = 0; i < c->json.n_devices && !amd; i++) {
        struct device_reading *d = &c->json.devices[i];
        if (!d->fact.name[0])
            mem_copy_str(d->fact.name, sizeof(d->fact.name), "AMD GPU");
        add(c, d, c->json_fresh, host, ret);
    }
    SORT(ret->devices, ret->n_devices, by_index); /* card1, card2 … as they are found: people count GPUs from 0 */
    for (size_t i = 0; i < ret->n_devices; i++)
        ret->devices[i].fact.index = (int32_t)i;
    reading_no_work(ret, NO_WORK_DRIVER);
    memcpy(ret->driver, c->now.driver[0] ? c->now.driver : c->json.driver, sizeof(ret->driver));
    c->fresh = c->json_fresh = false;
    return ret->n_devices > 0;
}
