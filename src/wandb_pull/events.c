/* events.c: reads {"data":{"project":{"run":{"events":["...", ...]}}}} in one pass. */
#include "wandb_pull/events.h"

#include <errno.h>
#include <jansson.h>

#include "base/mem.h"
#include "wandb_pull/ask.h"
#include "wandb_pull/fold.h"
#include "wandb_pull/web_answer.h"

enum { DEPTH_MAX = 64 };

struct walk {
    const char *p, *end;
    struct buf *room;
    events_fn *each;
    void *arg;
    int64_t n;
};

/* ---- JSON, passed over ---- */

static void blanks(struct walk *w)
{
    while (w->p < w->end && (*w->p == ' ' || *w->p == '\t' || *w->p == '\n' || *w->p == '\r'))
        w->p++;
}

static bool took(struct walk *w, char c)
{
    blanks(w);
    if (w->p == w->end || *w->p != c)
        return false;
    w->p++;
    return true;
}

static bool took_word(struct walk *w, const char *word)
{
    size_t n = strlen(word);

    blanks(w);
    if ((size_t)(w->end - w->p) < n || memcmp(w->p, word, n) != 0)
        return false;
    w->p += n;
    return true;
}

/* What stands between the quotes, escapes and all. */
static bool text(struct walk *w, struct str *ret)
{
    if (!took(w, '"'))
        return false;
    const char *from = w->p;
    for (; w->p < w->end && *w->p != '"'; w->p++) {
        if ((unsigned char)*w->p < ' ')
            return false;
        if (*w->p == '\\' && ++w->p == w->end)
            return false;
    }
    if (w->p == w->end)
        return false;
    *ret = str_n(from, (size_t)(w->p++ - from));
    return true;
}

/* Any value; only what nests is told from what does not: whether it is right is not looked at. */
static bool skip(struct walk *w)
{
    struct str s;
    int depth = 0;

    do {
        blanks(w);
        if (w->p == w->end)
            return false;
        char c = *w->p;
        if (c == '"') {
            if (!text(w, &s))
                return false;
        } else if (c == '{' || c == '[') {
            if (++depth > DEPTH_MAX)
                return false;
            w->p++;
        } else if (c == '}' || c == ']') {
            if (--depth < 0)
                return false;
            w->p++;
        } else if (c == ',' || c == ':') {
            if (depth == 0)
                return false;
            w->p++;
        } else {
            if (!c) /* strchr below would stop at it for ever */
                return false;
            while (w->p < w->end && !strchr(" \t\r\n,:{}[]\"", *w->p))
                w->p++;
        }
    } while (depth > 0);
    return true;
}

/* ---- samples ---- */

static int hex4(const char *p)
{
    int v = 0;

    for (int i = 0; i < 4; i++) {
        int c = p[i] | 32;
        if (p[i] >= '0' && p[i] <= '9')
            v = v * 16 + p[i] - '0';
        else if (c >= 'a' && c <= 'f')
            v = v * 16 + c - 'a' + 10;
        else
            return -1;
    }
    return v;
}

static void add_utf8(struct buf *b, unsigned c)
{
    if (c < 0x80) {
        buf_addc(b, (char)c);
    } else if (c < 0x800) {
        buf_addc(b, (char)(0xC0 | c >> 6));
        buf_addc(b, (char)(0x80 | (c & 63)));
    } else {
        buf_addc(b, (char)(0xE0 | c >> 12));
        buf_addc(b, (char)(0x80 | (c >> 6 & 63)));
        buf_addc(b, (char)(0x80 | (c & 63)));
    }
}

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
            int c = esc[1] == 'u' && end - esc >= 6 ? hex4(esc + 2) : -1;
            if (c <= 0 || (c >= 0xD800 && c < 0xE000))
                return false;
            add_utf8(out, (unsigned)c);
            p = esc + 6;
        }
    }
    return out->err == 0;
}

static bool samples(struct walk *w)
{
    struct str s;

    if (took_word(w, "null"))
        return true;
    if (!took(w, '['))
        return false;
    if (took(w, ']'))
        return true;
    do {
        if (!text(w, &s) || s.len > FOLD_EVENT_MAX || !unescape(s, w->room))
            return false;
        w->each(w->arg, buf_str(w->room));
        w->n++;
    } while (took(w, ','));
    return took(w, ']');
}

/* An object on the way down: names[0] is the member to follow, all else is passed over. */
static bool follow(struct walk *w, const char *const *names)
{
    struct str key;
    bool found = false;

    if (!names[0])
        return samples(w);
    if (!took(w, '{') || took(w, '}')) /* an empty one lacks it: the library says how */
        return false;
    do {
        if (!text(w, &key) || !took(w, ':') || str_starts(key, "error") || memchr(key.p, '\\', key.len))
            return false;
        if (str_eq(key, names[0])) {
            if (found || !follow(w, names + 1))
                return false;
            found = true;
        } else if (!skip(w)) {
            return false;
        }
    } while (took(w, ','));
    return took(w, '}') && found;
}

/* ---- the answer ---- */

static int64_t by_library(const char *what, struct str body, events_fn *each, void *arg, uint64_t *ret_odd,
                          struct err *err)
{
    json_t *data = NULL;
    const json_t *list = NULL, *e;
    size_t i;
    int64_t n = 0;
    int r = wandb_answer_data(what, 200, body, &data, err);

    if (r == 0)
        r = ask_events_read(data, &list, err);
    json_array_foreach(list, i, e)
    {
        if (!json_is_string(e)) {
            ++*ret_odd;
            continue;
        }
        each(arg, str_n(json_string_value(e), json_string_length(e)));
        n++;
    }
    json_decref(data);
    return r < 0 ? r : n;
}

int64_t events_read(const char *what, struct str body, struct buf *room, events_fn *each, void *arg, uint64_t *ret_odd,
                    struct err *err)
{
    static const char *const way[] = {"data", "project", "run", "events", NULL};
    struct walk w = {.p = body.p, .end = body.p + body.len, .room = room, .each = each, .arg = arg};

    if (follow(&w, way) && (blanks(&w), w.p == w.end))
        return w.n;
    if (w.n)
        each(arg, (struct str){0});
    return by_library(what, body, each, arg, ret_odd, err);
}
