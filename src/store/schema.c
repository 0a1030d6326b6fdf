/* schema.c: the SQL of muster.db. Unsigned 64-bit numbers (runs, blob names) are stored as signed ones. */
#include "store/schema.h"

#include "base/version.h"
#include "store/kinds.h"

/* class: duration of the job, see job_table.c. Also in the device's rows, which alone are used to find its jobs. */
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
/* over_ms 0: open. There are few open ones, and they are read at every start. */
#define NOTE_TABLES                                                                                                    \
    "CREATE TABLE notes(kind INTEGER NOT NULL, id INTEGER NOT NULL, over_ms INTEGER NOT NULL, bytes BLOB NOT NULL,"    \
    " PRIMARY KEY(kind, id));"                                                                                         \
    "CREATE INDEX notes_over ON notes(over_ms, kind);"
#define PROC_INDEXES                                                                                                   \
    "CREATE INDEX processes_node_last ON processes(node, last_ms);"                                                    \
    "CREATE INDEX processes_last ON processes(last_ms);"

/*
 * Usage hours, days, and hours still to be counted; see usage_table.c. A day's row is too long for a WITHOUT ROWID
 * table.
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

/* Not OR REPLACE: within a trigger, the conflict policy of the outer statement applies. */
#define SPAN_PUT(from_ms)                                                                                              \
    " DELETE FROM node_spans WHERE node = new.key AND from_ms = " from_ms ";"                                          \
    " INSERT INTO node_spans VALUES(new.key, " from_ms ", new.facts, new.name, new.own_name, new.maintenance);"
/*
 * Name and facts of a node over time; a change within the same minute replaces the previous one. The facts named here
 * are kept. events_upset: when a node's driver stopped responding and when that changed.
 */
#define SPAN_TABLE                                                                                                     \
    "CREATE TABLE node_spans(node TEXT NOT NULL, from_ms INTEGER NOT NULL, facts INTEGER NOT NULL, name TEXT NOT "     \
    "NULL,"                                                                                                            \
    " own_name TEXT NOT NULL, maintenance INTEGER NOT NULL, PRIMARY KEY(node, from_ms)) WITHOUT ROWID;"                \
    "CREATE INDEX node_spans_facts ON node_spans(facts);"
#define SPAN_CHANGED                                                                                                   \
    "new.facts <> old.facts OR new.name <> old.name OR new.own_name <> old.own_name"                                   \
    " OR new.maintenance <> old.maintenance"
#define SPAN_MINUTE "new.last_ms / 60000 * 60000"
#define SPAN_TRIGGERS                                                                                                  \
    "CREATE TRIGGER nodes_new AFTER INSERT ON nodes BEGIN" SPAN_PUT(                                                   \
        "0") " END;"                                                                                                   \
             "CREATE TRIGGER nodes_changed AFTER UPDATE OF facts, name, own_name, maintenance ON nodes"                \
             " WHEN " SPAN_CHANGED " BEGIN" SPAN_PUT(SPAN_MINUTE) " END;"
#define SPAN_INDEXES                                                                                                   \
    "CREATE INDEX events_upset ON events(node, at_ms) WHERE kind BETWEEN 4 AND 10 AND device = '';"                    \
    "CREATE INDEX processes_long ON processes(node, last_ms) WHERE last_ms - first_ms > 86400000;"
#define SPAN_TABLES SPAN_TABLE SPAN_TRIGGERS SPAN_INDEXES

/*
 * A new agent token counts for the enroll token that created it, in the same commit. (REPLACE deletes the old row after
 * the insert, so the check runs before it.)
 */
#define ENROLLED                                                                                                       \
    "new.role = 'agent' AND new.note LIKE '" STORE_ENROLLED_WITH                                                       \
    "%' AND NOT EXISTS (SELECT 1 FROM tokens WHERE id = new.id)"
#define COUNT_ENROLLED                                                                                                 \
    "UPDATE tokens SET enrolled = enrolled + 1 WHERE id = substr(new.note, length('" STORE_ENROLLED_WITH "') + 1);"
#define ENROL_TRIGGER                                                                                                  \
    "CREATE TRIGGER tokens_enrolled BEFORE INSERT ON tokens WHEN " ENROLLED " BEGIN " COUNT_ENROLLED " END;"

