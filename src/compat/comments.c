/* comments.c: a JSON tree kept as it was read, and the cells of it that mean something to us. */
#include "compat/comments.h"

#include <errno.h>
#include <jansson.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/plain.h"
#include "base/time_text.h"

struct comments {
    json_t *root; /* an object: host -> list or object of entries */
};

/* ---- text ---- */

/* Without `//` and what follows to the end of the line, outside of strings: blanks instead, so that columns stay. */
static void drop_comments(struct str text, struct buf *out)
{
    bool quoted = false, off = false;

    for (size_t i = 0; i < text.len; i++) {
        char c = text.p[i];
        if (off)
            off = c != '\n';
        else if (quoted && c == '\\' && i + 1 < text.len) {
            buf_addc(out, c);
            c = text.p[++i];
        } else if (c == '"')
            quoted = !quoted;
        else if (!quoted && c == '/' && i + 1 < text.len && text.p[i + 1] == '/')
            off = true;
        buf_addc(out, off ? ' ' : c);
    }
}

int comments_parse(struct str text, struct comments **ret, struct err *err)
{
    AUTO_BUF plain = BUF_INIT(COMMENTS_BYTES);
    json_error_t e = {0};

    if (text.len > COMMENTS_BYTES)
        return err_set(err, -E2BIG, "it is larger than %u KiB", COMMENTS_BYTES >> 10);
    str_skip(&text, "\xef\xbb\xbf");
    drop_comments(text, &plain);
    json_t *root = str_trim(buf_str(&plain)).len ? json_loadb(plain.p, plain.len, 0, &e) : json_object();
    if (json_is_array(root) && json_array_size(root) == 0) { /* what PHP writes for no host at all */
        json_decref(root);
        root = json_object();
    }
    if (!root)
        return err_set(err, -EINVAL, "line %d, column %d: %s", e.line, e.column, e.text);
    if (!json_is_object(root)) {
        json_decref(root);
        return err_set(err, -EINVAL, "it is not an object of hosts");
    }
    *ret = NEW(struct comments, .root = root);
    return 0;
}

void comments_free(struct comments *c)
{
    if (!c)
        return;
    json_decref(c->root);
    free(c);
}

static int put_text(const char *p, size_t n, void *out)
{
    return buf_add(out, p, n) < 0 ? -1 : 0;
}

int comments_write(const struct comments *c, struct buf *out)
{
    if (json_dump_callback(c->root, put_text, out, JSON_COMPACT) < 0 && !out->err)
        return -EINVAL;
    buf_addc(out, '\n');
    return out->err;
}

const char *comments_host(const struct comments *c, size_t i)
{
    void *at = json_object_iter(c->root);

    while (at && i--)
        at = json_object_iter_next(c->root, at);
    return at ? json_object_iter_key(at) : NULL;
}

/* ---- cells ---- */

static json_t *cell(const struct comments *c, const char *host, int index)
{
    json_t *of = json_object_get(c->root, host);
    char key[16];

    if (json_is_array(of))
        return index >= 0 ? json_array_get(of, (size_t)index) : NULL;
    snprintf(key, sizeof(key), "%d", index);
    return json_object_get(of, key);
}

static struct str text_of(const json_t *entry, const char *key)
{
    const json_t *v = json_object_get(entry, key);

    return str_trim(str_n(json_string_value(v), json_string_length(v)));
}

void comments_get(const struct comments *c, const char *host, int index, int64_t now_ms, struct remark *ret)
{
    json_t *entry = cell(c, host, index);
    struct str name = text_of(entry, "name"), date = text_of(entry, "date"), comment = text_of(entry, "comment");
    char again[MOMENT_TEXT];
    int64_t until_ms = 0;

    *ret = (struct remark){.plain = true};
    if (!name.len && !date.len)
        return;
    snprintf(ret->name, sizeof(ret->name), "%.*s", (int)MIN(name.len, sizeof(ret->name) - 1), name.p);
    snprintf(ret->comment, sizeof(ret->comment), "%.*s", (int)MIN(comment.len, sizeof(ret->comment) - 1), comment.p);
    if (!booking_person_ok(str_of(ret->name))) /* cut within a character, or with control characters */
        comments_clean(name, ret->name, sizeof(ret->name));
    if (!plain_typed(str_of(ret->comment)))
        comments_clean(comment, ret->comment, sizeof(ret->comment));
    if (date.len && time_parse(date, "date", now_ms, NULL, &until_ms, NULL) == 0)
        ret->until_ms = until_ms / MINUTE_MS * MINUTE_MS;
    ret->plain = ret->until_ms && str_eq(date, time_text(ret->until_ms, NULL, again));
}

