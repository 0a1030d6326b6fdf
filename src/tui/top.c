/* top.c: the state of the screen, its keys, and the frame around the lists. */
#include "tui/top.h"

#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"
#include "format/words.h"

enum { EVERY_MIN_MS = 250, EVERY_MAX_MS = 16000, HEAD_ROWS = 3, FOOT_ROWS = 1 };

const char *const look_words[] = {"overview", "devices", "processes", "people", "history", "events", "alerts", NULL};
static const char look_keys[] = "odpuhea";

void top_init(struct top *t, const struct feed *feed, const char *me, int64_t every_ms)
{
    *t = (struct top){.feed = feed, .me = me, .every_ms = every_ms, .trails = trails_new()};
    for (enum top_view l = 0; l < LOOKS; l++)
        t->home[l].look = l;
}

void top_fini(struct top *t)
{
    on_devices_fini(&t->people);
    trails_free(t->trails);
    filter_free(t->filter);
    arena_fini(&t->arena);
    free(t->items);
    aim_fini(&t->aim);
    *t = (struct top){0};
}

struct place *top_place(struct top *t)
{
    return t->n_deep ? &t->deep[t->n_deep - 1] : &t->home[t->look];
}

/* Loads stored values of the hub into the plots, for as many devices as a query allows. */
static void seed_trails(struct top *t)
{
    enum { STEP_MS = 1000 }; /* a tick */

    if (t->seeded || !t->feed->past || !t->all.at_ms || top_place(t)->look == LOOK_HISTORY)
        return;
    if (!t->seed.n) {
        t->seed.step_ms = STEP_MS;
        t->seed.bins = TRAIL_LEN;
        t->seed.from_ms = (t->all.at_ms / STEP_MS - TRAIL_LEN) * STEP_MS;
        for (size_t i = 0; i < t->all.n; i++)
            for (size_t k = 0; k < t->all.nodes[i]->n_devices && t->seed.n < LANE_ROWS; k++)
                mem_copy_str(t->seed.devices[t->seed.n++], UUID_MAX, t->all.nodes[i]->devices[k].fact.uuid);
    }
    const struct lanes *past = t->seed.n ? t->feed->past(t->feed->arg, &t->seed) : NULL;
    if (past && past->step_ms == STEP_MS) {
        trails_seed(t->trails, &t->all, past);
        t->seeded = true;
    }
}

void top_refresh(struct top *t, bool tick)
{
    t->feed->view(t->feed->arg, &t->all);
    t->past = t->past ? t->feed->past(t->feed->arg, NULL) : NULL; /* the one before is gone */
    t->shown = t->all;
    arena_reset(&t->arena);
    if (t->filter)
        view_filter(&t->shown, t->filter, &t->arena);
    if (tick)
        trails_tick(t->trails, &t->all);
    seed_trails(t);
    list_make(t);
}

/* ---- keys ---- */

static void move(struct top *t, long by)
{
    struct place *p = top_place(t);

    if (!t->n_items)
        return;
    long to = (long)p->at + by;
    p->at = to < 0 ? 0 : to >= (long)t->n_items ? t->n_items - 1 : (size_t)to;
    p->picked = t->items[p->at].id;
}

static struct place *go_deep(struct top *t, enum top_view look)
{
    if (t->n_deep == PLACES_MAX) /* too deep: forget the oldest place */
        memmove(t->deep, t->deep + 1, --t->n_deep * sizeof(*t->deep));
    t->deep[t->n_deep] = (struct place){.look = look};
    return &t->deep[t->n_deep++];
}

