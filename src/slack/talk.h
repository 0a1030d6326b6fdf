/*
 * talk.h: one conversation: the question, the requests it takes, the answer as it grows. An answer is
 * written once and becomes both blocks and plain text.
 */
#pragma once

#include <jansson.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "slack/dialog.h"
#include "slack/web_answer.h"

struct dialog_command {
    const char *name;  /* what one types */
    const char *also;  /* words for the same, blanks between; NULL: none */
    const char *usage; /* "free [N] [filter]"; NULL: not listed */
    const char *about; /* for help */
    const char *hint;  /* what else there is where the hub says that it cannot be had now; NULL: nothing */
    bool acts;         /* for people we know alone */
    bool open;         /* for everybody */
    bool any_size;     /* its answers are handed on, not read */
    void (*ask)(struct dialog *s, struct str rest);               /* dialog_call, or an answer at once */
    void (*tell)(struct dialog *s, size_t call, struct str body); /* a good reply to the call-th; NULL: none comes */
    void (*tell_json)(struct dialog *s, json_t *o);               /* the same where there is one, and it is JSON */
};
/* Two functions of each, in the files of what they are about. */
#define DIALOG_PAIR(name)                                                                                              \
    void dialog_query_##name(struct dialog *s, struct str rest);                                                       \
    void dialog_reply_##name(struct dialog *s, size_t call, struct str body)
#define DIALOG_JSON(name)                                                                                              \
    void dialog_query_##name(struct dialog *s, struct str rest);                                                       \
    void dialog_reply_##name(struct dialog *s, json_t *o)
DIALOG_PAIR(free); /* now.c: what is so now */
DIALOG_PAIR(who);
DIALOG_PAIR(usage); /* past.c */
DIALOG_PAIR(history);
DIALOG_JSON(book); /* act.c: for people we know */
DIALOG_JSON(bookings);
DIALOG_JSON(release);
DIALOG_JSON(wait);
DIALOG_JSON(alerts); /* wrong.c */
DIALOG_PAIR(silence);
DIALOG_JSON(unsilence);

extern const struct dialog_command dialog_commands[], dialog_old_commands[DIALOG_OLDS + 1]; /* end with name NULL */

struct dialog {
    struct arena mem;
    struct dialog_params ask; /* text and names copied */
    const struct dialog_command *cmd;
    size_t n_calls, at;
    struct dialog_call calls[DIALOG_CALLS_MAX];
    /* the answer */
    struct buf text, blocks, files;
    struct json j; /* on blocks */
    size_t n_blocks, n_files;
    struct message_file list[MESSAGE_FILES_MAX];
    size_t file_at[MESSAGE_FILES_MAX]; /* in files */
    bool ephemeral, refused;
    struct dialog_answer answer;
    /* what a command keeps from its question to its answer */
    const char *what, *title;
    int64_t count;
};

#define DIALOG_ARG(s) (int)MIN((s).len, 60u), (s).p /* a word of theirs, for "%.*s": the beginning of a long one */

/* ---- asking ---- */
const char *dialog_keep(struct dialog *s, struct str text);
void dialog_call(struct dialog *s, const char *method, const char *target, const struct buf *body); /* NULL: none */
void dialog_get(struct dialog *s, const char *target);
void dialog_member(struct json *j, const char *key, struct str value);     /* of a body; nothing where it is empty */
void dialog_param(struct buf *target, const char *name, struct str value); /* nothing where it is empty */

int64_t dialog_int(json_t *o, const char *key); /* of an answer's JSON; 0 where there is no such member */

/* ---- answering; text may be anything: it is escaped where it must be ---- */
enum dialog_part { PART_HEAD, PART_LINE, PART_SMALL, PART_NO };
/* False of a no alone, for whoever returns it. */
bool dialog_add(struct dialog *s, enum dialog_part part, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
#define dialog_head(s, ...)  dialog_add(s, PART_HEAD, __VA_ARGS__)
#define dialog_line(s, ...)  dialog_add(s, PART_LINE, __VA_ARGS__)  /* a paragraph */
#define dialog_small(s, ...) dialog_add(s, PART_SMALL, __VA_ARGS__) /* small print */
#define dialog_no(s, ...)    dialog_add(s, PART_NO, __VA_ARGS__)    /* the answer is no, for the asker's eyes */
/* Letters of one width; what is too long for a message becomes the file NAME.txt. */
void dialog_pre(struct dialog *s, const char *name, struct str text);
struct rows;
void dialog_rows(struct dialog *s, const char *name, const struct rows *r); /* the same for a table */
void dialog_file(struct dialog *s, const char *name, const char *title, const char *type, struct str bytes);
/* A row of buttons: each says a command when it is pressed. */
struct dialog_button {
    const char *label, *says;
};
void dialog_buttons(struct dialog *s, const struct dialog_button *v, size_t n);
/* Those under an alert: they silence it, or all of a rule (alert 0). */
void dialog_silences(struct dialog *s, int64_t alert, const char *rule);
