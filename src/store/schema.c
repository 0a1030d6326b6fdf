/* schema.c: the SQL of muster.db. Numbers of 64 bits without a sign (runs, blob names) are kept as signed ones. */
#include "store/schema.h"

#include "store/kinds.h"

/* class: how long it took, see job_table.c. A device's jobs are found by it alone, so it is kept there too. */
#define JOB_TABLES                                                                                                     \
    "CREATE TABLE jobs(id INTEGER PRIMARY KEY, parent INTEGER NOT NULL, start_ms INTEGER NOT NULL,"                    \
    " end_ms INTEGER NOT NULL, class INTEGER NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL, person TEXT NOT NULL,"  \
    " owner TEXT NOT NULL, node TEXT NOT NULL, devices TEXT NOT NULL, pids TEXT NOT NULL, attrs TEXT NOT NULL);"       \
    "CREATE INDEX jobs_class ON jobs(class, start_ms);"                                                                \
    "CREATE INDEX jobs_parent ON jobs(parent, class, start_ms) WHERE parent <> 0;"                                     \
    "CREATE INDEX jobs_node ON jobs(node, class, start_ms);"                                                           \
    "CREATE INDEX jobs_person ON jobs(person, class, start_ms);"                                                       \
    "CREATE INDEX jobs_over ON jobs(max(start_ms, end_ms));"                                                           \
    "CREATE TABLE job_devices(device TEXT NOT NULL, class INTEGER NOT NULL, start_ms INTEGER NOT NULL,"                \
    " job INTEGER NOT NULL, PRIMARY KEY(device, class, start_ms, job)) WITHOUT ROWID;"                                 \
    "CREATE INDEX job_devices_job ON job_devices(job);"
#define BOOKING_TABLES                                                                                                 \
    "CREATE TABLE holds(id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, changes INTEGER NOT NULL,"                      \
    " count INTEGER NOT NULL, from_ms INTEGER NOT NULL, until_ms INTEGER NOT NULL, created_ms INTEGER NOT NULL,"       \
    " changed_ms INTEGER NOT NULL, released_ms INTEGER NOT NULL, person TEXT NOT NULL, made_by TEXT NOT NULL,"         \
    " devices TEXT NOT NULL, places TEXT NOT NULL, model TEXT NOT NULL, place TEXT NOT NULL, comment TEXT NOT NULL);"  \
    "CREATE INDEX holds_until ON holds(until_ms);"
/* over_ms 0: open. Open ones are few, and read at every start. */
#define NOTE_TABLES                                                                                                    \
    "CREATE TABLE notes(kind INTEGER NOT NULL, id INTEGER NOT NULL, over_ms INTEGER NOT NULL, bytes BLOB NOT NULL,"    \
    " PRIMARY KEY(kind, id));"                                                                                         \
    "CREATE INDEX notes_over ON notes(over_ms, kind);"
#define PROC_INDEXES                                                                                                   \
    "CREATE INDEX processes_node_last ON processes(node, last_ms);"                                                    \
    "CREATE INDEX processes_last ON processes(last_ms);"

/* Counted hours, days of them, hours still to be counted; usage_table.c. A day's row is long for a tree of keys alone.
 */
#define USAGE_TABLES                                                                                                   \
    "CREATE TABLE usage_names(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);"                                     \
    "CREATE TABLE usage_hours(at_ms INTEGER NOT NULL, node INTEGER NOT NULL, end_ms INTEGER NOT NULL,"                 \
    " bytes BLOB NOT NULL, PRIMARY KEY(at_ms, node)) WITHOUT ROWID;"                                                   \
    "CREATE TABLE usage_days(zone INTEGER NOT NULL, at_ms INTEGER NOT NULL, node INTEGER NOT NULL, end_ms INTEGER "    \
    "NOT NULL,"                                                                                                        \
    " bytes BLOB NOT NULL, PRIMARY KEY(zone, at_ms, node));"                                                           \
    "CREATE TABLE usage_marks(node TEXT NOT NULL, at_ms INTEGER NOT NULL, seq INTEGER NOT NULL,"                       \
    " PRIMARY KEY(node, at_ms)) WITHOUT ROWID;"

