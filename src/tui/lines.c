/* lines.c: one line per node, device, process, person and event. Widths come from the sheet's: at 80 columns all that
 * matters fits, wider ones have longer meters and more columns. */

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "format/words.h"
#include "tui/top.h"

#define GIB ((double)((int64_t)1 << 30))

/* "48.1G", "141G", "702M" */
static const char *mem_short(int64_t v, char out[24])
{
    double g = (double)v / GIB;

    snprintf(out, 24,
             g >= 10240 ? "%.1fT"
             : g >= 100 ? "%.0fG"
             : g >= 1   ? "%.1fG"
                        : "%.0fM",
             g >= 10240 ? g / 1024
             : g >= 1   ? g
                        : g * 1024);
    return out;
}

/* Used of total with the unit once: "48.1/141G". */
static const char *mem_pair(const struct sample *v, char out[24])
{
    char used[24];

    if (!sample_has(v, M_mem_used))
        return "-";
    if (!sample_has(v, M_mem_total))
        return mem_short(v->v[M_mem_used], out);
    double u = (double)v->v[M_mem_used] / GIB, of = (double)v->v[M_mem_total] / GIB;
    snprintf(used, sizeof(used), u >= 100 ? "%.0f" : "%.1f", u);
    snprintf(out, 24, of >= 100 ? "%s/%.0fG" : "%s/%.3gG", used, of);
    return out;
}

static int64_t share(int64_t part, int64_t of)
{
    return of > 0 ? (int64_t)((double)part * 10000 / (double)of) : -1;
}

static const char *percent(int64_t hundredths, char out[24])
{
    if (hundredths < 0)
        return "-";
    snprintf(out, 24, "%lld%%", (long long)((hundredths + 50) / 100));
    return out;
}

static uint8_t heat(int64_t milli)
{
    return milli >= 85000 ? STYLE_HOT | STYLE_BOLD : milli >= 75000 ? STYLE_WARN : STYLE_METER;
}

static const char *short_model(const char *name)
{
    static const char *const makers[] = {"NVIDIA GeForce ", "NVIDIA ", "AMD Radeon ", "AMD ", "Intel "};

    for (size_t i = 0; i < ARRAY_LEN(makers); i++)
        if (strncmp(name, makers[i], strlen(makers[i])) == 0)
            return name + strlen(makers[i]);
    return name;
}

static void put_plot(const struct top *t, struct sheet *s, int y, int x, int width, const char *key)
{
    size_t n;
    const uint8_t *v = trails_of(t->trails, key, &n);

    if (v)
        sheet_plot(s, y, x, width, 1, v, n, STYLE_METER);
}

/* ---- nodes ---- */

struct node_cols {
    int name, marks, model, plot, wide;
};

static struct node_cols node_cols(const struct top *t, const struct sheet *s)
{
    int extra = MAX(0, s->w - 80);
    struct node_cols c = {.name = 8, .marks = 8, .model = 9, .plot = 10 + extra / 3};
    int longest = 0, most = 0;

    for (size_t i = 0; i < t->all.n; i++) {
        longest = MAX(longest, str_width(str_of(node_shown(t->all.nodes[i]))));
        most = MAX(most, (int)t->all.nodes[i]->n_devices);
    }
    c.name = MIN(MAX(longest, 4), 12 + extra / 6);
    c.marks = MIN(MAX(most, 4), 10 + extra / 6);
    c.model += MIN(extra / 6, 12);
    c.wide = s->w >= 120;
    c.plot = MAX(4, MIN(c.plot, s->w - (c.name + c.marks + c.model + 41) - (c.wide ? 22 : 0)));
    return c;
}

