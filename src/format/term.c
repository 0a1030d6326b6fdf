/* term.c: text for terminals, in the frames vesta's users know. What is not known is "-", never 0. */
#include "format/render.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/plain.h"
#include "format/words.h"
#include "model/work.h"

#define WIDTH_MIN  80
#define STATE_WIDE 11 /* " ◌ starting" */
#define WIDTH_MAX  400
#define MIB        ((int64_t)1 << 20)

/* Drawing, in UTF-8 and in ASCII. */
struct glyphs {
    const char *down_right, *down_left, *up_right, *up_left, *across, *down, *branch, *last, *celsius;
};
static const struct glyphs glyphs_utf8 = {"┌", "┐", "└", "┘", "─", "│", "├──", "└──", "°C"};
static const struct glyphs glyphs_ascii = {"+", "+", "+", "+", "-", "|", "|--", "`--", "C"};

struct pen {
    struct buf *out;
    const struct view *v;
    int width;
    bool colour, ascii, rest;
    const struct glyphs *g;
};

static struct pen pen_of(struct buf *out, const struct view *v, const struct term *t)
{
    struct pen p = {.out = out, .v = v, .colour = t->colour, .ascii = t->ascii};

    p.width = MAX(WIDTH_MIN, MIN(t->width, WIDTH_MAX));
    p.g = t->ascii ? &glyphs_ascii : &glyphs_utf8;
    p.rest = t->rest;
    if (t->rest)
        return p;
    if (v->notice) {
        buf_adds(out, "! ");
        plain_line(out, str_of(v->notice));
        buf_addc(out, '\n');
    }
    if (t->answer) {
        struct tally own;
        const struct tally *all = t->all ?: &own;
        AUTO_BUF line = BUF_INIT(1u << 20);
        if (!t->all)
            view_tally(v, &own);
        view_answer(v, all, &line);
        view_counts(v, all, "\n", t->ascii ? " | " : " · ", &line);
        plain_text(out, buf_str(&line));
        buf_addc(out, '\n');
    }
    return p;
}

static void sgr(struct pen *p, int colour)
{
    if (p->colour)
        buf_addf(p->out, "\033[%dm", colour);
}

static void cell(struct pen *p, const char *s, int width, enum fit how)
{
    fit(p->out, str_of(s), width, how, p->ascii);
}

static void repeat(struct pen *p, const char *s, int n)
{
    for (int i = 0; i < n; i++)
        buf_adds(p->out, s);
}

/* A number for a cell: "8018", or "-" when absent; v in stored units, per of them make one shown, rounded down. */
static const char *num(const struct sample *s, enum metric m, int64_t per, char out[24])
{
    if (!sample_has(s, m))
        return "-";
    snprintf(out, 24, "%lld", (long long)(s->v[m] / per));
    return out;
}

static const char *mib(const struct sample *s, enum metric m, char out[24])
{
    return num(s, m, MIB, out);
}

static bool in_sight(const struct device_now *d)
{
    return d->state <= DEV_IN_SIGHT;
}

static const char *last_update(const struct view *v, const struct node_now *n, char out[32])
{
    return n->at_ms ? view_time(v, n->at_ms, out) : "no entry received.";
}

/* "0.1.0", marked when it is a demonstration. */
static const char *version_of(const struct view *v)
{
    return v->demo ? MUSTER_VERSION " DEMO" : MUSTER_VERSION;
}

/* ---- frames ---- */

static void rule(struct pen *p, const int *widths, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        buf_addc(p->out, '+');
        buf_fill(p->out, '-', (size_t)widths[i]);
    }
    buf_adds(p->out, "+\n");
}

/* The frame's head: our name, what this is, and the columns' titles. */
static void frame_head(struct pen *p, const char *what, const int *widths, const char *const *titles, size_t n)
{
    int inner = p->width - 2;

    if (p->rest)
        return;
    rule(p, &inner, 1);
    buf_adds(p->out, "| muster ver. ");
    cell(p, version_of(p->v), p->width - 17 - (int)strlen(what), FIT_LEFT);
    buf_addf(p->out, " %s |\n", what);
    rule(p, widths, n);
    for (size_t i = 0; i < n; i++) {
        buf_adds(p->out, "| ");
        cell(p, titles[i], widths[i] - 1, FIT_LEFT);
    }
    buf_adds(p->out, "|\n");
    rule(p, widths, n);
}

