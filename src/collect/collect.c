/*
 * collect.c: what all collectors share: readings that are filled and reused tick by tick, the choice among collectors,
 * and rules for text. Who owns a device that two of them see is device_slots.c's business.
 */
#include "collect/collect.h"

#include <errno.h>

#include "base/buf.h"
#include "base/mem.h"

#define READING_CUSTOM_MAX 2048       /* values per tick: a metric may have one per device */
#define READING_KNOWN_MAX  (4u << 20) /* bytes: some 3,000 processes */

/* ---- readings ---- */

struct device_reading *reading_add(struct reading *r)
{
    size_t had = r->cap_devices;

    VEC_ROOM(r->devices, r->n_devices, r->cap_devices);
    for (size_t i = had; i < r->cap_devices; i++) /* the memory of uses is kept between ticks: start with none */
        r->devices[i] = (struct device_reading){0};
    struct device_reading *d = &r->devices[r->n_devices++];
    struct raw_use *uses = d->uses;
    size_t cap = d->cap_uses;
    memset(d, 0, sizeof(*d));
    d->uses = uses;
    d->cap_uses = cap;
    d->fact.mig = d->fact.minor = -1;
    d->sample.at_ms = r->at_ms;
    return d;
}

void device_reading_use(struct device_reading *d, struct raw_use u)
{
    if (d->n_uses >= PROCS_MAX)
        return;
    VEC_ADD(d->uses, d->n_uses, d->cap_uses, u);
}

struct custom_reading *reading_custom(struct reading *r)
{
    if (r->n_custom >= READING_CUSTOM_MAX)
        return NULL;
    VEC_ADD(r->custom, r->n_custom, r->cap_custom, (struct custom_reading){.per = 1});
    return &r->custom[r->n_custom - 1];
}

struct proc_fact *reading_known(struct reading *r, int32_t pid, const char *program)
{
    const char *slash = strrchr(program, '/');

    r->known.max = READING_KNOWN_MAX;
    struct proc_fact *p = arena_alloc(&r->known, 1, sizeof(*p));
    if (!p)
        return NULL;
    p->pid = p->root_pid = pid;
    p->uid = -1;
    collect_text(p->name, sizeof(p->name), str_of(slash ? slash + 1 : program));
    return p;
}

void reading_event(struct reading *r, const struct node_event *e)
{
    if (r->n_events >= DEVICES_MAX)
        return;
    VEC_ADD(r->events, r->n_events, r->cap_events, *e);
}

void reading_no_work(struct reading *r, const char *why)
{
    for (size_t i = 0; i < r->n_devices; i++)
        if (!r->devices[i].fact.note[0] && !r->devices[i].fact.lost)
            mem_copy_str(r->devices[i].fact.note, sizeof(r->devices[i].fact.note), why);
}

void reading_reset(struct reading *r)
{
    for (size_t i = 0; i < r->n_devices; i++)
        r->devices[i].n_uses = 0;
    r->at_ms = 0;
    r->n_devices = r->n_custom = r->n_events = 0;
    r->node = (struct sample){0};
    r->driver[0] = r->cuda[0] = 0;
    arena_reset(&r->known);
}

void reading_fini(struct reading *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->cap_devices; i++)
        free(r->devices[i].uses);
    FREE_ALL(r->devices, r->custom, r->events);
    arena_fini(&r->known);
    *r = (struct reading){0};
}

/* ---- choosing ---- */

static int choose_unknown(const struct collector_ops *const *table, struct str word, struct err *err)
{
    AUTO_BUF known = BUF_INIT(1024);

    for (size_t i = 0; table[i]; i++)
        buf_addf(&known, "%s, ", table[i]->name);
    return err_set(err, -EINVAL, "unknown collector '%.*s': there are %.*sauto, none", STR_ARG(word),
                   STR_ARG(buf_str(&known)));
}

int collect_choose(const struct collector_ops *const *table, const char *list, struct collect_choice *ret,
                   struct err *err)
{
    struct collect_choice c = {0};
    struct str rest = str_of(list), word;
    bool none = false;

    while (str_cut(&rest, ',', &word)) {
        size_t i = 0;
        word = str_trim(word);
        if (str_eq(word, "auto")) {
            c.automatic = true;
            for (; table[i]; i++)
                c.use |= 1u << i;
            continue;
        }
        if (str_eq(word, "none")) {
            none = true;
            continue;
        }
        while (table[i] && !str_eq(word, table[i]->name))
            i++;
        if (!table[i])
            return choose_unknown(table, word, err);
        c.use |= 1u << i;
    }
    if (none && (c.use || c.automatic))
        return err_set(err, -EINVAL, "collector list '%s': 'none' cannot be combined with others", list);
    *ret = c;
    return 0;
}

/* ---- text ---- */

void collect_text(char *dst, size_t size, struct str s)
{
    size_t n = 0;

    if (size == 0)
        return;
    s = str_trim(s);
    while (s.len && n + 1 < size) {
        uint32_t c;
        size_t k = str_utf8(s, &c);
        if (k && n + k + 1 > size)
            break;
        if (k == 0) {
            dst[n++] = '?';
            k = 1;
        } else if (c < 0x20 || (c >= 0x7f && c < 0xa0)) {
            dst[n++] = ' ';
        } else {
            memcpy(dst + n, s.p, k);
            n += k;
        }
        s = str_n(s.p + k, s.len - k);
    }
    while (n && dst[n - 1] == ' ')
        n--;
    memset(dst + n, 0, size - n);
}

void collect_quoted(char *dst, size_t size, struct str s)
{
    s = str_trim(s);
    if (s.len >= 2 && (s.p[0] == '"' || s.p[0] == '\'') && s.p[s.len - 1] == s.p[0])
        s = str_n(s.p + 1, s.len - 2);
    collect_text(dst, size, s);
}

void collect_pci(char dst[20], struct str s)
{
    struct str rest = str_trim(s), part;
    uint64_t domain, bus, dev, fn;

    memset(dst, 0, 20);
    if (!str_cut(&rest, ':', &part) || part.len > 8 || !str_hex(part, &domain))
        return;
    if (!str_cut(&rest, ':', &part) || part.len > 2 || !str_hex(part, &bus))
        return;
    if (!str_cut(&rest, '.', &part) || part.len > 2 || !str_hex(part, &dev) || dev > 31)
        return;
    if (!str_cut(&rest, '.', &part) || part.len != 1 || !str_hex(part, &fn) || fn > 7 || rest.p)
        return;
    snprintf(dst, 20, "%04x:%02x:%02x.%x", (unsigned)domain, (unsigned)bus, (unsigned)dev, (unsigned)fn);
}
