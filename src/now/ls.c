/* ls.c: devices as rows for `muster ls` and CSV. Omits values of a stale, hung or lost device. */
#include "now/ls.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"
#include "format/words.h"
#include "model/labels.h"

enum { NODE, GPU, STATE, USER, UTIL, MEM_USED, MEM_TOTAL, TEMP, POWER, NAME, SINCE, IDLE, AGE, REASON, PLAIN };
enum { UUID = PLAIN, POWER_LIMIT, CLOCK_SM, THROTTLE, PROCESSES, BOOKED, BOOKED_UNTIL, WHAT_TO_DO, NOTE, DETAIL };
enum { LABELS = DETAIL, SERVICE, ALL };

#define GIB ((int64_t)1 << 30)

/* Units once per column: on screens in the title, in CSV and JSON the base unit. */
static const struct column_spec columns[ALL] = {
    [NODE] = {.name = "node", .title = "NODE", .type = CELL_TEXT, .weight = 100},
    [GPU] = {.name = "gpu", .title = "GPU", .type = CELL_INT, .right = true, .weight = 99},
    [STATE] = {.name = "state", .title = "STATE", .type = CELL_TEXT, .weight = 98},
    [USER] = {.name = "user", .title = "USER", .type = CELL_TEXT, .weight = 97},
    [UTIL] = {.name = "util", .title = "UTIL%", .type = CELL_FIXED, .per = 10000, .right = true, .weight = 90},
    [MEM_USED] = {.name = "mem_used", .title = "MEM/GiB", .type = CELL_INT, .right = true, .weight = 89},
    [MEM_TOTAL] = {.name = "mem_total", .title = "OF", .type = CELL_INT, .right = true, .weight = 80},
    [TEMP] = {.name = "temp", .title = "TEMP/C", .type = CELL_FIXED, .per = 1000, .right = true, .weight = 50},
    [POWER] = {.name = "power", .title = "POWER/W", .type = CELL_FIXED, .per = 1000, .right = true, .weight = 55},
    [NAME] = {.name = "name", .title = "MODEL", .type = CELL_TEXT, .weight = 60},
    [SINCE] = {.name = "since", .title = "SINCE", .type = CELL_INT, .right = true, .weight = 40},
    [IDLE] = {.name = "idle_since", .title = "IDLE", .type = CELL_INT, .right = true, .weight = 45},
    [AGE] = {.name = "age_ms", .title = "AGE", .type = CELL_INT, .right = true, .weight = 30},
    [REASON] = {.name = "reason", .title = "REASON", .type = CELL_TEXT, .weight = 35},
    [UUID] = {.name = "uuid", .title = "UUID", .type = CELL_TEXT, .weight = 10},
    [POWER_LIMIT] =
        {.name = "power_limit", .title = "LIMIT/W", .type = CELL_FIXED, .per = 1000, .right = true, .weight = 20},
    [CLOCK_SM] = {.name = "clock_sm", .title = "SM/MHz", .type = CELL_INT, .right = true, .weight = 25},
    [THROTTLE] = {.name = "throttle", .title = "THROTTLE", .type = CELL_TEXT, .weight = 28},
    [PROCESSES] = {.name = "processes", .title = "PROCESSES", .type = CELL_TEXT, .weight = 70},
    [BOOKED] = {.name = "booked", .title = "BOOKED BY", .type = CELL_TEXT, .weight = 65},
    [BOOKED_UNTIL] = {.name = "booked_until", .title = "BOOKED FOR", .type = CELL_INT, .right = true, .weight = 64},
    [WHAT_TO_DO] = {.name = "advice", .title = "WHAT TO DO", .type = CELL_TEXT, .weight = 26},
    [NOTE] = {.name = "note", .title = "NOTE", .type = CELL_TEXT, .weight = 15},
    [LABELS] = {.name = "labels", .title = "LABELS", .type = CELL_TEXT, .weight = 5},
    [SERVICE] = {.name = "service", .title = "SERVICE", .type = CELL_TEXT, .weight = 4},
};

static void moment(struct cell *c, int64_t at_ms, int64_t now_ms)
{
    char span[24];

    if (!at_ms)
        return;
    cell_int(c, at_ms);
    cell_screen(c, "%s", clock_span(MAX(0, now_ms - at_ms) / 1000 * 1000, span));
}

/* A value as stored, shown as a whole number of `shown` stored units. */
static void value(struct cell *c, const struct sample *s, enum metric m, int64_t shown)
{
    if (!sample_has(s, m))
        return;
    long long rounded = s->v[m] / shown + (s->v[m] % shown * 2 >= shown);
    cell_int(c, s->v[m]);
    cell_screen(c, "%lld", rounded);
}

