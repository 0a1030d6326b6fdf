/*
 * reportcalc.c: the report's tables from run-days on standard input, for a test that works them out again in another
 * way. Lines of cells with tabs between, "-" for none:
 *   company NAME TEAM,TEAM GPUS IGNORE INCLUDE  /  step DAY NODES (of the company before)
 *   run DAY MINUTES GPUS TEAM PROJECT ID HOST IGNORED FROM UNTIL UTIL UTIL_MAX MEM MEM_MAX
 *   ask PERIOD FROM TO WEEK_START PARTIAL COMPANY: answered by rows and a line that says end
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/zone.h"
#include "report/report.h"

#define CELLS 16

static struct arena arena;
static struct company *companies;
static struct run_day *runs;
static size_t n_companies, cap_companies, n_runs, cap_runs;

static const char *some(struct str s)
{
    return str_eq(s, "-") ? NULL : arena_strn(&arena, s.p, s.len);
}

static int64_t number(struct str s, int64_t scale)
{
    int64_t v = 0;
    if (!str_fixed(s, scale, &v))
        exit(2);
    return v;
}

static int32_t date(struct str s)
{
    int32_t d = 0;
    if (!date_parse(s, &d))
        exit(2);
    return d;
}

static void take_company(struct str *c)
{
    const char **teams = arena_alloc(&arena, CELLS, sizeof(*teams));
    struct company_step *steps = arena_alloc(&arena, CELLS, sizeof(*steps));
    struct str list = c[2], team;
    VEC_ROOM(companies, n_companies, cap_companies);
    struct company *co = &companies[n_companies++];
    *co = (struct company){.name = some(c[1]), .teams = teams, .steps = steps};
    while (co->n_teams < CELLS && str_cut(&list, ',', &team))
        teams[co->n_teams++] = some(team);
    co->gpus_per_node = (int32_t)number(c[3], 1);
    co->ignore_project = some(c[4]);
    co->include_project = some(c[5]);
}

static void take_step(struct str *c)
{
    struct company *co = &companies[n_companies - 1];
    if (co->n_steps < CELLS)
        ((struct company_step *)co->steps)[co->n_steps++] = (struct company_step){date(c[1]), (int32_t)number(c[2], 1)};
}

static void take_run(struct str *c)
{
    VEC_ROOM(runs, n_runs, cap_runs);
    struct run_day *r = &runs[n_runs++];
    *r = (struct run_day){.day = date(c[1]),
                          .minutes = (int32_t)number(c[2], 1),
                          .gpus = (int32_t)number(c[3], 1),
                          .team = some(c[4]),
                          .project = some(c[5]),
                          .run_id = some(c[6]),
                          .host = some(c[7]),
                          .ignored = str_eq(c[8], "1"),
                          .from_ms = number(c[9], 1),
                          .until_ms = number(c[10], 1)};
    if (str_eq(c[11], "-"))
        return;
    r->have = RUN_UTIL | RUN_MEM;
    r->util_avg = number(c[11], PERCENT_ONE);
    r->util_max = number(c[12], PERCENT_ONE);
    r->mem_avg = number(c[13], PERCENT_ONE);
    r->mem_max = number(c[14], PERCENT_ONE);
}

static void answer(struct str *c)
{
    struct report_query ask = {.from = date(c[2]),
                               .to = date(c[3]),
                               .week_start = (int)number(c[4], 1),
                               .partial = str_eq(c[5], "1"),
                               .company = some(c[6])};
    struct report r = {0};
    struct err err = {0};
    char day[16];
    while (report_words[ask.period] && !str_eq(c[1], report_words[ask.period]))
        ask.period++;
    if (report_make(&ask, companies, n_companies, runs, n_runs, &r, &err) < 0)
        printf("error %s\n", err.msg);
    for (size_t i = 0; i < r.n && r.rows; i++) {
        const struct report_row *w = &r.rows[i];
        const int64_t v[] = {w->total, w->rate,  w->util_avg, w->util_max, w->mem_avg, w->mem_max,
                             w->runs,  w->nodes, w->assigned, w->uncapped, w->metrics};
        printf("%s\t%s", w->company, date_text(w->day, day));
        for (size_t k = 0; k < ARRAY_LEN(v); k++)
            printf("\t%lld", (long long)v[k]);
        printf("\n");
    }
    for (size_t i = 0; i < r.n && r.projects; i++) {
        const struct summary_row *p = &r.projects[i];
        printf("%s\t%s\t%lld\t%lld\t%lld\t%lld\t%lld\n", p->company, p->project ? p->project : "-", (long long)p->total,
               (long long)p->runs, (long long)p->master_runs, (long long)p->overlap_runs, (long long)p->ignored_runs);
    }
    printf("end\n");
    report_fini(&r);
}

int main(void)
{
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    while ((n = getline(&line, &cap, stdin)) > 0) {
        struct str rest = str_trim(str_n(line, (size_t)n)), cells[CELLS] = {{0}};
        for (size_t k = 0; k < CELLS && str_cut(&rest, '\t', &cells[k]); k++) {
        }
        if (str_eq(cells[0], "company"))
            take_company(cells);
        else if (str_eq(cells[0], "step") && n_companies)
            take_step(cells);
        else if (str_eq(cells[0], "run"))
            take_run(cells);
        else if (str_eq(cells[0], "ask"))
            answer(cells);
    }
    free(line);
    free(companies);
    free(runs);
    arena_fini(&arena);
    return 0;
}