void line_marks(struct sheet *s, int y, int x, int width, const struct node_now *n)
{
    size_t fit = (size_t)width;

    if (n->n_devices > fit) { /* more than fit: how many are free, in figures */
        size_t open = 0;
        for (size_t i = 0; i < n->n_devices; i++)
            open += n->devices[i].state == DEV_FREE;
        sheet_putf(s, y, x, width, STYLE_STATE + (open ? DEV_FREE : DEV_BUSY), "%s %zu/%zu",
                   s->ascii ? dev_states[DEV_FREE].ascii : dev_states[DEV_FREE].mark, open, n->n_devices);
        return;
    }
    for (size_t i = 0; i < n->n_devices; i++) {
        enum dev_state st = n->devices[i].state;
        sheet_put(s, y, x++, 1, (uint8_t)(STYLE_STATE + st), s->ascii ? dev_states[st].ascii : dev_states[st].mark);
    }
}

static void line_node(const struct top *t, struct sheet *s, int y, const struct node_now *n)
{
    struct node_cols c = node_cols(t, s);
    char text[64], left[24], of[24];
    int64_t used = 0, total = 0, power = 0, hot = -1;
    bool has_power = false, has_mem = false;
    int x = 1;

    sheet_put(s, y, x, c.name, STYLE_PLAIN | STYLE_BOLD, node_shown(n));
    x += c.name + 1;
    if (node_is_dark(n)) {
        AUTO_BUF b = BUF_INIT(1024);
        enum dev_state st = n->state == NODE_HUNG ? DEV_HUNG : DEV_STALE;
        node_sentence(&b, n);
        if (!n->n_devices && n->state == NODE_UP)
            buf_adds(&b, n->collect == COLLECT_STARTING ? ", reading its GPUs" : ", no GPUs");
        sheet_putf(s, y, x, s->w - x, (uint8_t)(STYLE_STATE + st), "%s %s",
                   s->ascii ? dev_states[st].ascii : dev_states[st].mark, b.p);
        return;
    }
    line_marks(s, y, x, c.marks, n);
    x += c.marks + 1;
    sheet_put(s, y, x, c.model, STYLE_PLAIN, short_model(node_model(n)));
    x += c.model + 1;
    for (size_t i = 0; i < n->n_devices; i++) {
        const struct sample *v = &n->devices[i].now;
        if (n->devices[i].state > DEV_BUSY || n->devices[i].fact.parent[0])
            continue;
        used += sample_has(v, M_mem_used) ? v->v[M_mem_used] : 0;
        total += sample_has(v, M_mem_total) ? v->v[M_mem_total] : 0;
        has_mem |= sample_has(v, M_mem_used);
        power += sample_has(v, M_power) ? v->v[M_power] : 0;
        has_power |= sample_has(v, M_power);
        if (sample_has(v, M_temp))
            hot = MAX(hot, v->v[M_temp]);
    }
    sheet_right(s, y, x, 4, STYLE_PLAIN, percent(node_util(n), text));
    x += 5;
    put_plot(t, s, y, x, c.plot, n->key);
    x += c.plot + 1;
    if (has_mem) {
        struct str u = str_of(mem_short(used, left)), sum = str_of(mem_short(total, of));
        if (u.len && sum.len && u.p[u.len - 1] == sum.p[sum.len - 1])
            u.len--; /* the unit once */
        snprintf(text, sizeof(text), "%.*s/%s", STR_ARG(u), sum.p);
    } else {
        snprintf(text, sizeof(text), "-");
    }
    sheet_right(s, y, x, 11, STYLE_PLAIN, text);
    x += 12;
    snprintf(text, sizeof(text),
             !has_power         ? "-"
             : power >= 1000000 ? "%.1f kW"
                                : "%.0f W",
             power >= 1000000 ? (double)power / 1e6 : (double)power / 1e3);
    sheet_right(s, y, x, 7, STYLE_PLAIN, text);
    x += 8;
    snprintf(text, sizeof(text), hot < 0 ? "-" : s->ascii ? "%lldC" : "%lld°C", (long long)((hot + 500) / 1000));
    sheet_right(s, y, x, 5, hot >= 75000 ? heat(hot) : STYLE_PLAIN, text);
    x += 6;
    if (!c.wide)
        return;
    sheet_right(s, y, x, 4, STYLE_PLAIN, percent(sample_has(&n->now, M_cpu) ? n->now.v[M_cpu] : -1, text));
    x += 6;
    if (sample_has(&n->now, M_ram_used) && sample_has(&n->now, M_ram_total))
        sheet_putf(s, y, x, 15, STYLE_PLAIN, "%s/%s", mem_short(n->now.v[M_ram_used], left),
                   mem_short(n->now.v[M_ram_total], of));
}

