/*
 * make.c: makes a scheduled report: the usage table with its chart, who held GPUs without work, what went wrong; or
 * what every GPU does. The table, the chart and the list of idle GPUs are those of the other routes.
 */
#include "report/make.h"

#include "base/base64.h"
#include "base/clock.h"
#include "base/order.h"
#include "draw/letter.h"
#include "format/note.h"
#include "format/render.h"
#include "history/history.h"
#include "now/filter.h"
#include "now/view.h"
#include "people/people.h"
#include "usage/routes.h"
#include "usage/table.h"

#define TEXT_WIDTH   78
#define SCREEN_WIDTH 110
#define USAGE_MOST   50 /* rows in a mail: Gmail cuts what is longer than 100 KB */
#define OTHERS_MOST  15
#define PLACES_MOST  4
#define EVENTS_MOST  30
#define EVENTS_READ  20000 /* of a period, the newest first */
#define IDLE_LONG_MS 1800000ll
#define SCREEN_MAX   (200u << 10)
#define PICTURE_MAX  (280u << 10)
#define HTML_MAX     (200u << 10)
#define TEXT_MAX     (60u << 10)

struct wrong { /* a rule, and how often it fired */
    const char *rule, *places[PLACES_MOST];
    int32_t severity;
    size_t n, still, n_places;
};

struct named_place { /* "dgx5" of a node's key, "dgx5:2" of a GPU's uuid */
    const char *id, *shown;
};

struct scheduled_job {
    struct async_query ask; /* first */
    struct arena mem;
    const char *name, *cluster, *what, *label, *about, *spells;
    enum period every;
    enum usage_by by;
    bool status, chart, idle, alerts;
    int64_t from_ms, to_ms, now_ms;
    uint32_t missed;
    struct usage_job *usage; /* NULL: a status */
    struct rows idle_now;
    size_t n_idle_now;          /* there are; idle_now has the first */
    size_t n_nodes;             /* a filter lets through */
    const char **nodes;         /* their keys, sorted; NULL: there is no filter */
    struct named_place *places; /* by id */
    size_t n_places, cap_places;
    const char *format; /* of a reply; "": none is wanted */
    struct scheduled_made made;
    /* on the worker */
    struct wrong *wrong;
    size_t n_wrong, cap_wrong;
    struct rows events;
    size_t n_events;  /* there were; events has the newest */
    const char *zone; /* its name, for events */
    struct zone *z;   /* the same, loaded */
};

const struct scheduled_made *scheduled_made(const struct async_query *ask)
{
    return &((const struct scheduled_job *)ask)->made;
}

/* ---- what went wrong ---- */

static struct wrong *wrong_of(struct scheduled_job *k, const struct alert *a)
{
    struct wrong *w = FIND(k->wrong, k->n_wrong, e, strcmp(e->rule, a->rule) == 0);

    if (w)
        return w;
    VEC_ADD(k->wrong, k->n_wrong, k->cap_wrong, (struct wrong){.rule = arena_str(&k->mem, a->rule)});
    return &k->wrong[k->n_wrong - 1];
}

static void count_alert(void *arg, const struct note *n)
{
    struct scheduled_job *k = arg;
    AUTO_FREE struct alert *a = alert_read(n->bytes, NULL);

    if (!a || a->fired_ms < k->from_ms || a->fired_ms >= k->to_ms)
        return;
    if (k->nodes && !(k->n_nodes && bsearch(&a->node, k->nodes, k->n_nodes, sizeof(*k->nodes), order_texts)))
        return;
    struct wrong *w = wrong_of(k, a);
    w->n++;
    w->still += !a->resolved_ms || a->resolved_ms >= k->to_ms;
    w->severity = MAX(w->severity, a->severity);
    if (w->n_places < PLACES_MOST && a->place[0] && !ANY(w->n_places, i, strcmp(w->places[i], a->place) == 0))
        w->places[w->n_places++] = arena_str(&k->mem, a->place);
}

