/* slack_event.c: reads Slack's JSON and forms into a struct slack_event. */
#include "slack/slack_event.h"

#include <errno.h>
#include <jansson.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"
#include "slack/web_answer.h"

#define URL_MAX 500

static const size_t texts[] = {
    offsetof(struct slack_event, id),      offsetof(struct slack_event, user),   offsetof(struct slack_event, channel),
    offsetof(struct slack_event, ts),      offsetof(struct slack_event, thread), offsetof(struct slack_event, text),
    offsetof(struct slack_event, respond),
};

/* In one piece, with the text as people typed it. */
static struct slack_event *heard_copy(const struct slack_event *h)
{
    AUTO_BUF plain = BUF_INIT((size_t)2 * SLACK_TEXT_MAX);
    struct slack_event with = *h;

    if (h->kind == HEARD_MESSAGE || h->kind == HEARD_COMMAND) {
        slack_plain(&plain, str_of(h->text));
        with.text = plain.p ? plain.p : "";
    }
    struct slack_event *to = mem_alloc(sizeof(*to) + mem_text_bytes(&with, texts, ARRAY_LEN(texts)));
    *to = with;
    mem_text_move(to, texts, ARRAY_LEN(texts), (char *)(to + 1));
    return to;
}

static struct slack_event *nothing(void)
{
    return heard_copy(&(struct slack_event){.kind = HEARD_NOTHING});
}

static struct slack_event *bad(struct err *err, const char *what)
{
    err_set(err, -EBADMSG, "Slack sent %s", what);
    return NULL;
}

/* ---- parts ---- */

/* Names that Slack gives, and times of messages: nothing else than these letters, so that they can stand anywhere. */
static bool id_ok(struct str s)
{
    static const char letters[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz.-_";

    return s.len <= SLACK_ID_MAX && !ANY(s.len, i, !strchr(letters, s.p[i]));
}

/* jansson's text may hold anything but NUL; lines of a message stay lines. */
static bool text_ok(const char *s)
{
    struct str rest = str_of(s), line;

    while (str_line(&rest, &line))
        if (!str_utf8_ok(line))
            return false;
    return strlen(s) <= SLACK_TEXT_MAX;
}

static bool heard_ok(const struct slack_event *h)
{
    return id_ok(str_of(h->id)) && id_ok(str_of(h->user)) && id_ok(str_of(h->channel)) && id_ok(str_of(h->ts)) &&
           id_ok(str_of(h->thread)) && strlen(h->respond) <= URL_MAX && str_visible(str_of(h->respond), "") &&
           text_ok(h->text);
}

static struct slack_event *checked(struct slack_event *h, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        const char **at = (const char **)(void *)((char *)h + texts[i]);
        *at = *at ? *at : "";
    }
    return heard_ok(h) ? heard_copy(h) : bad(err, "names or a text that are too long or no text");
}

/* "<@U0BOT> free" -> "free"; false: it begins with no name. */
static bool drop_mention(const char **text)
{
    struct str s = str_trim(str_of(*text));
    int end = str_starts(s, "<@") ? str_find(s, ">") : -1;

    if (end < 0)
        return false;
    *text = str_trim(str_n(s.p + end + 1, s.len - (size_t)end - 1)).p;
    return true;
}

/* ---- JSON ---- */

static struct slack_event *event_of(json_t *o, struct err *err)
{
    json_t *e = json_object_get(o, "event");
    const char *type = slack_text(e, "type");
    struct slack_event h = {.kind = HEARD_MESSAGE,
                            .id = slack_text(o, "event_id"),
                            .user = slack_text(e, "user"),
                            .channel = slack_text(e, "channel"),
                            .ts = slack_text(e, "ts"),
                            .thread = slack_text(e, "thread_ts"),
                            .text = slack_text(e, "text"),
                            .direct = strcmp(slack_text(e, "channel_type"), "im") == 0};
    bool mention = strcmp(type, "app_mention") == 0;

    if (strcmp(slack_text(o, "type"), "url_verification") == 0)
        return checked(&(struct slack_event){.kind = HEARD_CHALLENGE, .text = slack_text(o, "challenge")}, err);
    if (strcmp(slack_text(o, "type"), "event_callback") != 0)
        return bad(err, "an event of no kind");
    if ((!mention && strcmp(type, "message") != 0) || json_object_get(e, "subtype") || json_object_get(e, "bot_id") ||
        !h.user[0] || !h.channel[0] || !h.ts[0] || strlen(h.text) > SLACK_TEXT_MAX)
        return nothing();
    if (mention)
        drop_mention(&h.text);
    h.to_bot = mention || h.direct;
    return checked(&h, err);
}

static struct slack_event *action_of(json_t *o, struct err *err)
{
    json_t *first = json_array_get(json_object_get(o, "actions"), 0);
    json_t *message = json_object_get(o, "message"), *from = json_object_get(o, "container");
    struct slack_event h = {.kind = HEARD_BUTTON,
                            .to_bot = true,
                            .id = slack_text(o, "trigger_id"),
                            .user = slack_text(json_object_get(o, "user"), "id"),
                            .channel = slack_text(json_object_get(o, "channel"), "id"),
                            .ts = message ? slack_text(message, "ts") : slack_text(from, "message_ts"),
                            .thread = message ? slack_text(message, "thread_ts") : slack_text(from, "thread_ts"),
                            .text = slack_text(first, "value"),
                            .respond = slack_text(o, "response_url")};

