/* Any text as the names, labels, comments and reasons that screens show: no renderer of text lets a control character,
 * a mark that turns the direction of letters or a byte that is not UTF-8 through. Each line of the input is the next
 * text. */
#include <stdlib.h>

#include "base/plain.h"
#include "book/ics.h"
#include "compat/board.h"
#include "draw/html.h"
#include "draw/mail.h"
#include "format/render.h"
#include "format/template.h"
#include "model/rows.h"
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

/* What is wrong with a text output; lines may end. */
static void check_text(const char *what, const struct buf *b)
{
    struct str rest = buf_str(b), line;

    if (b->err)
        return;
    while (str_line(&rest, &line))
        for (struct str s = line; s.len;) {
            uint32_t c = 0;
            size_t n = str_utf8(s, &c);
            if (n == 0 || (!plain_point(c) && c != '\t')) {
                fprintf(stderr, "%s lets U+%04X through: '%.*s'\n", what, (unsigned)c, STR_ARG(line));
                abort();
            }
            s = str_drop(s, n);
        }
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
    check_rows(&t, size);
    check_sentences(&c->n[0], &t);
    cluster_free(c);
    return 0;
}