static void status_text(struct buf *out, const struct node_now *n)
{
    if (n->n_devices && n->state != NODE_DOWN && n->state != NODE_HUNG && !n->reason[0]) {
        const struct device_now *d = &n->devices[0];
        buf_addf(out, "%s, %s", state_shown(dev_states[d->state].word), d->reason);
    } else if (!n->n_devices && n->state == NODE_UP && !n->reason[0]) {
        buf_adds(out, "up, no GPUs seen yet");
    } else {
        node_sentence(out, n);
    }
}

/* A host without news of its devices, in two lines. */
static void frame_status(struct pen *p, const struct node_now *n)
{
    const char *ip = n->address[0] ? n->address : "-";
    int ip_wide = MIN(str_width(str_of(ip)), 30);
    AUTO_BUF b = BUF_INIT(512);
    char when[32];

    status_text(&b, n);
    buf_adds(p->out, "| status: ");
    sgr(p, n->state == NODE_HUNG ? dev_states[DEV_HUNG].ansi : dev_states[DEV_STALE].ansi);
    cell(p, b.p, p->width - 11, FIT_LEFT);
    sgr(p, 0);
    buf_adds(p->out, "|\n|   ");
    cell(p, node_shown(n), p->width - 42 - ip_wide, FIT_LEFT);
    buf_adds(p->out, " (");
    cell(p, ip, ip_wide, FIT_LEFT);
    buf_adds(p->out, ") last update: ");
    cell(p, last_update(p->v, n, when), 20, FIT_LEFT);
    buf_adds(p->out, "|\n");
}

/* A node that is not who it seems says so below its devices. */
static void frame_note(struct pen *p, const struct node_now *n)
{
    if (!n->reason[0] || !(n->was[0] || strchr(n->name, '~')))
        return;
    buf_adds(p->out, "| note: ");
    cell(p, n->reason, p->width - 9, FIT_LEFT);
    buf_adds(p->out, "|\n");
}

static void gpu_cell(struct pen *p, const struct device_now *d, int width)
{
    AUTO_BUF b = BUF_INIT(256);

    buf_addf(&b, "%2d:%s", (int)d->fact.index, device_shown(d));
    sgr(p, dev_states[d->state].ansi);
    cell(p, b.p, width, FIT_LEFT);
    sgr(p, 0);
}

/* "  8018 /  11169", or the state of a device that is out of sight. */
static void memory_cell(struct pen *p, const struct device_now *d, int digits, int width)
{
    char used[24], total[24];
    AUTO_BUF b = BUF_INIT(64);

    if (in_sight(d))
        buf_addf(&b, "%*s / %*s", digits, mib(&d->now, M_mem_used, used), digits, mib(&d->now, M_mem_total, total));
    else
        buf_adds(&b, state_shown(dev_states[d->state].word));
    buf_addc(p->out, ' ');
    cell(p, b.p, width - 1, FIT_LEFT);
}

/* "92 %" at the right of width. */
static void unit_cell(struct pen *p, const struct device_now *d, enum metric m, int64_t per, const char *unit,
                      int width)
{
    char n[24], both[40];
    const char *v = in_sight(d) ? num(&d->now, m, per, n) : "-";

    snprintf(both, sizeof(both), "%s %s", v, unit);
    cell(p, v[0] == '-' && !v[1] ? v : both, width, FIT_RIGHT);
}

static void state_cell(struct pen *p, const struct device_now *d, int width)
{
    const struct state_info *s = &dev_states[d->state];
    char both[32];

    snprintf(both, sizeof(both), " %s %s", p->ascii ? s->ascii : s->mark, state_shown(s->word));
    sgr(p, s->ansi);
    cell(p, both, width, FIT_LEFT);
    sgr(p, 0);
}

enum frame_column { COL_HOST, COL_GPU, COL_MEMORY, COL_MEMORY_WIDE, COL_UTIL, COL_TEMP, COL_STATE, COL_USER };