    if (strcmp(slack_text(o, "type"), "block_actions") != 0 || !h.user[0] || !h.text[0])
        return nothing();
    if (strlen(h.text) > SLACK_VALUE_MAX)
        return bad(err, "a button with a value that is too long");
    return checked(&h, err);
}

struct slack_event *slack_command_parse(struct str (*get)(void *arg, const char *name), void *arg, struct err *err)
{
    static const struct {
        const char *name;
        size_t at, max;
    } fields[] = {{"trigger_id", offsetof(struct slack_event, id), SLACK_ID_MAX},
                  {"user_id", offsetof(struct slack_event, user), SLACK_ID_MAX},
                  {"channel_id", offsetof(struct slack_event, channel), SLACK_ID_MAX},
                  {"text", offsetof(struct slack_event, text), SLACK_TEXT_MAX},
                  {"response_url", offsetof(struct slack_event, respond), URL_MAX}};
    struct slack_event h = {.kind = HEARD_COMMAND, .to_bot = true};
    AUTO_ARENA room = {0};

    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        struct str v = str_trim(get(arg, fields[i].name));
        if (v.len > fields[i].max)
            return bad(err, "a command with a field that is too long");
        *(const char **)(void *)((char *)&h + fields[i].at) = arena_strn(&room, v.p, v.len);
    }
    if (!h.user[0] || !get(arg, "command").len)
        return bad(err, "a command without its name or its user");
    return checked(&h, err);
}

static struct str json_field(void *arg, const char *name)
{
    return str_of(slack_text(arg, name));
}

static json_t *load(struct str json, struct err *err)
{
    json_error_t at;
    json_t *o = json.len <= SLACK_BODY_MAX ? json_loadb(json.p ? json.p : "", json.len, 0, &at) : NULL;

    if (json_is_object(o))
        return o;
    json_decref(o);
    bad(err, json.len > SLACK_BODY_MAX ? "too much data" : "data that is not a JSON object");
    return NULL;
}

struct slack_event *slack_event_parse(struct str json, struct err *err)
{
    json_auto_t *o = load(json, err);

    return o ? event_of(o, err) : NULL;
}

struct slack_event *slack_action_parse(struct str json, struct err *err)
{
    json_auto_t *o = load(json, err);

    return o ? action_of(o, err) : NULL;
}

struct slack_event *slack_envelope_parse(struct str json, char *ret_id, struct err *err)
{
    json_auto_t *o = load(json, err);
    json_t *payload = json_object_get(o, "payload");
    const char *id = slack_text(o, "envelope_id"), *type = slack_text(o, "type");
    struct slack_event *h = NULL;

    if (o && (!id[0] || !id_ok(str_of(id)))) {
        bad(err, "an envelope without a name");
    } else if (o) {
        mem_copy_str(ret_id, SLACK_ID_MAX + 1, id);
        if (strcmp(type, "events_api") == 0)
            h = event_of(payload, err);
        else if (strcmp(type, "interactive") == 0)
            h = action_of(payload, err);
        else if (strcmp(type, "slash_commands") == 0)
            h = slack_command_parse(json_field, payload, err);
        else
            h = nothing();
    }
    return h;
}

enum slack_frame slack_frame_kind(struct str json)
{
    json_auto_t *o = load(json, NULL);
    const char *type = slack_text(o, "type"), *reason = slack_text(o, "reason");
    enum slack_frame kind = SLACK_OTHER;

    if (!o)
        kind = SLACK_BAD;
    else if (json_object_get(o, "envelope_id"))
        kind = SLACK_ENVELOPE;
    else if (strcmp(type, "hello") == 0)
        kind = SLACK_HELLO;
    else if (strcmp(type, "disconnect") == 0)
        kind = strcmp(reason, "link_disabled") == 0 ? SLACK_DISABLED
               : strcmp(reason, "warning") == 0     ? SLACK_WARNING
                                                    : SLACK_REFRESH;
    return kind;
}

/* ---- text ---- */

/* What stands between < and >: an address or a channel with a name behind |, or a person, which stays as it is. */
static void plain_link(struct buf *out, struct str in)
{
    struct str link;

    if (str_starts(in, "@")) {
        buf_addf(out, "<%.*s>", STR_ARG(in));
        return;
    }
    if (str_starts(in, "!") || str_starts(in, "#")) {
        buf_addc(out, in.p[0]);
        in = str_drop(in, 1);
    }
    str_cut(&in, '|', &link);
    slack_plain(out, in.len ? in : link); /* no < can be in it: depth is two at most */
}

void slack_plain(struct buf *out, struct str text)
{
    static const char *const escapes[] = {"&amp;", "&lt;", "&gt;"};

    for (size_t i = 0; i < text.len;) {
        struct str rest = str_n(text.p + i, text.len - i);
        const char *end = rest.p[0] == '<' ? memchr(rest.p, '>', rest.len) : NULL;
        size_t k = FIRST(ARRAY_LEN(escapes), e, str_starts(rest, escapes[e]));
        if (k < ARRAY_LEN(escapes)) {
            buf_addc(out, "&<>"[k]);
            i += strlen(escapes[k]);
        } else if (end && !memchr(rest.p + 1, '<', (size_t)(end - rest.p) - 1)) {
            plain_link(out, str_n(rest.p + 1, (size_t)(end - rest.p) - 1));
            i += (size_t)(end - rest.p) + 1;
        } else {
            buf_addc(out, rest.p[0]);
            i++;
        }
    }
}
