/*
 * pg.c: connections, transactions and statements over libpq. Values and rows are binary. Rows are read one by one as
 * they arrive. If another statement runs meanwhile, the remaining rows are buffered.
 */
#include "sql/pg.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"
#include "sql/pg_conn.h"
#include "sql/pg_tables.h"
#include "sql/pg_text.h"

#define SQL_MAX     65536
#define POST_TURN   64
#define NEWER_KNOWN 1 /* hubs work with tables up to this many versions newer, for upgrades of one hub at a time */

enum { OID_BYTES = 17, OID_INT8 = 20, OID_TEXT = 25 };

struct pg_stmt {
    struct db_stmt st;
    char *sql;
    bool keep; /* it lives as long as the connection object */
    struct pg_places places;
    const char **values; /* these five are indexed by $N - 1 */
    int *lengths, *formats;
    Oid *types;
    struct pg_room {
        int64_t number;
        char *cleaned;
    } * rooms;
    char name[24];
    uint64_t connection; /* the connection where it was prepared */
    bool running;
    PGresult *row;
    PGresult **rest; /* rows that arrived while another statement ran */
    size_t n_rest, cap_rest, at_rest;
};

static struct pg_db *of(struct db *db)
{
    return (struct pg_db *)db;
}

/* ---- failures ---- */

/* "08006" and the like. */
static int code_of(const char *state)
{
    static const struct {
        const char *state;
        int code;
    } codes[] = {
        {"08", -ENOTCONN},     {"57P", -ENOTCONN},  {"28", -EACCES},     {"42501", -EACCES}, {"53100", -ENOSPC},
        {"53200", -ENOMEM},    {"53300", -EBUSY},   {"40", -EBUSY},      {"55P03", -EBUSY},  {"25006", -EROFS},
        {"57014", -ECANCELED}, {"XX001", -EUCLEAN}, {"XX002", -EUCLEAN}, {"22", -EINVAL},    {"23P01", -EEXIST},
        {"23", -EINVAL},       {"54", -EMSGSIZE},
    };

    for (size_t i = 0; i < ARRAY_LEN(codes); i++)
        if (strncmp(state, codes[i].state, strlen(codes[i].state)) == 0)
            return codes[i].code;
    return -EIO;
}

int pg_set_error(struct pg_db *d, int code, const char *text)
{
    struct str rest = str_of(text), line = STR("");

    str_cut(&rest, '\n', &line);
    snprintf(d->why, sizeof(d->why), "%.*s", STR_ARG(str_trim(line)));
    d->failed = code;
    return code;
}

bool pg_is_lost(const struct pg_db *d)
{
    return d->over || d->pq.status(d->c) != CONNECTION_OK;
}

/* Stores the failure that the server, or libpq (res NULL), reports. Returns -errno. */
static int keep_failure(struct pg_db *d, const PGresult *res)
{
    const char *text = d->pq.error_field(res, PG_DIAG_MESSAGE_PRIMARY);
    const char *state = d->pq.error_field(res, PG_DIAG_SQLSTATE);

    int code = pg_is_lost(d) ? -ENOTCONN : code_of(state ? state : "");

    d->over |= code == -ENOTCONN;
    return pg_set_error(d, code, text ? text : d->pq.error(d->c));
}

static int fail(struct db *db, int code, const char *doing, struct err *err)
{
    const struct pg_db *d = of(db);
    const char *why = d->failed == code    ? d->why
                      : code == -ENOTCONN  ? "the connection to the server is lost"
                      : code == -ECANCELED ? "the server does not confirm what was written"
                      : code == -ESTALE    ? "another hub took its place"
                                           : strerror(-code);

    return err_set(err, code, "cannot %s '%s': %s", doing, d->place, why);
}

void pg_on_notice(void *arg, const PGresult *res)
{
    struct pg_db *d = arg;
    const char *how = d->pq.error_field(res, PG_DIAG_SEVERITY_NONLOCALIZED);

    if (how && strcmp(how, "WARNING") == 0)
        d->unsure = true;
}

/* ---- waiting ---- */