/* host NULL: it stands in a line above. */
static void frame_cell(struct pen *p, enum frame_column c, const char *host, const struct device_now *d, int width)
{
    char who[160];

    if (c == COL_HOST)
        cell(p, host ? host : "", width, FIT_LEFT);
    else if (c == COL_GPU)
        gpu_cell(p, d, width);
    else if (c == COL_MEMORY || c == COL_MEMORY_WIDE)
        memory_cell(p, d, c == COL_MEMORY ? 6 : 7, width);
    else if (c == COL_UTIL)
        unit_cell(p, d, M_util, 100, "%", width);
    else if (c == COL_TEMP)
        unit_cell(p, d, M_temp, 1000, p->g->celsius, width);
    else if (c == COL_STATE)
        state_cell(p, d, width);
    else {
        buf_addc(p->out, ' ');
        fit(p->out, holders(d, who), width - 1, FIT_LEFT, p->ascii);
    }
}

static void frame_rows(struct pen *p, const enum frame_column *columns, const int *widths, size_t n)
{
    for (size_t i = 0; i < p->v->n && p->out->err == 0; i++) {
        const struct node_now *node = p->v->nodes[i];
        if (node_is_dark(node))
            frame_status(p, node);
        for (size_t k = 0; k < node->n_devices && !node_is_dark(node); k++) {
            for (size_t c = 0; c < n; c++) {
                buf_addc(p->out, '|');
                frame_cell(p, columns[c], k ? NULL : node_shown(node), &node->devices[k], widths[c]);
            }
            buf_adds(p->out, "|\n");
        }
        if (!node_is_dark(node))
            frame_note(p, node);
        rule(p, widths, n);
    }
}

void render_term_summary(struct buf *out, const struct view *v, const struct term *t)
{
    static const char *const titles[] = {"host", "gpu", "memory usage", "volat.", "temp.", "state", "user"};
    static const enum frame_column columns[] = {COL_HOST, COL_GPU, COL_MEMORY, COL_UTIL, COL_TEMP, COL_STATE, COL_USER};
    int w[] = {18, 24, 17, 8, 7, STATE_WIDE, 0};
    struct pen p = pen_of(out, v, t);
    int more = p.width - WIDTH_MIN;
    size_t n = more >= STATE_WIDE + 9 ? 7 : more > STATE_WIDE ? 6 : 5;

    /* What is left over after the state goes to users first, then to the GPU's name, then to the host's. */
    p.width = n == 5 ? WIDTH_MIN : n == 6 ? WIDTH_MIN + STATE_WIDE + 1 : p.width;
    if (n == 7) {
        w[6] = MIN(more - STATE_WIDE - 2, 24);
        more -= STATE_WIDE + 2 + w[6];
        w[1] += MIN(more, 16);
        w[0] += MAX(more - 16, 0);
    }
    frame_head(&p, "gpu info.", w, titles, n);
    frame_rows(&p, columns, w, n);
}

void render_term_table(struct buf *out, const struct view *v, const struct term *t)
{
    static const char *const titles[] = {"host name", "gpu name", "memory usage (MiB)", "state", "user"};
    static const enum frame_column columns[] = {COL_HOST, COL_GPU, COL_MEMORY_WIDE, COL_STATE, COL_USER};
    int w[] = {30, 27, 19, STATE_WIDE, 0};
    struct pen p = pen_of(out, v, t);
    int more = p.width - WIDTH_MIN;
    size_t n = more >= STATE_WIDE + 9 ? 5 : more > STATE_WIDE ? 4 : 3;

    p.width = n == 3 ? WIDTH_MIN : n == 4 ? WIDTH_MIN + STATE_WIDE + 1 : MIN(p.width, WIDTH_MIN + STATE_WIDE + 26);
    w[4] = n == 5 ? p.width - WIDTH_MIN - STATE_WIDE - 2 : 0;
    frame_head(&p, "gpu table", w, titles, n);
    frame_rows(&p, columns, w, n);
}

/* ---- boxes ---- */

/* One line within a box: text filled to the box's inside. */
static void box_line(struct pen *p, const char *s)
{
    buf_addf(p->out, "  %s ", p->g->down);
    cell(p, s, p->width - 7, FIT_LEFT);
    buf_addf(p->out, "%s\n", p->g->down);
}

static void box_edge(struct pen *p, const char *left, const char *right)
{
    buf_addf(p->out, "  %s", left);
    repeat(p, p->g->across, p->width - 6);
    buf_addf(p->out, "%s\n", right);
}

