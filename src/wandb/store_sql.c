/*
 * store_sql.c: the SQL of wandb.db. Runs have a number each; their days are found by it, in the order of days, and the
 * days of a window by an index of their own. A day's row carries what was known of the run when it was logged, since
 * that is what the dataset says: a later pull of other days does not change it.
 */
#include "wandb/store_sql.h"

#define SCHEMA                                                                                                         \
    "CREATE TABLE settings(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"                                 \
    "CREATE TABLE pulls(id INTEGER PRIMARY KEY, first INTEGER NOT NULL, last INTEGER NOT NULL, config INTEGER NOT "    \
    "NULL, begun_ms INTEGER NOT NULL, done INTEGER NOT NULL);"                                                         \
    "CREATE TABLE projects(pull INTEGER NOT NULL, team TEXT NOT NULL, project TEXT NOT NULL, cursor TEXT NOT NULL,"    \
    " done INTEGER NOT NULL, all_before INTEGER NOT NULL, error TEXT NOT NULL, PRIMARY KEY(pull, team, project))"      \
    " WITHOUT ROWID;"                                                                                                  \
    "CREATE TABLE listed(pull INTEGER NOT NULL, team TEXT NOT NULL, project TEXT NOT NULL, run TEXT NOT NULL,"         \
    " PRIMARY KEY(pull, team, project, run)) WITHOUT ROWID;"                                                           \
    "CREATE TABLE runs(id INTEGER PRIMARY KEY, team TEXT NOT NULL, project TEXT NOT NULL, run TEXT NOT NULL,"          \
    " storage_id TEXT NOT NULL DEFAULT '', display TEXT NOT NULL DEFAULT '', state TEXT NOT NULL, host TEXT NOT "      \
    "NULL, user TEXT NOT NULL DEFAULT '', tags TEXT NOT NULL, rule TEXT NOT NULL DEFAULT '',"                          \
    " created_ms INTEGER NOT NULL, heartbeat_ms INTEGER NOT NULL, gpus INTEGER NOT NULL, cpus INTEGER NOT NULL,"       \
    " gpu_info INTEGER NOT NULL DEFAULT 0, found INTEGER NOT NULL, found_ms INTEGER NOT NULL DEFAULT 0,"               \
    " logged_ms INTEGER NOT NULL, metrics_ms INTEGER NOT NULL DEFAULT 0, metrics_from INTEGER NOT NULL DEFAULT 0,"     \
    " metrics_to INTEGER NOT NULL DEFAULT 0, seen_pull INTEGER NOT NULL DEFAULT 0, days_pull INTEGER NOT NULL "        \
    "DEFAULT 0, UNIQUE(team, project, run));"                                                                          \
    "CREATE INDEX runs_seen ON runs(seen_pull, id);"                                                                   \
    "CREATE INDEX runs_due ON runs(seen_pull, id) WHERE days_pull <> seen_pull;"                                       \
    "CREATE INDEX runs_deleted ON runs(found_ms) WHERE found = 2;"                                                     \
    "CREATE TABLE days(run INTEGER NOT NULL, day INTEGER NOT NULL, minutes INTEGER NOT NULL, have INTEGER NOT NULL,"   \
    " util_avg INTEGER NOT NULL, util_max INTEGER NOT NULL, mem_avg INTEGER NOT NULL, mem_max INTEGER NOT NULL,"       \
    " gpus INTEGER NOT NULL, cpus INTEGER NOT NULL, created_ms INTEGER NOT NULL, heartbeat_ms INTEGER NOT NULL,"       \
    " logged_ms INTEGER NOT NULL, state TEXT NOT NULL, host TEXT NOT NULL, tags TEXT NOT NULL, PRIMARY KEY(run, day))" \
    " WITHOUT ROWID;"                                                                                                  \
    "CREATE INDEX days_day ON days(day);"                                                                              \
    "CREATE TABLE barred(team TEXT NOT NULL, project TEXT NOT NULL, run TEXT NOT NULL,"                                \
    " PRIMARY KEY(team, project, run)) WITHOUT ROWID;"                                                                 \
    "CREATE TABLE events(id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, kind INTEGER NOT NULL, subject TEXT NOT "     \
    "NULL, text TEXT NOT NULL)"

const struct db_kind wandb_kind = {.magic = DB_MAGIC_WANDB, .version = 1, .schema = SCHEMA};

const char *const wandb_exists_words[WANDB_EXISTS_COUNT] = {"", "exists", "deleted", "error"};
const char *const wandb_event_words[WANDB_EVENT_KINDS] = {"", "overlap", "failed", "check", "low", "done"};

#define DAY_COLUMNS                                                                                                    \
    "run, day, minutes, have, util_avg, util_max, mem_avg, mem_max, gpus, cpus, created_ms, heartbeat_ms, logged_ms,"  \
    " state, host, tags"
#define PUT_DAY                                                                                                        \
    "INSERT INTO days(" DAY_COLUMNS ") VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)"  \
    " ON CONFLICT(run, day) DO UPDATE SET minutes = ?3, gpus = ?9, cpus = ?10, created_ms = ?11, heartbeat_ms = ?12,"  \
    " logged_ms = ?13, state = ?14, host = ?15, tags = ?16"