static void title_node(const struct top *t, struct sheet *s, int y)
{
    struct node_cols c = node_cols(t, s);
    int x = 1;

    sheet_put(s, y, x, c.name, STYLE_TITLE, "NODE");
    sheet_put(s, y, x += c.name + 1, c.marks, STYLE_TITLE, "GPUS");
    sheet_put(s, y, x += c.marks + 1, c.model, STYLE_TITLE, "MODEL");
    sheet_right(s, y, x += c.model + 1, 4, STYLE_TITLE, "UTIL");
    sheet_right(s, y, x += 5 + c.plot + 1, 11, STYLE_TITLE, "MEMORY");
    sheet_right(s, y, x += 12, 7, STYLE_TITLE, "POWER");
    sheet_right(s, y, x += 8, 5, STYLE_TITLE, "TEMP");
    if (!c.wide)
        return;
    sheet_right(s, y, x += 6, 4, STYLE_TITLE, "CPU");
    sheet_put(s, y, x + 6, 15, STYLE_TITLE, "RAM");
}

/* ---- devices ---- */

struct device_cols {
    int place, who, util, mem, power, temp, plot, program;
};

static struct device_cols device_cols(const struct top *t, const struct sheet *s)
{
    int extra = MAX(0, s->w - 80), longest = 0;
    struct device_cols c = {.util = 6 + extra / 8,
                            .mem = 6 + extra / 8,
                            .power = 4 + extra / 12,
                            .temp = 4 + extra / 12};

    for (size_t i = 0; i < t->all.n; i++)
        longest = MAX(longest, str_width(str_of(node_shown(t->all.nodes[i]))));
    c.place = MIN(MAX(longest + 2, 6), 9 + extra / 6);
    c.who = 7 + MIN(extra / 10, 9);
    c.program = s->w >= 130 ? 14 + (s->w - 130) / 5 : 0;
    c.plot = MAX(0, s->w - (c.place + c.who + c.util + c.mem + c.power + c.temp + c.program + (c.program > 0) + 38));
    return c;
}

static const char *device_place(const struct node_now *n, const struct device_now *d, char out[192])
{
    if (d->fact.mig >= 0)
        snprintf(out, 192, "%s:%d.%d", node_shown(n), d->fact.index, d->fact.mig);
    else
        snprintf(out, 192, "%s:%d", node_shown(n), d->fact.index);
    return out;
}

/* A place too long for its column loses its head: the number counts. */
void line_place(struct sheet *s, int y, int x, int width, uint8_t style, const struct node_now *n,
                const struct device_now *d)
{
    char text[192];
    AUTO_BUF b = BUF_INIT(1024);

    fit(&b, str_of(device_place(n, d, text)), width, FIT_CUT_HEAD, s->ascii);
    sheet_put(s, y, x, width, style, b.p);
}

