/* A store's history.db and one of its logs, damaged (harm.h). The store opens or is refused with a sentence, history is
 * read or an error with one, columns that cannot be read are counted, and nothing crashes. */
#include <stdlib.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/file.h"
#include "harm.h"
#include "hub/decode.h"
#include "model/gather.h"
#include "temp_store.h"
#include "wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define AT        1700000000000ll
#define HOUR_MS   3600000ll
#define BATCHES   12
#define TICKS     40
#define FILES_MAX 16
#define FILE_MAX  (16u << 20)

static const char *const devices[] = {"GPU-one", "GPU-two"}, *const names[] = {"util", "mem_used", "temp"};
static char *dir;
static struct {
    char name[64];
    struct buf bytes;
} sound[FILES_MAX];
static size_t n_files, history_at = FILES_MAX, log_at = FILES_MAX;
static int64_t now_ms;

static void check(bool ok)
{
    if (!ok)
        abort();
}

static int64_t tell_now(void)
{
    return now_ms;
}

static int open_store(struct store **ret, struct err *err)
{
    struct store_conf conf = {.dir = dir, .commit_ms = 1, .now_ms = tell_now, .decoder = &hub_decoder};

    return store_open(ret, &conf, NULL, err);
}

static void append(struct store *s, struct wire_enc *enc, uint64_t facts, unsigned number, int64_t at_ms)
{
    struct gather *g = gather_new();
    struct batch b;
    AUTO_BUF out = BUF_INIT(1 << 20);

    for (int i = 0; i < TICKS; i++) {
        gather_tick(g, at_ms + i * 1000);
        for (uint8_t d = 0; d < ARRAY_LEN(devices); d++)
            for (size_t k = 0; k < ARRAY_LEN(names); k++)
                gather_value(g, d + 1, metrics[metric_by_name(str_of(names[k]))].no, (int64_t)k * 1000 + i * i % 97);
    }
    gather_batch(g, &b);
    b.key = (struct batch_key){.node = {{1}}, .run = 7, .number = number};
    b.facts = facts;
    check(wire_put_batch(enc, &out, &b) == 0);
    struct store_batch sent = {.node = "n", .run = 7, .number = number, .facts = facts, .at_ms = at_ms};
    sent.bytes = buf_str(&out);
    store_append(s, &sent, 1, NULL, NULL);
    gather_free(g);
}

/* Samples of some hours in history.db, those of the last in a log. */
static void fill(struct store *s)
{
    struct device_fact two[] = {{.uuid = "GPU-one"}, {.uuid = "GPU-two", .index = 1}};
    struct node_fact f = {.name = "n", .tick_ms = 1000, .n_devices = ARRAY_LEN(two), .devices = two};
    struct node_id id = {{1}};
    struct wire_enc *enc = wire_enc_new(1);
    AUTO_BUF facts = BUF_INIT(1 << 20);
    uint64_t facts_id;

    check(wire_put_facts(&facts, &id, &f, &facts_id) == 0);
    store_put_blob(s, "n", BLOB_FACTS, facts_id, buf_str(&facts));
    for (unsigned i = 0; i < BATCHES; i++) {
        now_ms = AT + i * HOUR_MS / 2;
        append(s, enc, facts_id, i + 1, now_ms);
        if (i + 1 < BATCHES)
            check(store_settle(s, NULL) == 0);
    }
    check(store_flush(s, NULL) == 0);
    wire_enc_free(enc);
}

static void keep_file(void *arg, const char *path, const char *name)
{
    (void)arg;
    check(n_files < FILES_MAX);
    mem_copy_str(sound[n_files].name, sizeof(sound[n_files].name), name);
    check(file_read(path, FILE_MAX, &sound[n_files].bytes, NULL) == 0);
    if (strcmp(name, "history.db") == 0)
        history_at = n_files;
    else if (str_starts(str_of(name), "log-") && str_ends(str_of(name), ".db") &&
             (log_at == FILES_MAX || sound[n_files].bytes.len >= sound[log_at].bytes.len))
        log_at = n_files;
    n_files++;
}

static void remove_all(void)
{
    for (size_t i = 0; i < n_files; i++)
        buf_fini(&sound[i].bytes);
    dir_free(dir);
}

static void make_sound(void)
{
    struct store *s = NULL;

    dir = dir_new_quick();
    check(open_store(&s, NULL) == 0);
    fill(s);
    store_close(s);
    dir_each(dir, keep_file, NULL);
    check(history_at < n_files && log_at < n_files);
    atexit(remove_all);
}

/* The columns that could not be read. */
static uint32_t read_all(struct store *s, bool *ret_some)
{
    uint32_t damaged = 0;

    for (int tier = TIER_RAW; tier < TIER_COUNT; tier++) {
        struct bins_query ask = {.node = "n",
                                 .devices = devices,
                                 .metrics = names,
                                 .n_devices = ARRAY_LEN(devices),
                                 .n_metrics = ARRAY_LEN(names),
                                 .from_ms = AT - AT % HOUR_MS,
                                 .to_ms = AT + BATCHES * HOUR_MS,
                                 .step_ms = tier == TIER_HOUR ? HOUR_MS : 60000,
                                 .tier = tier};
        struct history h;
        struct err err = {0};
        if (store_history(s, &ask, &h, &err) < 0) {
            check(err.msg[0]);
            continue;
        }
        damaged += h.damaged;
        for (size_t i = 0; i < h.n_series * h.n; i++)
            *ret_some |= h.v[i].count > 0;
        history_fini(&h);
    }
    return damaged;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf harmed[FILES_MAX] = {0};
    struct store *s = NULL;
    struct store_stat st;
    struct err err = {0};
    bool some = false;

    if (!dir)
        make_sound();
    for (size_t i = 0; i < n_files; i++) {
        harmed[i] = BUF_INIT(FILE_MAX);
        buf_addstr(&harmed[i], buf_str(&sound[i].bytes));
    }
    harm_files(data, size, (struct buf *[]){&harmed[history_at], &harmed[log_at]}, 2);
    dir_empty(dir);
    for (size_t i = 0; i < n_files; i++) {
        AUTO_FREE char *path = mem_fmt("%s/%s", dir, sound[i].name);
        check(file_write(path, 0600, harmed[i].p ? harmed[i].p : "", harmed[i].len, NULL) == 0);
        buf_fini(&harmed[i]);
    }
    if (open_store(&s, &err) < 0) {
        check(err.msg[0]);
        return 0;
    }
    uint32_t damaged = read_all(s, &some);
    store_stat(s, &st);
    check(st.damaged_columns >= damaged);
    check(some || size >= HARM_BYTES);
    store_close(s);
    return 0;
}
