/* schema.c: the statements. A metric is a column with its name; Nullable, since absent is not zero. */
#include "clickhouse/schema.h"

#include "base/mem.h"
#include "model/metric.h"

const char *const click_tables[CLICK_TABLES] = {"muster_sample", "muster_custom"};
static const char *const orders[CLICK_TABLES] = {"node, dev, ts, run, number", "node, dev, name, ts, run, number"};

/* Columns of both: node, device, time (ms since 1970), batch, and its position in the hub's logs. */
static const struct {
    const char *name, *type;
} keys[] = {{"node", "String"},   {"dev", "String"}, {"ts", "UInt64"}, {"run", "UInt64"},
            {"number", "UInt64"}, {"log", "UInt64"}, {"row", "UInt64"}};

static void add_engine(struct buf *out, const struct click_place *p, enum click_table t)
{
    if (p->replicated)
        buf_addf(out, "ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/%s/%s', '{replica}')", p->database,
                 click_tables[t]);
    else
        buf_adds(out, "ReplacingMergeTree");
}

int click_create(struct buf *out, const struct click_place *p, enum click_table t)
{
    buf_addf(out, "CREATE TABLE IF NOT EXISTS %s.%s (", p->database, click_tables[t]);
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        buf_addf(out, "%s`%s` %s", i ? ", " : "", keys[i].name, keys[i].type);
    for (int m = 0; m < M_COUNT && t == CLICK_SAMPLE; m++)
        buf_addf(out, ", `%s` Nullable(Int64)", metrics[m].name);
    if (t == CLICK_CUSTOM)
        buf_adds(out, ", `name` String, `value` Int64");
    buf_adds(out, ") ENGINE = ");
    add_engine(out, p, t);
    return buf_addf(out, " PARTITION BY intDiv(ts, 86400000) ORDER BY (%s)", orders[t]);
}

static bool has_line(struct str text, const char *word)
{
    struct str line;

    while (str_line(&text, &line))
        if (str_eq(line, word))
            return true;
    return false;
}

int click_add_columns(struct buf *out, const struct click_place *p, struct str have)
{
    bool any = false;

    for (int m = 0; m < M_COUNT; m++) {
        if (has_line(have, metrics[m].name))
            continue;
        if (!any)
            buf_addf(out, "ALTER TABLE %s.%s ", p->database, click_tables[CLICK_SAMPLE]);
        buf_addf(out, "%sADD COLUMN `%s` Nullable(Int64)", any ? ", " : "", metrics[m].name);
        any = true;
    }
    return out->err;
}

int click_insert(struct buf *out, const struct click_place *p, enum click_table t)
{
    buf_addf(out, "INSERT INTO %s.%s (", p->database, click_tables[t]);
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        buf_addf(out, "%s%s", i ? "," : "", keys[i].name);
    for (int m = 0; m < M_COUNT && t == CLICK_SAMPLE; m++)
        buf_addf(out, ",%s", metrics[m].name);
    return buf_adds(out, t == CLICK_CUSTOM ? ",name,value) FORMAT RowBinary" : ") FORMAT RowBinary");
}

int click_print(struct buf *out, const struct click_place *p)
{
    static const char *const newer[] =
        {"The following is for newer servers than 18.16 and was not tried:",
         "  ALTER TABLE {} MODIFY COLUMN ts UInt64 CODEC(DoubleDelta, ZSTD(1))    -- 19.11 and newer; so run, number, "
         "log, row",
         "  ALTER TABLE {} MODIFY COLUMN util Nullable(Int64) CODEC(T64, ZSTD(1)) -- 19.11 and newer; so every metric",
         "  ALTER TABLE {} MODIFY COLUMN node LowCardinality(String)              -- before anything is in it: it is "
         "part of the key",
         "  ALTER TABLE {} MODIFY TTL toDateTime(intDiv(ts, 1000)) + INTERVAL 1 YEAR -- in place of keep_samples",
         "  ALTER TABLE {} MODIFY SETTING fsync_after_insert = 1                  -- a row survives loss of power",
         "  SET do_not_merge_across_partitions_select_final = 1                   -- FINAL reads days side by side"};

    for (int t = 0; t < CLICK_TABLES; t++) {
        click_create(out, p, (enum click_table)t);
        buf_adds(out, ";\n");
    }
    for (size_t i = 0; i < ARRAY_LEN(newer); i++) {
        struct str s = str_of(newer[i]);
        int at = str_find(s, "{}");
        buf_adds(out, "-- ");
        if (at >= 0) {
            buf_add(out, s.p, (size_t)at);
            buf_adds(out, click_tables[CLICK_SAMPLE]);
            s = str_drop(s, (size_t)at + 2);
        }
        buf_addstr(out, s);
        buf_adds(out, "\n");
    }
    return out->err;
}
