/*
 * store_sql.c: the SQL of wandb.db. Each run has a number. Its days are found by it, in order; the days of a window
 * have a separate index. A day's row has the run's data at the time it was logged, as in the dataset: a later pull of
 * other days does not change it.
 */
#include "wandb/store_sql.h"

#include "base/mem.h"

#define SCHEMA                                                                                                         \
    "CREATE TABLE {.settings}(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"                              \
    "CREATE TABLE {.pulls}(id INTEGER PRIMARY KEY, first INTEGER NOT NULL, last INTEGER NOT NULL, config INTEGER NOT " \
    "NULL, begun_ms INTEGER NOT NULL, done INTEGER NOT NULL);"                                                         \
    "CREATE TABLE {.projects}(pull INTEGER NOT NULL, team TEXT NOT NULL, project TEXT NOT NULL, cursor TEXT NOT NULL," \
    " done INTEGER NOT NULL, all_before INTEGER NOT NULL, error TEXT NOT NULL, PRIMARY KEY(pull, team, project))"      \
    " WITHOUT ROWID;"                                                                                                  \
    "CREATE TABLE {.listed}(pull INTEGER NOT NULL, team TEXT NOT NULL, project TEXT NOT NULL, run TEXT NOT NULL,"      \
    " PRIMARY KEY(pull, team, project, run)) WITHOUT ROWID;"                                                           \
    "CREATE TABLE {.runs}(id INTEGER PRIMARY KEY, team TEXT NOT NULL, project TEXT NOT NULL, run TEXT NOT NULL,"       \
    " storage_id TEXT NOT NULL DEFAULT '', display TEXT NOT NULL DEFAULT '', state TEXT NOT NULL, host TEXT NOT "      \
    "NULL, user TEXT NOT NULL DEFAULT '', tags TEXT NOT NULL, rule TEXT NOT NULL DEFAULT '',"                          \
    " created_ms INTEGER NOT NULL, heartbeat_ms INTEGER NOT NULL, gpus INTEGER NOT NULL, cpus INTEGER NOT NULL,"       \
    " gpu_info INTEGER NOT NULL DEFAULT 0, found INTEGER NOT NULL, found_ms INTEGER NOT NULL DEFAULT 0,"               \
    " logged_ms INTEGER NOT NULL, metrics_ms INTEGER NOT NULL DEFAULT 0, metrics_from INTEGER NOT NULL DEFAULT 0,"     \
    " metrics_to INTEGER NOT NULL DEFAULT 0, seen_pull INTEGER NOT NULL DEFAULT 0, days_pull INTEGER NOT NULL "        \
    "DEFAULT 0, UNIQUE(team, project, run));"                                                                          \
    "CREATE INDEX {.runs_seen} ON {.runs}(seen_pull, id);"                                                             \
    "CREATE INDEX {.runs_due} ON {.runs}(seen_pull, id) WHERE days_pull <> seen_pull;"                                 \
    "CREATE INDEX {.runs_deleted} ON {.runs}(found_ms) WHERE found = 2;"                                               \
    "CREATE TABLE {.days}(run INTEGER NOT NULL, day INTEGER NOT NULL, minutes INTEGER NOT NULL, have INTEGER NOT "     \
    "NULL,"                                                                                                            \
    " util_avg INTEGER NOT NULL, util_max INTEGER NOT NULL, mem_avg INTEGER NOT NULL, mem_max INTEGER NOT NULL,"       \
    " gpus INTEGER NOT NULL, cpus INTEGER NOT NULL, created_ms INTEGER NOT NULL, heartbeat_ms INTEGER NOT NULL,"       \
    " logged_ms INTEGER NOT NULL, state TEXT NOT NULL, host TEXT NOT NULL, tags TEXT NOT NULL, PRIMARY KEY(run, day))" \
    " WITHOUT ROWID;"                                                                                                  \
    "CREATE INDEX {.days_day} ON {.days}(day);"                                                                        \
    "CREATE TABLE {.barred}(team TEXT NOT NULL, project TEXT NOT NULL, run TEXT NOT NULL,"                             \
    " PRIMARY KEY(team, project, run)) WITHOUT ROWID;"                                                                 \
    "CREATE TABLE {.events}(id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, kind INTEGER NOT NULL, subject TEXT NOT "  \
    "NULL, text TEXT NOT NULL)"

