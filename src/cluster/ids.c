/* ids.c: reserves ids in blocks; a sequence increments by the block size. */
#include "cluster/ids.h"

#include "base/mem.h"
#include "model/note.h"

/* top: the highest existing id; a sequence does not have it after a move. */
static const struct {
    int64_t step;
    const char *name, *top;
} sequences[IDS_KINDS] = {
    [IDS_BOOKING] = {16, "booking_ids", "SELECT coalesce(max(id), 0) FROM holds"},
    [IDS_NOTE] = {64, "note_ids",
                  "SELECT coalesce(max(id), 0) FROM notes WHERE kind IN (2, 3)"}, /* silences, messages */
};
_Static_assert(NOTE_SILENCE == 2 && NOTE_MESSAGE == 3, "the kinds in the statement above");

/* Within the caller's transaction, which keeps other hubs from reserving meanwhile. */
static int take_block(struct db *db, enum hub_ids of, int64_t *ret)
{
    AUTO_FREE char *next = mem_fmt("SELECT nextval('%s')", sequences[of].name);
    int64_t top = 0;
    int r = db_exec(db, "SELECT pg_advisory_xact_lock(1836413033)"); /* "musi" */

    if (r == 0)
        r = db_int(db, next, ret);
    if (r == 0)
        r = db_int(db, sequences[of].top, &top);
    if (r == 0 && *ret <= top) {
        AUTO_FREE char *raise = mem_fmt("SELECT setval('%s', %lld)", sequences[of].name, (long long)top);
        r = db_exec(db, raise);
        if (r == 0)
            r = db_int(db, next, ret);
    }
    return r;
}

int ids_take(struct db *db, enum hub_ids of, int64_t *ret_first, int64_t *ret_end, struct err *err)
{
    int64_t first = 0;
    int r = db_begin(db, true);

    if (r == 0)
        r = db_end(db, take_block(db, of, &first));
    if (r < 0)
        return db_fail(db, r, "take numbers from", err);
    *ret_first = first;
    *ret_end = first + sequences[of].step;
    return 0;
}