void line_device(const struct top *t, struct sheet *s, int y, const struct node_now *n, const struct device_now *d)
{
    struct device_cols c = device_cols(t, s);
    const struct sample *v = &d->now;
    uint8_t state = (uint8_t)(STYLE_STATE + d->state);
    char text[64], who[160];
    int x = 1;

    line_place(s, y, x, c.place, STYLE_PLAIN | STYLE_BOLD, n, d);
    x += c.place + 1;
    sheet_put(s, y, x, 1, state, s->ascii ? dev_states[d->state].ascii : dev_states[d->state].mark);
    x += 2;
    if (d->state > DEV_BUSY) {
        AUTO_BUF b = BUF_INIT(1024);
        device_sentence(&b, d, t->all.at_ms);
        sheet_put(s, y, x, s->w - x, state, b.p);
        return;
    }
    sheet_put(s, y, x, c.who, state, holders(d, who).len ? who : dev_states[d->state].word);
    x += c.who + 1;
    int64_t util = sample_has(v, M_util) ? v->v[M_util] : -1;
    sheet_right(s, y, x, 4, STYLE_PLAIN, percent(util, text));
    sheet_meter(s, y, x + 5, c.util, util, STYLE_METER);
    x += 5 + c.util + 1;
    put_plot(t, s, y, x, c.plot, d->fact.uuid);
    x += c.plot + (c.plot > 0);
    sheet_right(s, y, x, 9, STYLE_PLAIN, mem_pair(v, text));
    sheet_meter(s, y, x + 10, c.mem,
                sample_has(v, M_mem_used) && sample_has(v, M_mem_total) ? share(v->v[M_mem_used], v->v[M_mem_total])
                                                                        : -1,
                STYLE_METER);
    x += 10 + c.mem + 1;
    if (sample_has(v, M_power))
        snprintf(text, sizeof(text), "%lldW", (long long)((v->v[M_power] + 500) / 1000));
    else
        snprintf(text, sizeof(text), "-");
    sheet_right(s, y, x, 5, STYLE_PLAIN, text);
    sheet_meter(s, y, x + 6, c.power,
                sample_has(v, M_power) && sample_has(v, M_power_limit) ? share(v->v[M_power], v->v[M_power_limit]) : -1,
                STYLE_METER);
    x += 6 + c.power + 1;
    int64_t temp = sample_has(v, M_temp) ? v->v[M_temp] : -1;
    snprintf(text, sizeof(text), temp < 0 ? "-" : s->ascii ? "%lldC" : "%lld°", (long long)((temp + 500) / 1000));
    sheet_right(s, y, x, 4, temp >= 75000 ? heat(temp) : STYLE_PLAIN, text);
    sheet_meter(s, y, x + 5, c.temp, temp < 0 ? -1 : MIN(temp / 10, 10000), heat(temp));
    x += 5 + c.temp + 1;
    if (c.program && d->n_procs)
        sheet_put(s, y, x, c.program, STYLE_PLAIN | STYLE_DIM, d->procs[0].fact->name);
}

static void title_device(const struct top *t, struct sheet *s, int y)
{
    struct device_cols c = device_cols(t, s);
    int x = 1;

    sheet_put(s, y, x, c.place, STYLE_TITLE, "GPU");
    sheet_put(s, y, x += c.place + 3, c.who, STYLE_TITLE, "WHO");
    sheet_right(s, y, x += c.who + 1, 4, STYLE_TITLE, "UTIL");
    sheet_right(s, y, x += 5 + c.util + 1 + c.plot + (c.plot > 0), 9, STYLE_TITLE, "MEMORY");
    sheet_right(s, y, x += 10 + c.mem + 1, 5, STYLE_TITLE, "POWER");
    sheet_right(s, y, x += 6 + c.power + 1, 4, STYLE_TITLE, "TEMP");
    if (c.program)
        sheet_put(s, y, x + 5 + c.temp + 1, c.program, STYLE_TITLE, "PROGRAM");
}

/* ---- processes, people, events, alerts ---- */

static int user_width(const struct sheet *s)
{
    return s->w >= 110 ? 14 : 8;
}