/* Not OR REPLACE: within a trigger the policy of the statement that fires it counts. */
#define SPAN_PUT(from_ms)                                                                                              \
    " DELETE FROM node_spans WHERE node = new.key AND from_ms = " from_ms ";"                                          \
    " INSERT INTO node_spans VALUES(new.key, " from_ms ", new.facts, new.name, new.own_name, new.maintenance);"
/*
 * What a node was called and had, from when on; a change within the same minute takes the place of the one before. The
 * facts named here are kept. events_upset: when a node's driver hung and when something else became of it.
 */
#define SPAN_TABLES                                                                                                    \
    "CREATE TABLE node_spans(node TEXT NOT NULL, from_ms INTEGER NOT NULL, facts INTEGER NOT NULL, name TEXT NOT "     \
    "NULL,"                                                                                                            \
    " own_name TEXT NOT NULL, maintenance INTEGER NOT NULL, PRIMARY KEY(node, from_ms)) WITHOUT ROWID;"                \
    "CREATE INDEX node_spans_facts ON node_spans(facts);"                                                              \
    "CREATE TRIGGER nodes_new AFTER INSERT ON nodes BEGIN" SPAN_PUT(                                                   \
        "0") " END;"                                                                                                   \
             "CREATE TRIGGER nodes_changed AFTER UPDATE OF facts, name, own_name, maintenance ON nodes"                \
             " WHEN new.facts <> old.facts OR new.name <> old.name OR new.own_name <> old.own_name"                    \
             " OR new.maintenance <> old.maintenance BEGIN" SPAN_PUT(                                                  \
                 "new.last_ms / 60000 * 60000") " END;"                                                                \
                                                "CREATE INDEX events_upset ON events(node, at_ms) WHERE kind BETWEEN " \
                                                "4 AND 10 AND device = '';"                                            \
                                                "CREATE INDEX processes_long ON processes(node, last_ms) WHERE "       \
                                                "last_ms - first_ms > 86400000;"

/* A node's token that is new counts for the enroll token it came by, in the same commit. (Within REPLACE the old row is
 * gone after the insert, so one looks before it.) */
#define ENROL_TRIGGER                                                                                                  \
    "CREATE TRIGGER tokens_enrolled BEFORE INSERT ON tokens WHEN new.role = 'agent' AND new.note LIKE"                 \
    " '" STORE_ENROLLED_WITH "%' AND NOT EXISTS (SELECT 1 FROM tokens WHERE id = new.id) BEGIN"                        \
    " UPDATE tokens SET enrolled = enrolled + 1 WHERE id = substr(new.note, length('" STORE_ENROLLED_WITH "') + 1);"   \
    " END;"

/* Columns that only a line of a record's fields names (kinds.c, *.def) do not stand here: they are added after these.
 */
static const char *const upgrades[] = {
    /* 1 -> 2: logs that went into chunks are remembered, for as long as their runs and blobs are */
    "ALTER TABLE logs ADD COLUMN compacted INTEGER NOT NULL DEFAULT 0",
    /* 2 -> 3: jobs, and processes by when they were last seen */
    JOB_TABLES PROC_INDEXES,
    /* 3 -> 4: nodes as they were */
    SPAN_TABLES "INSERT INTO node_spans SELECT key, 0, facts, name, own_name, maintenance FROM nodes",
    /* 4 -> 5: bookings and waits */
    BOOKING_TABLES,
    /* 5 -> 6: usage; which kind of process it was, and its share of the multiprocessors */
    USAGE_TABLES "ALTER TABLE processes ADD COLUMN kind INTEGER NOT NULL DEFAULT 0;"
                 "ALTER TABLE processes ADD COLUMN sm INTEGER NOT NULL DEFAULT -1",
    NOTE_TABLES, /* 6 -> 7: notes */
    /* 7 -> 8: tokens end, and are used up; which nodes never sent a sample. Who has facts may have. */
    "ALTER TABLE tokens ADD COLUMN expires_ms INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE tokens ADD COLUMN uses INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE tokens ADD COLUMN enrolled INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE nodes ADD COLUMN sampled_ms INTEGER NOT NULL DEFAULT 0;"
    "UPDATE nodes SET sampled_ms = last_ms WHERE facts <> 0 OR procs <> 0"
    " OR EXISTS (SELECT 1 FROM seen WHERE seen.node = key);" ENROL_TRIGGER,
};

