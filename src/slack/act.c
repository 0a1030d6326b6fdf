/*
 * act.c: what the bot does that changes something: book, release, wait. The API decides who may, and answers when it is
 * durable.
 */

#include "model/rows.h"
#include "slack/words.h"

/* ---- book ---- */

static bool understood(struct dialog *s, const struct dialog_words *w, const char *as)
{
    return !w->odd.len || dialog_no(s, "I do not understand '%.*s'. Example: `%s`.", DIALOG_ARG(w->odd), as);
}

void dialog_query_book(struct dialog *s, struct str rest)
{
    AUTO_BUF body = BUF_INIT(8192);
    struct json j = json_on(&body);
    struct dialog_words w;

    if (!str_trim(rest).len) {
        dialog_no(s, "How many or which GPUs, and for how long? Examples: `book 2 h200 for 4h`, `book dgx2:0,1 until "
                     "friday 18:00`.");
        return;
    }
    if (!dialog_words(s, rest, &w) || !understood(s, &w, "book 2 h200 on dgx2 for 4h from tomorrow 9:00"))
        return;
    if (w.mem.len) {
        dialog_no(s, "I cannot book by memory size. Name a model or a node: `book 2 h200 for 4h`.");
        return;
    }
    if (!w.for_ms && !w.until_ms) {
        dialog_no(s, "For how long, or until when? Example: `book %.*s for 4h`.", (int)MIN(str_trim(rest).len, 200u),
                  str_trim(rest).p);
        return;
    }
    json_obj(&j, NULL);
    if (w.places.len) {
        json_str(&j, "gpus", w.places);
    } else {
        json_int(&j, "count", MAX(w.count, 1));
        dialog_member(&j, "model", w.model);
        dialog_member(&j, "node", w.node);
    }
    if (w.for_ms)
        json_int(&j, "for", w.for_ms);
    else
        json_int(&j, "until", w.until_ms);
    if (w.from_ms)
        json_int(&j, "from", w.from_ms);
    dialog_member(&j, "comment", w.because);
    json_end_obj(&j);
    dialog_call(s, "POST", "/api/v1/bookings", &body);
}

void dialog_reply_book(struct dialog *s, json_t *o)
{
    int64_t id = dialog_int(o, "id"), from = dialog_int(o, "from");
    bool later = from > s->ask.now_ms + 60000;
    char says[40];

    dialog_line(s, "Booked for %s: %s%s%s until %s.", slack_text(o, "person"), slack_text(o, "where"),
                later ? " from " : "", later ? dialog_when(s, from) : "", dialog_when(s, dialog_int(o, "until")));
    dialog_small(s, "This is booking %lld. `release %lld` ends it early.", (long long)id, (long long)id);
    snprintf(says, sizeof(says), "release %lld", (long long)id);
    dialog_buttons(s, &(struct dialog_button){"release", says}, 1);
}

/* ---- what is booked, and giving it back ---- */

void dialog_query_bookings(struct dialog *s, UNUSED struct str rest)
{
    dialog_get(s, "/api/v1/bookings");
}

void dialog_reply_bookings(struct dialog *s, json_t *o)
{
    static const struct column_spec columns[] = {
        {"id", "ID", CELL_INT, .right = true, .weight = 100}, {"person", "USER", CELL_TEXT, .weight = 99},
        {"where", "WHERE", CELL_TEXT, .weight = 98},          {"from", "FROM", CELL_TEXT, .weight = 80},
        {"until", "UNTIL", CELL_TEXT, .weight = 90},          {"comment", "COMMENT", CELL_TEXT, .weight = 20},
    };
    json_t *list = json_is_array(o) ? o : json_object_get(o, "rows"), *row;
    struct rows rows;
    size_t i;

    rows_init(&rows, columns, ARRAY_LEN(columns));
    json_array_foreach (list, i, row) {
        struct cell *c = rows_add(&rows);
        cell_int(&c[0], dialog_int(row, "id"));
        cell_text(&c[1], str_of(slack_text(row, "person")));
        cell_text(&c[2], str_of(slack_text(row, "where")));
        cell_some_text(&c[3], dialog_int(row, "from") ? dialog_when(s, dialog_int(row, "from")) : "");
        cell_text(&c[4], str_of(dialog_when(s, dialog_int(row, "until"))));
        cell_some_text(&c[5], slack_text(row, "comment"));
    }
    if (rows.n)
        dialog_rows(s, "bookings", &rows);
    else
        dialog_line(s, "There are no bookings.");
    rows_fini(&rows);
}