/* Columns that exist only in a record's field list (kinds.c, *.def) are not listed here: they are added after these. */
static const char *const upgrades[] = {
    /* 1 -> 2: compacted logs are remembered for as long as their runs and blobs */
    "ALTER TABLE logs ADD COLUMN compacted INTEGER NOT NULL DEFAULT 0",
    /* 2 -> 3: jobs, and processes by when they were last seen */
    JOB_TABLES PROC_INDEXES,
    /* 3 -> 4: nodes as they were */
    SPAN_TABLES "INSERT INTO node_spans SELECT key, 0, facts, name, own_name, maintenance FROM nodes",
    /* 4 -> 5: bookings and waits */
    BOOKING_TABLES,
    /* 5 -> 6: usage; the kind of each process, and its share of the multiprocessors */
    USAGE_TABLES "ALTER TABLE processes ADD COLUMN kind INTEGER NOT NULL DEFAULT 0;"
                 "ALTER TABLE processes ADD COLUMN sm INTEGER NOT NULL DEFAULT -1",
    NOTE_TABLES, /* 6 -> 7: notes */
    /*
     * 7 -> 8: tokens expire, and are limited in uses; whether a node ever sent a sample: assumed for nodes with facts.
     */
    "ALTER TABLE tokens ADD COLUMN expires_ms INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE tokens ADD COLUMN uses INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE tokens ADD COLUMN enrolled INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE nodes ADD COLUMN sampled_ms INTEGER NOT NULL DEFAULT 0;"
    "UPDATE nodes SET sampled_ms = last_ms WHERE facts <> 0 OR procs <> 0"
    " OR EXISTS (SELECT 1 FROM seen WHERE seen.node = key);" ENROL_TRIGGER,
    /* 8 -> 9: the same tables; names of GPUs may be short there now (usage_table.c) */
    "SELECT 1",
};

/*
 * last_log of blobs: the newest log file with a batch that names it, or one of the next ones; the blob is deleted with
 * that log
 */
#define MAIN_TABLES                                                                                                    \
    "CREATE TABLE nodes(key TEXT PRIMARY KEY, name TEXT NOT NULL, own_name TEXT NOT NULL, address TEXT NOT NULL,"      \
    " retired INTEGER NOT NULL, maintenance INTEGER NOT NULL, demo INTEGER NOT NULL, first_ms INTEGER NOT NULL,"       \
    " last_ms INTEGER NOT NULL, facts INTEGER NOT NULL, procs INTEGER NOT NULL, secret TEXT NOT NULL,"                 \
    " sampled_ms INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;"                                                           \
    "CREATE TABLE blobs(node TEXT NOT NULL, id INTEGER NOT NULL, kind INTEGER NOT NULL, last_log INTEGER NOT NULL,"    \
    " bytes BLOB NOT NULL, PRIMARY KEY(node, id));"                                                                    \
    "CREATE INDEX blobs_log ON blobs(last_log);"                                                                       \
    "CREATE TABLE processes(node TEXT NOT NULL, device TEXT NOT NULL, pid INTEGER NOT NULL,"                           \
    " start_ms INTEGER NOT NULL, ppid INTEGER NOT NULL, root_pid INTEGER NOT NULL, uid INTEGER NOT NULL,"              \
    " user TEXT NOT NULL, name TEXT NOT NULL, cmd TEXT NOT NULL, runtime TEXT NOT NULL, container TEXT NOT NULL,"      \
    " pod TEXT NOT NULL, slurm_job INTEGER NOT NULL, first_ms INTEGER NOT NULL, last_ms INTEGER NOT NULL,"             \
    " mem_max INTEGER NOT NULL, ended INTEGER NOT NULL, kind INTEGER NOT NULL DEFAULT 0,"                              \
    " sm INTEGER NOT NULL DEFAULT -1, PRIMARY KEY(node, device, pid, start_ms)) WITHOUT ROWID;"                        \
    "CREATE TABLE events(node TEXT NOT NULL, at_ms INTEGER NOT NULL, device TEXT NOT NULL, kind INTEGER NOT NULL,"     \
    " code INTEGER NOT NULL, slot INTEGER NOT NULL, text TEXT NOT NULL,"                                               \
    " PRIMARY KEY(node, at_ms, device, kind, code)) WITHOUT ROWID;"                                                    \
    "CREATE INDEX events_at ON events(at_ms);"                                                                         \
    "CREATE TABLE tokens(id TEXT PRIMARY KEY, role TEXT NOT NULL, person TEXT NOT NULL, node TEXT NOT NULL,"           \
    " note TEXT NOT NULL, hash BLOB NOT NULL, created_ms INTEGER NOT NULL, revoked_ms INTEGER NOT NULL,"               \
    " used_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL DEFAULT 0, uses INTEGER NOT NULL DEFAULT 0,"               \
    " enrolled INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;"                                                             \
    "CREATE INDEX tokens_node ON tokens(node);"                                                                        \
    "CREATE TABLE settings(name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;"