static void line_proc(const struct top *t, struct sheet *s, int y, const struct item *i)
{
    const struct proc_fact *f = i->p->fact;
    bool theirs = t->feed->local && t->me[0] && strcmp(f->user, t->me) != 0;
    uint8_t style = STYLE_PLAIN | (theirs ? STYLE_DIM : 0);
    char text[192];
    int x = 1, wide = user_width(s), place = s->w >= 110 ? 18 : 10;

    snprintf(text, sizeof(text), "%d", f->pid);
    sheet_right(s, y, x, 7, style, text);
    sheet_put(s, y, x += 8, wide, style | STYLE_BOLD, f->user[0] ? f->user : "-");
    line_place(s, y, x += wide + 1, place, style, i->n, i->d);
    sheet_right(s, y, x += place + 1, 4, style, percent(i->p->sm, text));
    sheet_right(s, y, x += 5, 6, style, i->p->mem >= 0 ? mem_short(i->p->mem, text) : "-");
    sheet_right(s, y, x += 7, 9, style, f->start_ms > 0 ? clock_span(MAX(0, t->all.at_ms - f->start_ms), text) : "-");
    x += 10;
    if (i->depth) {
        x += 2 * (MIN((int)i->depth, 8) - 1);
        x = sheet_put(s, y, x, 3, STYLE_PLAIN | STYLE_DIM, s->ascii ? "`-" : "└─") + 1;
    }
    sheet_put(s, y, x, s->w - x, style, f->cmd[0] ? f->cmd : f->name);
    if (aim_tagged(&t->aim, i->id))
        sheet_row(s, y, STYLE_PICK);
}

static void title_proc(struct sheet *s, int y)
{
    int x = 1, wide = user_width(s), place = s->w >= 110 ? 18 : 10;

    sheet_right(s, y, x, 7, STYLE_TITLE, "PID");
    sheet_put(s, y, x += 8, wide, STYLE_TITLE, "USER");
    sheet_put(s, y, x += wide + 1, place, STYLE_TITLE, "GPU");
    sheet_right(s, y, x += place + 1, 4, STYLE_TITLE, "SM");
    sheet_right(s, y, x += 5, 6, STYLE_TITLE, "MEM");
    sheet_right(s, y, x += 7, 9, STYLE_TITLE, "TIME");
    sheet_put(s, y, x + 10, 20, STYLE_TITLE, "COMMAND");
}

static void line_person(const struct top *t, struct sheet *s, int y, const struct person_now *p)
{
    AUTO_BUF where = BUF_INIT(4096);
    char text[192];
    int x = 1, wide = s->w >= 110 ? 20 : 12;

    sheet_put(s, y, x, wide, STYLE_PLAIN | STYLE_BOLD, p->name[0] ? p->name : "(unknown)");
    snprintf(text, sizeof(text), "%zu", p->n);
    sheet_right(s, y, x += wide + 1, 5, STYLE_PLAIN, text);
    snprintf(text, sizeof(text), "%zu", p->idle);
    sheet_right(s, y, x += 6, 5, p->idle ? STYLE_STATE + DEV_HELD : STYLE_PLAIN, text);
    sheet_right(s, y, x += 6, 7, STYLE_PLAIN, mem_short(p->mem, text));
    sheet_right(s, y, x += 8, 9, STYLE_PLAIN, p->since_ms ? clock_span(MAX(0, t->all.at_ms - p->since_ms), text) : "-");
    x += 11;
    for (size_t i = 0; i < p->n && where.len < 1024; i++)
        buf_addf(&where, "%s%s", i ? " " : "", device_place(p->v[i].node, p->v[i].device, text));
    sheet_put(s, y, x, s->w - x, STYLE_PLAIN | STYLE_DIM, where.len ? where.p : "");
}

static void title_person(struct sheet *s, int y)
{
    int x = 1, wide = s->w >= 110 ? 20 : 12;

    sheet_put(s, y, x, wide, STYLE_TITLE, "PERSON");
    sheet_right(s, y, x += wide + 1, 5, STYLE_TITLE, "GPUS");
    sheet_right(s, y, x += 6, 5, STYLE_TITLE, "IDLE");
    sheet_right(s, y, x += 6, 7, STYLE_TITLE, "MEM");
    sheet_right(s, y, x += 8, 9, STYLE_TITLE, "LONGEST");
    sheet_put(s, y, x + 11, 20, STYLE_TITLE, "WHERE");
}

