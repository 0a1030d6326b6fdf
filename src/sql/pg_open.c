/* pg_open.c: connects to a server, and checks whether its tables are ours and current. */
#include <errno.h>

#include "base/mem.h"
#include "sql/pg.h"
#include "sql/pg_conn.h"
#include "sql/pg_tables.h"

#define NEWER_KNOWN 1 /* hubs work with tables up to this many versions newer, for upgrades of one hub at a time */

static int fail_connect(struct pg_db *d, struct err *err)
{
    bool needs = d->pq.needs_password(d->c);
    int code = pg_set_error(d, needs || d->pq.used_password(d->c) ? -EACCES : -ENOTCONN, d->pq.error(d->c));

    return err_set(err, code, "cannot connect to '%s': %s%s", d->place, d->why,
                   needs ? "; it wants a password, and none was given" : "");
}

static int connect_first(struct pg_db *d, const char *url, struct err *err)
{
    /* the URL overrides names before it, but not those after it */
    static const char *const names[] = {"connect_timeout", "tcp_user_timeout", "fallback_application_name",
                                        "dbname",          "client_encoding",  NULL};
    const char *const values[] = {"10", "15000", "muster", url, "UTF8", NULL};

    d->c = d->pq.connect(names, values, 1);
    d->connections = 1;
    if (pg_is_lost(d))
        return fail_connect(d, err);
    d->pq.on_notice(d->c, pg_on_notice, d);
    d->pq.nonblocking(d->c, 1);
    pg_detect_pooler(d);
    return 0;
}

static int check_version(struct pg_db *d, const struct db_kind *kind, int64_t version, struct err *err)
{
    if (version <= kind->version + NEWER_KNOWN)
        return 0;
    return err_set(err, -ENOTSUP,
                   "cannot use '%s': its tables were made by a newer muster (format %lld, this one knows up to %lld); "
                   "install that version",
                   d->place, (long long)version, (long long)kind->version + NEWER_KNOWN);
}

static int bring_up_to_date(struct pg_db *d, const struct db_kind *kind, enum db_mode mode, struct err *err)
{
    int64_t version = 0;
    int r = pg_get_version(&d->db, kind, &version);

    if (r < 0)
        return db_fail(&d->db, r, "read", err);
    r = check_version(d, kind, version, err);
    if (r < 0)
        return r;
    if (mode == DB_READ || mode == DB_STILL)
        return version ? 0 : err_set(err, -ENODATA, "cannot read '%s': it is empty", d->place);
    if (version < kind->version)
        r = db_make_tables(&d->db, kind);
    if (r == 0 && db_lacks_columns(&d->db, kind))
        r = db_add_columns(&d->db, kind);
    if (r == 0)
        r = pg_add_later(&d->db, kind);
    return r < 0 ? db_fail(&d->db, r, version ? "bring up to date" : "make tables in", err) : 0;
}

void pg_close(struct db *db)
{
    struct pg_db *d = (struct pg_db *)db;

    db_finish(d->part);
    for (size_t i = 0; i < PG_AHEADS; i++)
        buf_fini(&d->ahead[i].bytes);
    if (d->c)
        d->pq.finish(d->c);
    free(d->place);
    free(d);
}

int pg_open(struct db **ret, const char *url, const struct db_kind *kind, enum db_mode mode, struct err *err)
{
    struct pg_db *d = NEW(struct pg_db, .db = {&pg_engine, kind->pg_prefix}, .place = pg_shown_place(url));
    int r = pg_lib_load(&d->pq, err);

    if (r == 0)
        r = connect_first(d, url, err);
    if (r == 0)
        r = bring_up_to_date(d, kind, mode, err);
    if (r < 0) {
        pg_close(&d->db);
        return r;
    }
    *ret = &d->db;
    return 0;
}