/* sealed log files; a file that is not here is not sealed yet */
#define LOG_TABLES                                                                                                     \
    "CREATE TABLE logs(n INTEGER PRIMARY KEY, batches INTEGER NOT NULL, bytes INTEGER NOT NULL,"                       \
    " first_ms INTEGER NOT NULL, last_ms INTEGER NOT NULL, compacted INTEGER NOT NULL DEFAULT 0);"                     \
    "CREATE TABLE seen(node TEXT NOT NULL, run INTEGER NOT NULL, last_log INTEGER NOT NULL, ranges BLOB NOT NULL,"     \
    " PRIMARY KEY(node, run)) WITHOUT ROWID;"                                                                          \
    "CREATE TABLE aliases(seq INTEGER PRIMARY KEY, old TEXT NOT NULL, new TEXT NOT NULL, log INTEGER NOT NULL,"        \
    " row INTEGER NOT NULL);"
#define TOKEN_TRIGGER                                                                                                  \
    "CREATE TRIGGER tokens_put AFTER INSERT ON tokens BEGIN INSERT INTO settings VALUES('tokens_version', 1)"          \
    " ON CONFLICT(name) DO UPDATE SET value = value + 1; END;"

/* The same on PostgreSQL, where a trigger calls a function. */
#define PG_FUNCTION(name, body)                                                                                        \
    "CREATE FUNCTION " name "() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN " body " END $$;"
#define PG_SPAN_PUT(from_ms)                                                                                           \
    "INSERT INTO node_spans VALUES(new.key, " from_ms ", new.facts, new.name, new.own_name, new.maintenance)"          \
    " ON CONFLICT(node, from_ms) DO UPDATE SET facts = excluded.facts, name = excluded.name,"                          \
    " own_name = excluded.own_name, maintenance = excluded.maintenance; RETURN NULL;"
#define PG_TRIGGERS                                                                                                    \
    PG_FUNCTION("node_new", PG_SPAN_PUT("0"))                                                                          \
    PG_FUNCTION("node_changed", PG_SPAN_PUT(SPAN_MINUTE))                                                              \
    "CREATE TRIGGER nodes_new AFTER INSERT ON nodes FOR EACH ROW EXECUTE FUNCTION node_new();"                         \
    "CREATE TRIGGER nodes_changed AFTER UPDATE OF facts, name, own_name, maintenance ON nodes FOR EACH ROW"            \
    " WHEN (" SPAN_CHANGED ") EXECUTE FUNCTION node_changed();"

/*
 * On PostgreSQL batches are rows that several hubs write, see log_rows.h. A partition per day is created ahead; the
 * default partition holds all other days. sealed_at NULL: its owner still writes that log. `taken` replaces the `seen`
 * of a folder as rows: batches that were in a log before it was sealed.
 */
