/* events.c: reads {"data":{"project":{"run":{"events":["...", ...]}}}} in one pass. */
#include "wandb_pull/events.h"

#include <jansson.h>

#include "base/buf.h"
#include "wandb_pull/fold.h"
#include "wandb_pull/graphql.h"
#include "wandb_pull/scan.h"
#include "wandb_pull/web_answer.h"

struct walk {
    struct scan at;
    struct buf *room;
    events_fn *each;
    void *arg;
    int64_t n;
};

/* ---- samples ---- */

/* A sample without its escapes. Pairs of \u (letters beyond the usual) are left to the library. */
static bool unescape(struct str s, struct buf *out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *p = s.p, *end = s.p + s.len;

    buf_reset(out);
    while (p < end) {
        const char *esc = memchr(p, '\\', (size_t)(end - p));
        buf_add(out, p, (size_t)((esc ? esc : end) - p));
        if (!esc)
            break;
        const char *at = strchr(from, esc[1]);
        if (at && *at) {
            buf_addc(out, to[at - from]);
            p = esc + 2;
        } else {
            uint64_t c = 0;
            if (esc[1] != 'u' || end - esc < 6 || !str_hex(str_n(esc + 2, 4), &c) || c == 0 ||
                (c >= 0xD800 && c < 0xE000) || strchr("xX", esc[3]))
                return false;
            buf_addutf8(out, (uint32_t)c);
            p = esc + 6;
        }
    }
    return out->err == 0;
}

static bool samples(struct walk *w)
{
    struct str s;
    bool escaped;

    if (!scan_accept(&w->at, '['))
        return scan_value(&w->at, &s) && str_eq(s, "null");
    if (scan_accept(&w->at, ']'))
        return true;
    do {
        if (!scan_string(&w->at, &s, &escaped) || s.len > FOLD_EVENT_MAX || !unescape(s, w->room))
            return false;
        w->each(w->arg, buf_str(w->room));
        w->n++;
    } while (scan_accept(&w->at, ','));
    return scan_accept(&w->at, ']');
}

/* An object on the path: follows the member names[0], skips all others. */
static bool follow(struct walk *w, const char *const *names)
{
    struct str key, passed;
    bool found = false, escaped;

    if (!names[0])
        return samples(w);
    if (!scan_accept(&w->at, '{') ||
        scan_accept(&w->at, '}')) /* an empty object lacks it: the library makes the error */
        return false;
    do {
        if (!scan_string(&w->at, &key, &escaped) || !scan_accept(&w->at, ':') || str_starts(key, "error") || escaped)
            return false;
        if (str_eq(key, names[0])) {
            if (found || !follow(w, names + 1))
                return false;
            found = true;
        } else if (!scan_value(&w->at, &passed)) {
            return false;
        }
    } while (scan_accept(&w->at, ','));
    return scan_accept(&w->at, '}') && found;
}

/* ---- the reply ---- */

static int64_t by_library(const char *what, struct str body, events_fn *each, void *arg, struct err *err)
{
    json_auto_t *data = NULL;
    const json_t *list = NULL, *e;
    size_t i;
    int64_t n = 0;
    int r = wandb_answer_data(what, 200, body, &data, err) ?: graphql_events_parse(data, &list, err);

    json_array_foreach (list, i, e) {
        if (!json_is_string(e))
            continue;
        each(arg, str_n(json_string_value(e), json_string_length(e)));
        n++;
    }
    return r < 0 ? r : n;
}

int64_t events_read(const char *what, struct str body, struct buf *room, events_fn *each, void *arg, struct err *err)
{
    static const char *const way[] = {"data", "project", "run", "events", NULL};
    struct walk w = {.at = {body.p, body.p + body.len}, .room = room, .each = each, .arg = arg};

    if (follow(&w, way)) {
        scan_blanks(&w.at);
        if (w.at.p == w.at.end)
            return w.n;
    }
    if (w.n)
        each(arg, (struct str){0});
    return by_library(what, body, each, arg, err);
}