COMPARE(worst_first, struct wrong, ORDER(y->severity, x->severity) ?: ORDER(y->n, x->n) ?: strcmp(x->rule, y->rule))

/* Whether they are over is said where one is not. */
static const struct column_spec wrong_columns[] = {
    {"alert", "ALERT", CELL_TEXT, .weight = 100},
    {"severity", "SEVERITY", CELL_TEXT, .weight = 90},
    {"times", "TIMES", CELL_INT, .right = true, .weight = 95},
    {"still", "NOT OVER", CELL_INT, .right = true, .weight = 80},
    {"where", "WHERE", CELL_TEXT, .weight = 60},
};

static int wrong_rows(struct scheduled_job *k, const struct past_source *past, struct rows *ret, struct err *err)
{
    int r = past_each(past, EACH_NOTE(NOTE_ALERT, count_alert, k), err);
    bool still = false;

    rows_init(ret, wrong_columns, ARRAY_LEN(wrong_columns));
    SORT(k->wrong, k->n_wrong, worst_first);
    for (size_t i = 0; i < k->n_wrong; i++) {
        const struct wrong *w = &k->wrong[i];
        AUTO_BUF where = BUF_INIT(4096);
        struct cell *c = rows_add(ret);
        for (size_t p = 0; p < w->n_places; p++)
            buf_addf(&where, "%s%s", p ? ", " : "", w->places[p]);
        if (w->n_places == PLACES_MOST && w->n > PLACES_MOST)
            buf_adds(&where, ", ...");
        cell_some_text(&c[0], w->rule);
        cell_some_text(&c[1], severity_words[w->severity]);
        cell_int(&c[2], (int64_t)w->n);
        cell_int(&c[3], (int64_t)w->still);
        if (where.len)
            cell_some_text(&c[4], where.p);
        still |= w->still > 0;
    }
    char *names[] = {"alert", "severity", "times", "where"};
    if (!still)
        rows_pick(ret, names, ARRAY_LEN(names), NULL);
    return MIN(r, 0);
}

/* ---- events ---- */

static const struct column_spec event_columns[] = {
    {"at", "AT", CELL_TEXT, .weight = 100},
    {"where", "WHERE", CELL_TEXT, .weight = 95},
    {"what", "WHAT", CELL_TEXT, .weight = 90},
};

COMPARE(by_place_id, struct named_place, strcmp(x->id, y->id))

static const char *place_of(const struct scheduled_job *k, const char *id)
{
    struct named_place key = {.id = id}, *p = NULL;

    if (id && k->n_places)
        p = bsearch(&key, k->places, k->n_places, sizeof(key), by_place_id);
    return p ? p->shown : NULL;
}

static void add_event(void *arg, const char *node, const char *device, const struct node_event *e)
{
    struct scheduled_job *k = arg;
    const char *of_node = place_of(k, node), *of_gpu = place_of(k, device);
    AUTO_BUF what = BUF_INIT(512);
    char at[24];

    if (!event_is_trouble(e->kind) || (k->nodes && !of_node) || ++k->n_events > EVENTS_MOST)
        return;
    struct cell *c = rows_add(&k->events);
    event_about(e, &what);
    cell_text(&c[0], str_n(zone_text(k->z, e->at_ms, at), ZONE_TO_MINUTE));
    cell_some_text(&c[1], of_gpu ? of_gpu : of_node ? of_node : node);
    cell_some_text(&c[2], buf_str(&what).p);
}

/* The same as /api/v1/events with the kinds that an admin should look at. */
static int event_rows(struct scheduled_job *k, const struct past_source *past, struct err *err)
{
    rows_init(&k->events, event_columns, ARRAY_LEN(event_columns));
    int r = zone_load(k->zone, &k->z, err);
    if (r == 0)
        r = past_each(past,
                      EACH_EVENT(add_event, k, .node = "", .from_ms = k->from_ms, .to_ms = k->to_ms,
                                 .limit = EVENTS_READ),
                      err);
    return MIN(r, 0);
}