#define PG_BATCHES                                                                                                     \
    "CREATE SEQUENCE log_number;"                                                                                      \
    "ALTER TABLE logs ADD owner INTEGER NOT NULL DEFAULT 0, ADD epoch INTEGER NOT NULL DEFAULT 0,"                     \
    " ADD sealed_at timestamptz DEFAULT now();"                                                                        \
    "CREATE INDEX logs_open ON logs(n) WHERE compacted = 0;"                                                           \
    "CREATE TABLE batch_node(id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE);"                                       \
    "CREATE TABLE batch(day date NOT NULL, node INTEGER NOT NULL, run INTEGER NOT NULL, number INTEGER NOT NULL,"      \
    " log INTEGER NOT NULL, row INTEGER NOT NULL, at INTEGER NOT NULL, shift INTEGER NOT NULL,"                        \
    " facts INTEGER NOT NULL, procs INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY(node, run, number, day))"       \
    " PARTITION BY RANGE(day);"                                                                                        \
    "ALTER TABLE batch ALTER bytes SET STORAGE EXTERNAL;" /* compressed already */                                     \
    "CREATE INDEX batch_log ON batch(log, row);"                                                                       \
    "CREATE TABLE batch_other PARTITION OF batch DEFAULT;"                                                             \
    "CREATE TABLE taken(node INTEGER NOT NULL, run INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,"   \
    " log INTEGER NOT NULL);"                                                                                          \
    "CREATE INDEX taken_at ON taken(node, run, first);"                                                                \
    "CREATE INDEX taken_log ON taken(log);"

/* clang-format off */
/*
 * The transaction and hub that last changed a row, for the other hubs (cluster/feed.h). Deleted rows are listed in
 * gone: a note by its kind and number, a node by its key. A node's last-seen time changes constantly and is not
 * tracked.
 */
#define PG_BY_HUB "coalesce(substring(current_setting('application_name') FROM 'muster-hub-([0-9]+)')::bigint, 0)"
#define PG_CHANGED(table)                                                                                              \
    "ALTER TABLE " table " ADD changed xid8 NOT NULL DEFAULT '0', ADD by_hub INTEGER NOT NULL DEFAULT 0;"              \
    "CREATE INDEX " table "_changed ON " table "(changed);"
#define PG_TELLS(table, name, when)                                                                                    \
    "CREATE TRIGGER " table "_" name " BEFORE " when " EXECUTE FUNCTION row_changed();"
#define PG_IS_GONE(kind, id, key)                                                                                      \
    "INSERT INTO gone(kind, id, key, changed, by_hub, at) VALUES(" kind ", " id ", " key ", pg_current_xact_id(), "    \
    PG_BY_HUB ", clock_timestamp()); PERFORM pg_notify('muster', ''); RETURN NULL;"
#define PG_NODE_NEWS                                                                                                   \
    "(new.key, new.name, new.own_name, new.retired, new.maintenance, new.demo, new.facts) IS DISTINCT "                \
    "FROM (old.key, old.name, old.own_name, old.retired, old.maintenance, old.demo, old.facts)"
#define PG_FEED                                                                                                        \
    PG_CHANGED("nodes")                                                                                                \
    PG_CHANGED("holds")                                                                                                \
    PG_CHANGED("notes")                                                                                                \
    PG_CHANGED("settings")                                                                                             \
    PG_CHANGED("usage_marks")                                                                                          \
    "CREATE TABLE gone(kind INTEGER NOT NULL, id INTEGER NOT NULL, key TEXT NOT NULL, changed xid8 NOT NULL,"          \
    " by_hub INTEGER NOT NULL, at TIMESTAMPTZ NOT NULL);"                                                              \
    "CREATE INDEX gone_changed ON gone(changed);"                                                                      \
    PG_FUNCTION("row_changed", "new.changed := pg_current_xact_id(); new.by_hub := " PG_BY_HUB                         \
                               "; PERFORM pg_notify('muster', ''); RETURN new;")                                       \
    PG_FUNCTION("note_gone", PG_IS_GONE("old.kind", "old.id", "''"))                                                   \
    PG_FUNCTION("node_gone", PG_IS_GONE("0", "0", "old.key"))                                                          \
    PG_TELLS("nodes", "first", "INSERT ON nodes FOR EACH ROW")                                                         \
    PG_TELLS("nodes", "news", "UPDATE ON nodes FOR EACH ROW WHEN (" PG_NODE_NEWS ")")                                  \
    PG_TELLS("holds", "news", "INSERT OR UPDATE ON holds FOR EACH ROW")                                                \
    PG_TELLS("notes", "news", "INSERT OR UPDATE ON notes FOR EACH ROW")                                                \
    PG_TELLS("settings", "news", "INSERT OR UPDATE ON settings FOR EACH ROW")                                          \
    PG_TELLS("usage_marks", "news", "INSERT OR UPDATE ON usage_marks FOR EACH ROW")                                    \
    "CREATE TRIGGER notes_gone AFTER DELETE ON notes FOR EACH ROW EXECUTE FUNCTION note_gone();"                       \
    "CREATE TRIGGER nodes_gone AFTER DELETE ON nodes FOR EACH ROW EXECUTE FUNCTION node_gone();"                       \
    "CREATE TRIGGER nodes_moved AFTER UPDATE OF key ON nodes FOR EACH ROW WHEN (old.key <> new.key)"                   \
    " EXECUTE FUNCTION node_gone();"

