/* plotshow.c: one of every chart and a report, into a folder: for looking at, and for docs/internals/draw.md. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "draw/paper.h"

#define DAY  86400000ll
#define FROM 1792879200000ll /* 2026-10-25 00:00 in Berlin: the day clocks go back */

static const char *folder;

static void put(const char *name, const char *end, const struct buf *b)
{
    AUTO_FREE char *path = mem_fmt("%s/%s.%s", folder, name, end);
    struct err err = {0};
    if (b->err || file_write(path, 0644, b->p, b->len, &err) < 0) {
        fprintf(stderr, "%s: %s\n", path, err.msg);
        exit(1);
    }
}

static void show(const char *name, const struct plot *p)
{
    for (int f = 0; f < PLOT_FORMATS; f++) {
        AUTO_BUF b = BUF_INIT(PLOT_BYTES_MAX);
        struct err err = {0};
        if (plot_draw(p, (enum plot_format)f, &b, &err) < 0) {
            fprintf(stderr, "%s: %s\n", name, err.msg);
            exit(1);
        }
        put(name, plot_words[f], &b);
    }
}

static double noise(unsigned *seed)
{
    *seed = *seed * 1103515245u + 12345u;
    return (double)(*seed >> 8 & 0xffff) / 65536;
}

enum { LINES = 2000, DAYS = 30, PEOPLE = 6 };
static int64_t at[LINES], day_at[DAYS];
static double util[2][LINES], held[PEOPLE + 1][DAYS];
static const char *const people[] = {"kim", "lee", "ana", "raj", "Łukasz Żółć", "others"};
static struct plot lines, bars, boxes, names;

static void fill(const struct zone *z)
{
    static struct plot_series s_lines[2], s_bars[PEOPLE + 1], s_names[2];
    static struct plot_box b[8];
    static const char *const nodes[] = {"dgx1", "dgx2", "dgx3",           "dgx4", "workstation-in-the-corner",
                                        "ws2",  "ws10", "cloud-a100-0001"};
    static double busy[8], idle[8];
    unsigned seed = 7;
    for (int i = 0; i < LINES; i++) {
        at[i] = FROM + i * DAY * 3 / LINES;
        double wave = 0.5 + 0.4 * sin(i / 150.0);
        bool away = i > 700 && i < 900;
        util[0][i] = away ? NAN : fmax(0, fmin(1, wave + 0.1 * (noise(&seed) - 0.5)));
        util[1][i] = i > 1500 ? 0.05 * noise(&seed) : 0.8 + 0.15 * noise(&seed);
    }
    s_lines[0] = (struct plot_series){.name = "dgx1, GPU 0", .y = util[0]};
    s_lines[1] = (struct plot_series){.name = "dgx1, GPU 1", .y = util[1]};
    lines = (struct plot){.kind = PLOT_LINES,
                          .title = "Utilisation of dgx1",
                          .subtitle = "mean of one minute; the band is from least to most",
                          .n = LINES,
                          .at_ms = at,
                          .zone = z,
                          .y = {.label = "Utilisation", .unit = "ratio"},
                          .n_series = 2,
                          .series = s_lines};
    for (int d = 0; d < DAYS; d++) {
        day_at[d] = FROM + d * DAY + (d ? 3600000 : 0);
        for (int k = 0; k < PEOPLE; k++)
            held[k][d] = 3600 * fmax(0, 40 + 30 * sin(d / 4.0 + k) + 20 * noise(&seed) - 10 * k);
        held[PEOPLE][d] = 3600 * (d < 14 ? 192 : 288);
    }
    for (int k = 0; k < PEOPLE; k++)
        s_bars[k] = (struct plot_series){.name = people[k], .y = held[k], .colour = k == PEOPLE - 1 ? -1 : 0};
    s_bars[PEOPLE] = (struct plot_series){.name = "assigned", .y = held[PEOPLE], .line = true, .colour = 8};
    bars = (struct plot){.kind = PLOT_BARS,
                         .title = "GPU time held, by person",
                         .subtitle = "2026-10-25 to 2026-11-23, days of Europe/Berlin",
                         .n = DAYS,
                         .at_ms = day_at,
                         .zone = z,
                         .y = {.label = "GPU time", .unit = "seconds"},
                         .n_series = PEOPLE + 1,
                         .series = s_bars,
                         .note = "A shared GPU is split by memory. Made by muster."};
    for (int i = 0; i < 8; i++) {
        double m = 0.2 + 0.09 * i;
        b[i] = (struct plot_box){fmax(0, m - 0.2), m - 0.08, m, m + 0.06, fmin(1, m + 0.25), 0, NULL};
        busy[i] = 3600.0 * (700 - 60 * i);
        idle[i] = 3600.0 * (100 + 20 * i);
    }
    b[5].median = NAN;
    boxes = (struct plot){.kind = PLOT_BOXES,
                          .title = "Utilisation per node",
                          .n = 8,
                          .labels = nodes,
                          .y = {.label = "Utilisation", .unit = "ratio", .min = 0, .max = 1},
                          .boxes = b,
                          .x_label = "node"};
    s_names[0] = (struct plot_series){.name = "busy", .y = busy, .colour = 2};
    s_names[1] = (struct plot_series){.name = "held, idle", .y = idle, .colour = 4};
    names = (struct plot){.kind = PLOT_BARS,
                          .title = "GPU time by node",
                          .n = 8,
                          .labels = nodes,
                          .y = {.label = "GPU time", .unit = "seconds"},
                          .n_series = 2,
                          .series = s_names};
}