/* Waits until the output is sent or a result arrived. Drops the connection on timeout. */
static void wait_for(struct pg_db *d, int64_t until_ms)
{
    int unsent = d->pq.flush(d->c);
    struct pollfd p = {.fd = d->pq.socket(d->c), .events = (short)(POLLIN | (unsent == 1 ? POLLOUT : 0))};
    int64_t left = d->limit_ms ? MAX(until_ms - clock_mono_ms(), 0) : -1;

    if (unsent < 0 || p.fd < 0)
        return;
    if (poll(&p, 1, (int)MIN(left, INT32_MAX)) == 0) {
        shutdown(p.fd, SHUT_RDWR); /* so that libpq finds it closed */
        d->hung = true;
    }
    d->pq.consume(d->c);
}

static PGresult *get_result(struct pg_db *d)
{
    int64_t until_ms = d->limit_ms ? clock_mono_ms() + d->limit_ms : 0;

    while (!pg_is_lost(d) && d->pq.is_busy(d->c))
        wait_for(d, until_ms);
    return d->pq.get_result(d->c);
}

/* The last of several results, but an error before it has priority. */
static PGresult *get_last_result(struct pg_db *d)
{
    PGresult *last = NULL;

    for (PGresult *res; (res = get_result(d));) {
        bool keep = d->pq.result_status(last) == PGRES_FATAL_ERROR && last;
        d->pq.clear(keep ? res : last);
        last = keep ? last : res;
    }
    return last;
}

void pg_set_limit(struct db *db, int64_t ms)
{
    of(db)->limit_ms = ms;
}

/* ---- statements without parameters ---- */

static void settle(struct pg_db *d);
static int settle_posted(struct pg_db *d);

static int finish_exec(struct pg_db *d, PGresult *res, const char *command)
{
    ExecStatusType how = d->pq.result_status(res);
    int r = how == PGRES_COMMAND_OK || how == PGRES_TUPLES_OK ? 0 : keep_failure(d, res);

    if (r == 0 && command && strcmp(d->pq.command(res), command) != 0) /* the server reports success */
        r = pg_set_error(d, -EIO, "something in the transaction had failed");
    d->pq.clear(res);
    return r;
}

static int run_text(struct pg_db *d, const char *sql, const char *command)
{
    settle(d);
    int r = settle_posted(d);
    if (r < 0)
        return r;
    return finish_exec(d, d->pq.query(d->c, sql) ? get_last_result(d) : NULL, command);
}

/* Keeps the earlier error. */
static void run_quietly(struct pg_db *d, const char *sql)
{
    char why[sizeof(d->why)];
    int failed = d->failed;

    memcpy(why, d->why, sizeof(why));
    run_text(d, sql, NULL);
    memcpy(d->why, why, sizeof(why));
    d->failed = failed;
}

static int exec_all(struct db *db, const char *sql)
{
    AUTO_BUF text = BUF_INIT(SQL_MAX);
    struct pg_places none;

    pg_text(sql, &none, &text);
    return run_text(of(db), buf_str(&text).p, NULL);
}

/* ---- transactions ---- */

void pg_detect_pooler(struct pg_db *d)
{
    int64_t pid = 0;

    d->pooled = true; /* so that nothing is prepared for this query */
    if (db_int(&d->db, "SELECT pg_backend_pid()", &pid) == 0)
        d->pooled = pid != d->pq.backend(d->c);
}

bool pg_is_pooled(const struct db *db)
{
    return ((const struct pg_db *)db)->pooled;
}

bool pg_used_password(const struct db *db)
{
    const struct pg_db *d = (const struct pg_db *)db;

    return d->pq.used_password(d->c);
}

static int connect_again(struct pg_db *d)
{
    d->pq.reset(d->c);
    d->over = d->piped = false;
    d->posted = 0;
    d->connections++;
    d->pq.nonblocking(d->c, 1);
    if (pg_is_lost(d))
        return pg_set_error(d, -ENOTCONN, d->pq.error(d->c));
    bool hung = d->hung;
    d->hung = false; /* pg_detect_pooler comes first */
    pg_detect_pooler(d);
    d->hung = hung;
    return 0;
}

/* When the server ends an idle connection it sends a message first: read it. */
static void hear_the_end(struct pg_db *d)
{
    for (int i = 0; i < 4 && !pg_is_lost(d); i++) {
        struct pollfd p = {.fd = d->pq.socket(d->c), .events = POLLIN};
        if (poll(&p, 1, 0) < 1)
            return;
        d->pq.consume(d->c);
    }
}

