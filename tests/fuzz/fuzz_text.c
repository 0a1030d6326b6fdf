/* Any text as the names, labels, comments and reasons that screens show: no renderer of text lets a control character,
 * a mark that turns the direction of letters or a byte that is not UTF-8 through. Each line of the input is the next
 * text. */
#include <stdlib.h>

#include "alert/wording.h"
#include "book/ics.h"
#include "compat/board.h"
#include "draw/html.h"
#include "draw/letter.h"
#include "draw/mail.h"
#include "draw/strips.h"
#include "format/render.h"
#include "format/template.h"
#include "model/rows.h"
#include "shown_text.h"
#include "slack/dialog.h"
#include "usage/table.h"
#include "view_fixture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TEXTS 16

/* Texts in turn; the last one again when there are no more. */
struct texts {
    size_t n, at;
    struct str v[TEXTS];
};

static const char *next(struct texts *t, char *out, size_t size)
{
    struct str s = t->n ? t->v[t->at++ % t->n] : STR("");

    snprintf(out, size, "%.*s", STR_ARG(s));
    return out;
}
#define NEXT(t, field) next(t, field, sizeof(field))

static void check_text(const char *what, const struct buf *b)
{
    if (!b->err)
        check_shown(what, buf_str(b));
}

static void fill_node(struct node_now *n, struct texts *t)
{
    NEXT(t, n->name);
    NEXT(t, n->address);
    NEXT(t, n->reason);
    NEXT(t, n->fact.os);
    NEXT(t, n->fact.driver);
    for (size_t i = 0; i < n->n_devices; i++) {
        struct device_now *d = &n->devices[i];
        NEXT(t, d->fact.name);
        NEXT(t, d->fact.uuid);
        NEXT(t, d->fact.note);
        NEXT(t, d->reason);
        if (d->booking) {
            NEXT(t, d->booking->person);
            NEXT(t, d->booking->comment);
        }
        for (size_t k = 0; k < d->n_procs; k++) {
            NEXT(t, d->procs[k].fact->name);
            NEXT(t, d->procs[k].fact->user);
            NEXT(t, d->procs[k].fact->cmd);
            NEXT(t, d->procs[k].fact->container);
        }
    }
}

static void check_view(const struct view *v, size_t size)
{
    static const struct {
        const char *name;
        render_term_fn *draw;
    } terms[] = {{"summary", render_term_summary},
                 {"detail", render_term_detail},
                 {"table", render_term_table},
                 {"names", render_term_names},
                 {"tree", render_term_tree}};
    struct term t = {.width = 80 + (int)(size % 60), .ascii = size & 1, .answer = size & 2};
    AUTO_BUF b = BUF_INIT(4 << 20);

    for (size_t i = 0; i < ARRAY_LEN(terms); i++) {
        buf_reset(&b);
        terms[i].draw(&b, v, &t);
        check_text(terms[i].name, &b);
    }
    buf_reset(&b);
    render_state(&b, v);
    check_text("state", &b);
    buf_reset(&b);
    render_prom(&b, v, size & 1);
    check_text("metrics", &b);
    buf_reset(&b);
    render_vesta_states(&b, v);
    check_text("vesta's states", &b);
    buf_reset(&b);
    render_vesta_table(&b, v, v->nodes[0]->name, v->nodes[0]->reason);
    check_text("vesta's table", &b);
    for (size_t i = 0; i < v->n; i++) {
        const struct node_now *n = v->nodes[i];
        buf_reset(&b);
        render_vesta_host(&b, v, n);
        check_text("vesta's host", &b);
        for (int alone = 0; alone < 2; alone++) {
            buf_reset(&b);
            render_vesta_member(&b, v, n, alone);
            check_text("vesta's member", &b);
        }
        buf_reset(&b);
        render_vesta_past(&b, v, n->name, n->address, vesta_status(n), n->at_ms, n, 1);
        check_text("vesta's past", &b);
    }
}