/* ---- who held GPUs without work ---- */

static const struct column_spec spell_columns[] = {
    {"person", "USER", CELL_TEXT, .weight = 100},
    {"idle_long", "IDLE", CELL_INT, .right = true, .weight = 95},
    {"ratio", "OF HELD", CELL_INT, .right = true, .weight = 90},
};
static const struct column_spec now_columns[] = {
    {"person", "USER", CELL_TEXT, .weight = 100},           {"gpu", "GPU", CELL_TEXT, .weight = 98},
    {"idle", "FOR", CELL_INT, .right = true, .weight = 95}, {"memory", "MEMORY", CELL_INT, .right = true, .weight = 80},
    {"program", "PROGRAM", CELL_TEXT, .weight = 60},
};

COMPARE(longest_first, struct usage_row *const, ORDER((*y)->s.long_ms, (*x)->s.long_ms))

/* t: by person. How many there are. */
static size_t spell_rows(const struct usage_table *t, struct rows *ret)
{
    AUTO_FREE const struct usage_row **v = mem_zero(t->n + 1, sizeof(*v));
    char hours[24];
    size_t n = 0;

    rows_init(ret, spell_columns, ARRAY_LEN(spell_columns));
    for (size_t i = 0; i < t->n; i++)
        if (t->v[i].s.long_ms > 0)
            v[n++] = &t->v[i];
    SORT(v, n, longest_first);
    for (size_t i = 0; i < MIN(n, (size_t)OTHERS_MOST); i++) {
        const struct usage_sum *s = &v[i]->s;
        struct cell *c = rows_add(ret);
        cell_text(&c[0], str_of(v[i]->key ? v[i]->key : "(unknown)"));
        cell_int(&c[1], s->long_ms);
        cell_screen(&c[1], "%s", clock_hours(s->long_ms, hours));
        cell_int(&c[2], s->held_ms > 0 ? (int64_t)((__int128)s->long_ms * 100 / s->held_ms) : 0);
        cell_screen(&c[2], "%d %%", (int)c[2].i);
    }
    return n;
}

static void now_row(struct rows *to, const struct cell *from)
{
    struct cell *c = rows_add(to);
    char span[24], place[400];

    snprintf(place, sizeof(place), "%s:%d", from[IDLE_NODE].json_text ? from[IDLE_NODE].json_text : "",
             (int)from[IDLE_INDEX].i);
    cell_text(&c[0], str_of(from[IDLE_PERSON].json_text ? from[IDLE_PERSON].json_text : "(unknown)"));
    cell_text(&c[1], str_of(place));
    cell_int(&c[2], from[IDLE_IDLE].i);
    cell_screen(&c[2], "%s", clock_span(from[IDLE_IDLE].i, span));
    if (!from[IDLE_MEMORY].absent) {
        cell_int(&c[3], from[IDLE_MEMORY].i);
        cell_screen(&c[3], "%.1f GiB", (double)from[IDLE_MEMORY].i / (1 << 30));
    }
    if (from[IDLE_PROGRAM].json_text)
        cell_some_text(&c[4], from[IDLE_PROGRAM].json_text);
}

/* Of those who are in this team and company. */
static void idle_now(struct scheduled_job *k, struct api *a, const struct scheduled *b, const struct filter *filter)
{
    struct rows all;

    rows_init(&k->idle_now, now_columns, ARRAY_LEN(now_columns));
    if (!k->idle)
        return;
    idle_rows(a, filter, IDLE_LONG_MS, k->now_ms, &all);
    for (size_t i = 0; i < all.n; i++) {
        const struct cell *c = &all.cells[i * all.n_cols];
        const char *person = c[IDLE_PERSON].json_text ? c[IDLE_PERSON].json_text : "";
        if ((b->team && !people_in(a->people, GROUP_TEAM, b->team, person, k->now_ms)) ||
            (b->company && !people_in(a->people, GROUP_COMPANY, b->company, person, k->now_ms)))
            continue;
        if (k->n_idle_now++ < OTHERS_MOST)
            now_row(&k->idle_now, c);
    }
    rows_fini(&all);
}