static void box_top(struct pen *p, const struct node_now *n, const struct device_now *d)
{
    AUTO_BUF b = BUF_INIT(512);
    char when[32];

    buf_addf(&b, "[ gpu:%d %s %s ]", (int)d->fact.index, device_shown(d), device_stamp(n, d, when) ?: "no sample yet");
    int wide = MIN(str_width(buf_str(&b)), p->width - 6);
    buf_addf(p->out, "  %s", p->g->down_right);
    sgr(p, dev_states[d->state].ansi);
    cell(p, b.p, wide, FIT_LEFT);
    sgr(p, 0);
    repeat(p, p->g->across, p->width - 6 - wide);
    buf_addf(p->out, "%s\n", p->g->down_left);
}

static void box_values(struct pen *p, const struct device_now *d)
{
    char used[24], total[24], left[24] = "-", util[24], temp[24];
    const struct sample *s = &d->now;
    AUTO_BUF b = BUF_INIT(512);
    int64_t free_bytes;

    if (memory_left(s, &free_bytes))
        snprintf(left, sizeof(left), "%lld", (long long)(free_bytes / MIB));
    box_line(p, "     memory used  memory available  gpu volatile  temperature");
    buf_addf(&b, "%5s / %5sMiB          %5sMiB          %3s%%        %3s%s", mib(s, M_mem_used, used),
             mib(s, M_mem_total, total), left, num(s, M_util, 100, util), num(s, M_temp, 1000, temp), p->g->celsius);
    box_line(p, b.p);
    box_line(p, "");
}

static void box_bar(struct pen *p, const struct device_now *d)
{
    const struct sample *s = &d->now;
    int cells = p->width - 19;
    AUTO_BUF b = BUF_INIT(2ul * WIDTH_MAX);

    if (sample_has(s, M_mem_used) && sample_has(s, M_mem_total) && s->v[M_mem_total] > 0) {
        double share = MAX(0, MIN(1, (double)s->v[M_mem_used] / (double)s->v[M_mem_total]));
        int full = (int)(share * cells);
        buf_adds(&b, "mem [");
        buf_fill(&b, '/', (size_t)full);
        buf_fill(&b, ' ', (size_t)(cells - full));
        buf_addf(&b, "] %3d%%", (int)(share * 100));
    } else {
        buf_adds(&b, "mem [");
        buf_fill(&b, ' ', (size_t)cells);
        buf_adds(&b, "]   -%");
    }
    box_line(p, b.p);
}

/* "├── train.py     6400MiB kim" */
static void proc_line(struct pen *p, const struct device_now *d, size_t i, struct buf *out)
{
    const struct proc_now *proc = &d->procs[i];
    char mem[24] = "-";

    if (proc->mem >= 0)
        snprintf(mem, sizeof(mem), "%lld", (long long)(proc->mem / MIB));
    buf_addf(out, "%s ", i + 1 < d->n_procs ? p->g->branch : p->g->last);
    fit(out, str_of(proc->fact->name), 25, FIT_CUT_HEAD, p->ascii);
    buf_addf(out, " %6sMiB %s", mem, proc->fact->user[0] ? proc->fact->user : "-");
}

static void box_procs(struct pen *p, const struct device_now *d)
{
    for (size_t i = 0; i < d->n_procs; i++) {
        AUTO_BUF b = BUF_INIT(512);
        buf_addc(&b, ' ');
        proc_line(p, d, i, &b);
        box_line(p, b.p);
    }
}

/* Words that may take more than one line. */
static void box_words(struct pen *p, const char *words)
{
    struct str rest = str_of(words), line;

    while (words_line(&rest, p->width - 7, &line)) {
        AUTO_BUF b = BUF_INIT(512);
        buf_add(&b, line.p, line.len);
        box_line(p, b.p);
    }
}

