/* lines.c: one line per node, device, process, user and event. Widths depend on the sheet: 80 columns are enough for
 * the important values; wider sheets get longer meters and more columns. */

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

/* Used and total with one unit: "48.1/141G". */
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

/* Style for low, medium and high; is_short: a warning if nearly all is used. */
static uint8_t load_style(int64_t share, bool is_short)
{
    return is_short && share >= 9500 ? STYLE_WARN
           : share >= 6667           ? STYLE_HIGH
           : share >= 3333           ? STYLE_METER
                                     : STYLE_LOW;
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

/* ---- columns ---- */

struct line_col {
    const char *title; /* NULL: end of the table */
    int width, wide;   /* wide: width if there is room, 0: the same */
    int more;          /* room after it, for a meter or a plot */
    bool right;
    int x;
};
enum { N_NAME, N_MARKS, N_MODEL, N_UTIL, N_MEM, N_POWER, N_TEMP, N_CPU, N_RAM, COLS };
enum { D_PLACE, D_WHO, D_UTIL, D_MEM, D_POWER, D_TEMP, D_PROGRAM };

#define LEFT(name, ...)                                                                                                \
    {                                                                                                                  \
        .title = (name), __VA_ARGS__                                                                                   \
    }
#define RIGHT(name, ...)                                                                                               \
    {                                                                                                                  \
        .title = (name), .right = true, __VA_ARGS__                                                                    \
    }
static const struct line_col columns[LOOKS][COLS] = {
    [LOOK_OVERVIEW] = {LEFT("NODE"), LEFT("GPUS"), LEFT("MODEL"), RIGHT("UTIL", .width = 4),
                       RIGHT("MEMORY", .width = 11), RIGHT("POWER", .width = 7), RIGHT("TEMP", .width = 5),
                       RIGHT("CPU", .width = 4, .more = 1), LEFT("RAM", .width = 15)},
    [LOOK_DEVICES] = {LEFT("GPU", .more = 2), LEFT("USER"), RIGHT("UTIL", .width = 4), RIGHT("MEMORY", .width = 9),
                      RIGHT("POWER", .width = 5), RIGHT("TEMP", .width = 4), LEFT("PROGRAM")},
    [LOOK_PROCS] = {RIGHT("PID", .width = 7), LEFT("USER", .width = 8, .wide = 14),
                    LEFT("GPU", .width = 10, .wide = 18), RIGHT("SM", .width = 4), RIGHT("MEM", .width = 6),
                    RIGHT("TIME", .width = 9), LEFT("COMMAND", .width = 20)},
    [LOOK_PEOPLE] = {LEFT("USER", .width = 12, .wide = 20), RIGHT("GPUS", .width = 5), RIGHT("IDLE", .width = 5),
                     RIGHT("MEM", .width = 7), RIGHT("LONGEST", .width = 9, .more = 1), LEFT("WHERE", .width = 20)},
    [LOOK_EVENTS] = {LEFT("WHEN", .width = 14), LEFT("NODE", .width = 10, .wide = 20), LEFT("EVENT", .width = 8),
                     LEFT("WHAT", .width = 20)},
    [LOOK_ALERTS] = {LEFT("SEVERITY", .width = 11), LEFT("WHERE", .width = 10, .wide = 20),
                     RIGHT("DURATION", .width = 9), LEFT("WHAT", .width = 20)},
};

int line_longest(const struct top *t, int *ret_most)
{
    int longest = 0;

    *ret_most = 0;
    for (size_t i = 0; i < t->all.n; i++) {
        longest = MAX(longest, str_width(str_of(node_shown(t->all.nodes[i]))));
        *ret_most = MAX(*ret_most, (int)t->all.nodes[i]->n_devices);
    }
    return longest;
}

static void fit_node(const struct top *t, int w, struct line_col *c)
{
    int most, longest = line_longest(t, &most), extra = MAX(0, w - 80);
    bool wide = w >= 120;

    c[N_NAME].width = MIN(MAX(longest, 4), 12 + extra / 6);
    c[N_MARKS].width = MIN(MAX(most, 4), 10 + extra / 6);
    c[N_MODEL].width = 9 + MIN(extra / 6, 12);
    int left = w - (c[N_NAME].width + c[N_MARKS].width + c[N_MODEL].width + 41) - (wide ? 22 : 0);
    c[N_UTIL].more = 1 + MAX(4, MIN(10 + extra / 3, left)); /* its plot */
    if (!wide)
        c[N_CPU].title = NULL;
}

static void fit_device(const struct top *t, int w, struct line_col *c)
{
    int most, longest = line_longest(t, &most), extra = MAX(0, w - 80);
    int meter = 6 + extra / 8, small = 4 + extra / 12, program = w >= 130 ? 14 + (w - 130) / 5 : 0;

    c[D_PLACE].width = MIN(MAX(longest + 2, 6), 9 + extra / 6);
    c[D_WHO].width = 7 + MIN(extra / 10, 9);
    int plot = MAX(0, w - (c[D_PLACE].width + c[D_WHO].width + 2 * meter + 2 * small + program + (program > 0) + 38));
    c[D_UTIL].more = meter + 1 + plot + (plot > 0);
    c[D_MEM].more = meter + 1;
    c[D_POWER].more = c[D_TEMP].more = small + 1;
    c[D_PROGRAM].width = program;
    if (!program)
        c[D_PROGRAM].title = NULL;
}

/* Columns of a view, and their positions. */
static void cols_of(const struct top *t, const struct sheet *s, enum top_view look, struct line_col c[COLS])
{
    memcpy(c, columns[look == LOOK_DEVICE ? LOOK_PROCS : look], sizeof(columns[0]));
    if (look == LOOK_OVERVIEW)
        fit_node(t, s->w, c);
    if (look == LOOK_DEVICES)
        fit_device(t, s->w, c);
    for (int i = 0, x = 1; i < COLS && c[i].title; i++) {
        c[i].width = s->w >= 110 && c[i].wide ? c[i].wide : c[i].width;
        c[i].x = x;
        x += c[i].width + 1 + c[i].more;
    }
}

static void put(struct sheet *s, int y, const struct line_col *c, uint8_t style, const char *text)
{
    if (c->right)
        sheet_right(s, y, c->x, c->width, style, text);
    else
        sheet_put(s, y, c->x, c->width, style, text);
}

/* The last column, as wide as possible. */
static void put_last(struct sheet *s, int y, const struct line_col *c, uint8_t style, const char *text)
{
    sheet_put(s, y, c->x, s->w - c->x, style, text);
}

/* ---- nodes ---- */

void line_marks(struct sheet *s, int y, int x, int width, const struct node_now *n)
{
    size_t fit = (size_t)width;

    if (n->n_devices > fit) { /* they do not fit: show the number of free devices */
        size_t open = 0;
        for (size_t i = 0; i < n->n_devices; i++)
            open += n->devices[i].state == DEV_FREE;
        sheet_putf(s, y, x, width, STYLE_STATE + (open ? DEV_FREE : DEV_BUSY), "%s %zu/%zu", sheet_mark(s, DEV_FREE),
                   open, n->n_devices);
        return;
    }
    for (size_t i = 0; i < n->n_devices; i++) {
        enum dev_state st = n->devices[i].state;
        sheet_put(s, y, x++, 1, (uint8_t)(STYLE_STATE + st), sheet_mark(s, st));
    }
}

static void line_node(const struct top *t, struct sheet *s, int y, const struct node_now *n, const struct line_col *c)
{
    char text[64], left[24], of[24];
    int64_t used = 0, total = 0, power = 0, hot = -1;
    bool has_power = false, has_mem = false;

    put(s, y, &c[N_NAME], STYLE_PLAIN | STYLE_BOLD, node_shown(n));
    if (node_is_dark(n)) {
        AUTO_BUF b = BUF_INIT(1024);
        enum dev_state st = n->state == NODE_HUNG ? DEV_HUNG : DEV_STALE;
        node_sentence(&b, n);
        if (!n->n_devices && n->state == NODE_UP)
            buf_adds(&b, n->collect == COLLECT_STARTING ? ", reading its GPUs" : ", no GPUs");
        int x = c[N_MARKS].x;
        sheet_putf(s, y, x, s->w - x, (uint8_t)(STYLE_STATE + st), "%s %s", sheet_mark(s, st), b.p);
        return;
    }
    line_marks(s, y, c[N_MARKS].x, c[N_MARKS].width, n);
    put(s, y, &c[N_MODEL], STYLE_PLAIN, short_model(node_model(n)));
    for (size_t i = 0; i < n->n_devices; i++) {
        const struct sample *v = &n->devices[i].now;
        if (n->devices[i].state > DEV_IN_SIGHT || n->devices[i].fact.parent[0])
            continue;
        used += sample_has(v, M_mem_used) ? v->v[M_mem_used] : 0;
        total += sample_has(v, M_mem_total) ? v->v[M_mem_total] : 0;
        has_mem |= sample_has(v, M_mem_used);
        power += sample_has(v, M_power) ? v->v[M_power] : 0;
        has_power |= sample_has(v, M_power);
        if (sample_has(v, M_temp))
            hot = MAX(hot, v->v[M_temp]);
    }
    put(s, y, &c[N_UTIL], STYLE_PLAIN, percent(node_util(n), text));
    put_plot(t, s, y, c[N_UTIL].x + 5, c[N_UTIL].more - 1, n->key);
    if (has_mem) {
        struct str u = str_of(mem_short(used, left)), sum = str_of(mem_short(total, of));
        if (u.len && sum.len && u.p[u.len - 1] == sum.p[sum.len - 1])
            u.len--; /* show the unit once */
        snprintf(text, sizeof(text), "%.*s/%s", STR_ARG(u), sum.p);
    } else {
        snprintf(text, sizeof(text), "-");
    }
    put(s, y, &c[N_MEM], STYLE_PLAIN, text);
    snprintf(text, sizeof(text),
             !has_power         ? "-"
             : power >= 1000000 ? "%.1f kW"
                                : "%.0f W",
             power >= 1000000 ? (double)power / 1e6 : (double)power / 1e3);
    put(s, y, &c[N_POWER], STYLE_PLAIN, text);
    snprintf(text, sizeof(text), hot < 0 ? "-" : s->ascii ? "%lldC" : "%lld°C", (long long)((hot + 500) / 1000));
    put(s, y, &c[N_TEMP], hot >= 75000 ? heat(hot) : STYLE_PLAIN, text);
    if (!c[N_CPU].title)
        return;
    put(s, y, &c[N_CPU], STYLE_PLAIN, percent(sample_has(&n->now, M_cpu) ? n->now.v[M_cpu] : -1, text));
    if (sample_has(&n->now, M_ram_used) && sample_has(&n->now, M_ram_total))
        sheet_putf(s, y, c[N_RAM].x, c[N_RAM].width, STYLE_PLAIN, "%s/%s", mem_short(n->now.v[M_ram_used], left),
                   mem_short(n->now.v[M_ram_total], of));
}

/* ---- devices ---- */

static const char *device_place(const struct node_now *n, const struct device_now *d, char out[192])
{
    if (d->fact.mig >= 0)
        snprintf(out, 192, "%s:%d.%d", node_shown(n), d->fact.index, d->fact.mig);
    else
        snprintf(out, 192, "%s:%d", node_shown(n), d->fact.index);
    return out;
}

/* A place too long for its column loses its start: the number is more important. */
void line_place(struct sheet *s, int y, int x, int width, uint8_t style, const struct node_now *n,
                const struct device_now *d)
{
    char text[192];
    AUTO_BUF b = BUF_INIT(1024);

    fit(&b, str_of(device_place(n, d, text)), width, FIT_CUT_HEAD, s->ascii);
    sheet_put(s, y, x, width, style, b.p);
}

/* A number followed by a meter of its share; share -1: unknown. */
static void put_metered(struct sheet *s, int y, const struct line_col *c, int meter, uint8_t style, const char *text,
                        int64_t share, uint8_t meter_style)
{
    put(s, y, c, style, text);
    sheet_meter(s, y, c->x + c->width + 1, meter, share, meter_style);
}

static int64_t share_of(const struct sample *v, enum metric part, enum metric of)
{
    return sample_has(v, part) && sample_has(v, of) ? share(v->v[part], v->v[of]) : -1;
}

static void line_device(const struct top *t, struct sheet *s, int y, const struct item *i, const struct line_col *c)
{
    const struct device_now *d = i->d;
    const struct sample *v = &d->now;
    uint8_t state = (uint8_t)(STYLE_STATE + d->state);
    int meter = c[D_MEM].more - 1, small = c[D_POWER].more - 1;
    char text[64], who[160];

    line_place(s, y, c->x, c->width, STYLE_PLAIN | STYLE_BOLD, i->n, d);
    sheet_put(s, y, c[D_WHO].x - 2, 1, state, sheet_mark(s, d->state));
    if (d->state > DEV_IN_SIGHT) {
        AUTO_BUF b = BUF_INIT(1024);
        device_sentence(&b, d, t->all.at_ms);
        put_last(s, y, &c[D_WHO], state, b.p);
        return;
    }
    put(s, y, &c[D_WHO], state, holders(d, who).len ? who : state_shown(dev_states[d->state].word));
    int64_t util = sample_has(v, M_util) ? v->v[M_util] : -1, temp = sample_has(v, M_temp) ? v->v[M_temp] : -1;
    put_metered(s, y, &c[D_UTIL], meter, STYLE_PLAIN, percent(util, text), util, load_style(util, false));
    put_plot(t, s, y, c[D_UTIL].x + 5 + meter + 1, MAX(0, c[D_UTIL].more - meter - 2), d->fact.uuid);
    int64_t mem = share_of(v, M_mem_used, M_mem_total), power = share_of(v, M_power, M_power_limit);
    put_metered(s, y, &c[D_MEM], meter, STYLE_PLAIN, mem_pair(v, text), mem, load_style(mem, true));
    snprintf(text, sizeof(text), sample_has(v, M_power) ? "%lldW" : "-", (long long)((v->v[M_power] + 500) / 1000));
    put_metered(s, y, &c[D_POWER], small, STYLE_PLAIN, text, power, load_style(power, false));
    snprintf(text, sizeof(text), temp < 0 ? "-" : s->ascii ? "%lldC" : "%lld°", (long long)((temp + 500) / 1000));
    put_metered(s, y, &c[D_TEMP], small, temp >= 75000 ? heat(temp) : STYLE_PLAIN, text,
                temp < 0 ? -1 : MIN(temp / 10, 10000), heat(temp));
    if (c[D_PROGRAM].title && d->n_procs)
        put(s, y, &c[D_PROGRAM], STYLE_PLAIN | STYLE_DIM, d->procs[0].fact->name);
}

/* ---- processes, people, events, alerts ---- */

static void line_proc(const struct top *t, struct sheet *s, int y, const struct item *i, const struct line_col *c)
{
    const struct proc_fact *f = i->p->fact;
    bool theirs = t->feed->local && t->me[0] && strcmp(f->user, t->me) != 0;
    uint8_t style = STYLE_PLAIN | (theirs ? STYLE_DIM : 0);
    char text[192];

    snprintf(text, sizeof(text), "%d", f->pid);
    put(s, y, c++, style, text);
    put(s, y, c++, style | STYLE_BOLD, f->user[0] ? f->user : "-");
    line_place(s, y, c->x, c->width, style, i->n, i->d);
    put(s, y, ++c, style, percent(i->p->sm, text));
    put(s, y, ++c, style, i->p->mem >= 0 ? mem_short(i->p->mem, text) : "-");
    put(s, y, ++c, style, f->start_ms > 0 ? clock_span(MAX(0, t->all.at_ms - f->start_ms), text) : "-");
    int x = (++c)->x;
    if (i->depth) {
        x += 2 * (MIN((int)i->depth, 8) - 1);
        x = sheet_put(s, y, x, 3, STYLE_PLAIN | STYLE_DIM, s->ascii ? "`-" : "└─") + 1;
    }
    sheet_put(s, y, x, s->w - x, style, f->cmd[0] ? f->cmd : f->name);
    if (aim_tagged(&t->aim, i->id))
        sheet_row(s, y, STYLE_PICK);
}

static void line_person(const struct top *t, struct sheet *s, int y, const struct person_now *p,
                        const struct line_col *c)
{
    AUTO_BUF where = BUF_INIT(4096);
    char text[192];

    put(s, y, c++, STYLE_PLAIN | STYLE_BOLD, p->name[0] ? p->name : "(unknown)");
    snprintf(text, sizeof(text), "%zu", p->n);
    put(s, y, c++, STYLE_PLAIN, text);
    snprintf(text, sizeof(text), "%zu", p->idle);
    put(s, y, c++, p->idle ? STYLE_STATE + DEV_HELD : STYLE_PLAIN, text);
    put(s, y, c++, STYLE_PLAIN, mem_short(p->mem, text));
    put(s, y, c++, STYLE_PLAIN, p->since_ms ? clock_span(MAX(0, t->all.at_ms - p->since_ms), text) : "-");
    for (size_t i = 0; i < p->n && where.len < 1024; i++)
        buf_addf(&where, "%s%s", i ? " " : "", device_place(p->v[i].node, p->v[i].device, text));
    put_last(s, y, c, STYLE_PLAIN | STYLE_DIM, where.len ? where.p : "");
}

static void line_event(struct sheet *s, int y, const struct feed_event *e, const struct line_col *c)
{
    char when[32];

    put(s, y, c++, STYLE_PLAIN, local_time(e->at_ms, when) + 5);
    put(s, y, c++, STYLE_PLAIN | STYLE_BOLD, e->node);
    put(s, y, c++, STYLE_PLAIN, state_shown(e->kind));
    put_last(s, y, c, STYLE_PLAIN, e->text);
}

static void line_alert(const struct top *t, struct sheet *s, int y, const struct feed_alert *a,
                       const struct line_col *c)
{
    char span[24];
    uint8_t dim = a->silenced ? STYLE_DIM : 0;
    uint8_t style = dim ? STYLE_PLAIN : a->critical ? STYLE_HOT : a->warning ? STYLE_WARN : STYLE_PLAIN;

    sheet_putf(s, y, c->x, c->width, style | dim, "%-2s %s", a->critical ? "!!" : a->warning ? "!" : "i", a->severity);
    put(s, y, ++c, STYLE_PLAIN | (dim ? dim : STYLE_BOLD), a->place[0] ? a->place : "hub");
    put(s, y, ++c, STYLE_PLAIN | dim, clock_span(MAX(0, t->all.at_ms - a->since_ms), span));
    c++;
    sheet_putf(s, y, c->x, s->w - c->x, STYLE_PLAIN | dim, "%s%s", a->silenced ? "silenced: " : "", a->text);
}

void line_title(const struct top *t, struct sheet *s, int y, enum top_view look)
{
    struct line_col c[COLS];

    if (look == LOOK_HISTORY)
        history_title(t, s, y);
    cols_of(t, s, look, c);
    for (int i = 0; i < COLS && c[i].title; i++)
        put(s, y, &c[i], STYLE_TITLE, c[i].title);
}

void line_item(const struct top *t, struct sheet *s, int y, enum top_view look, const struct item *i)
{
    struct line_col c[COLS];

    cols_of(t, s, look, c);
    if (look == LOOK_OVERVIEW)
        line_node(t, s, y, i->n, c);
    else if (look == LOOK_DEVICES)
        line_device(t, s, y, i, c);
    else if (look == LOOK_PEOPLE)
        line_person(t, s, y, i->who, c);
    else if (look == LOOK_HISTORY)
        history_line(t, s, y, i);
    else if (look == LOOK_EVENTS)
        line_event(s, y, i->e, c);
    else if (look == LOOK_ALERTS)
        line_alert(t, s, y, i->a, c);
    else
        line_proc(t, s, y, i, c);
}