/* The selection, to open it: a node's devices, a device, a user's processes. */
static void enter(struct top *t)
{
    struct place *from = top_place(t);

    if (from->at >= t->n_items)
        return;
    struct item i = t->items[from->at];
    if (i.who) {
        struct place *p = go_deep(t, LOOK_PROCS);
        mem_copy_str(p->user, sizeof(p->user), i.who->name);
        p->of_user = true;
    } else if (i.d) {
        if (from->look == LOOK_DEVICE)
            return;
        mem_copy_str(go_deep(t, LOOK_DEVICE)->device, UUID_MAX, i.d->fact.uuid);
    } else if (i.n) {
        mem_copy_str(go_deep(t, LOOK_DEVICES)->node, NODE_KEY_MAX, i.n->key);
    } else if (i.a) {
        if (i.a->device[0])
            mem_copy_str(go_deep(t, LOOK_DEVICE)->device, UUID_MAX, i.a->device);
        else if (i.a->node[0])
            mem_copy_str(go_deep(t, LOOK_DEVICES)->node, NODE_KEY_MAX, i.a->node);
    } else {
        size_t k = i.e ? FIRST(t->all.n, x, strcmp(t->all.nodes[x]->name, i.e->node) == 0) : t->all.n;
        if (k < t->all.n)
            mem_copy_str(go_deep(t, LOOK_DEVICES)->node, NODE_KEY_MAX, t->all.nodes[k]->key);
    }
    list_make(t);
}

/* Applies the typed filter immediately; an incomplete one leaves the list unchanged. */
static void set_filter(struct top *t)
{
    struct filter *f = NULL;

    t->filter_err = (struct filter_err){0};
    if (str_trim(str_of(t->typed)).len && filter_new(str_of(t->typed), t->me, &f, &t->filter_err) < 0)
        return;
    struct filter *before = t->filter;
    t->filter = f;
    t->shown = t->all;
    arena_reset(&t->arena);
    if (f)
        view_filter(&t->shown, f, &t->arena);
    if (f && t->shown.odd_words) { /* usually half a word: no such name */
        snprintf(t->filter_err.message, sizeof(t->filter_err.message), "%.*s", (int)sizeof(t->filter_err.message) - 1,
                 t->shown.words);
        t->filter = before;
        before = f;
        arena_reset(&t->arena);
        t->shown = t->all;
        if (t->filter)
            view_filter(&t->shown, t->filter, &t->arena);
    }
    filter_free(before);
    list_make(t);
}

static void type_key(struct top *t, int key)
{
    size_t n = strlen(t->typed);

    if (key == TOP_ENTER) {
        t->typing = t->filter_err.message[0] != 0; /* incomplete: keep it for editing */
        return;
    }
    if (key == TOP_ESC) {
        t->typing = false;
        t->typed[0] = 0;
    } else if (key == TOP_BACKSPACE) {
        while (n && (t->typed[n - 1] & 0xc0) == 0x80)
            n--;
        t->typed[n ? n - 1 : 0] = 0;
    } else if (key == 0x15) { /* ^U */
        t->typed[0] = 0;
    } else if (key >= ' ' && key < 0x7f && n + 1 < sizeof(t->typed)) {
        t->typed[n] = (char)key;
        t->typed[n + 1] = 0;
    } else {
        return;
    }
    set_filter(t);
}

static bool list_key(struct top *t, int key)
{
    long line = MAX(1, t->columns), page = MAX(1, t->list_h - 1) * line, all = (long)t->n_items;
    const struct {
        int key, other;
        long by;
    } moves[] = {{TOP_UP, 'k', -line},
                 {TOP_DOWN, 'j', line},
                 {TOP_LEFT, TOP_LEFT, -(line > 1)},
                 {TOP_RIGHT, TOP_RIGHT, line > 1},
                 {TOP_PAGE_UP, TOP_PAGE_UP, -page},
                 {TOP_PAGE_DOWN, TOP_PAGE_DOWN, page},
                 {TOP_HOME, 'g', -all},
                 {TOP_END, 'G', all}};
    size_t i = FIRST(ARRAY_LEN(moves), k, key == moves[k].key || key == moves[k].other);

    if (i < ARRAY_LEN(moves))
        move(t, moves[i].by);
    else if (key == TOP_ENTER)
        enter(t);
    return i < ARRAY_LEN(moves) || key == TOP_ENTER;
}

static void go_back(struct top *t)
{
    if (t->n_deep) {
        t->n_deep--;
        list_make(t);
    } else if (t->filter) {
        t->typed[0] = 0;
        set_filter(t);
    }
}

/* What has the keys while it is on the screen: true, they are not for the list below. */
static bool front_key(struct top *t, int key, bool *go_on)
{
    *go_on = true;
    if (t->typing) {
        type_key(t, key);
        return true;
    }
    if (t->aim.asking) {
        aim_key(t, key);
        return true;
    }
    t->aim.said[0] = 0;
    bool helped = t->help; /* any key closes it */
    t->help = false;
    *go_on = !helped || key != 'q';
    return helped;
}