/* ---- the worker's part ---- */

static void pick_slim(const struct usage_table *t, struct rows *r)
{
    char *names[7] = {"key", "held_s", "busy_ratio"};
    size_t n = 3;

    if (t->total.s.work_of_ms > 0)
        names[n++] = "effective_s";
    if (t->total.s.tensor_of_ms > 0) /* beside it: fp32 by mistake is more effective than bf16 */
        names[n++] = "tensor_s";
    if (t->has_wall)
        names[n++] = "free_s";
    names[n++] = t->has_cost ? "cost" : "idle_s";
    rows_pick(r, names, n, NULL);
}

static void more_of(char out[80], size_t all, size_t shown)
{
    if (all > shown)
        snprintf(out, 80, "and %zu more", all - shown);
}

static void add_notes(const struct scheduled_job *k, const struct usage_table *t, struct buf *notes)
{
    char at[32];

    if (t && t->counted_to_ms < k->to_ms)
        buf_addf(notes, "Counted up to %.16sZ: the numbers may grow.\n", clock_iso(t->counted_to_ms, at));
    if (t && t->waiting)
        buf_addf(notes, "%zu hours are still to be counted: the numbers may grow.\n", t->waiting);
    if (t)
        buf_addf(notes, "Held: somebody had the GPU. Busy: it worked. GPUs that are shared are split by %s.\n",
                 t->split);
    if (t && t->total.s.work_of_ms > 0)
        buf_adds(notes, "Effective: hours times efficiency.\n");
    if (t && t->total.s.tensor_of_ms > 0)
        buf_adds(notes, "Tensor: hours times the share of time that tensor pipes worked.\n");
    if (k->missed)
        buf_addf(notes, "%u earlier report%s not sent because the hub was off.\n", k->missed,
                 k->missed > 1 ? "s were" : " was");
}

/* Days of a week or a month stand beside each other; of a day it is who held how much. */
static void draw(struct scheduled_job *k, const struct past_source *past, const struct usage_table *table,
                 struct buf *notes)
{
    struct usage_table days;
    struct err err = {0};
    int r = 0;

    k->made.picture = BUF_INIT(PICTURE_MAX);
    if (!k->chart || !table->n)
        return;
    if (k->every != PERIOD_DAY) {
        usage_job_set(k->usage, USAGE_PERIOD, period_words[PERIOD_DAY]);
        r = usage_job_sum(k->usage, past, &days, &err);
        usage_job_set(k->usage, USAGE_PERIOD, NULL);
    }
    r = r ?: render_usage_plot(&k->made.picture, k->every == PERIOD_DAY ? table : &days, k->cluster, PLOT_PNG, &err);
    if (r < 0) {
        buf_fini(&k->made.picture);
        buf_addf(notes, "The chart could not be drawn: %s.\n", err.msg[0] ? err.msg : strerror(-r));
    }
}

/* Text, and HTML whose picture is a file of the mail. */
static void write_letter(struct scheduled_job *k, struct letter *l)
{
    AUTO_BUF src = BUF_INIT((size_t)2 * PICTURE_MAX);

    letter_text(&k->made.text, l, TEXT_WIDTH);
    if (k->made.picture.len && strcmp(k->format, "html") == 0) { /* a file that is looked at has no files beside it */
        buf_adds(&src, "data:image/png;base64,");
        base64_add(&src, buf_str(&k->made.picture));
        l->picture = src.p;
    } else if (k->made.picture.len) {
        l->picture = "cid:" SCHEDULED_PICTURE;
    }
    l->alt = k->made.title;
    letter_mail(&k->made.html, l);
}

struct tables { /* of a report of usage */
    struct usage_table t;
    struct rows full, slim, spells, wrong;
    size_t shown, n_spells; /* rows of t that are in full; people who held without work */
};