static void memory(struct cell *c, const struct sample *s, enum metric m)
{
    if (!sample_has(s, m))
        return;
    cell_int(c, s->v[m]);
    cell_screen(c, "%.1f", (double)s->v[m] / (double)GIB);
}

/* "48121 raj python 48.1 GiB; …" */
static void processes(struct cell *c, const struct view *v, const struct device_now *d)
{
    AUTO_BUF b = BUF_INIT(65536);

    for (size_t i = 0; i < d->n_procs; i++) {
        const struct proc_now *p = &d->procs[i];
        bool cmd = p->fact->cmd[0] && view_shows_cmd(v, p);
        buf_addf(&b, "%s%d %s %s", i ? "; " : "", (int)p->fact->pid, p->fact->user[0] ? p->fact->user : "?",
                 cmd ? p->fact->cmd : p->fact->name);
        if (p->mem >= 0) {
            buf_addc(&b, ' ');
            metric_human(&b, M_mem_used, p->mem);
        }
    }
    if (b.len)
        cell_text(c, buf_str(&b));
}

/* The name for scripts; on a screen the remedy. */
static void advice(struct cell *c, const struct advice_info *rule)
{
    cell_some_text(c, rule->name);
    cell_screen(c, "%s", rule->remedy);
}

/* "rack=a1, team=vision" */
static void labels(struct cell *c, const struct node_now *n)
{
    AUTO_BUF b = BUF_INIT(65536);
    struct str rest = str_of(n->labels ? n->labels : ""), name, value;

    while (labels_next(&rest, &name, &value))
        buf_addf(&b, "%s%.*s=%.*s", b.len ? ", " : "", STR_ARG(name), STR_ARG(value));
    if (b.len)
        cell_text(c, buf_str(&b));
}

static void add_detail(struct cell *row, const struct view *v, const struct device_now *d)
{
    char span[24];

    cell_some_text(&row[UUID], d->fact.uuid);
    if (device_note(d))
        cell_some_text(&row[NOTE], device_note(d));
    if (d->booking) {
        cell_some_text(&row[BOOKED], d->booking->person);
        cell_int(&row[BOOKED_UNTIL], d->booking->until_ms);
        cell_screen(&row[BOOKED_UNTIL], "%s", clock_span(MAX(0, d->booking->until_ms - v->at_ms), span));
    }
    if (d->state <= DEV_IN_SIGHT) {
        value(&row[POWER_LIMIT], &d->now, M_power_limit, 1000);
        value(&row[CLOCK_SM], &d->now, M_clock_sm, 1000000);
        if (sample_has(&d->now, M_throttle)) {
            AUTO_BUF b = BUF_INIT(512);
            throttle_words(&b, (uint64_t)d->now.v[M_throttle]);
            cell_text(&row[THROTTLE], buf_str(&b));
        }
        processes(&row[PROCESSES], v, d);
        if (d->n_advice)
            advice(&row[WHAT_TO_DO], &advice_rules[d->advice[0].rule]);
    }
}

/* In JSON and CSV the reason; on a screen its words. */
static void reason(struct cell *c, const char *s)
{
    AUTO_BUF b = BUF_INIT(1024);

    reason_text(&b, s);
    cell_some_text(c, s);
    if (b.len)
        cell_screen(c, "%s", b.p);
}

static void add_device(struct cell *row, const struct view *v, const struct node_now *n, const struct device_now *d)
{
    char span[24];
    int64_t age = device_age_ms(d, v->at_ms);

    cell_some_text(&row[NODE], n->name);
    if (n->display)
        cell_screen(&row[NODE], "%s", n->display);
    cell_int(&row[GPU], d->fact.index);
    if (d->fact.parent[0] && d->fact.mig >= 0)
        cell_screen(&row[GPU], "%d.%d", (int)d->fact.index, (int)d->fact.mig);
    cell_some_text(&row[STATE], dev_states[d->state].word);
    cell_screen(&row[STATE], "%s", state_shown(dev_states[d->state].word));
    row[STATE].ansi = dev_states[d->state].ansi;
    if (d->state == DEV_HELD || d->state == DEV_BUSY) {
        AUTO_BUF b = BUF_INIT(1024);
        device_users(d, &b);
        if (!b.len && d->state == DEV_HELD && d->booking)
            buf_addf(&b, "(%s)", d->booking->person);
        if (b.len)
            cell_text(&row[USER], buf_str(&b));
    }
    if (d->state <= DEV_IN_SIGHT) {
        value(&row[UTIL], &d->now, M_util, 100);
        memory(&row[MEM_USED], &d->now, M_mem_used);
        value(&row[TEMP], &d->now, M_temp, 1000);
        value(&row[POWER], &d->now, M_power, 1000);
        moment(&row[IDLE], device_idle_ms(d), v->at_ms);
    }
    memory(&row[MEM_TOTAL], &d->now, M_mem_total);
    cell_some_text(&row[NAME], d->fact.name);
    if (d->display)
        cell_screen(&row[NAME], "%s", d->display);
    moment(&row[SINCE], device_since_ms(d), v->at_ms);
    if (age >= 0) {
        cell_int(&row[AGE], age);
        cell_screen(&row[AGE], "%s", clock_span(age / 1000 * 1000, span));
    }
    reason(&row[REASON], d->reason);
    if (d->n_advice && d->state == DEV_BUSY)
        cell_screen(&row[REASON], "%s", advice_rules[d->advice[0].rule].title);
}

