/*
 * gen.c: the invented telemetry as a file some other store can be fed from, and FILE.idx: u64 offsets of its parts.
 *
 *   build/bench/gen FORMAT FILE GPUS TICKS T0_MS [STEP_MS [SEED]]
 *
 *   om      OpenMetrics text, a line per sample, by time (promtool)         a part is a tick
 *   vmjson  VictoriaMetrics' JSON lines, a line per series                  a part is 50 series
 *   widerb  ClickHouse RowBinary: Int64 ts, String host, UInt8 gpu, String uuid, 30 times Int64      a tick
 *   scrape  Prometheus text without times                                   a part is one host at one tick
 *
 * Prints the number of samples and the sum of power in mW.
 */
#include "base/buf.h"
#include "base/mem.h"
#include "telemetry.h"

#define PART_SERIES 50

struct gen {
    FILE *out, *idx;
    struct telemetry *t;
    int gpus;
    int64_t ticks, power;
    uint64_t offset;
    struct buf b;
};

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void flush(struct gen *g)
{
    if (fwrite(g->b.p, 1, g->b.len, g->out) != g->b.len)
        die("gen");
    g->offset += g->b.len;
    buf_reset(&g->b);
}

static void part(struct gen *g)
{
    if (g->b.len)
        flush(g);
    if (fwrite(&g->offset, sizeof(g->offset), 1, g->idx) != 1)
        die("gen");
}

/* name{host="node0042",gpu="3",uuid="GPU-..."} value */
static void put_line(struct gen *g, int gpu, const char *name, int64_t v)
{
    buf_adds(&g->b, name);
    buf_addf(&g->b, "{host=\"node%04d\",gpu=\"%d\",uuid=\"%s\"} ", gpu / TELEMETRY_PER, gpu % TELEMETRY_PER,
             telemetry_uuid(g->t, gpu));
    buf_addi(&g->b, v);
}

static void put_text(struct buf *b, const char *s)
{
    buf_u8(b, (uint8_t)strlen(s));
    buf_adds(b, s);
}

static void by_time(struct gen *g, const char *format)
{
    bool om = strcmp(format, "om") == 0, scrape = strcmp(format, "scrape") == 0;
    int64_t v[TELEMETRY_METRICS];
    char host[16];

    for (int64_t tick = 0; tick < g->ticks; tick++)
        for (int i = 0; i < g->gpus; i++) {
            int h = i / TELEMETRY_PER;
            int64_t at_ms = telemetry_at_ms(g->t, h, tick);
            if (i == 0 || (scrape && i % TELEMETRY_PER == 0))
                part(g);
            telemetry_step(g->t, i, v);
            g->power += v[TELEMETRY_POWER];
            if (om || scrape) {
                for (int k = 0; k < TELEMETRY_METRICS; k++) {
                    put_line(g, i, telemetry_metrics[k].name, v[k]);
                    if (om)
                        buf_addf(&g->b, " %lld.%03d", (long long)(at_ms / 1000), (int)(at_ms % 1000));
                    buf_addc(&g->b, '\n');
                }
            } else {
                buf_u64(&g->b, (uint64_t)at_ms);
                snprintf(host, sizeof(host), "node%04d", h);
                put_text(&g->b, host);
                buf_u8(&g->b, (uint8_t)(i % TELEMETRY_PER));
                put_text(&g->b, telemetry_uuid(g->t, i));
                buf_add(&g->b, v, sizeof(v));
            }
            if (g->b.len > 1 << 19)
                flush(g);
        }
    if (om)
        buf_adds(&g->b, "# EOF\n");
}

static void by_series(struct gen *g)
{
    AUTO_FREE int64_t *all = mem_zero((size_t)g->ticks, TELEMETRY_METRICS * sizeof(*all));
    int n = 0;

    for (int i = 0; i < g->gpus; i++) {
        for (int64_t tick = 0; tick < g->ticks; tick++) {
            telemetry_step(g->t, i, &all[tick * TELEMETRY_METRICS]);
            g->power += all[tick * TELEMETRY_METRICS + TELEMETRY_POWER];
        }
        for (int k = 0; k < TELEMETRY_METRICS; k++) {
            if (n++ % PART_SERIES == 0)
                part(g);
            buf_addf(&g->b,
                     "{\"metric\":{\"__name__\":\"%s\",\"host\":\"node%04d\",\"gpu\":\"%d\",\"uuid\":\"%s\"},"
                     "\"values\":[",
                     telemetry_metrics[k].name, i / TELEMETRY_PER, i % TELEMETRY_PER, telemetry_uuid(g->t, i));
            for (int64_t tick = 0; tick < g->ticks; tick++) {
                if (tick)
                    buf_addc(&g->b, ',');
                buf_addi(&g->b, all[tick * TELEMETRY_METRICS + k]);
            }
            buf_adds(&g->b, "],\"timestamps\":[");
            for (int64_t tick = 0; tick < g->ticks; tick++) {
                if (tick)
                    buf_addc(&g->b, ',');
                buf_addi(&g->b, telemetry_at_ms(g->t, i / TELEMETRY_PER, tick));
            }
            buf_adds(&g->b, "]}\n");
            flush(g);
        }
    }
}

int main(int argc, char **argv)
{
    static const char *const formats[] = {"om", "vmjson", "widerb", "scrape"};
    int64_t gpus, ticks, t0_ms, step_ms = 1000, seed = 1;
    bool known = false;

    for (size_t i = 0; argc > 1 && i < ARRAY_LEN(formats); i++)
        known |= strcmp(argv[1], formats[i]) == 0;
    if (argc < 6 || !known || !str_int(str_of(argv[3]), &gpus) || gpus < 1 || gpus > 80000 ||
        !str_int(str_of(argv[4]), &ticks) || ticks < 1 || ticks > 10000000 || !str_int(str_of(argv[5]), &t0_ms) ||
        (argc > 6 && (!str_int(str_of(argv[6]), &step_ms) || step_ms < 1 || step_ms > 3600000)) ||
        (argc > 7 && !str_int(str_of(argv[7]), &seed))) {
        fprintf(stderr, "usage: gen om|vmjson|widerb|scrape FILE GPUS TICKS T0_MS [STEP_MS [SEED]]\n");
        return 2;
    }
    AUTO_FREE char *idx = mem_fmt("%s.idx", argv[2]);
    struct gen g = {.gpus = (int)gpus, .ticks = ticks, .b = BUF_INIT(1u << 30)};
    g.out = fopen(argv[2], "we");
    g.idx = fopen(idx, "we");
    if (!g.out || !g.idx)
        die(argv[2]);
    g.t = telemetry_new(g.gpus, t0_ms, step_ms, (uint64_t)seed);
    if (strcmp(argv[1], "vmjson") == 0)
        by_series(&g);
    else
        by_time(&g, argv[1]);
    part(&g);
    if (fclose(g.out) || fclose(g.idx))
        die(argv[2]);
    printf("%lld %lld\n", (long long)(gpus * ticks * TELEMETRY_METRICS), (long long)g.power);
    telemetry_free(g.t);
    buf_fini(&g.b);
    return 0;
}