/* The static page, and a calendar. */
static void check_pages(const struct view *v, struct texts *t)
{
    char text[4][200];
    const struct board_page look = {.title = NEXT(t, text[0]), .refresh_s = 60, .stale_s = 900};
    struct booking h = {.from_ms = NOW, .until_ms = NOW + 3600000};
    struct board board = {0};
    AUTO_BUF b = BUF_INIT(4 << 20);

    board_view(v, &board);
    board_html(&b, &board, &look);
    check_text("the static page", &b);
    board_fini(&board);
    buf_reset(&b);
    h.person = (char *)NEXT(t, text[1]);
    h.comment = (char *)NEXT(t, text[2]);
    h.places = (char *)NEXT(t, text[3]);
    render_ics_start(&b, text[0]);
    render_ics_booking(&b, &h);
    render_ics_end(&b);
    check_text("a calendar", &b);
}

static void check_series(struct texts *t)
{
    static const int64_t v[] = {1, SERIES_NONE, 3};
    char text[5][200];
    struct series s = {.node_id = NEXT(t, text[0]),
                       .node = NEXT(t, text[1]),
                       .device = NEXT(t, text[2]),
                       .user = NEXT(t, text[3]),
                       .model = NEXT(t, text[4]),
                       .metric = "util",
                       .unit = "ratio",
                       .agg = "mean",
                       .per = 10000,
                       .n = ARRAY_LEN(v),
                       .v = v};
    struct series_frame f = {.from_ms = NOW, .to_ms = NOW + 3000, .step_ms = 1000, .tier = "raw"};
    AUTO_BUF b = BUF_INIT(1 << 20), csv = BUF_INIT(1 << 20);
    struct series_json w = {.out = &b};

    render_series_json_start(&w, &f);
    render_series_json(&w, &s);
    render_series_json_end(&w, &f);
    check_text("series as JSON", &b);
    render_series_csv_start(&csv, &f);
    render_series_csv(&csv, &f, &s);
    check_text("series as CSV", &csv);
}

/* Charts of a terminal, and charts as SVG. */
static void check_charts(struct texts *t, size_t size)
{
    static const double y[] = {1, 2, 0.5};
    static const int64_t v[] = {1, SERIES_NONE, 3};
    char text[10][200];
    const struct chart c = {.title = NEXT(t, text[0]),
                            .unit = NEXT(t, text[1]),
                            .from_ms = NOW,
                            .step_ms = 1000,
                            .n = ARRAY_LEN(y),
                            .v = y};
    AUTO_BUF b = BUF_INIT(PLOT_BYTES_MAX);

    render_chart(&b, &c, 20 + (int)(size % 100), 5);
    render_spark(&b, &c, 20 + (int)(size % 100));
    buf_addc(&b, '\n');
    render_amount(&b, c.unit, 12.5);
    check_text("a chart", &b);

    const char *labels[ARRAY_LEN(y)] = {NEXT(t, text[2]), NEXT(t, text[3]), text[0]};
    const struct plot_series lines[] = {{.name = text[1], .y = y}, {.name = text[3], .y = y}};
    struct plot p = {.kind = size & 1 ? PLOT_LINES : PLOT_BARS,
                     .title = NEXT(t, text[4]),
                     .subtitle = NEXT(t, text[5]),
                     .note = NEXT(t, text[6]),
                     .n = ARRAY_LEN(y),
                     .labels = labels,
                     .x_label = NEXT(t, text[7]),
                     .y = {.label = NEXT(t, text[8]), .unit = NEXT(t, text[9])},
                     .n_series = ARRAY_LEN(lines),
                     .series = lines};
    buf_reset(&b);
    if (plot_draw(&p, PLOT_SVG, &b, NULL) >= 0) /* there may be no font */
        check_text("a plot", &b);

    struct strips *strips = strips_new();
    struct series s = {.node = text[2],
                       .device = text[3],
                       .user = text[4],
                       .model = text[5],
                       .metric = "util",
                       .unit = "ratio",
                       .agg = "mean",
                       .per = 10000,
                       .n = ARRAY_LEN(v),
                       .v = v};
    strips_start(strips, &(struct series_frame){.from_ms = NOW, .to_ms = NOW + 3000, .step_ms = 1000, .tier = "raw"});
    strips_add(strips, &s);
    s.node = text[6];
    strips_add(strips, &s);
    buf_reset(&b);
    if (strips_draw(strips, &(struct strips_head){.title = text[7], .lines = text[8]}, NULL, PLOT_SVG, &b, NULL) >= 0)
        check_text("strips", &b);
    strips_free(strips);
}