static bool look_key(struct top *t, int key)
{
    for (enum top_view l = 0; look_words[l]; l++)
        if (key == look_keys[l]) {
            t->n_deep = 0;
            t->look = l;
            list_make(t);
            return true;
        }
    return false;
}

bool top_key(struct top *t, int key)
{
    bool go_on;

    if (front_key(t, key, &go_on) || look_key(t, key) || list_key(t, key))
        return go_on;
    enum top_view look = top_place(t)->look;
    switch (key) {
    case 'q':
        return false;
    case TOP_ESC:
    case TOP_BACKSPACE:
        go_back(t);
        break;
    case '/':
        t->typing = true;
        break;
    case 's':
        t->order[look] = (t->order[look] + 1) % list_orders(look);
        list_make(t);
        break;
    case 'r':
        t->turned[look] = !t->turned[look];
        list_make(t);
        break;
    case ' ':
        t->paused = !t->paused;
        break;
    case 't':
        if (look == LOOK_PROCS || look == LOOK_DEVICE) {
            t->tree = !t->tree;
            list_make(t);
        } else {
            history_next(t);
        }
        break;
    case 'c':
        t->compact = !t->compact;
        break;
    case 'x':
        aim_tag(t);
        move(t, 1);
        break;
    case 'X':
        t->aim.n_tags = 0;
        break;
    case 'K':
        aim_begin(t);
        break;
    case 'W':
        if (t->save)
            t->save(t, t->aim.said);
        break;
    case '?':
        t->help = true;
        break;
    case '+':
        t->every_ms = MAX(t->every_ms / 2, EVERY_MIN_MS);
        break;
    case '-':
        t->every_ms = MIN(t->every_ms * 2, EVERY_MAX_MS);
        break;
    default:
        break;
    }
    return true;
}

void top_click(struct top *t, int y, int x, bool twice)
{
    struct place *p = top_place(t);
    int columns = MAX(1, t->columns);
    long i = (long)p->first + (long)(y - t->list_y) * columns;

    if (columns > 1)
        i += MIN(x / MAX(1, t->cell), columns - 1);
    if (t->typing || t->help || t->aim.asking || y < t->list_y || y >= t->list_y + t->list_h || i >= (long)t->n_items)
        return;
    move(t, i - (long)p->at);
    if (twice)
        enter(t);
}

/* ---- the frame ---- */

static void draw_totals(const struct top *t, struct sheet *s)
{
    AUTO_BUF right = BUF_INIT(128);
    struct tally all;
    char when[32], span[24];

    if (t->paused)
        buf_adds(&right, "PAUSED");
    else if (t->all.at_ms)
        buf_addf(&right, "%s", local_time(t->all.at_ms, when) + 11);
    if (t->every_ms % 1000)
        buf_addf(&right, "  %lld ms", (long long)t->every_ms);
    else
        buf_addf(&right, "  %s", clock_span(t->every_ms, span));
    int w = str_width(buf_str(&right)), end = MAX(0, s->w - w - 1);
    sheet_right(s, 0, s->w - w, w, t->paused ? STYLE_WARN | STYLE_BOLD : STYLE_PLAIN, right.p);
    view_tally(&t->all, &all);
    int x = sheet_put(s, 0, 0, end, STYLE_TITLE | STYLE_BOLD, "muster top");
    if (s->w >= 120)
        x = sheet_put(s, 0, x + 2, MIN(40, end - x - 2), STYLE_PLAIN, t->feed->name);
    if (t->all.demo)
        x = sheet_put(s, 0, x + 2, MIN(8, end - x - 2), STYLE_WARN | STYLE_BOLD, "DEMO");
    if (all.nodes)
        x = sheet_putf(s, 0, x + 2, end - x - 2, STYLE_PLAIN, "%zu GPUs", all.devices);
    for (int i = 0; i < DEV_STATES; i++)
        if (all.by_state[i]) {
            x = sheet_putf(s, 0, x + 2, end - x - 2, (uint8_t)(STYLE_STATE + i), "%s %zu",
                           sheet_mark(s, (enum dev_state)i), all.by_state[i]);
            if (i <= DEV_BUSY || s->w >= 100) /* the others' marks say it where room is scarce */
                x = sheet_putf(s, 0, x, end - x, (uint8_t)(STYLE_STATE + i), " %s", state_shown(dev_states[i].word));
        }
}

