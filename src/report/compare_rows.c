/* compare_rows.c: the columns and cells of the comparison. */
#include "report/compare_rows.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/zone.h"

#define TENTH_MS 360000ll /* of an hour */

static const struct heading sides[] = {
    {"wandb_gpu_hour", "W&B GPU hours (h)", "W&B", "W&B GPU使用時間(h)", CELL_FIXED, 10, 94},
    {"held_gpu_hour", "Held GPU hours (h)", "HELD", "実測GPU使用時間(h)", CELL_FIXED, 10, 93},
    {"busy_gpu_hour", "Busy GPU hours (h)", "BUSY", "実測GPU稼働時間(h)", CELL_FIXED, 10, 90},
    {"difference", "Difference (h)", "DIFF", "差(h)", CELL_FIXED, 10, 92},
    {"wandb_rate", "W&B utilization rate (%)", "W&B%", "W&B GPU稼働率(%)", CELL_FIXED, 10, 80},
    {"held_rate", "Held utilization rate (%)", "HELD%", "実測GPU稼働率(%)", CELL_FIXED, 10, 79},
    {"wandb_performance", "W&B average GPU performance (%)", "PERF W&B", "W&B 平均GPUパフォーマンス率(%)", CELL_FIXED,
     10, 70},
    {"seen_performance", "Seen average GPU performance (%)", "PERF SEEN", "実測平均GPUパフォーマンス率(%)", CELL_FIXED,
     10, 69},
    {"wandb_runs", "W&B runs", "RUNS W&B", "W&B n_runs", CELL_INT, 0, 60},
    {"seen_runs", "Seen runs", "RUNS SEEN", "実測 n_runs", CELL_INT, 0, 59},
    {"assigned_gpu_hour", "assigned_gpu_hour", "ASSIGNED", NULL, CELL_FIXED, 10, 50},
};

static const struct heading claims[] = {
    {"company", "Company", "COMPANY", "企業名", CELL_TEXT, 0, 85},
    {"run", "Run", "RUN", NULL, CELL_TEXT, 0, 100},
    {"host", "Host", "HOST", "ホスト", CELL_TEXT, 0, 80},
    {"user", "W&B user", "USER", "W&Bユーザー", CELL_TEXT, 0, 60},
    {"person", "Held by", "HELD BY", "使用者", CELL_TEXT, 0, 65},
    {"from", "From", "FROM", "開始", CELL_TEXT, 0, 70},
    {"until", "Until", "UNTIL", "終了", CELL_TEXT, 0, 50},
    {"gpu_count", "gpu_count", "GPUS", NULL, CELL_INT, 0, 75},
    {"claimed", "Claimed (h)", "CLAIMED", "W&B GPU使用時間(h)", CELL_FIXED, 10, 95},
    {"held", "Held (h)", "HELD", "実測GPU使用時間(h)", CELL_FIXED, 10, 94},
    {"busy", "Busy (h)", "BUSY", "実測GPU稼働時間(h)", CELL_FIXED, 10, 90},
    {"difference", "Difference (h)", "DIFF", "差(h)", CELL_FIXED, 10, 93},
    {"why", "Why", "WHY", "理由", CELL_TEXT, 0, 92},
    {"page", "What it did", "PAGE", "実績", CELL_TEXT, 0, 20},
};
static const struct heading claim_works[WORK_KINDS][2] = {
    [WORK_EFFECTIVE] = {{"effective", "Effective (h)", "EFFECTIVE", "実効GPU時間(h)", CELL_FIXED, 10, 88},
                        {"effective_measured", "Work measured (h)", "OF", "実働率の測定時間(h)", CELL_FIXED, 10, 35}},
    [WORK_TENSOR] = {{"tensor", "Tensor (h)", "TENSOR", "テンソルGPU時間(h)", CELL_FIXED, 10, 68},
                     {"tensor_measured", "Tensor measured (h)", "OF", "テンソル稼働率の測定時間(h)", CELL_FIXED, 10,
                      34}},
};
_Static_assert(ARRAY_LEN(claims) + WORK_COLUMNS <= REPORT_COLUMNS &&
                   ARRAY_LEN(sides) + WORK_COLUMNS + 3 <= REPORT_COLUMNS,
               "they fit");

void compare_table(const struct report *wandb, const struct report *agents, enum naming naming, enum headings lang,
                   struct report_table *ret)
{
    enum { OF_WANDB = 1 << 0 | 1 << 3 | 1 << 4 | 1 << 6 | 1 << 8 };
    bool has[WORK_KINDS]; /* agents alone tell it */