const struct db_kind records_kind = {
    .records = main_records,
    .magic = DB_MAGIC_MAIN,
    .version = 8,
    .upgrades = upgrades,
    .schema =
        "CREATE TABLE nodes(key TEXT PRIMARY KEY, name TEXT NOT NULL, own_name TEXT NOT NULL, address TEXT NOT NULL,"
        " retired INTEGER NOT NULL, maintenance INTEGER NOT NULL, demo INTEGER NOT NULL, first_ms INTEGER NOT NULL,"
        " last_ms INTEGER NOT NULL, facts INTEGER NOT NULL, procs INTEGER NOT NULL, secret TEXT NOT NULL,"
        " sampled_ms INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;"
        /* last_log: the newest log file with a batch that names it; when that file goes, so does the blob */
        "CREATE TABLE blobs(node TEXT NOT NULL, id INTEGER NOT NULL, kind INTEGER NOT NULL, last_log INTEGER NOT NULL,"
        " bytes BLOB NOT NULL, PRIMARY KEY(node, id));"
        "CREATE INDEX blobs_log ON blobs(last_log);"
        "CREATE TABLE processes(node TEXT NOT NULL, device TEXT NOT NULL, pid INTEGER NOT NULL,"
        " start_ms INTEGER NOT NULL, ppid INTEGER NOT NULL, root_pid INTEGER NOT NULL, uid INTEGER NOT NULL,"
        " user TEXT NOT NULL, name TEXT NOT NULL, cmd TEXT NOT NULL, runtime TEXT NOT NULL, container TEXT NOT NULL,"
        " pod TEXT NOT NULL, slurm_job INTEGER NOT NULL, first_ms INTEGER NOT NULL, last_ms INTEGER NOT NULL,"
        " mem_max INTEGER NOT NULL, ended INTEGER NOT NULL, kind INTEGER NOT NULL DEFAULT 0,"
        " sm INTEGER NOT NULL DEFAULT -1, PRIMARY KEY(node, device, pid, start_ms)) WITHOUT ROWID;"
        "CREATE TABLE events(node TEXT NOT NULL, at_ms INTEGER NOT NULL, device TEXT NOT NULL, kind INTEGER NOT NULL,"
        " code INTEGER NOT NULL, slot INTEGER NOT NULL, text TEXT NOT NULL,"
        " PRIMARY KEY(node, at_ms, device, kind, code)) WITHOUT ROWID;"
        "CREATE INDEX events_at ON events(at_ms);"
        "CREATE TABLE tokens(id TEXT PRIMARY KEY, role TEXT NOT NULL, person TEXT NOT NULL, node TEXT NOT NULL,"
        " note TEXT NOT NULL, hash BLOB NOT NULL, created_ms INTEGER NOT NULL, revoked_ms INTEGER NOT NULL,"
        " used_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL DEFAULT 0, uses INTEGER NOT NULL DEFAULT 0,"
        " enrolled INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;"
        "CREATE INDEX tokens_node ON tokens(node);"
        "CREATE TABLE settings(name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;"
        "CREATE TRIGGER tokens_put AFTER INSERT ON tokens BEGIN INSERT INTO settings VALUES('tokens_version', 1)"
        " ON CONFLICT(name) DO UPDATE SET value = value + 1; END;" ENROL_TRIGGER
        /* sealed log files; one that is not here is still being written */
        "CREATE TABLE logs(n INTEGER PRIMARY KEY, batches INTEGER NOT NULL, bytes INTEGER NOT NULL,"
        " first_ms INTEGER NOT NULL, last_ms INTEGER NOT NULL, compacted INTEGER NOT NULL DEFAULT 0);"
        "CREATE TABLE seen(node TEXT NOT NULL, run INTEGER NOT NULL, last_log INTEGER NOT NULL, ranges BLOB NOT NULL,"
        " PRIMARY KEY(node, run)) WITHOUT ROWID;"
        "CREATE TABLE aliases(seq INTEGER PRIMARY KEY, old TEXT NOT NULL, new TEXT NOT NULL, log INTEGER NOT NULL,"
        " row INTEGER NOT NULL);" JOB_TABLES USAGE_TABLES PROC_INDEXES SPAN_TABLES BOOKING_TABLES NOTE_TABLES,
};