static void check_usage(struct texts *t, size_t size)
{
    char text[2][5][100], title[200];
    struct usage_row rows[2] = {0};
    struct usage_table u = {.by = (enum usage_by)(size % USAGE_BYS),
                            .from_ms = NOW - 3600000,
                            .to_ms = NOW,
                            .period = "day",
                            .zone = "UTC",
                            .currency = "EUR",
                            .split = "memory",
                            .n = ARRAY_LEN(rows),
                            .v = rows};
    AUTO_BUF b = BUF_INIT(PLOT_BYTES_MAX);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct usage_row *r = &rows[i];
        r->key = NEXT(t, text[i][0]);
        r->name = size & 1 ? NEXT(t, text[i][1]) : NULL;
        r->node = NEXT(t, text[i][2]);
        r->model = NEXT(t, text[i][3]);
        r->person = NEXT(t, text[i][4]);
        r->s.held_ms = 3600000 * (int64_t)(i + 1);
        r->s.busy_ms = 1800000;
        usage_add(&u.total.s, &r->s);
    }
    NEXT(t, title);
    render_usage_csv(&b, &u);
    check_text("usage as CSV", &b);
    buf_reset(&b);
    render_usage_json(&b, &u);
    check_text("usage as JSON", &b);
    buf_reset(&b);
    render_usage_html(&b, &u, title);
    check_text("usage as HTML", &b);
    buf_reset(&b);
    if (size % 4 == 1 && render_usage_plot(&b, &u, title, PLOT_SVG, NULL) >= 0)
        check_text("usage as SVG", &b);
}

/* A report, as text and as HTML of a mail. */
static void check_letter(const struct rows *rows, struct texts *t, size_t size)
{
    char text[7][200];
    struct letter l = {.title = NEXT(t, text[0]),
                       .subtitle = NEXT(t, text[1]),
                       .picture = "cid:usage.png",
                       .alt = NEXT(t, text[2]),
                       .screen = t->v[0],
                       .n = 2,
                       .v = {{.title = NEXT(t, text[3]), .rows = rows, .lines = size & 1, .total = size & 2},
                             {.title = text[3], .none = NEXT(t, text[4]), .rows = &(struct rows){0}}},
                       .notes = t->v[t->n - 1]};
    AUTO_BUF b = BUF_INIT(4 << 20);

    next(t, l.v[0].more, sizeof(l.v[0].more));
    letter_text(&b, &l, 40 + (int)(size % 60));
    check_text("a letter as text", &b);
    buf_reset(&b);
    letter_mail(&b, &l);
    check_text("a letter as HTML", &b);
}

