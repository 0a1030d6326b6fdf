/*
 * talk.h: one conversation: the question, the requests it takes, the answer as it grows. An answer is
 * written once and becomes both blocks and plain text.
 */
#pragma once

#include <jansson.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "slack/say.h"
#include "slack/web_answer.h"

struct say_command {
    const char *name;  /* what one types */
    const char *also;  /* words for the same, blanks between; NULL: none */
    const char *usage; /* "free [N] [filter]"; NULL: not listed */
    const char *about; /* for help */
    const char *hint;  /* what else there is where the hub says that it cannot be had now; NULL: nothing */
    bool acts;         /* for people we know alone */
    bool open;         /* for everybody */
    bool any_size;     /* its answers are handed on, not read */
    void (*ask)(struct say *s, struct str rest);               /* say_call, or an answer at once */
    void (*tell)(struct say *s, size_t call, struct str body); /* a good reply to the call-th; NULL: none comes */
    void (*tell_json)(struct say *s, json_t *o);               /* the same where there is one, and it is JSON */
};
/* Two functions of each, in the files of what they are about. */
#define SAY_PAIR(name)                                                                                                 \
    void say_ask_##name(struct say *s, struct str rest);                                                               \
    void say_tell_##name(struct say *s, size_t call, struct str body)
#define SAY_JSON(name)                                                                                                 \
    void say_ask_##name(struct say *s, struct str rest);                                                               \
    void say_tell_##name(struct say *s, json_t *o)
SAY_PAIR(free); /* now.c: what is so now */
SAY_PAIR(who);
SAY_PAIR(usage); /* past.c */
SAY_PAIR(history);
SAY_JSON(book); /* act.c: for people we know */
SAY_JSON(bookings);
SAY_JSON(release);
SAY_JSON(wait);
SAY_JSON(alerts); /* wrong.c */
SAY_PAIR(silence);
SAY_JSON(unsilence);

extern const struct say_command say_commands[], say_old_commands[SAY_OLDS + 1]; /* end with name NULL */

struct say {
    struct arena mem;
    struct say_ask ask; /* text and names copied */
    const struct say_command *cmd;
    size_t n_calls, at;
    struct say_call calls[SAY_CALLS_MAX];
    /* the answer */
    struct buf text, blocks, files;
    struct json j; /* on blocks */
    size_t n_blocks, n_files;
    struct message_file list[MESSAGE_FILES_MAX];
    size_t file_at[MESSAGE_FILES_MAX]; /* in files */
    bool ephemeral, refused;
    struct say_answer answer;
    /* what a command keeps from its question to its answer */
    const char *what, *title;
    int64_t count;
};

#define SAY_ARG(s) (int)MIN((s).len, 60u), (s).p /* a word of theirs, for "%.*s": the beginning of a long one */

/* ---- asking ---- */
const char *say_keep(struct say *s, struct str text);
void say_call(struct say *s, const char *method, const char *target, const struct buf *body); /* NULL: none */
void say_get(struct say *s, const char *target);
void say_member(struct json *j, const char *key, struct str value);     /* of a body; nothing where it is empty */
void say_param(struct buf *target, const char *name, struct str value); /* nothing where it is empty */

int64_t say_int(json_t *o, const char *key); /* of an answer's JSON; 0 where there is no such member */

/* ---- answering; text may be anything: it is escaped where it must be ---- */
enum say_part { PART_HEAD, PART_LINE, PART_SMALL, PART_NO };
/* False of a no alone, for whoever returns it. */
bool say_add(struct say *s, enum say_part part, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
#define say_head(s, ...)  say_add(s, PART_HEAD, __VA_ARGS__)
#define say_line(s, ...)  say_add(s, PART_LINE, __VA_ARGS__)  /* a paragraph */
#define say_small(s, ...) say_add(s, PART_SMALL, __VA_ARGS__) /* small print */
#define say_no(s, ...)    say_add(s, PART_NO, __VA_ARGS__)    /* the answer is no, for the asker's eyes */
/* Letters of one width; what is too long for a message becomes the file NAME.txt. */
void say_pre(struct say *s, const char *name, struct str text);
struct rows;
void say_rows(struct say *s, const char *name, const struct rows *r); /* the same for a table */
void say_file(struct say *s, const char *name, const char *title, const char *type, struct str bytes);
/* A row of buttons: each says a command when it is pressed. */
struct say_button {
    const char *label, *says;
};
void say_buttons(struct say *s, const struct say_button *v, size_t n);
/* Those under an alert: they silence it, or all of a rule (alert 0). */
void say_silences(struct say *s, int64_t alert, const char *rule);