static int read_tables(struct scheduled_job *k, const struct past_source *past, struct tables *v, struct err *err)
{
    struct usage_table people;
    int r = usage_job_sum(k->usage, past, &v->t, err);

    if (r < 0)
        return r;
    people = v->t;
    struct usage_table shown = v->t;
    v->shown = shown.n = MIN(v->t.n, (size_t)USAGE_MOST);
    usage_rows(&shown, &v->full);
    usage_rows(&shown, &v->slim);
    pick_slim(&shown, &v->slim);
    if (k->idle && k->by != BY_PERSON) {
        usage_job_set(k->usage, USAGE_BY, usage_by_words[BY_PERSON]);
        r = usage_job_sum(k->usage, past, &people, err);
        usage_job_set(k->usage, USAGE_BY, usage_by_words[k->by]);
    }
    if (r == 0 && k->idle)
        v->n_spells = spell_rows(&people, &v->spells);
    if (r == 0 && k->alerts)
        r = wrong_rows(k, past, &v->wrong, err) ?: event_rows(k, past, err);
    return r;
}

static void add_parts(const struct scheduled_job *k, const struct tables *v, struct letter *l)
{
    struct letter_part *p = &l->v[l->n++];

    *p = (struct letter_part){.title = "Who used how much",
                              .none = "Nobody held a GPU.",
                              .rows = &v->full,
                              .slim = &v->slim,
                              .bar = "held_s",
                              .total = true};
    more_of(p->more, v->t.n, v->shown);
    if (k->idle) {
        p = &l->v[l->n++];
        *p = (struct letter_part){.title = k->spells,
                                  .none = "No GPU was held and idle for that long.",
                                  .rows = &v->spells,
                                  .bar = "idle_long"};
        more_of(p->more, v->n_spells, v->spells.n);
        p = &l->v[l->n++];
        *p = (struct letter_part){.title = "GPUs that are held and idle now", .rows = &k->idle_now};
        more_of(p->more, k->n_idle_now, k->idle_now.n);
    }
    if (k->alerts) {
        l->v[l->n++] = (struct letter_part){.title = "Alerts", .none = "No alert fired.", .rows = &v->wrong};
        p = &l->v[l->n++];
        *p = (struct letter_part){.title = "Events", .none = "Nothing went wrong.", .rows = &k->events, .lines = true};
        more_of(p->more, k->n_events, k->events.n);
    }
}

static int make_usage(struct scheduled_job *k, const struct past_source *past, struct err *err)
{
    AUTO_BUF notes = BUF_INIT(8192);
    struct letter l = {.title = k->made.title, .subtitle = k->about};
    struct tables v = {0};
    int r = read_tables(k, past, &v, err);

    if (r == 0) {
        add_notes(k, &v.t, &notes);
        draw(k, past, &v.t, &notes);
        add_parts(k, &v, &l);
        l.notes = buf_str(&notes);
        write_letter(k, &l);
    }
    rows_fini(&v.full);
    rows_fini(&v.slim);
    rows_fini(&v.spells);
    rows_fini(&v.wrong);
    return r;
}

static void make_status(struct scheduled_job *k)
{
    struct letter l = {.title = k->made.title, .subtitle = k->about, .screen = buf_str(&k->made.screen)};
    AUTO_BUF notes = BUF_INIT(8192);

    add_notes(k, NULL, &notes);
    l.notes = buf_str(&notes);
    write_letter(k, &l);
}

static void reply_with(struct scheduled_job *k, struct reply *rp)
{
    struct scheduled_made *m = &k->made;
    bool png = strcmp(k->format, "png") == 0, html = strcmp(k->format, "html") == 0;

    if (!k->format[0])
        return;
    if (png && !m->picture.len) {
        reply_problem(rp, 404, "report '%s' has no chart%s", k->name,
                      k->status ? "" : ": nobody held a GPU then, or chart is off");
        return;
    }
    rp->type = png ? "image/png" : html ? "text/html; charset=utf-8" : "text/plain; charset=utf-8";
    rp->body = BUF_INIT(4u << 20);
    if (!png && !html)
        buf_addf(&rp->body, "%s\n", m->title);
    buf_addstr(&rp->body, png ? buf_str(&m->picture) : html ? buf_str(&m->html) : buf_str(&m->text));
}