/* The first line: why there is no data, the hub's status message, else the free GPUs. */
static void draw_answer(struct top *t, struct sheet *s)
{
    const char *status = t->feed->status(t->feed->arg);
    AUTO_BUF order = BUF_INIT(64);
    int w = s->w;

    if (!status && !t->help && t->n_items > 1) {
        buf_addf(&order, "%s%sby %s%s", top_place(t)->look == LOOK_HISTORY ? history_span(t) : "",
                 top_place(t)->look == LOOK_HISTORY ? ", " : "", list_order(t),
                 t->turned[top_place(t)->look] ? ", reversed" : "");
        w = MAX(0, s->w - (int)order.len - 2);
        sheet_right(s, 1, w + 2, s->w - w - 2, STYLE_PLAIN | STYLE_DIM, order.p);
    }
    if (status) {
        sheet_put(s, 1, 0, w, STYLE_WARN, status);
    } else if (t->all.notice && t->all.notice[0]) {
        sheet_putf(s, 1, 0, w, STYLE_WARN | STYLE_BOLD, "! %s", t->all.notice);
    } else {
        AUTO_BUF b = BUF_INIT(1 << 20);
        struct tally shown;
        view_tally(&t->shown, &shown);
        view_answer(&t->shown, &shown, &b);
        const char *between = s->ascii ? " | " : " · ";
        view_counts(&t->shown, &shown, between, between, &b);
        sheet_put(s, 1, 0, w, STYLE_PLAIN, b.len ? b.p : "");
    }
}

static void draw_foot(struct top *t, struct sheet *s)
{
    int y = s->h - 1, x = 1;

    if (t->typing) {
        x = sheet_putf(s, y, 0, s->w, STYLE_PLAIN | STYLE_BOLD, "/%s_", t->typed);
        if (t->filter_err.column)
            x = sheet_putf(s, y, x + 2, s->w - x - 2, STYLE_WARN, "column %u: ", t->filter_err.column) - 2;
        if (t->filter_err.message[0])
            sheet_put(s, y, x + 2, s->w - x - 2, STYLE_WARN, t->filter_err.message);
        else if (t->shown.words)
            sheet_put(s, y, x + 2, s->w - x - 2, STYLE_PLAIN | STYLE_DIM, t->shown.words);
        else if (!t->typed[0])
            sheet_put(s, y, x + 2, s->w - x - 2, STYLE_PLAIN | STYLE_DIM,
                      "free  kim  h200  memfree>=40G  Enter applies it, Esc clears it");
        return;
    }
    if (t->aim.asking) {
        AUTO_BUF words = BUF_INIT(1024);
        aim_words(&t->aim, &words);
        sheet_put(s, y, 0, s->w, STYLE_WARN | STYLE_BOLD, words.p);
        return;
    }
    if (t->aim.said[0]) {
        sheet_put(s, y, 0, s->w, STYLE_WARN, t->aim.said);
        return;
    }
    struct place *p = top_place(t);
    for (enum top_view l = 0; look_words[l]; l++) {
        uint8_t style = p->look == l ? STYLE_PLAIN | STYLE_PICK : STYLE_PLAIN;
        x = sheet_putf(s, y, x, 16, style | STYLE_BOLD, "%c", look_keys[l]);
        x = sheet_putf(s, y, x, 16, style, " %s", l == LOOK_PEOPLE ? "users" : look_words[l]) + 1;
    }
    sheet_put(s, y, x + 1, 60, STYLE_PLAIN, s->w < 103 ? "/ ? q" : "/ filter s sort ? help q quit");
}

