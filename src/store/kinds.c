/*
 * kinds.c: the fields of nodes, events, tokens, notes, settings and marks in muster.db, one line each; model/record.h
 * describes the format.
 */
#include "store/kinds.h"

#include "base/mem.h"
#include "model/booking.h"
#include "model/fact.h"
#include "model/job.h"

#define NODE(no, field, type, column, ...) RECORD_FIELD(store_node, no, field, type, column, NULL, 0, __VA_ARGS__)
static const struct record_field node_fields[] = {
    NODE(1, key, NAME, "key", .put = PUT_KEY),
    NODE(2, name, NAME, "name", .put = PUT_KEEP),
    NODE(3, own_name, NAME, "own_name"),
    NODE(4, address, NAME, "address"),
    NODE(5, retired, FLAG, "retired", .put = PUT_KEEP),
    NODE(6, maintenance, FLAG, "maintenance", .put = PUT_KEEP),
    NODE(7, demo, FLAG, "demo"),
    NODE(8, first_ms, INT, "first_ms", .put = PUT_FIRST),
    NODE(9, last_ms, INT, "last_ms", .put = PUT_MAX),
    NODE(10, facts, INT, "facts", .put = PUT_FILL),
    NODE(11, procs, INT, "procs", .put = PUT_FILL),
    NODE(12, secret, NAME, "secret", .put = PUT_FILL),
    NODE(13, sampled_ms, INT, "sampled_ms", .put = PUT_MAX),
};
static const struct record_kind node_record = {"nodes", node_fields, ARRAY_LEN(node_fields), sizeof(struct store_node)};

#define EVENT(no, field, type, column) RECORD_FIELD(store_event, no, field, type, column, NULL, 0)
static const struct record_field event_fields[] = {
    EVENT(1, node, TEXT, "node"),       EVENT(2, device, TEXT, "device"),  EVENT(3, event.at_ms, INT, "at_ms"),
    EVENT(4, event.kind, INT, "kind"),  EVENT(5, event.slot, INT, "slot"), EVENT(6, event.code, INT, "code"),
    EVENT(7, event.text, NAME, "text"),
};
static const struct record_kind event_record = {"events", event_fields, ARRAY_LEN(event_fields),
                                                sizeof(struct store_event)};

#define TOKEN(no, field, type, column, ...) RECORD_FIELD(store_token, no, field, type, column, NULL, 0, __VA_ARGS__)
static const struct record_field token_fields[] = {
    TOKEN(1, id, NAME, "id", .put = PUT_KEY),
    TOKEN(2, role, NAME, "role"),
    TOKEN(3, person, NAME, "person"),
    TOKEN(4, node, NAME, "node"),
    TOKEN(5, note, NAME, "note"),
    TOKEN(6, hash, BYTES, "hash"),
    TOKEN(7, created_ms, INT, "created_ms"),
    TOKEN(8, revoked_ms, INT, "revoked_ms"),
    TOKEN(9, used_ms, INT, "used_ms"),
    TOKEN(10, expires_ms, INT, "expires_ms"),
    TOKEN(11, uses, INT, "uses"),
    TOKEN(12, enrolled, INT, "enrolled"),
};
static const struct record_kind token_record = {"tokens", token_fields, ARRAY_LEN(token_fields),
                                                sizeof(struct store_token)};

#define NOTE(no, field, type, column, ...) RECORD_FIELD(note, no, field, type, column, NULL, 0, __VA_ARGS__)
static const struct record_field note_fields[] = {
    NOTE(1, kind, INT, "kind", .put = PUT_KEY),
    NOTE(2, id, ID, "id", .put = PUT_KEY),
    NOTE(3, over_ms, TIME, "over_ms"),
    NOTE(4, bytes, BLOB, "bytes"),
};
static const struct record_kind note_record = {"notes", note_fields, ARRAY_LEN(note_fields), sizeof(struct note)};

static const struct record_field setting_fields[] = {
    RECORD_FIELD(store_setting, 1, name, TEXT, "name", NULL, 0, .put = PUT_KEY),
    RECORD_FIELD(store_setting, 2, value, BLOB, "value", NULL, 0),
};
static const struct record_kind setting_record = {"settings", setting_fields, ARRAY_LEN(setting_fields),
                                                  sizeof(struct store_setting)};

static const struct record_field mark_fields[] = {
    RECORD_FIELD(usage_mark, 1, node, TEXT, "node", NULL, 0, .put = PUT_KEY),
    RECORD_FIELD(usage_mark, 2, at_ms, TIME, "at_ms", NULL, 0, .put = PUT_KEY),
    RECORD_FIELD(usage_mark, 3, seq, ID, "seq", NULL, 0, .put = PUT_MAX),
};
static const struct record_kind mark_record = {"usage_marks", mark_fields, ARRAY_LEN(mark_fields),
                                               sizeof(struct usage_mark)};

const struct record_kind *const main_records[] = {
    [STORE_NODE] = &node_record,   [STORE_PROC] = &proc_record,       [STORE_EVENT] = &event_record,
    [STORE_JOB] = &job_record,     [STORE_BOOKING] = &booking_record, [STORE_NOTE] = &note_record,
    [STORE_TOKEN] = &token_record, [STORE_SETTING] = &setting_record, [STORE_USAGE_MARK] = &mark_record,
    [STORE_TABLES] = NULL,
};