    report_has_work(agents, has);
    report_lead(ret, wandb->period, naming, lang);
    report_columns(ret, sides, ARRAY_LEN(sides), naming, lang);
    report_work_columns(ret, report_works, has, naming, lang);
    report_note_column(ret, wandb, naming, lang);
    for (size_t i = 0; i < MIN(wandb->n, agents->n); i++) {
        const struct report_row *w = &wandb->rows[i], *a = &agents->rows[i];
        const int64_t v[] = {w->uncapped, a->uncapped, a->busy,     w->uncapped - a->uncapped,
                             w->rate,     a->rate,     w->util_avg, a->util_avg,
                             w->runs,     a->runs,     w->assigned};
        struct cell *c = rows_add(&ret->rows);
        size_t at = report_lead_cells(c, wandb->period, w->company, w->day);
        for (size_t k = 0; k < ARRAY_LEN(v); k++, at++)
            if (!(OF_WANDB >> k & 1) || !report_unknown(w))
                report_number(&c[at], &ret->cols[at], v[k]);
        report_work_cells(ret, has, c, at, a->work);
        report_note(&ret->rows, c, &w->gap);
    }
}

static void cell_moment(struct cell *c, const struct zone *z, int64_t at_ms)
{
    char text[24];

    cell_text(c, str_n(zone_text(z, at_ms, text), ZONE_TO_MINUTE));
}

static int64_t tenths(int64_t ms)
{
    return (ms * 2 + TENTH_MS) / (TENTH_MS * 2);
}

static void add_claim(struct report_table *t, const bool has[WORK_KINDS], const struct claim *c, const struct zone *z)
{
    struct cell *to = rows_add(&t->rows);
    AUTO_BUF run = BUF_INIT(4096);
    int64_t claimed = tenths(c->claimed * 60000), held = tenths(c->held_ms);
    struct work_hours work[WORK_KINDS];

    for (size_t w = 0; w < WORK_KINDS; w++)
        work[w] = (struct work_hours){tenths(c->work[w].ms), tenths(c->work[w].of_ms)};
    buf_addf(&run, "%s/%s/%s", c->team ? c->team : "", c->project ? c->project : "", c->id);
    cell_text(&to[0], str_of(c->company->name));
    cell_text(&to[1], buf_str(&run));
    cell_some_text(&to[2], c->host ? c->host : "");
    cell_some_text(&to[3], c->user ? c->user : "");
    cell_some_text(&to[4], c->person ? c->person : "");
    cell_moment(&to[5], z, c->from_ms);
    cell_moment(&to[6], z, c->until_ms);
    cell_int(&to[7], c->gpus);
    report_number(&to[8], &t->cols[8], claimed);
    report_number(&to[9], &t->cols[9], held);
    if (c->measured_ms)
        report_number(&to[10], &t->cols[10], tenths(c->busy_ms));
    report_number(&to[11], &t->cols[11], claimed - held);
    cell_text(&to[12], str_of(claim_why_words[c->why]));
    if (c->page) {
        char page[JOB_ID_LEN + 8] = "/run/";
        job_id_text(c->page, page + strlen(page));
        cell_text(&to[13], str_of(page));
    }
    report_work_cells(t, has, to, ARRAY_LEN(claims), work);
}

void claims_table(const struct comparison *c, const struct zone *z, enum naming naming, enum headings lang,
                  struct report_table *ret)
{
    bool has[WORK_KINDS];

    for (size_t w = 0; w < WORK_KINDS; w++)
        has[w] = ANY(c->n, i, tenths(c->v[i].work[w].of_ms));
    rows_init(&ret->rows, ret->cols, 0);
    report_columns(ret, claims, ARRAY_LEN(claims), naming, lang);
    report_work_columns(ret, claim_works, has, naming, lang);
    for (size_t i = 0; i < c->n; i++)
        add_claim(ret, has, &c->v[i], z);
}

void claims_notes(struct buf *out, const struct comparison *c)
{
    static const char *const says[WHY_COUNT] = {[WHY_AGREES] = "agree with what agents saw",
                                                [WHY_IDLE] = "held GPUs that hardly worked (idle)",
                                                [WHY_FEWER] = "had fewer GPUs than they claim",
                                                [WHY_SHORTER] = "held them for a shorter time",
                                                [WHY_SHARED] =
                                                    "claim GPUs that other runs of the same person claim, too (shared)",
                                                [WHY_NO_PROCESS] =
                                                    "were on a node where nobody held a GPU then (no process)",
                                                [WHY_OTHERS] =
                                                    "were on a node where only others held GPUs then (only others)",
                                                [WHY_NO_HOST] = "were on hosts that are no nodes here (no such host)"};
    int64_t n[WHY_COUNT] = {0}, minutes[WHY_COUNT] = {0};

    for (size_t i = 0; i < c->n; i++) {
        n[c->v[i].why]++;
        minutes[c->v[i].why] += c->v[i].claimed;
    }
    for (size_t i = 0; i < WHY_COUNT; i++)
        if (n[i])
            buf_addf(out, "%lld run%s (%lld.%lld GPU-hours claimed) %s.\n", (long long)n[i], n[i] == 1 ? "" : "s",
                     (long long)((minutes[i] + 3) / 6 / 10), (long long)((minutes[i] + 3) / 6 % 10), says[i]);
}