/*
 * A commit that waits for a standby continues after its client is gone. As long as ours waits, another would only queue
 * after it, until the server has no free connections left.
 */
static int check_hung(struct pg_db *d)
{
    PGresult *res = d->pq.query(d->c, "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND"
                                      " state_change < clock_timestamp() - interval '2 s' AND application_name ="
                                      " current_setting('application_name') LIMIT 1")
                        ? get_last_result(d)
                        : NULL;
    bool waits = d->pq.result_status(res) == PGRES_TUPLES_OK && strcmp(d->pq.rows_touched(res), "1") == 0;

    d->pq.clear(res);
    if (waits)
        return pg_set_error(d, -ECANCELED, "its standby does not confirm what was written");
    d->hung = pg_is_lost(d);
    return 0;
}

/* Within a transaction a lost connection stays lost. */
static int make_ready(struct pg_db *d)
{
    if (!d->in && !d->active)
        hear_the_end(d);
    int r = !pg_is_lost(d) ? 0 : d->in ? -ENOTCONN : connect_again(d);
    return r == 0 && d->hung && !d->in && !d->active ? check_hung(d) : r;
}

/* Data that libpq does not send gets no result: drops the connection. */
static int keep_unsent(struct pg_db *d)
{
    d->over = true;
    return keep_failure(d, NULL);
}

static int post_text(struct pg_db *d, const char *sql)
{
    d->posted++;
    return d->pq.send_text(d->c, sql, 0, NULL, NULL, NULL, NULL, 1) ? 0 : keep_unsent(d);
}