/* The number in "booking 7", "#7", "7". */
static bool number_in(struct str rest, int64_t *ret)
{
    struct str w;

    while (str_word(&rest, &w)) {
        if (w.len && w.p[0] == '#')
            w = str_n(w.p + 1, w.len - 1);
        if (str_int(w, ret) && *ret > 0)
            return true;
    }
    return false;
}

void dialog_query_release(struct dialog *s, struct str rest)
{
    AUTO_BUF target = BUF_INIT(128);
    int64_t id;

    if (!number_in(rest, &id)) {
        dialog_no(s, "Which booking? Example: `release 7`. `bookings` lists them.");
        return;
    }
    buf_addf(&target, "/api/v1/bookings/%lld", (long long)id);
    dialog_call(s, "DELETE", target.p, NULL);
}

void dialog_reply_release(struct dialog *s, json_t *o)
{
    if (slack_text(o, "where")[0])
        dialog_line(s, "Released: %s.", slack_text(o, "where"));
    else
        dialog_line(s, "You left the queue.");
}

/* ---- wait ---- */

#define WAIT_HOLD_MS (15 * 60000ll) /* who is told by a message needs a while to come */

void dialog_query_wait(struct dialog *s, struct str rest)
{
    AUTO_BUF body = BUF_INIT(8192);
    struct json j = json_on(&body);
    struct dialog_words w;

    if (!dialog_words(s, rest, &w) || !understood(s, &w, "wait 4 h200 on dgx2 40G"))
        return;
    if (w.places.len || w.from_ms || w.until_ms) {
        dialog_no(s, "For certain GPUs or a later time use `book`. `wait 4 h200` queues for the next free GPUs.");
        return;
    }
    json_obj(&j, NULL);
    json_int(&j, "count", MAX(w.count, 1));
    dialog_member(&j, "model", w.model);
    dialog_member(&j, "node", w.node);
    dialog_member(&j, "mem", w.mem);
    if (w.one_node)
        json_bool(&j, "same_host", true);
    json_int(&j, "hold", WAIT_HOLD_MS);
    json_bool(&j, "tell", true);
    if (w.for_ms)
        json_int(&j, "need", w.for_ms);
    dialog_member(&j, "comment", w.because);
    json_end_obj(&j);
    s->count = MAX(w.count, 1);
    dialog_call(s, "POST", "/api/v1/waits", &body);
}

void dialog_reply_wait(struct dialog *s, json_t *o)
{
    int64_t id = dialog_int(o, "id"), ahead = dialog_int(o, "ahead");
    char says[40], line[64];

    if (ahead)
        snprintf(line, sizeof(line), "%lld ahead of you", (long long)ahead);
    else
        snprintf(line, sizeof(line), "you are next");
    dialog_line(s,
                "You are in the queue for %lld GPU%s: %s. I send you a message when it is your turn; you then have %d "
                "minutes to use them.",
                (long long)s->count, s->count == 1 ? "" : "s", line, (int)(WAIT_HOLD_MS / 60000));
    dialog_small(s, "This is wait %lld, for a day at most. `release %lld` leaves the queue.", (long long)id,
                 (long long)id);
    snprintf(says, sizeof(says), "release %lld", (long long)id);
    dialog_buttons(s, &(struct dialog_button){"leave the queue", says}, 1);
}