static void report(const char *name, bool japanese)
{
    static const struct paper_col en[] = {{"company", false},
                                          {"date", false},
                                          {"Total GPU hours (h)", true},
                                          {"GPU utilisation rate (%)", true},
                                          {"Average GPU utilisation (%)", true},
                                          {"Max GPU utilisation (%)", true},
                                          {"Number of runs", true},
                                          {"Assigned GPU nodes", true}};
    static const struct paper_col ja[] = {{"企業名", false},
                                          {"日付", false},
                                          {"合計GPU使用時間(h)", true},
                                          {"GPU稼働率(%)", true},
                                          {"平均GPUパフォーマンス率(%)", true},
                                          {"最大GPUパフォーマンス率(%)", true},
                                          {"run数", true},
                                          {"割り当てノード数", true}};
    enum { N = 90, COLS = 8 };
    static const char *cells[N * COLS];
    AUTO_ARENA arena = {0};
    AUTO_BUF out = BUF_INIT(PLOT_BYTES_MAX);
    struct paper *p;
    struct err err = {0};
    for (int i = 0; i < N; i++) {
        char text[COLS][40];
        snprintf(text[0], 40, "%s", i == N - 1 ? "all" : i % 2 ? "ABEJA" : "Turing & Söhne 株式会社");
        snprintf(text[1], 40, "2026-10-%02d", i % 31 + 1);
        for (int k = 2; k < COLS; k++)
            snprintf(text[k], 40, "%.1f", i * 13.7 * k / 3);
        for (int k = 0; k < COLS; k++)
            cells[i * COLS + k] = arena_strn(&arena, text[k], strlen(text[k]));
    }
    if (paper_open(&(struct paper_conf){.title = "Report of October 2026",
                                        .foot = "made 2026-11-15 10:46 UTC",
                                        .at_ms = FROM},
                   &out, &p, &err) < 0) {
        fprintf(stderr, "%s\n", err.msg);
        exit(1);
    }
    paper_heading(p, japanese ? "2026年10月 GPU使用状況" : "Report of October 2026", 1);
    paper_text(p, "Hours above what was assigned are cut per day, before days are added up. A day counts for a company "
                  "when nodes are assigned on it; what ran on other days is in no table.");
    paper_plot(p, &bars);
    paper_heading(p, "Daily", 2);
    paper_table(p,
                &(struct paper_table){.n_cols = COLS, .n = N, .cols = japanese ? ja : en, .cells = cells, .n_bold = 1});
    paper_heading(p, "Utilisation", 2);
    paper_plot(p, &lines);
    if (paper_close(p, &err) < 0) {
        fprintf(stderr, "%s\n", err.msg);
        exit(1);
    }
    put(name, "pdf", &out);
}

/* What is easily drawn badly: a year of days, sixteen people, one value, none, little room. */
static void edges(const struct zone *z)
{
    enum { YEAR = 365, MANY = 16 };
    static double y[MANY][YEAR];
    static int64_t year[YEAR];
    static char text[MANY][48];
    static const double none[] = {NAN, NAN, NAN};
    struct plot_series s[MANY];
    unsigned seed = 3;
    for (int d = 0; d < YEAR; d++) {
        year[d] = zone_date_ms(z, 20454 + d);
        for (int k = 0; k < MANY; k++)
            y[k][d] = 3600 * 24 * noise(&seed) * (d % 7 > 4 ? 0.4 : 1);
    }
    for (int k = 0; k < MANY; k++) {
        snprintf(text[k], sizeof(text[k]), k == 3 ? "a person with a very long name, and then some" : "person %d",
                 k + 1);
        s[k] = (struct plot_series){.name = text[k], .y = y[k]};
    }
    struct plot p = {.kind = PLOT_BARS,
                     .title = "GPU time held, by person",
                     .n = YEAR,
                     .at_ms = year,
                     .zone = z,
                     .y = {.label = "GPU time", .unit = "seconds"},
                     .n_series = MANY,
                     .series = s};
    show("year", &p);
    p.n = 12;
    p.n_series = 3;
    p.width = 320, p.height = 200;
    show("narrow", &p);
    p = (struct plot){.kind = PLOT_LINES,
                      .title = "Power, one value",
                      .n = 1,
                      .at_ms = year,
                      .zone = z,
                      .y = {.label = "Power", .unit = "watts"},
                      .n_series = 1,
                      .series = &(struct plot_series){.y = y[0]}};
    show("one", &p);
    p.n = 3;
    p.title = "Nothing known";
    p.series = &(struct plot_series){.name = "dgx1", .y = none};
    show("none", &p);
}

int main(int argc, char **argv)
{
    struct zone *z;
    struct err err = {0};
    if (argc != 2 || zone_load("Europe/Berlin", &z, &err) < 0) {
        fprintf(stderr, "usage: plotshow FOLDER\n");
        return 2;
    }
    folder = argv[1];
    fill(z);
    show("lines", &lines);
    show("bars", &bars);
    show("boxes", &boxes);
    show("names", &names);
    edges(z);
    report("report", false);
    report("report-ja", true);
    zone_free(z);
    return 0;
}