/* Both orders name the run's columns, then the day's. */
#define DAYS                                                                                                           \
    "SELECT " WANDB_RUN_COLUMNS ", d.day, d.minutes, d.have, d.util_avg, d.util_max, d.mem_avg, d.mem_max, d.gpus,"    \
    " d.cpus, d.created_ms, d.heartbeat_ms, d.logged_ms, d.state, d.host, d.tags"                                      \
    " FROM runs r CROSS JOIN days d ON d.run = r.id WHERE d.day BETWEEN ?1 AND ?2 AND (?3 IS NULL OR r.team = ?3)"     \
    " AND (?4 OR r.found <> 2)" NOT_BARRED
#define NOT_BARRED                                                                                                     \
    " AND (?5 OR NOT EXISTS(SELECT 1 FROM barred b WHERE b.team = r.team AND b.project = r.project AND b.run = "       \
    "r.run))"
#define OF_PROJECT " WHERE team = ?1 AND project = ?2"
#define LISTED     "EXISTS(SELECT 1 FROM listed l WHERE l.pull = ?3 AND l.team = ?1 AND l.project = ?2 AND l.run = r.run)"

const char *const wandb_sql[W_COUNT] = {
    [W_SETTING] = "SELECT value FROM settings WHERE name = ?1",
    [W_PUT_SETTING] = "INSERT OR REPLACE INTO settings(name, value) VALUES(?1, ?2)",
    [W_ANY_RUN] = "SELECT EXISTS(SELECT 1 FROM runs)",
    [W_FIND_PULL] = "SELECT id, begun_ms FROM pulls WHERE done = 0 AND first = ?1 AND last = ?2 AND config = ?3"
                    " AND begun_ms BETWEEN ?4 AND ?5 ORDER BY id DESC LIMIT 1",
    [W_PUT_PULL] = "INSERT INTO pulls(first, last, config, begun_ms, done) VALUES(?1, ?2, ?3, ?4, 0)",
    [W_END_PULL] = "UPDATE pulls SET done = 1 WHERE id = ?1",
    [W_LAST_PULL] = "SELECT id, first, last, config, begun_ms FROM pulls WHERE done = 1 ORDER BY last DESC, begun_ms "
                    "DESC, id DESC LIMIT 1",
    [W_PROJECT] = "SELECT cursor, done, error FROM projects WHERE team = ?1 AND project = ?2 AND pull = ?3",
    [W_PUT_PAGE] = "INSERT INTO projects(team, project, pull, cursor, done, all_before, error) VALUES(?1, ?2, ?3, ?4,"
                   " ?5, ?6, '') ON CONFLICT(pull, team, project) DO UPDATE SET cursor = ?4, done = ?5, error = '',"
                   " all_before = min(all_before, ?6) RETURNING all_before",
    [W_PUT_FAILURE] = "INSERT INTO projects(team, project, pull, cursor, done, all_before, error) VALUES(?1, ?2, ?3,"
                      " '', 0, 9223372036854775807, ?4) ON CONFLICT(pull, team, project) DO UPDATE SET error = ?4",
    [W_FAILED] = "SELECT team, project, error FROM projects WHERE pull = ?1 AND done = 0 AND error <> ''"
                 " ORDER BY team, project",
    [W_COUNT_PROJECTS] = "SELECT count(*), sum(done), sum(done = 0 AND error <> '') FROM projects WHERE pull = ?1"
                         " AND project <> ''",
    [W_COUNT_RUNS] = "SELECT count(*) FROM runs WHERE seen_pull = ?1",
    [W_COUNT_DUE] = "SELECT count(*) FROM runs WHERE seen_pull = ?1 AND days_pull <> seen_pull",
    [W_PUT_RUN] =
        "INSERT INTO runs(team, project, run, storage_id, display, state, host, user, tags, rule, created_ms,"
        " heartbeat_ms, gpus, cpus, gpu_info, found, found_ms, logged_ms) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9,"
        " ?10, ?11, ?12, ?13, ?14, ?15, 1, ?16, ?16) ON CONFLICT(team, project, run) DO UPDATE SET storage_id = ?4,"
        " display = ?5, state = ?6, host = ?7, user = ?8, tags = ?9, rule = ?10, created_ms = ?11, heartbeat_ms = ?12,"
        " gpus = ?13, cpus = ?14, gpu_info = ?15, logged_ms = ?16 WHERE logged_ms <= ?16",
    [W_PUT_RUN_OF_ROW] =
        "INSERT INTO runs(team, project, run, state, host, tags, created_ms, heartbeat_ms, gpus, cpus, found, found_ms,"
        " logged_ms) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?12) ON CONFLICT(team, project, run)"
        " DO UPDATE SET state = ?4, host = CASE WHEN ?5 = '' THEN host ELSE ?5 END,"
        " tags = CASE WHEN ?6 = '' THEN tags ELSE ?6 END, created_ms = ?7, heartbeat_ms = ?8, gpus = ?9,"
        " cpus = CASE WHEN ?10 < 0 THEN cpus ELSE ?10 END, logged_ms = ?12 WHERE logged_ms < ?12",
    [W_SEE_RUN] = "UPDATE runs SET seen_pull = ?4, found = 1, found_ms = max(found_ms, ?5),"
                  " days_pull = CASE WHEN ?6 THEN ?4 ELSE days_pull END" OF_PROJECT " AND run = ?3",
    [W_RUN_KEY] = "SELECT id, found, found_ms FROM runs" OF_PROJECT " AND run = ?3",
    [W_PUT_LISTED] = "INSERT OR IGNORE INTO listed(team, project, pull, run) VALUES(?1, ?2, ?3, ?4)",
    [W_DROP_LISTED] = "DELETE FROM listed WHERE team = ?1 AND project = ?2 AND pull = ?3",
    [W_DROP_STALE] = "DELETE FROM listed WHERE pull IN (SELECT id FROM pulls WHERE begun_ms < ?1)",
    [W_MARK_GONE] = "UPDATE runs AS r SET found = 2, found_ms = ?5" OF_PROJECT
                    " AND created_ms < ?4 AND found <> 2 AND NOT " LISTED,
    [W_MARK_FOUND] = "UPDATE runs AS r SET found = 1, found_ms = ?4" OF_PROJECT " AND found <> 1 AND " LISTED,
    [W_MARK_PROJECTS_GONE] =
        "UPDATE runs AS r SET found = 2, found_ms = ?4 WHERE team = ?1 AND created_ms < ?3 AND found <> 2"
        " AND EXISTS(SELECT 1 FROM listed WHERE pull = ?2 AND team = ?1 AND project = '')"
        " AND NOT EXISTS(SELECT 1 FROM listed WHERE pull = ?2 AND team = ?1 AND project = '' AND run = r.project)",
    [W_SET_FOUND] =
        "UPDATE runs SET found = ?4, found_ms = ?5" OF_PROJECT " AND run = ?3 AND (found <> ?4 OR found_ms < ?5)",
    [W_DUE] = "SELECT " WANDB_RUN_COLUMNS ", r.id FROM runs r WHERE seen_pull = ?1 AND days_pull <> seen_pull"
              " AND id > ?2 ORDER BY id LIMIT ?3",
    [W_PUT_DAY] = PUT_DAY ", have = ?4, util_avg = ?5, util_max = ?6, mem_avg = ?7, mem_max = ?8"
                          " WHERE logged_ms <= ?13",
    [W_PUT_DAY_HOURS] = PUT_DAY " WHERE logged_ms <= ?13",
    [W_DAY_LOGGED] = "SELECT logged_ms FROM days WHERE run = ?1 AND day = ?2",
    [W_SET_METRICS] = "UPDATE runs SET metrics_from = CASE WHEN metrics_ms = ?2 AND metrics_from <= ?4 + 1"
                      " AND metrics_to >= ?3 - 1 THEN min(metrics_from, ?3) ELSE ?3 END,"
                      " metrics_to = CASE WHEN metrics_ms = ?2 AND metrics_from <= ?4 + 1 AND metrics_to >= ?3 - 1"
                      " THEN max(metrics_to, ?4) ELSE ?4 END, metrics_ms = ?2 WHERE id = ?1",
    [W_DAYS] = DAYS " ORDER BY r.team, r.project, r.run, d.day",
    [W_DAYS_DATASET] = DAYS " ORDER BY r.team, d.day DESC, r.run, r.project",
    [W_RUNS] = "SELECT " WANDB_RUN_COLUMNS " FROM runs r WHERE (?3 IS NULL OR team = ?3) AND (?4 OR found <> 2)"
               " AND EXISTS(SELECT 1 FROM days WHERE days.run = r.id AND day BETWEEN ?1 AND ?2)" NOT_BARRED
               " ORDER BY team, project, run",
    [W_DELETED] = "SELECT " WANDB_RUN_COLUMNS " FROM runs r WHERE found = 2 AND found_ms >= ?1"
                  " ORDER BY team, project, run",
    [W_RUN] = "SELECT " WANDB_RUN_COLUMNS " FROM runs r" OF_PROJECT " AND run = ?3",
    [W_BAR] = "INSERT OR IGNORE INTO barred(team, project, run) VALUES(?1, ?2, ?3)",
    [W_UNBAR_ALL] = "DELETE FROM barred",
    [W_COUNT_BARRED] = "SELECT count(*) FROM barred",
    [W_PUT_EVENT] = "INSERT INTO events(id, at_ms, kind, subject, text) SELECT max(ifnull(max(id), 0) + 1, ?1), ?1, ?2,"
                    " ?3, ?4 FROM events",
    [W_DROP_EVENTS] = "DELETE FROM events WHERE id <= (SELECT id FROM events ORDER BY id DESC LIMIT 1 OFFSET ?1)",
    [W_EVENTS] = "SELECT id, at_ms, kind, subject, text FROM events WHERE id > ?1 ORDER BY id",
};