/*
 * The booked devices over time, so that two hubs cannot give away the same device: neither to two users, nor twice to
 * one user, except for a wait served inside that user's own booking (book/book.h, B1). A booking that is over when it
 * is put frees its devices.
 */
#define PG_BOOKED                                                                                                      \
    "CREATE EXTENSION IF NOT EXISTS btree_gist;"                                                                       \
    "CREATE TABLE booked(hold INTEGER NOT NULL, device TEXT NOT NULL, span int8range NOT NULL,"                        \
    " kind INTEGER NOT NULL, person TEXT NOT NULL,"                                                                    \
    " EXCLUDE USING gist (device WITH =, span WITH &&, person WITH <>),"                                               \
    " EXCLUDE USING gist (device WITH =, span WITH &&, kind WITH =));"                                                 \
    "CREATE INDEX booked_hold ON booked(hold);"                                                                        \
    PG_FUNCTION("hold_put",                                                                                            \
                "DELETE FROM booked WHERE hold = new.id; INSERT INTO booked(hold, device, span, kind, person)"         \
                " SELECT DISTINCT new.id, d, int8range(new.from_ms, greatest(new.from_ms, e)), new.kind, new.person"   \
                " FROM unnest(string_to_array(new.devices, ',')) d, (SELECT CASE WHEN new.released_ms > 0"             \
                " AND new.released_ms < new.until_ms THEN new.released_ms ELSE new.until_ms END) AS t(e)"              \
                " WHERE d <> '' AND e > new.from_ms AND e > extract(epoch FROM clock_timestamp()) * 1000;"             \
                " RETURN NULL;")                                                                                       \
    PG_FUNCTION("hold_gone", "DELETE FROM booked WHERE hold = old.id; RETURN NULL;")                                   \
    "CREATE TRIGGER holds_booked AFTER INSERT OR UPDATE ON holds FOR EACH ROW EXECUTE FUNCTION hold_put();"            \
    "CREATE TRIGGER holds_unbooked AFTER DELETE ON holds FOR EACH ROW EXECUTE FUNCTION hold_gone();"

/*
 * Several hubs put tokens concurrently. All of them change the version row and an enroll token's row. They do so at the
 * end of the transaction, always in this order, so that no hub waits behind an open transaction. An agent token beyond
 * the limit is deleted again. A token that another hub assigned to another node meanwhile stays with that node; a token
 * that moves is first put without a node.
 */
#define ENROLL_ID "substr(new.note, length('" STORE_ENROLLED_WITH "') + 1)"
#define PG_TOKENS                                                                                                      \
    PG_FUNCTION("token_put",                                                                                           \
                "INSERT INTO settings(name, value) VALUES('" STORE_TOKENS_VERSION "', '1') ON CONFLICT(name) DO UPDATE"\
                " SET value = convert_to((convert_from(settings.value, 'UTF8')::bigint + 1)::text, 'UTF8')"            \
                " WHERE settings.changed <> pg_current_xact_id();"                                                     \
                " IF TG_OP = 'INSERT' AND new.role = 'agent' AND new.note LIKE '" STORE_ENROLLED_WITH "%' AND"         \
                " coalesce(current_setting('" STORE_IS_MOVED "', true), '') = '' THEN"                                 \
                " UPDATE tokens SET enrolled = enrolled + 1 WHERE id = " ENROLL_ID " AND (uses = 0 OR enrolled < uses);"\
                " IF NOT FOUND AND EXISTS (SELECT 1 FROM tokens WHERE id = " ENROLL_ID ") THEN"                        \
                " DELETE FROM tokens WHERE id = new.id; END IF; END IF; RETURN NULL;")                                 \
    PG_FUNCTION("token_bound", "RETURN NULL;")                                                                         \
    "CREATE CONSTRAINT TRIGGER tokens_put AFTER INSERT OR UPDATE OF node, hash, used_ms, revoked_ms ON tokens"         \
    " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION token_put();"                                        \
    "CREATE TRIGGER tokens_bound BEFORE UPDATE OF node ON tokens FOR EACH ROW WHEN (old.node <> '' AND new.node <> ''" \
    " AND new.node <> old.node AND new.used_ms <> old.used_ms AND " PG_BY_HUB " > 0) EXECUTE FUNCTION token_bound();"