#define FIELD(no, field, ...) RECORD_FIELD(wandb_run, no, field, __VA_ARGS__),
#define KEY(no, field, ...)   RECORD_FIELD(wandb_run, no, field, __VA_ARGS__, .put = PUT_KEY),
#define KEPT(no, field, ...)  RECORD_FIELD(wandb_run, no, field, __VA_ARGS__, .put = PUT_KEEP),
static const struct record_field run_fields[] = {
#include "wandb/run.def"
};
#undef FIELD
#undef KEY
#undef KEPT
#define FIELD(no, field, ...) RECORD_FIELD(wandb_day, no, field, __VA_ARGS__),
#define KEY(no, field, ...)   RECORD_FIELD(wandb_day, no, field, __VA_ARGS__, .put = PUT_KEY),
#define KEPT(no, field, ...)  RECORD_FIELD(wandb_day, no, field, __VA_ARGS__, .put = PUT_KEEP),
static const struct record_field day_fields[] = {
#include "wandb/day.def"
};
static const struct record_field pull_fields[] = {
    RECORD_FIELD(wandb_pull, 1, id, INT, "id", NULL, 0),
    RECORD_FIELD(wandb_pull, 2, from, INT, "first", NULL, 0),
    RECORD_FIELD(wandb_pull, 3, to, INT, "last", NULL, 0),
    RECORD_FIELD(wandb_pull, 4, config, INT, "config", NULL, 0),
    RECORD_FIELD(wandb_pull, 5, begun_ms, INT, "begun_ms", NULL, 0),
};
static const struct record_field event_fields[] = {
    RECORD_FIELD(wandb_event, 1, id, INT, "id", NULL, 0),
    RECORD_FIELD(wandb_event, 2, at_ms, INT, "at_ms", NULL, 0),
    RECORD_FIELD(wandb_event, 3, kind, INT, "kind", NULL, 0),
    RECORD_FIELD(wandb_event, 4, subject, TEXT, "subject", NULL, 2 * WANDB_NAME_MAX + 1),
    RECORD_FIELD(wandb_event, 5, text, TEXT, "text", NULL, WANDB_TEXT_MAX),
};
#define RECORDS(table, of)                                                                                             \
    {                                                                                                                  \
        table, of##_fields, ARRAY_LEN(of##_fields), sizeof(struct wandb_##of)                                          \
    }
const struct record_kind wandb_run_record = RECORDS("runs", run), wandb_day_record = RECORDS("days", day);
const struct record_kind wandb_pull_record = RECORDS("pulls", pull), wandb_event_record = RECORDS("events", event);
const struct record_kind *const wandb_records[] = {&wandb_run_record, &wandb_day_record, &wandb_pull_record,
                                                   &wandb_event_record, NULL};

/*
 * pulls.done: 0 in progress or interrupted, 1 complete, 2 finished with failures, 3 not a pull, but days of rows from
 * elsewhere.
 */
const struct db_kind wandb_kind = {.magic = DB_MAGIC_WANDB,
                                   .version = 1,
                                   .schema = SCHEMA,
                                   .pg_prefix = "wandb_",
                                   .records = wandb_records};

const char *const wandb_exists_words[WANDB_EXISTS_COUNT] = {"", "exists", "deleted", "error"};
const char *const wandb_event_words[WANDB_EVENT_KINDS] = {"", "overlap", "failed", "check", "low", "done"};

#define PUT_RUN                                                                                                        \
    "INSERT INTO {.runs} AS r ({runs}, found_ms) VALUES({runs?}, ?17) ON CONFLICT(team, project, run) DO UPDATE SET"
#define PUT_DAY "INSERT INTO {.days} AS d (run, {days}) VALUES(?100, {days?}) ON CONFLICT(run, day) DO UPDATE SET"
/* A run and its number; then, of days, the day. */
#define SELECT_RUNS "SELECT {runs}, id FROM {.runs} r WHERE "
#define SELECT_DAYS                                                                                                    \
    "SELECT * FROM (SELECT {runs}, id FROM {.runs}) r CROSS JOIN (SELECT {days}, run AS whose FROM {.days}) d ON "     \
    "d.whose = "                                                                                                       \
    "r.id WHERE d.day BETWEEN ?1 AND ?2 AND (?3 <> 0 OR r.found <> 2)" NOT_BARRED
#define NOT_BARRED                                                                                                     \
    " AND NOT EXISTS(SELECT 1 FROM {.barred} b WHERE b.team = r.team AND b.project = r.project AND b.run = r.run)"
#define OF_PROJECT " WHERE team = ?1 AND project = ?2"
#define LISTED                                                                                                         \
    "EXISTS(SELECT 1 FROM {.listed} l WHERE l.pull = ?3 AND l.team = ?1 AND l.project = ?2 AND l.run = r.run)"

const char *const wandb_sql[W_COUNT] = {
#define QUERY(name, sql) [W_##name] = sql,
#include "wandb/store.def"
};

static void cut_text(struct db_stmt *st, const struct record_field *f, const char *text)
{
    size_t n = text ? strnlen(text, (size_t)f->most) : 0;

    if (!text || !text[n])
        return;
    while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
        n--;
    db_bind_str(st, f->no, str_n(text, n));
}

struct db_stmt *wandb_stmt_record(struct wandb_store *s, size_t i, const struct record_kind *kind, const void *record)
{
    struct db_stmt *st = db_stmt(&s->st, i);

    record_bind(st, kind, record);
    for (size_t k = 0; k < kind->n; k++)
        if (kind->fields[k].type == FIELD_TEXT)
            cut_text(st, &kind->fields[k], *record_text(&kind->fields[k], record));
    return st;
}

int wandb_ints(struct db_stmt *st, int64_t *ret, int n)
{
    int r = db_step(st);

    for (int i = 0; r == 1 && i < n; i++)
        ret[i] = db_number(st, i);
    db_reset(st);
    return r;
}