/* A node that shows no device still has a row. */
static void add_node(struct cell *row, const struct view *v, const struct node_now *n)
{
    cell_some_text(&row[NODE], n->name);
    if (n->display)
        cell_screen(&row[NODE], "%s", n->display);
    cell_some_text(&row[STATE], node_words[n->state]);
    /* failed: the relay is up, the node is unknown */
    cell_screen(&row[STATE], "%s",
                n->state == NODE_UP && n->collect == COLLECT_FAILED ? collect_words[n->collect]
                                                                    : state_shown(node_words[n->state]));
    row[STATE].ansi = n->state == NODE_UP ? 0 : dev_states[DEV_STALE].ansi;
    moment(&row[SINCE], n->since_ms, v->at_ms);
    reason(&row[REASON], n->reason[0] ? n->reason : "no GPUs seen yet");
}

void ls_rows(const struct view *v, enum ls_columns which, struct rows *ret)
{
    rows_init(ret, columns, which == LS_ALL ? ALL : which == LS_DETAIL ? DETAIL : PLAIN);
    for (size_t i = 0; i < v->n; i++) {
        const struct node_now *n = v->nodes[i];
        if (!n->n_devices) {
            struct cell *row = rows_add(ret);
            add_node(row, v, n);
            if (which == LS_ALL)
                labels(&row[LABELS], n);
        }
        for (size_t k = 0; k < n->n_devices; k++) {
            struct cell *row = rows_add(ret);
            add_device(row, v, n, &n->devices[k]);
            if (which != LS_PLAIN)
                add_detail(row, v, &n->devices[k]);
            if (which != LS_ALL)
                continue;
            labels(&row[LABELS], n);
            if (device_service(&n->devices[k]))
                cell_some_text(&row[SERVICE], device_service(&n->devices[k]));
        }
    }
}

void ls_services(const struct view *v, struct buf *out)
{
    for (size_t i = 0; i < v->n; i++)
        for (size_t k = 0; k < v->nodes[i]->n_devices; k++) {
            const struct device_now *d = &v->nodes[i]->devices[k];
            if (device_service(d))
                buf_addf(out, "! %s:%d needs service: %s\n", node_shown(v->nodes[i]), (int)d->fact.index,
                         device_service(d));
        }
}

struct ls_note { /* and where it was first seen */
    const char *text;
    size_t n;
    const struct node_now *node;
    const struct device_now *device;
};

void ls_notes(const struct view *v, struct buf *out)
{
    struct ls_note notes[LS_NOTES];
    size_t n = 0, others = 0;

    for (size_t i = 0; i < v->n; i++)
        for (size_t k = 0; k < v->nodes[i]->n_devices; k++) {
            const struct device_now *d = &v->nodes[i]->devices[k];
            const char *text = device_note(d);
            if (!text)
                continue;
            struct ls_note *known = FIND(notes, n, e, strcmp(e->text, text) == 0);
            if (known)
                known->n++;
            else if (n < LS_NOTES)
                notes[n++] = (struct ls_note){text, 1, v->nodes[i], d};
            else
                others++;
        }
    for (size_t i = 0; i < n; i++)
        if (notes[i].n > 1)
            buf_addf(out, "! %zu GPUs: %s\n", notes[i].n, notes[i].text);
        else
            buf_addf(out, "! %s:%d: %s\n", node_shown(notes[i].node), (int)notes[i].device->fact.index, notes[i].text);
    if (others)
        buf_addf(out, "! %zu more GPU%s: other notes, which `muster ls --wide` has\n", others, others == 1 ? "" : "s");
}

bool ls_shows(const struct rows *r, const bool *kept, const char *title)
{
    return ANY(r->n_cols, i, kept[i] && strcmp(r->cols[i].title, title) == 0);
}