static void line_event(struct sheet *s, int y, const struct feed_event *e)
{
    char when[32];
    int x = 1, wide = s->w >= 110 ? 20 : 10;

    sheet_put(s, y, x, 14, STYLE_PLAIN, local_time(e->at_ms, false, when) + 5);
    sheet_put(s, y, x += 15, wide, STYLE_PLAIN | STYLE_BOLD, e->node);
    sheet_put(s, y, x += wide + 1, 8, STYLE_PLAIN, e->kind);
    x += 9;
    sheet_put(s, y, x, s->w - x, STYLE_PLAIN, e->text);
}

static void title_event(struct sheet *s, int y)
{
    int x = 1, wide = s->w >= 110 ? 20 : 10;

    sheet_put(s, y, x, 14, STYLE_TITLE, "WHEN");
    sheet_put(s, y, x += 15, wide, STYLE_TITLE, "NODE");
    sheet_put(s, y, x += wide + 1, 8, STYLE_TITLE, "EVENT");
    sheet_put(s, y, x + 9, 20, STYLE_TITLE, "WHAT");
}

static void line_alert(const struct top *t, struct sheet *s, int y, const struct feed_alert *a)
{
    char span[24];
    int x = 1, wide = s->w >= 110 ? 20 : 10;
    uint8_t dim = a->silenced ? STYLE_DIM : 0;
    uint8_t style = dim ? STYLE_PLAIN : a->critical ? STYLE_HOT : a->warning ? STYLE_WARN : STYLE_PLAIN;

    sheet_putf(s, y, x, 11, style | dim, "%-2s %s", a->critical ? "!!" : a->warning ? "!" : "i", a->severity);
    sheet_put(s, y, x += 12, wide, STYLE_PLAIN | (dim ? dim : STYLE_BOLD), a->place[0] ? a->place : "hub");
    sheet_right(s, y, x += wide + 1, 9, STYLE_PLAIN | dim, clock_span(MAX(0, t->all.at_ms - a->since_ms), span));
    x += 10;
    sheet_putf(s, y, x, s->w - x, STYLE_PLAIN | dim, "%s%s", a->silenced ? "silenced: " : "", a->text);
}

static void title_alert(struct sheet *s, int y)
{
    int x = 1, wide = s->w >= 110 ? 20 : 10;

    sheet_put(s, y, x, 11, STYLE_TITLE, "SEVERITY");
    sheet_put(s, y, x += 12, wide, STYLE_TITLE, "WHERE");
    sheet_right(s, y, x += wide + 1, 9, STYLE_TITLE, "FOR");
    sheet_put(s, y, x + 10, 20, STYLE_TITLE, "WHAT");
}

void line_title(const struct top *t, struct sheet *s, int y, enum look look)
{
    if (look == LOOK_OVERVIEW)
        title_node(t, s, y);
    else if (look == LOOK_DEVICES)
        title_device(t, s, y);
    else if (look == LOOK_PEOPLE)
        title_person(s, y);
    else if (look == LOOK_HISTORY)
        history_title(t, s, y);
    else if (look == LOOK_EVENTS)
        title_event(s, y);
    else if (look == LOOK_ALERTS)
        title_alert(s, y);
    else
        title_proc(s, y);
}

void line_item(const struct top *t, struct sheet *s, int y, enum look look, const struct item *i)
{
    if (look == LOOK_OVERVIEW)
        line_node(t, s, y, i->n);
    else if (look == LOOK_DEVICES)
        line_device(t, s, y, i->n, i->d);
    else if (look == LOOK_PEOPLE)
        line_person(t, s, y, i->who);
    else if (look == LOOK_HISTORY)
        history_line(t, s, y, i);
    else if (look == LOOK_EVENTS)
        line_event(s, y, i->e);
    else if (look == LOOK_ALERTS)
        line_alert(t, s, y, i->a);
    else
        line_proc(t, s, y, i);
}