static void draw_help(struct sheet *s)
{
    static const char *const lines[] = {
        "o  overview: a line per node      Enter  show more",
        "d  devices                        Esc    back; then clears the filter",
        "p  processes                      arrows, j k, PgUp PgDn, g G  move",
        "u  users                          s      sort by the next column",
        "h  history of users on GPUs       r      reverse the order",
        "e  events                         t      processes: as a tree; history: span",
        "a  alerts",
        "c  compact: many per line         W      save these settings",
        "x  tag a process, X none          K      send a signal to it, or to all tagged",
        "/  filter, as on the page and in `muster ls`:",
        "   free   held idle>2h   kim h200   host:dgx* memfree>=40G",
        "space  pause                      + -    faster, slower",
        "q  quit                           ^L     redraw",
        "",
        "Any key goes back.",
    };
    int y = HEAD_ROWS;

    sheet_put(s, y - 1, 0, s->w, STYLE_TITLE | STYLE_BOLD, " Keys");
    for (size_t i = 0; i < ARRAY_LEN(lines); i++)
        sheet_put(s, y++, 1, s->w - 1, STYLE_PLAIN, lines[i]);
    int x = 1;
    for (int i = 0; i < DEV_STATES; i++) {
        if (i && i % 2 == 0) {
            y++;
            x = 1;
        }
        x = sheet_putf(s, y, x, 40, (uint8_t)(STYLE_STATE + i), "%s %s", sheet_mark(s, (enum dev_state)i),
                       state_shown(dev_states[i].word));
        x = sheet_putf(s, y, x, 40, STYLE_PLAIN, ": %s   ", dev_states[i].meaning) + 2;
    }
}

/* Processes if there is room: the selected node's, then others. */
static void draw_procs(const struct top *t, struct sheet *s, int y, int h, const struct node_now *chosen)
{
    int end = y + h;
    size_t left = 0;

    sheet_rule(s, y++);
    line_title(t, s, y, LOOK_PROCS);
    sheet_row(s, y++, STYLE_BOLD);
    for (size_t i = 0; i <= t->shown.n; i++) {
        const struct node_now *n = i ? t->shown.nodes[i - 1] : chosen;
        for (size_t k = 0; k < n->n_devices && (!i || n != chosen); k++)
            for (size_t p = 0; p < n->devices[k].n_procs; p++) {
                left += y >= end;
                if (y < end)
                    line_item(t, s, y++, LOOK_PROCS,
                              &(struct item){.n = n, .d = &n->devices[k], .p = &n->devices[k].procs[p]});
            }
    }
    if (!left)
        return;
    for (int x = 0; x < s->w; x++)
        sheet_glyph(s, end - 1, x, ' ', STYLE_PLAIN);
    sheet_putf(s, end - 1, 1, s->w, STYLE_PLAIN | STYLE_DIM, "and %zu more: p", left + 1);
}

/* Below the overview: the selected node's devices and processes. Returns the number of lines for the list above. */
static int draw_below(struct top *t, struct sheet *s, int room)
{
    struct place *p = top_place(t);

    if (p->look != LOOK_OVERVIEW || t->compact || room < 12 || p->at >= t->n_items)
        return room;
    const struct node_now *n = t->items[p->at].n;
    int most = room - 1 - MIN((int)t->n_items, MAX(4, room / 2)), show = MIN((int)n->n_devices, most);
    if (show <= 0)
        return room;
    int spare = room - 1 - show - (int)MIN(t->n_items, (size_t)room), procs = spare >= 4 ? spare : 0;
    int y = s->h - FOOT_ROWS - procs - show;
    sheet_rule(s, y - 1);
    bool cut = (size_t)show < n->n_devices;
    for (int i = 0; i < show - cut; i++)
        line_item(t, s, y + i, LOOK_DEVICES, &(struct item){.n = n, .d = &n->devices[i]});
    if (cut)
        sheet_putf(s, y + show - 1, 1, s->w, STYLE_PLAIN | STYLE_DIM, "and %zu more: Enter",
                   n->n_devices - (size_t)(show - 1));
    if (procs)
        draw_procs(t, s, y + show, procs, n);
    return room - show - 1 - procs;
}