static void scheduled_run(struct async_query *ask, const struct past_source *past, struct reply *rp)
{
    struct scheduled_job *k = (struct scheduled_job *)ask;
    struct err err = {0};
    int r = 0;

    snprintf(k->made.title, sizeof(k->made.title), "%.60s: %s, %s", k->cluster, k->what, k->label);
    k->made.text = BUF_INIT(k->status ? SCREEN_MAX + TEXT_MAX : TEXT_MAX);
    k->made.html = BUF_INIT(strcmp(k->format, "html") == 0 ? 4u << 20 : k->status ? 2 * SCREEN_MAX : HTML_MAX);
    if (k->status)
        make_status(k);
    else
        r = make_usage(k, past, &err);
    if (k->made.html.err) /* the text says it, too */
        buf_fini(&k->made.html);
    if (r < 0)
        reply_failed(rp, r, &err);
    else
        reply_with(k, rp);
}

static void scheduled_end(struct async_query *ask)
{
    struct scheduled_job *k = (struct scheduled_job *)ask;

    usage_job_free(k->usage);
    rows_fini(&k->idle_now);
    rows_fini(&k->events);
    free(k->places);
    zone_free(k->z);
    buf_fini(&k->made.text);
    buf_fini(&k->made.html);
    buf_fini(&k->made.picture);
    buf_fini(&k->made.screen);
    free(k->wrong);
    arena_fini(&k->mem);
    free(k);
}

/* ---- the loop's part ---- */

static void add_place(struct scheduled_job *k, const char *id, const char *shown)
{
    struct named_place p = {arena_str(&k->mem, id), arena_str(&k->mem, shown)};

    VEC_ADD(k->places, k->n_places, k->cap_places, p);
}

static void add_places(struct scheduled_job *k, const struct node_now *n)
{
    char shown[NAME_MAX_LEN + 16];

    add_place(k, n->key, node_shown(n));
    for (size_t i = 0; i < n->n_devices; i++) {
        snprintf(shown, sizeof(shown), "%s:%d", node_shown(n), (int)n->devices[i].fact.index);
        add_place(k, n->devices[i].fact.uuid, shown);
    }
}

static void look_at(struct scheduled_job *k, struct api *a, const struct filter *filter)
{
    struct view v;
    AUTO_ARENA arena = {0};

    view_of(a->live, &(struct view_query){.demo = a->demo}, k->now_ms, &v);
    if (filter)
        view_filter(&v, filter, &arena);
    if (filter && !k->status) {
        k->nodes = arena_alloc(&k->mem, v.n + 1, sizeof(*k->nodes));
        for (size_t i = 0; i < v.n; i++)
            k->nodes[k->n_nodes++] = arena_str(&k->mem, v.nodes[i]->key);
        SORT(k->nodes, k->n_nodes, order_texts);
    }
    for (size_t i = 0; k->alerts && i < v.n; i++)
        add_places(k, v.nodes[i]);
    SORT(k->places, k->n_places, by_place_id);
    if (!k->status)
        return;
    k->made.screen = BUF_INIT(SCREEN_MAX);
    if (k->made.tree)
        render_term_tree(&k->made.screen, &v, &(struct term){.width = SCREEN_WIDTH});
    else
        render_term_summary(&k->made.screen, &v, &(struct term){.width = SCREEN_WIDTH, .answer = true});
    if (k->made.screen.err) {
        int end = str_rfind(buf_str(&k->made.screen), "\n");
        buf_cut(&k->made.screen, (size_t)MAX(end, 0));
        k->made.screen.max += 100;
        k->made.screen.err = 0;
        buf_adds(&k->made.screen, "\n... and more: what does not fit is left out\n");
    }
}