/* Does not wait: BEGIN is sent with the first statement, which reports its failure. */
static int begin_transaction(struct db *db, bool write)
{
    struct pg_db *d = of(db);
    char limit[64];
    int r = make_ready(d);

    pg_forget_parts(d);
    snprintf(limit, sizeof(limit), "SET LOCAL statement_timeout = %lld", (long long)d->limit_ms);
    if (r == 0) {
        settle(d);
        r = settle_posted(d);
    }
    if (r == 0 && !d->pq.pipeline(d->c))
        r = keep_unsent(d);
    if (r == 0)
        r = post_text(d, write ? "BEGIN" : "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    if (r == 0 && d->limit_ms)
        r = post_text(d, limit);
    d->in = r == 0;
    return r;
}

static int commit(struct db *db)
{
    struct pg_db *d = of(db);

    d->unsure = false;
    int r = run_text(d, "COMMIT", "COMMIT");
    if (r < 0)
        return r;
    d->in = false;
    return d->unsure ? pg_set_error(d, -ECANCELED, "the standby may not have it") : 0;
}

static void drop_rows(struct pg_stmt *s);

static void rollback(struct db *db)
{
    struct pg_db *d = of(db);

    if (!d->in)
        return;
    if (d->active)
        drop_rows(d->active);
    settle_posted(d); /* a failure there was reported, or is irrelevant now */
    run_quietly(d, "ROLLBACK");
    d->in = false;
}

static bool in_transaction(struct db *db)
{
    return of(db)->in;
}

static int64_t count_changes(struct db *db)
{
    return of(db)->changes;
}

/* ---- statements ---- */

static struct pg_stmt *stmt_of(struct db_stmt *st)
{
    return (struct pg_stmt *)st;
}

static struct db_stmt *prepare(struct db *db, const char *sql, bool keep)
{
    AUTO_BUF text = BUF_INIT(SQL_MAX);
    struct pg_stmt *s = NEW(struct pg_stmt, .st = {.engine = &pg_engine, .db = db}, .keep = keep);

    pg_text(sql, &s->places, &text);
    size_t n = MAX((size_t)s->places.n, 1u);
    s->sql = mem_str(buf_str(&text).p);
    s->values = mem_zero(n, sizeof(*s->values));
    s->lengths = mem_zero(n, sizeof(*s->lengths));
    s->formats = mem_zero(n, sizeof(*s->formats));
    s->types = mem_zero(n, sizeof(*s->types));
    s->rooms = mem_zero(n, sizeof(*s->rooms));
    for (size_t i = 0; i < n; i++)
        s->formats[i] = 1;
    snprintf(s->name, sizeof(s->name), "s%llu", (unsigned long long)++of(db)->statements);
    return &s->st;
}

static void finish(struct db_stmt *st)
{
    struct pg_stmt *s = stmt_of(st);
    struct pg_db *d = of(st->db);

    drop_rows(s);
    if (!s->keep && !d->pooled && s->connection == d->connections && !pg_is_lost(d)) {
        AUTO_FREE char *sql = mem_fmt("DEALLOCATE %s", s->name);
        run_quietly(d, sql);
    }
    for (int i = 0; i < s->places.n; i++)
        free(s->rooms[i].cleaned);
    free(s->values);
    free(s->lengths);
    free(s->formats);
    free(s->types);
    free(s->rooms);
    free(s->rest);
    free(s->sql);
    free(s);
}

static int find_place(struct db_stmt *st, const char *name)
{
    const struct pg_places *p = &stmt_of(st)->places;
    size_t i = FIRST((size_t)p->n_names, k, strcmp(p->name[k], name + 1) == 0);

    return i < (size_t)p->n_names ? (int)i + 1 : 0;
}

/* The room of a parameter, its previous value freed; NULL: not in the statement. */
static struct pg_room *take_room(struct pg_stmt *s, int no, int *ret)
{
    int i = no > 0 && no < PG_PLACES ? s->places.at[no] - 1 : -1;

    if (i < 0)
        return NULL;
    free(s->rooms[i].cleaned);
    s->rooms[i].cleaned = NULL;
    *ret = i;
    return &s->rooms[i];
}

static void bind_as(struct pg_stmt *s, int i, Oid type, const void *p, size_t len)
{
    s->values[i] = p;
    s->lengths[i] = (int)len;
    s->types[i] = type;
}

static void bind_int(struct db_stmt *st, int no, int64_t v)
{
    int i = 0;
    struct pg_room *room = take_room(stmt_of(st), no, &i);

    if (!room)
        return;
    room->number = (int64_t)htobe64((uint64_t)v);
    bind_as(stmt_of(st), i, OID_INT8, &room->number, sizeof(room->number));
}

static void bind_text(struct db_stmt *st, int no, struct str v)
{
    int i = 0;
    struct pg_room *room = take_room(stmt_of(st), no, &i);

    if (!room)
        return;
    if (!pg_is_clean(v)) {
        room->cleaned = pg_clean_text(v);
        v = str_of(room->cleaned);
    }
    bind_as(stmt_of(st), i, OID_TEXT, v.len ? v.p : "", v.len);
}

static void bind_bytes(struct db_stmt *st, int no, struct str v)
{
    int i = 0;

    if (take_room(stmt_of(st), no, &i))
        bind_as(stmt_of(st), i, OID_BYTES, v.len ? v.p : "", v.len);
}

void pg_bind_as(struct db_stmt *st, int place, uint32_t type, struct str bytes)
{
    int i = 0;

    if (take_room(stmt_of(st), place, &i))
        bind_as(stmt_of(st), i, type, bytes.p, bytes.len);
}

/* The parameter types are those of the bound values, so it is prepared at the first run. */
static int prepare_on_server(struct pg_db *d, struct pg_stmt *s)
{
    if (d->pooled || s->connection == d->connections)
        return 0;
    bool sent = d->pq.prepare(d->c, s->name, s->sql, s->places.n, s->types);
    int r = finish_exec(d, sent ? get_last_result(d) : NULL, NULL);
    if (r == 0)
        s->connection = d->connections;
    return r;
}

static int send_values(struct pg_db *d, struct pg_stmt *s)
{
    int sent = d->pooled ? d->pq.send_text(d->c, s->sql, s->places.n, s->types, s->values, s->lengths, s->formats, 1)
                         : d->pq.send(d->c, s->name, s->places.n, s->values, s->lengths, s->formats, 1);

    return sent ? 0 : keep_failure(d, NULL);
}

static int take_answers(struct pg_db *d, size_t n, int r);
static int leave_pipeline(struct pg_db *d, int r);

/* Sends it together with the posted statements; their results come first. */
static int send_behind(struct pg_db *d, struct pg_stmt *s)
{
    int r = send_values(d, s);

    if (r < 0 || !d->pq.sync(d->c))
        r = keep_unsent(d);
    r = take_answers(d, 2 * d->posted, r);
    d->posted = 0;
    d->piped = r == 0;
    return r < 0 ? leave_pipeline(d, take_answers(d, 4, r)) : 0; /* the result, a NULL, and the sync */
}

static int start(struct pg_stmt *s)
{
    struct pg_db *d = of(s->st.db);
    int r = make_ready(d);

    if (r < 0)
        return r;
    settle(d);
    if (d->posted && (d->pooled || s->connection == d->connections)) {
        r = send_behind(d, s);
    } else {
        r = settle_posted(d);
        if (r == 0)
            r = prepare_on_server(d, s);
        if (r == 0)
            r = send_values(d, s);
    }
    if (r < 0)
        return r;
    d->active = s;
    s->running = true;
    if (!d->pq.single_row(d->c)) { /* all of its rows would arrive together */
        drop_rows(s);
        return pg_set_error(d, -EIO, "libpq does not give rows one by one");
    }
    return 0;
}

static PGresult *next_result(struct pg_stmt *s)
{
    struct pg_db *d = of(s->st.db);

    if (s->at_rest < s->n_rest)
        return s->rest[s->at_rest++];
    return d->active == s ? get_result(d) : NULL;
}

/* All rows of the active statement were read. */
static void end_active(struct pg_db *d)
{
    d->active = NULL;
    if (!d->piped)
        return;
    d->piped = false;
    leave_pipeline(d, take_answers(d, 2, 0));
}

/* Another statement is about to run: buffers the remaining rows. */
static void settle(struct pg_db *d)
{
    struct pg_stmt *s = d->active;

    for (PGresult *res; s && (res = get_result(d));)
        VEC_ADD(s->rest, s->n_rest, s->cap_rest, res);
    end_active(d);
}

static void drop_rows(struct pg_stmt *s)
{
    struct pg_db *d = of(s->st.db);

    d->pq.clear(s->row);
    s->row = NULL;
    if (d->active == s || s->at_rest < s->n_rest)
        for (PGresult *res; (res = next_result(s));)
            d->pq.clear(res);
    if (d->active == s)
        end_active(d);
    s->n_rest = s->at_rest = 0;
    s->running = false;
}

static int step(struct db_stmt *st)
{
    struct pg_stmt *s = stmt_of(st);
    struct pg_db *d = of(st->db);
    int64_t n = 0;
    int r = s->running ? 0 : start(s);

    if (r < 0)
        return r;
    d->pq.clear(s->row);
    s->row = next_result(s);
    ExecStatusType how = d->pq.result_status(s->row);
    if (how == PGRES_SINGLE_TUPLE)
        return 1;
    if (how != PGRES_COMMAND_OK && how != PGRES_TUPLES_OK) {
        r = keep_failure(d, s->row);
    } else {
        str_int(str_of(d->pq.rows_touched(s->row)), &n);
        d->changes = n;
    }
    drop_rows(s);
    return r;
}

/* ---- statements without waiting ---- */

/* Sends it and reads available results from the socket, so that neither side blocks the other. */
static int post(struct db_stmt *st)
{
    struct pg_stmt *s = stmt_of(st);
    struct pg_db *d = of(st->db);

    if (!d->in || d->waits || d->active || pg_is_lost(d) || (!d->pooled && s->connection != d->connections))
        return db_run(st); /* also prepares it */
    if (d->posted == 0 && !d->pq.pipeline(d->c))
        return db_run(st);
    d->posted++;
    int r = send_values(d, s);
    if (r == 0 && d->posted % POST_TURN == 0 && (d->pq.flush(d->c) < 0 || !d->pq.consume(d->c)))
        r = keep_failure(d, NULL);
    return r;
}

/* Reads at most n results, and the NULL after each. Returns r, or the first error. */
static int take_answers(struct pg_db *d, size_t n, int r)
{
    bool synced = false;

    for (size_t i = 0; r != -ENOTCONN && !synced && i < n; i++) {
        PGresult *res = get_result(d);
        ExecStatusType how = d->pq.result_status(res);
        if (r == 0 && (pg_is_lost(d) || (res && how == PGRES_FATAL_ERROR)))
            r = keep_failure(d, res);
        synced = res && how == PGRES_PIPELINE_SYNC;
        d->pq.clear(res);
    }
    return r;
}

static int leave_pipeline(struct pg_db *d, int r)
{
    if (!d->pq.end_pipeline(d->c)) {
        r = r < 0 ? r : keep_failure(d, NULL);
        d->over = true;
    }
    return r;
}

/* Reads the results of all posted statements. Returns 0 or the first error. */
static int settle_posted(struct pg_db *d)
{
    size_t n = 2 * d->posted + 2;
    int r = 0;

    if (d->posted == 0)
        return 0;
    if (!d->pq.sync(d->c))
        r = keep_unsent(d);
    d->posted = 0;
    return leave_pipeline(d, take_answers(d, n, r));
}

void pg_set_posts(struct db *db, bool posts)
{
    of(db)->waits = !posts;
}

static bool is_there(struct db_stmt *st, int i)
{
    const struct pg_lib *pq = &of(st->db)->pq;
    const PGresult *row = stmt_of(st)->row;

    return row && i < pq->columns(row) && !pq->is_null(row, 0, i);
}

static bool is_null(struct db_stmt *st, int i)
{
    return !is_there(st, i);
}

static struct str get_bytes(struct db_stmt *st, int i)
{
    const struct pg_lib *pq = &of(st->db)->pq;
    const PGresult *row = stmt_of(st)->row;

    return is_there(st, i) ? str_n(pq->value(row, 0, i), (size_t)pq->length(row, 0, i)) : STR("");
}

/* libpq NUL-terminates each value. */
static const char *get_text(struct db_stmt *st, int i)
{
    return get_bytes(st, i).p;
}

static int64_t get_number(struct db_stmt *st, int i)
{
    struct str s = get_bytes(st, i);
    int64_t v = s.len && (signed char)s.p[0] < 0 ? -1 : 0;

    if (s.len > sizeof(v))
        return 0; /* not a number */
    for (size_t k = 0; k < s.len; k++)
        v = (int64_t)((uint64_t)v << 8 | (uint8_t)s.p[k]);
    return v;
}

static void reset(struct db_stmt *st)
{
    drop_rows(stmt_of(st));
}

static uint64_t count_steps(UNUSED struct db_stmt *st)
{
    return 0;
}

/* ---- tables ---- */

static void tidy(UNUSED struct db *db, UNUSED bool all) {}

static int give_back(UNUSED struct db *db, UNUSED int n)
{
    return 0; /* the server does that */
}

/* ---- waiting ---- */

static bool take_notes(struct pg_db *d)
{
    bool any = false;

    for (PGnotify *n; (n = d->pq.notifies(d->c)); any = true)
        d->pq.free_memory(n);
    return any;
}

int pg_wait(struct db *db, int wake_fd, int64_t ms)
{
    struct pg_db *d = of(db);

    if (pg_is_lost(d))
        return -ENOTCONN;
    if (take_notes(d)) /* that arrived with a result */
        return 1;
    struct pollfd p[] = {{.fd = d->pq.socket(d->c), .events = POLLIN}, {.fd = wake_fd, .events = POLLIN}};
    if (poll(p, ARRAY_LEN(p), (int)MIN(ms, INT32_MAX)) <= 0 || !p[0].revents)
        return 0;
    if (!d->pq.consume(d->c) || pg_is_lost(d))
        return keep_failure(d, NULL);
    return take_notes(d);
}

uint64_t pg_connection(const struct db *db)
{
    return ((const struct pg_db *)db)->connections;
}

const struct db_engine pg_engine = {
    .open = pg_open,
    .close = pg_close,
    .fail = fail,
    .exec = exec_all,
    .begin = begin_transaction,
    .commit = commit,
    .rollback = rollback,
    .in_transaction = in_transaction,
    .changes = count_changes,
    .tidy = tidy,
    .used_bytes = pg_used_bytes,
    .give_back = give_back,
    .read_part = pg_read_part,
    .own_tables = pg_lock_tables,
    .get_version = pg_get_version,
    .set_version = pg_set_version,
    .columns = "SELECT attname::text FROM pg_attribute WHERE attrelid = to_regclass(?1) AND attnum > 0"
               " AND NOT attisdropped",
    .prepare = prepare,
    .finish = finish,
    .place = find_place,
    .bind_int = bind_int,
    .bind_text = bind_text,
    .bind_bytes = bind_bytes,
    .step = step,
    .post = post,
    .reset = reset,
    .is_null = is_null,
    .number = get_number,
    .text = get_text,
    .bytes = get_bytes,
    .steps = count_steps,
};