static void box(struct pen *p, const struct node_now *n, const struct device_now *d)
{
    AUTO_BUF b = BUF_INIT(1024);

    box_top(p, n, d);
    if (!in_sight(d) || p->width > WIDTH_MIN) { /* a line more than vesta has, where it is needed or fits */
        buf_addf(&b, "%s ", p->ascii ? dev_states[d->state].ascii : dev_states[d->state].mark);
        device_sentence(&b, d, p->v->at_ms);
        box_line(p, b.p);
        for (size_t i = 0; i < d->n_advice && in_sight(d); i++) {
            const struct advice_info *rule = &advice_rules[d->advice[i].rule];
            buf_reset(&b);
            buf_addf(&b, "  %s: %s", rule->title, rule->remedy);
            box_line(p, b.p);
        }
    }
    if (device_service(d) && in_sight(d) && p->width == WIDTH_MIN) { /* the sentence has no place there */
        buf_addf(&b, "needs service: %s", device_service(d));
        box_words(p, b.p);
    }
    if (device_note(d) && !note_of_work(device_note(d))) /* vesta has no efficiency */
        box_words(p, device_note(d));
    if (in_sight(d)) {
        box_values(p, d);
        box_bar(p, d);
        box_procs(p, d);
    }
    box_edge(p, p->g->up_right, p->g->up_left);
    buf_addc(p->out, '\n');
}

/* A host without news of its devices. */
static void box_status(struct pen *p, const struct node_now *n)
{
    AUTO_BUF b = BUF_INIT(512);

    buf_adds(&b, " status: ");
    status_text(&b, n);
    box_edge(p, p->g->down_right, p->g->down_left);
    box_line(p, "");
    box_line(p, b.p);
    box_line(p, "");
    box_edge(p, p->g->up_right, p->g->up_left);
}

void render_term_detail(struct buf *out, const struct view *v, const struct term *t)
{
    struct pen p = pen_of(out, v, t);

    if (!p.rest)
        buf_addf(out, "muster ver. %s\n", version_of(v));
    for (size_t i = 0; i < v->n && out->err == 0; i++) {
        const struct node_now *n = v->nodes[i];
        AUTO_BUF b = BUF_INIT(512);
        char when[32], span[24];
        buf_addf(&b, "#### %s :: %s ", n->name, n->address[0] ? n->address : "-");
        buf_addc(out, '\n');
        cell(&p, b.p, MIN(str_width(buf_str(&b)), p.width), FIT_LEFT);
        buf_fill(out, '#', (size_t)MAX(0, p.width - str_width(buf_str(&b))));
        buf_reset(&b);
        buf_addf(&b, "  last update: %s", last_update(v, n, when));
        if (n->clock_off_ms)
            buf_addf(&b, ", clock off by %s", clock_span(n->clock_off_ms, span));
        buf_addc(out, '\n');
        cell(&p, b.p, p.width, FIT_LEFT);
        buf_addc(out, '\n');
        buf_fill(out, '-', (size_t)p.width);
        buf_addc(out, '\n');
        if (node_is_dark(n))
            box_status(&p, n);
        for (size_t k = 0; k < n->n_devices && !node_is_dark(n); k++)
            box(&p, n, &n->devices[k]);
        buf_fill(out, '_', (size_t)p.width);
        buf_addc(out, '\n');
    }
}

/* ---- the bot's lists ---- */

void render_term_names(struct buf *out, const struct view *v, UNUSED const struct term *t)
{
    for (size_t i = 0; i < v->n && out->err == 0; i++) {
        plain_line(out, str_of(v->nodes[i]->name));
        buf_addc(out, '\n');
    }
}

void render_term_tree(struct buf *out, const struct view *v, const struct term *t)
{
    struct pen p = pen_of(out, v, t);

    for (size_t i = 0; i < v->n && out->err == 0; i++) {
        const struct node_now *n = v->nodes[i];
        bool alive = n->at_ms && !node_is_silent(n);
        cell(&p, n->name, 16, FIT_LEFT);
        buf_addf(out, " : %s\n", alive ? "Alive" : "DEAD");
        for (size_t k = 0; alive && k < n->n_devices; k++) {
            const struct device_now *d = &n->devices[k];
            char when[32];
            if (!d->n_procs || !in_sight(d))
                continue;
            buf_addf(out, "    [gpu:%d (", (int)d->fact.index);
            plain_line(out, str_of(device_shown(d)));
            buf_addf(out, ")] %s\n", device_stamp(n, d, when) ?: "");
            for (size_t m = 0; m < d->n_procs; m++) {
                AUTO_BUF b = BUF_INIT(4096);
                proc_line(&p, d, m, &b);
                buf_adds(out, "        ");
                plain_line(out, buf_str(&b));
                buf_addc(out, '\n');
            }
        }
        if (!v->one) /* of all there is a line between them, and behind the last */
            buf_addc(out, '\n');
    }
}
