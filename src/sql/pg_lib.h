/* pg_lib.h: libpq's functions, loaded at run time by hubs with a store on PostgreSQL: other hubs do not need libpq. */
#pragma once

#if __has_include(<postgresql/libpq-fe.h>) /* path on Debian */
#include <postgresql/libpq-fe.h>
#else
#include <libpq-fe.h>
#endif

#include "base/err.h"

#define PG_CALLS(X)                                                                                                    \
    X(connect, "PQconnectdbParams", PGconn *, (const char *const *, const char *const *, int))                         \
    X(finish, "PQfinish", void, (PGconn *))                                                                            \
    X(reset, "PQreset", void, (PGconn *))                                                                              \
    X(status, "PQstatus", ConnStatusType, (const PGconn *))                                                            \
    X(error, "PQerrorMessage", char *, (const PGconn *))                                                               \
    X(needs_password, "PQconnectionNeedsPassword", int, (const PGconn *))                                              \
    X(used_password, "PQconnectionUsedPassword", int, (const PGconn *))                                                \
    X(on_notice, "PQsetNoticeReceiver", PQnoticeReceiver, (PGconn *, PQnoticeReceiver, void *))                        \
    X(socket, "PQsocket", int, (const PGconn *))                                                                       \
    X(nonblocking, "PQsetnonblocking", int, (PGconn *, int))                                                           \
    X(flush, "PQflush", int, (PGconn *))                                                                               \
    X(consume, "PQconsumeInput", int, (PGconn *))                                                                      \
    X(is_busy, "PQisBusy", int, (PGconn *))                                                                            \
    X(query, "PQsendQuery", int, (PGconn *, const char *))                                                             \
    X(prepare, "PQsendPrepare", int, (PGconn *, const char *, const char *, int, const Oid *))                         \
    X(notifies, "PQnotifies", PGnotify *, (PGconn *))                                                                  \
    X(free_memory, "PQfreemem", void, (void *))                                                                        \
    X(send, "PQsendQueryPrepared", int,                                                                                \
      (PGconn *, const char *, int, const char *const *, const int *, const int *, int))                               \
    X(send_text, "PQsendQueryParams", int,                                                                             \
      (PGconn *, const char *, int, const Oid *, const char *const *, const int *, const int *, int))                  \
    X(pipeline, "PQenterPipelineMode", int, (PGconn *))                                                                \
    X(end_pipeline, "PQexitPipelineMode", int, (PGconn *))                                                             \
    X(sync, "PQpipelineSync", int, (PGconn *))                                                                         \
    X(backend, "PQbackendPID", int, (const PGconn *))                                                                  \
    X(single_row, "PQsetSingleRowMode", int, (PGconn *))                                                               \
    X(get_result, "PQgetResult", PGresult *, (PGconn *))                                                               \
    X(clear, "PQclear", void, (PGresult *))                                                                            \
    X(result_status, "PQresultStatus", ExecStatusType, (const PGresult *))                                             \
    X(error_field, "PQresultErrorField", char *, (const PGresult *, int))                                              \
    X(command, "PQcmdStatus", char *, (PGresult *))                                                                    \
    X(rows_touched, "PQcmdTuples", char *, (PGresult *))                                                               \
    X(columns, "PQnfields", int, (const PGresult *))                                                                   \
    X(value, "PQgetvalue", char *, (const PGresult *, int, int))                                                       \
    X(length, "PQgetlength", int, (const PGresult *, int, int))                                                        \
    X(is_null, "PQgetisnull", int, (const PGresult *, int, int))

struct pg_lib {
    void *lib;
#define X(field, symbol, type, args) type(*field) args;
    PG_CALLS(X)
#undef X
};

int pg_lib_load(struct pg_lib *ret, struct err *err); /* never unloaded */