/* "2026-11-14 00:00 to 2026-11-15 00:00, Europe/Berlin" */
static const char *span_text(struct scheduled_job *k, const struct zone *z, int64_t from_ms, int64_t to_ms)
{
    AUTO_BUF b = BUF_INIT(400);
    const int64_t at[2] = {from_ms, to_ms};

    for (int i = from_ms == to_ms; i < 2; i++)
        buf_addf(&b, "%s%.*s", b.len ? " to " : "", ZONE_TO_MINUTE, zone_text(z, at[i], (char[24]){0}));
    const char *abbr = "";
    zone_offset(z, to_ms, &abbr);
    buf_addf(&b, ", %s", strcmp(zone_name(z), "local") == 0 ? abbr : zone_name(z));
    return arena_str(&k->mem, b.p);
}

/* When, and of what alone. */
static const char *about_text(struct scheduled_job *k, const struct scheduled *b, const struct zone *z,
                              const struct scheduled_due *d)
{
    AUTO_BUF out = BUF_INIT(8192);

    buf_adds(&out, b->status ? "What every GPU does" : span_text(k, z, d->from_ms, d->to_ms));
    if (b->company)
        buf_addf(&out, "; company %s", b->company);
    if (b->team)
        buf_addf(&out, "; team %s", b->team);
    if (b->filter)
        buf_addf(&out, "; of GPUs that fit '%s'", b->filter);
    return arena_str(&k->mem, out.p);
}

struct async_query *scheduled_query(struct api *a, const struct scheduled *b, const struct zone *z,
                                    const struct scheduled_due *d, uint32_t missed, const char *format, int64_t now_ms)
{
    AUTO_FILTER *filter = NULL;
    struct filter_err bad;
    struct usage_now usage;
    char label[40], what[48], from[24], to[24], span[24], spells[80];
    struct scheduled_job *k =
        NEW(struct scheduled_job, .ask = {.run = scheduled_run, .end = scheduled_end}, .every = b->every, .by = b->by,
            .status = b->status, .made = {.tree = b->tree}, .chart = b->chart, .idle = b->idle,
            .alerts = !b->team && !b->company, .from_ms = d->from_ms, .to_ms = d->to_ms, .now_ms = now_ms,
            .missed = missed, .format = format);

    if (b->filter)
        filter_new_exact(str_of(b->filter), NULL, &filter, &bad); /* it was read before: it can be */
    scheduled_title(b, what);
    k->name = arena_str(&k->mem, b->name);
    k->cluster = arena_str(&k->mem, a->name);
    k->what = arena_str(&k->mem, what);
    k->label = b->status ? span_text(k, z, now_ms, now_ms) : arena_str(&k->mem, scheduled_label(b, z, d, label));
    k->about = about_text(k, b, z, d);
    k->zone = arena_str(&k->mem, strcmp(zone_name(z), "local") == 0 ? "" : zone_name(z));
    look_at(k, a, filter);
    if (b->status)
        return &k->ask;
    snprintf(from, sizeof(from), "%lld", (long long)d->from_ms);
    snprintf(to, sizeof(to), "%lld", (long long)d->to_ms);
    const char *text[USAGE_PARAMS] = {[USAGE_BY] = usage_by_words[b->by],
                                      [USAGE_FROM] = from,
                                      [USAGE_TO] = to,
                                      [USAGE_ZONE] = b->zone ? zone_name(b->zone) : NULL,
                                      [USAGE_TEAM] = b->team,
                                      [USAGE_COMPANY] = b->company};
    usage_now_of(a->hub, &usage);
    snprintf(spells, sizeof(spells), "Held and idle, for %s and longer", clock_span(usage.spell_ms, span));
    k->spells = arena_str(&k->mem, spells);
    k->usage = usage_job_new(a, text, filter, now_ms);
    idle_now(k, a, b, filter);
    return &k->ask;
}