/* clang-format on */

#define OTHER_TABLES JOB_TABLES USAGE_TABLES PROC_INDEXES
const struct db_kind records_kind = {
    .records = main_records,
    .magic = DB_MAGIC_MAIN,
    .version = MUSTER_FORMAT,
    .page = 2048, /* most of its many tables are small or empty */
    .upgrades = upgrades,
    .schema = MAIN_TABLES TOKEN_TRIGGER ENROL_TRIGGER LOG_TABLES OTHER_TABLES SPAN_TABLES BOOKING_TABLES NOTE_TABLES,
    .pg_schema = MAIN_TABLES LOG_TABLES OTHER_TABLES SPAN_TABLE SPAN_INDEXES BOOKING_TABLES NOTE_TABLES PG_TRIGGERS
        PG_BATCHES PG_FEED PG_BOOKED PG_TOKENS,
    .pg_later_has = "token_bound",
    .pg_later = "DROP TRIGGER tokens_put ON tokens; DROP TRIGGER tokens_enrolled ON tokens; DROP FUNCTION token_put();"
                "DROP FUNCTION token_enrolled();" PG_TOKENS,
};

#define PUT(table)                                                                                                     \
    "INSERT INTO " table "({" table "}) VALUES({" table "?}) ON CONFLICT({" table "#}) DO UPDATE SET {" table "!}"
#define MOVE(table, same)                                                                                              \
    "UPDATE " table " SET node = ?2 WHERE node = ?1 AND NOT EXISTS"                                                    \
    " (SELECT 1 FROM " table " o WHERE o.node = ?2 AND " same ")"
#define PROC_ORDER  "ORDER BY node, device, start_ms, pid"
#define JOB_SPAN    "class = ?1 AND start_ms BETWEEN ?2 AND ?3"
#define JOB_ORDER   " ORDER BY start_ms DESC"
#define EVENT_ORDER "ORDER BY at_ms DESC, node, device, kind, code LIMIT :limit"
#define WITH_OLD_NAMES                                                                                                 \
    " UNION SELECT old FROM aliases JOIN names ON new = k)"                                                            \
    " SELECT bytes FROM blobs WHERE id = ?2 AND node IN (SELECT k FROM names) LIMIT 1"

const char *const records_sql[R_COUNT] = {
    [STORE_NODE] = PUT("nodes"),
    [STORE_PROC] = PUT("processes"),
    [STORE_EVENT] = "INSERT INTO events({events}) VALUES({events?}) ON CONFLICT DO NOTHING",
    [STORE_JOB] = "INSERT INTO jobs({jobs}, class) VALUES({jobs?}, ?100) ON CONFLICT DO NOTHING",
    [STORE_BOOKING] =
        PUT("holds") " WHERE holds.changes < excluded.changes", /* otherwise another hub changed it first */
    [STORE_NOTE] = PUT("notes"),
    [STORE_TOKEN] = "INSERT INTO tokens({tokens}) VALUES({tokens?})"
                    " ON CONFLICT(id) DO UPDATE SET node = excluded.node, hash = excluded.hash,"
                    " used_ms = excluded.used_ms WHERE tokens.revoked_ms = 0",
    [STORE_SETTING] = PUT("settings"),
    [STORE_USAGE_MARK] = PUT("usage_marks"),
#define QUERY(name, sql) [R_##name] = sql,
#include "store/schema.def"
};

const char *const records_pg[R_COUNT] = {
#define QUERY_PG(name, sql) [R_##name] = sql,
#include "store/schema.def"
};