/* What is sent about alerts: title and text, and both ways to Slack. */
static void check_alerts(struct texts *t, size_t size)
{
    static const struct alert_rule rule = {.name = "own-rule",
                                           .you = "You use {places} for {for}, {who}.",
                                           .yours = "{who}"};
    char text[2][5][200], person[200];
    struct alert a[2];
    const struct alert *v[2] = {&a[0], &a[1]};
    struct wording w;
    AUTO_BUF b = BUF_INIT(1 << 20);

    for (size_t i = 0; i < ARRAY_LEN(a); i++)
        a[i] = (struct alert){.id = (int64_t)i + 1,
                              .severity = SEV_WARNING,
                              .since_ms = NOW - 60000,
                              .resolved_ms = size & 4 ? NOW : 0,
                              .rule = "own-rule",
                              .subject = NEXT(t, text[i][0]),
                              .node = "",
                              .place = NEXT(t, text[i][1]),
                              .device = "",
                              .person = NEXT(t, text[i][2]),
                              .text = NEXT(t, text[i][3]),
                              .advice = NEXT(t, text[i][4]),
                              .told_to = ""};
    NEXT(t, person);
    wording_of(&(struct wording_params){.kind = (int32_t)(size / 8 % MESSAGE_REPORT),
                                        .now_ms = NOW,
                                        .rule = size & 1 ? &rule : NULL,
                                        .person = size & 2 ? person : "",
                                        .v = v,
                                        .n = 1 + (size & 1)},
               &w);
    struct message *m = message_copy(&(struct message){.kind = MESSAGE_FIRED,
                                                       .severity = SEV_WARNING,
                                                       .channel = "",
                                                       .to = "",
                                                       .person = "",
                                                       .thread = "",
                                                       .rule = "own-rule",
                                                       .title = w.title,
                                                       .text = w.text,
                                                       .html = "",
                                                       .blocks = "",
                                                       .alerts = "1"});
    check_shown("the title of a message", str_of(m->title));
    check_shown("the text of a message", str_of(m->text));
    message_slack(m, &b);
    check_text("a message for Slack", &b);
    buf_reset(&b);
    dialog_message_json(&b, m);
    check_text("a message as blocks", &b);
    check_strings("a message as blocks", buf_str(&b));
    free(m);
}

static void check_rows(struct texts *t, size_t size)
{
    static const struct column_spec cols[] = {{"a", "A", CELL_TEXT, .weight = 9}, {"b", "B", CELL_TEXT, .weight = 1}};
    AUTO_ROWS rows = ROWS_OF(cols);
    struct term term = {.width = (int)(size % 120), .ascii = size & 1};
    AUTO_BUF b = BUF_INIT(1 << 20);

    for (size_t i = 0; i < t->n; i++) {
        struct cell *c = rows_add(&rows);
        cell_text(&c[0], t->v[i]);
        cell_text(&c[1], t->v[t->n - 1 - i]);
    }
    render_rows_text(&b, &rows, &term);
    check_text("a table", &b);
    buf_reset(&b);
    render_rows_csv(&b, &rows);
    check_text("CSV", &b);
    buf_reset(&b);
    render_rows_json(&b, &rows);
    check_text("JSON", &b);
    if (!rows.n)
        return;
    struct mail mail = {.title = rows.cells[0].json_text, .subtitle = rows.cells[1].json_text, .notes = t->v[0]};
    buf_reset(&b);
    mail_start(&b, &mail);
    mail_table(&b, &(struct mail_table){.title = mail.title, .rows = &rows, .n = rows.n, .bar = rows.n_cols});
    mail_line(&b, t->v[0]);
    mail_screen(&b, t->v[0]);
    mail_end(&b, &mail);
    check_text("a mail", &b);
    check_letter(&rows, t, size);
}

static void check_sentences(const struct node_now *n, struct texts *t)
{
    struct template_scene s = {.n = n, .d = n->devices, .now_ms = NOW, .since_ms = NOW - 5000};
    AUTO_BUF b = BUF_INIT(1 << 20);
    char text[400];

    template_fill(&b, "{node} {place} {user} {model} {reason}", &s);
    check_text("a template", &b);
    buf_reset(&b);
    html_cstr(&b, next(t, text, sizeof(text)));
    check_text("HTML", &b);
    buf_reset(&b);
    render_facts(&b, text, text, NULL, false);
    check_text("facts", &b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct texts t = {0};
    struct str rest = str_n(data, size), line;
    struct cluster *c = cluster_new();

    in_utc(NULL);
    while (t.n < TEXTS && str_line(&rest, &line))
        t.v[t.n++] = line;
    for (size_t i = 0; i < c->v.n; i++)
        fill_node(&c->n[i], &t);
    check_view(&c->v, size);
    check_pages(&c->v, &t);
    check_series(&t);
    if (size % 4 == 0) /* to draw takes longer than all else */
        check_charts(&t, size);
    check_usage(&t, size);
    check_alerts(&t, size);
    check_rows(&t, size);
    check_sentences(&c->n[0], &t);
    cluster_free(c);
    return 0;
}