#define PUT(table)                                                                                                     \
    "INSERT INTO " table "({" table "}) VALUES({" table "?}) ON CONFLICT({" table "#}) DO UPDATE SET {" table "!}"
#define PROC_ORDER  "ORDER BY node, device, start_ms, pid"
#define JOB_SPAN    "class = ?1 AND start_ms BETWEEN ?2 AND ?3"
#define JOB_ORDER   " ORDER BY start_ms DESC"
#define EVENT_ORDER "ORDER BY at_ms DESC, node, device, kind, code LIMIT :limit"

const char *const records_sql[R_COUNT] = {
    [STORE_NODE] = PUT("nodes"),
    [STORE_PROC] = PUT("processes"),
    [STORE_EVENT] = "INSERT OR IGNORE INTO events({events}) VALUES({events?})",
    [STORE_JOB] = "INSERT OR IGNORE INTO jobs({jobs}, class) VALUES({jobs?}, ?100)",
    [STORE_BOOKING] = PUT("holds"),
    [STORE_NOTE] = PUT("notes"),
    [STORE_TOKEN] = "INSERT INTO tokens({tokens}) VALUES({tokens?})"
                    " ON CONFLICT(id) DO UPDATE SET node = excluded.node, hash = excluded.hash,"
                    " used_ms = excluded.used_ms WHERE revoked_ms = 0",
    [STORE_SETTING] = PUT("settings"),
    [STORE_USAGE_MARK] = PUT("usage_marks"),
    [R_PUT_BLOB] = "INSERT INTO blobs(node, id, kind, last_log, bytes) VALUES(?1, ?2, ?3, ?4, ?5)"
                   " ON CONFLICT(node, id) DO UPDATE SET last_log = max(last_log, excluded.last_log)",
    [R_TOUCH_BLOB] = "UPDATE blobs SET last_log = ?3 WHERE node = ?1 AND id = ?2 AND last_log < ?3",
    [R_CHANGE_JOB] = "UPDATE jobs SET {jobs=}, class = ?100 WHERE id = ?1",
    [R_PUT_JOB_DEVICE] = "INSERT OR IGNORE INTO job_devices(device, class, start_ms, job) VALUES(?1, ?2, ?3, ?4)",
    [R_DROP_JOB_DEVICES] = "DELETE FROM job_devices WHERE job = ?1",
    [R_ALIAS] = "INSERT INTO aliases(old, new, log, row) VALUES(?1, ?2, ?3, ?4)",
    /* all but the one in force then */
    [R_DROP_OLD_SPANS] = "DELETE FROM node_spans WHERE from_ms < ?1 AND EXISTS (SELECT 1 FROM node_spans n WHERE"
                         " n.node = node_spans.node AND n.from_ms > node_spans.from_ms AND n.from_ms <= ?1)",
    [R_SPAN_AT] = "SELECT facts, name, own_name, maintenance FROM node_spans WHERE node = ?1 AND from_ms <= ?2"
                  " ORDER BY from_ms DESC LIMIT 1",
    [R_UPSET_AT] = "SELECT kind, at_ms FROM events INDEXED BY events_upset WHERE kind BETWEEN 4 AND 10 AND device = ''"
                   " AND node = ?1 AND at_ms <= ?2 ORDER BY at_ms DESC, kind DESC LIMIT 1",
    /* those that ended long after took long */
    [R_PROCS_AT] = "SELECT {processes} FROM processes INDEXED BY processes_node_last WHERE node = :node"
                   " AND last_ms BETWEEN :at - 600000 AND :at + 86400000 AND first_ms <= :at UNION ALL"
                   " SELECT {processes} FROM processes INDEXED BY processes_long WHERE node = :node"
                   " AND last_ms > :at + 86400000 AND last_ms - first_ms > 86400000 AND first_ms <= :at " PROC_ORDER,
    /* the same for a time */
    [R_PROCS_IN] = "SELECT {processes} FROM processes INDEXED BY processes_node_last WHERE node = :node"
                   " AND last_ms BETWEEN :from AND :to + 86400000 AND first_ms < :to UNION ALL"
                   " SELECT {processes} FROM processes INDEXED BY processes_long WHERE node = :node"
                   " AND last_ms > :to + 86400000 AND last_ms - first_ms > 86400000 AND first_ms < :to " PROC_ORDER,
    [R_FIRST_SEEN] = "UPDATE nodes SET first_ms = o.first_ms FROM (SELECT first_ms FROM nodes WHERE key = ?1) AS o"
                     " WHERE key = ?2 AND o.first_ms <> 0 AND (nodes.first_ms = 0 OR o.first_ms < nodes.first_ms)",
    [R_MOVE_NODE] = "UPDATE OR IGNORE nodes SET key = ?2 WHERE key = ?1",
    [R_DROP_NODE] = "DELETE FROM nodes WHERE key = ?1",
    [R_PUT_LOG] = "INSERT OR REPLACE INTO logs(n, batches, bytes, first_ms, last_ms) VALUES(?1, ?2, ?3, ?4, ?5)",
    [R_PUT_SEEN] = "INSERT OR REPLACE INTO seen(node, run, last_log, ranges) VALUES(?1, ?2, ?3, ?4)",
    [R_DROP_LOG] = "DELETE FROM logs WHERE n = ?1",
    [R_DROP_SEEN] = "DELETE FROM seen WHERE last_log < ?1",
    [R_DROP_BLOBS] = "DELETE FROM blobs WHERE last_log < ?1 AND NOT EXISTS"
                     " (SELECT 1 FROM nodes WHERE key = blobs.node AND (facts = blobs.id OR procs = blobs.id))"
                     " AND NOT EXISTS (SELECT 1 FROM node_spans WHERE facts = blobs.id)",
    /* what has not ended counts from when it was last heard of, or began */
    [R_DROP_OLD_PROCS] = "DELETE FROM processes WHERE (node, device, pid, start_ms) IN"
                         " (SELECT node, device, pid, start_ms FROM processes WHERE last_ms < ?1 LIMIT ?2)",
    [R_DROP_OLD_EVENTS] = "DELETE FROM events WHERE (node, at_ms, device, kind, code) IN"
                          " (SELECT node, at_ms, device, kind, code FROM events WHERE at_ms < ?1 LIMIT ?2)",
    [R_DROP_OLD_JOB_DEVICES] = "DELETE FROM job_devices WHERE job IN (SELECT id FROM jobs"
                               " WHERE max(start_ms, end_ms) < ?1 ORDER BY max(start_ms, end_ms), id LIMIT ?2)",
    [R_DROP_OLD_JOBS] = "DELETE FROM jobs WHERE id IN (SELECT id FROM jobs"
                        " WHERE max(start_ms, end_ms) < ?1 ORDER BY max(start_ms, end_ms), id LIMIT ?2)",
    /* the newest stays: it tells which numbers were given out */
    [R_DROP_OLD_HOLDS] = "DELETE FROM holds WHERE id IN (SELECT id FROM holds WHERE until_ms < ?1"
                         " AND id < (SELECT max(id) FROM holds) ORDER BY until_ms LIMIT ?2)",
    /* the newest of a kind stays: it tells which numbers were given out */
    [R_DROP_OLD_NOTES] =
        "DELETE FROM notes WHERE rowid IN (SELECT rowid FROM notes AS n WHERE over_ms BETWEEN 1 AND ?1 - 1 AND id <"
        " (SELECT max(id) FROM notes WHERE kind = n.kind) ORDER BY over_ms LIMIT ?2)",
    [R_DROP_NOTE] = "DELETE FROM notes WHERE kind = ?1 AND id = ?2",
    [R_NOTES] = "SELECT {notes} FROM notes WHERE kind = :note ORDER BY id",
    [R_OPEN_NOTES] = "SELECT {notes} FROM notes WHERE over_ms = 0 AND kind = :note ORDER BY id",
    [R_SEEN] = "SELECT node, run, last_log, ranges FROM seen ORDER BY last_log, node, run",
    [R_LOGS] = "SELECT n, batches, bytes, first_ms, last_ms, compacted FROM logs ORDER BY n",
    [R_COMPACTED] = "UPDATE logs SET compacted = 1 WHERE n = ?1",
    [R_DROP_OLD_LOGS] = "DELETE FROM logs WHERE compacted = 1 AND last_ms < ?1",
    [R_OLDEST_LOG] = "SELECT coalesce(min(n), 0) FROM logs",
    [R_LAST_LOG] = "SELECT max(coalesce((SELECT max(n) FROM logs), 0), coalesce((SELECT max(last_log) FROM seen), 0),"
                   " coalesce((SELECT max(last_log) FROM blobs), 0), coalesce((SELECT max(log) FROM aliases), 0))",
    [R_ALIASES] = "SELECT old, new, log, row FROM aliases ORDER BY seq",
    [R_HAS_BLOB] = "SELECT 1 FROM blobs WHERE node = ?1 AND id = ?2",
    /* a node's own, or one of those whose history it took over */
    [R_GET_BLOB] = "WITH RECURSIVE names(k) AS (SELECT ?1 UNION SELECT old FROM aliases JOIN names ON new = k)"
                   " SELECT bytes FROM blobs WHERE id = ?2 AND node IN (SELECT k FROM names) LIMIT 1",
    [R_NODES] = "SELECT {nodes} FROM nodes ORDER BY key",
    [R_PROCS] = "SELECT {processes} FROM processes WHERE last_ms >= :from " PROC_ORDER,
    [R_PROCS_OF] = "SELECT {processes} FROM processes WHERE node = :node AND last_ms >= :from " PROC_ORDER,
    [R_EVENTS] = "SELECT {events} FROM events WHERE at_ms >= :from " EVENT_ORDER,
    [R_EVENTS_OF] = "SELECT {events} FROM events WHERE node = :node AND at_ms >= :from " EVENT_ORDER,
    [R_JOB] = "SELECT {jobs} FROM jobs WHERE id = :id",
    [R_JOBS] = "SELECT {jobs} FROM jobs WHERE " JOB_SPAN JOB_ORDER,
    [R_JOBS_OF_PARENT] = "SELECT {jobs} FROM jobs WHERE parent = ?4 AND parent <> 0 AND " JOB_SPAN JOB_ORDER,
    [R_JOBS_OF_DEVICE] = "SELECT {jobs} FROM (SELECT device AS held, class AS length, start_ms AS began, job"
                         " FROM job_devices) d CROSS JOIN jobs ON id = d.job WHERE d.held = ?4 AND d.length = ?1"
                         " AND d.began BETWEEN ?2 AND ?3 ORDER BY d.began DESC",
    [R_JOBS_OF_NODE] = "SELECT {jobs} FROM jobs WHERE node = ?4 AND " JOB_SPAN JOB_ORDER,
    [R_JOBS_OF_PERSON] = "SELECT {jobs} FROM jobs WHERE person = ?4 AND " JOB_SPAN JOB_ORDER,
    [R_HOLD] = "SELECT {holds} FROM holds WHERE id = :id",
    [R_LAST_HOLD] = "SELECT {holds} FROM holds ORDER BY id DESC LIMIT 1",
    [R_HOLDS] = "SELECT {holds} FROM holds WHERE until_ms > :from AND from_ms < :to ORDER BY from_ms, id",
    [R_USAGE_NAME] = "SELECT id FROM usage_names WHERE text = ?1",
    [R_PUT_USAGE_NAME] = "INSERT INTO usage_names(text) VALUES(?1) RETURNING id",
    [R_USAGE_NAMES] = "SELECT id, text FROM usage_names",
    [R_USAGE_TEXT] = "SELECT text FROM usage_names WHERE id = ?1",
    [R_PUT_USAGE_HOUR] = "INSERT OR REPLACE INTO usage_hours(at_ms, node, end_ms, bytes) VALUES(?1, ?2, ?3, ?4)",
    [R_PUT_USAGE_DAY] =
        "INSERT OR REPLACE INTO usage_days(at_ms, node, end_ms, bytes, zone) VALUES(?1, ?2, ?3, ?4, ?5)",
    [R_DROP_USAGE_HOUR] = "DELETE FROM usage_hours WHERE at_ms = ?1 AND node = ?2",
    [R_DROP_USAGE_DAY] = "DELETE FROM usage_days WHERE at_ms = ?1 AND node = ?2 AND zone = ?3",
    [R_USAGE_HOURS] = "SELECT at_ms, node, end_ms, bytes FROM usage_hours WHERE at_ms >= ?1 AND at_ms < ?2"
                      " ORDER BY at_ms, node",
    /* from hour to hour, and in each to the node: a range of hours would read those of all other nodes, too */
    [R_USAGE_HOURS_OF] = "WITH RECURSIVE h(t) AS (SELECT min(at_ms) FROM usage_hours WHERE at_ms >= ?2 UNION ALL"
                         " SELECT (SELECT min(at_ms) FROM usage_hours WHERE at_ms > t) FROM h WHERE t < ?3)"
                         " SELECT end_ms, bytes FROM h CROSS JOIN usage_hours u ON u.at_ms = h.t AND u.node = ?1"
                         " WHERE h.t < ?3 ORDER BY h.t",
    [R_USAGE_DAYS] = "SELECT at_ms, node, end_ms, bytes FROM usage_days WHERE zone = ?3 AND at_ms >= ?1 AND at_ms < ?2"
                     " ORDER BY at_ms, node",
    [R_USAGE_REACH] =
        "SELECT text, min(at_ms), max(at_ms) FROM usage_hours JOIN usage_names ON id = node GROUP BY node",
    [R_DROP_USAGE_MARK] = "DELETE FROM usage_marks WHERE node = ?1 AND at_ms = ?2 AND seq <= ?3",
    [R_DROP_USAGE_MARKS_AT] = "DELETE FROM usage_marks WHERE node = ?1 AND at_ms = ?2",
    [R_USAGE_MARKS] = "SELECT {usage_marks} FROM usage_marks ORDER BY node, at_ms",
    [R_DROP_OLD_USAGE_HOURS] = "DELETE FROM usage_hours WHERE at_ms < ?1",
    [R_DROP_OLD_USAGE_DAYS] = "DELETE FROM usage_days WHERE at_ms < ?1",
    [R_DROP_OLD_USAGE_MARKS] = "DELETE FROM usage_marks WHERE at_ms < ?1",
    [R_TOKEN_PUT_NOW] = "INSERT OR REPLACE INTO tokens({tokens}) VALUES({tokens?})",
    [R_TOKEN_GET] = "SELECT {tokens} FROM tokens WHERE id = :name",
    [R_TOKENS] = "SELECT {tokens} FROM tokens ORDER BY created_ms, id",
    [R_TOKENS_OF] = "SELECT {tokens} FROM tokens WHERE node = :node ORDER BY created_ms, id",
    [R_DROP_TOKENS_OF] = "DELETE FROM tokens WHERE node = ?1 AND role = 'agent'",
    [R_SETTING_GET] = "SELECT value FROM settings WHERE name = :name",
};