static json_t *entry_of(const struct remark *r)
{
    char name[BOOKING_PERSON_MAX] = "", comment[BOOKING_COMMENT_MAX + 1] = "", date[MOMENT_TEXT] = "";

    if (r->until_ms) {
        comments_clean(str_of(r->name), name, sizeof(name));
        comments_clean(str_of(r->comment), comment, sizeof(comment));
        time_text(r->until_ms, NULL, date);
    }
    return json_pack("{ssssss}", "name", name, "date", date, "comment", comment);
}

void comments_set(struct comments *c, const char *host, int index, const struct remark *r)
{
    json_t *of = json_object_get(c->root, host), *entry = cell(c, host, index);
    char key[16];

    if (index < 0 || index >= COMMENTS_INDEX)
        return;
    if (json_is_object(entry)) { /* in place, so that what else it has stays */
        json_auto_t *fresh = entry_of(r);
        json_object_update(entry, fresh);
        return;
    }
    if (!json_is_object(of) && !json_is_array(of)) {
        of = json_array();
        json_object_set_new(c->root, host, of);
    }
    if (json_is_object(of)) {
        snprintf(key, sizeof(key), "%d", index);
        json_object_set_new(of, key, entry_of(r));
        return;
    }
    static const struct remark none;
    while (json_array_size(of) <= (size_t)index)
        json_array_append_new(of, entry_of(&none));
    json_array_set_new(of, (size_t)index, entry_of(r));
}

/* ---- remarks ---- */

void comments_clean(struct str s, char *out, size_t size)
{
    size_t n = 0, lead = 0;

    for (s = str_trim(s); s.len;) {
        uint32_t c = 0;
        size_t bytes = MAX(str_utf8(s, &c), 1u);
        bool letter = (c >= 0xa0 && plain_point(c)) ||
                      (s.p[0] && (strchr("-_.,+/#&", s.p[0]) || (s.p[0] >= '0' && s.p[0] <= '9') ||
                                  ((s.p[0] | 32) >= 'a' && (s.p[0] | 32) <= 'z')));
        if (n + bytes >= size)
            break;
        if (letter)
            memcpy(out + n, s.p, bytes);
        else
            out[n] = ' ';
        n += letter ? bytes : 1;
        s = str_drop(s, bytes);
    }
    while (n && out[n - 1] == ' ')
        n--;
    while (lead < n && out[lead] == ' ')
        lead++;
    memmove(out, out + lead, n - lead);
    out[n - lead] = 0;
}

static bool same_text(const char *a, const char *b)
{
    char x[BOOKING_COMMENT_MAX + 1], y[BOOKING_COMMENT_MAX + 1];

    comments_clean(str_of(a), x, sizeof(x));
    comments_clean(str_of(b), y, sizeof(y));
    return strcmp(x, y) == 0;
}

bool remark_same(const struct remark *a, const struct remark *b)
{
    if (!a->until_ms || !b->until_ms)
        return !a->until_ms && !b->until_ms;
    return a->until_ms == b->until_ms && same_text(a->name, b->name) && same_text(a->comment, b->comment);
}

struct remark remark_at(const struct remark *r, int64_t now_ms)
{
    return r->name[0] && r->until_ms > now_ms ? *r : (struct remark){.plain = true};
}

struct remark remark_of(const struct booking *h)
{
    struct remark r = {.plain = true};

    if (!h)
        return r;
    r.until_ms = h->until_ms / MINUTE_MS * MINUTE_MS;
    comments_clean(str_of(h->person), r.name, sizeof(r.name));
    if (!r.name[0]) /* a name of nothing that can stand there is somebody's all the same */
        mem_copy_str(r.name, sizeof(r.name), "somebody");
    mem_copy_str(r.comment, sizeof(r.comment), h->comment);
    return r;
}