static void draw_title(struct top *t, struct sheet *s, int y)
{
    struct place *p = top_place(t);

    if (grid_columns(t, s, p->look) > 1)
        sheet_put(s, y, 1, s->w, STYLE_TITLE, p->look == LOOK_OVERVIEW ? "NODES" : "GPUS");
    else
        line_title(t, s, y, p->look);
    AUTO_BUF where = BUF_INIT(512);
    if (p->of_user)
        buf_addf(&where, " %s ", p->user[0] ? p->user : "(unknown)");
    for (size_t i = 0; p->node[0] && i < t->all.n; i++)
        if (strcmp(t->all.nodes[i]->key, p->node) == 0)
            buf_addf(&where, " %s ", t->all.nodes[i]->name);
    sheet_row(s, y, STYLE_BOLD);
    if (where.len)
        sheet_right(s, y, s->w / 2, s->w - s->w / 2, STYLE_TITLE | STYLE_PICK, where.p);
}

static const char *nothing(const struct top *t, enum top_view look)
{
    if (look == LOOK_ALERTS && !t->feed->alerts)
        return "alerts need a hub: muster top --hub URL";
    if (t->feed->status(t->feed->arg) || !t->all.at_ms)
        return "";
    if (t->filter)
        return "no match for the filter; Esc clears it";
    return look == LOOK_PROCS || look == LOOK_DEVICE ? "no processes"
           : look == LOOK_PEOPLE                     ? "no GPU is in use"
           : look == LOOK_EVENTS                     ? (t->no_events ? "loading…" : "no events yet")
           : look == LOOK_ALERTS                     ? (t->no_alerts ? "loading…" : "no alerts")
                                                     : "no GPUs";
}

/* Sets the first visible line so that the selection is visible. */
static void scroll(const struct top *t, struct place *p)
{
    size_t columns = (size_t)t->columns, lines = (t->n_items + columns - 1) / columns, room = (size_t)t->list_h;
    size_t line = p->at / columns, first = p->first / columns;

    if (line < first)
        first = line;
    if (room && line >= first + room)
        first = line - room + 1;
    if (first + room > lines) /* no empty lines at the end while there are lines above */
        first = lines > room ? lines - room : 0;
    p->first = first * columns;
}

static void draw_grid(struct top *t, struct sheet *s, const struct place *p)
{
    for (size_t i = p->first; i < t->n_items && i < p->first + (size_t)(t->list_h * t->columns); i++) {
        int y = t->list_y + (int)(i - p->first) / t->columns, x = (int)(i - p->first) % t->columns * t->cell;
        grid_item(t, s, y, x, p->look, &t->items[i]);
        if (i == p->at) {
            sheet_put(s, y, x, 1, STYLE_PLAIN, ">");
            sheet_part(s, y, x, t->cell - 1, STYLE_PICK);
        }
    }
}

void top_draw(struct top *t, struct sheet *s)
{
    struct place *p = top_place(t);
    int y = 2;

    draw_totals(t, s);
    draw_answer(t, s);
    if (t->help) {
        draw_help(s);
        return;
    }
    if (p->look == LOOK_DEVICE) {
        const struct node_now *n = NULL;
        const struct device_now *d = list_device(t, p->device, &n);
        if (d)
            y = device_page(t, s, y, s->h - FOOT_ROWS - y, n, d);
        else
            sheet_put(s, y++, 1, s->w, STYLE_WARN, "this GPU no longer exists");
    }
    draw_title(t, s, y++);
    int room = draw_below(t, s, s->h - FOOT_ROWS - y);
    t->list_y = y;
    t->list_h = MAX(room, 0);
    t->columns = grid_columns(t, s, p->look);
    t->cell = grid_cell(t, p->look);
    scroll(t, p);
    if (p->look == LOOK_HISTORY)
        top_fetch_history(t, s);
    if (t->columns > 1)
        draw_grid(t, s, p);
    for (int i = 0; t->columns == 1 && i < room && p->first + (size_t)i < t->n_items; i++) {
        const struct item *it = &t->items[p->first + (size_t)i];
        line_item(t, s, y + i, p->look, it);
        if (p->first + (size_t)i == p->at) {
            sheet_put(s, y + i, 0, 1, STYLE_PLAIN, ">");
            sheet_row(s, y + i, STYLE_PICK);
        }
    }
    if (!t->n_items && room > 0)
        sheet_put(s, y, 1, s->w, STYLE_PLAIN | STYLE_DIM, nothing(t, p->look));
    draw_foot(t, s);
}
