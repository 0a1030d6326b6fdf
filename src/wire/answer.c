/* answer.c: the hub's response to a POST of batches, as lines an agent reads without a parser library. */
#include <endian.h>
#include <errno.h>

#include "base/buf.h"
#include "wire/wire.h"

#include "base/clock.h"

static int put_number(struct buf *out, const char *word, int64_t v)
{
    buf_adds(out, word);
    buf_addc(out, ' ');
    buf_addi(out, v);
    return buf_addc(out, '\n');
}

static int put_id(struct buf *out, const char *word, uint64_t id)
{
    uint64_t bytes = htobe64(id);

    buf_adds(out, word);
    buf_addc(out, ' ');
    return buf_addx(out, &bytes, sizeof(bytes));
}

int answer_write(struct buf *out, const struct answer *a)
{
    if (a->n_stored > ARRAY_LEN(a->stored) || a->n_need > ARRAY_LEN(a->need))
        return -E2BIG;
    for (size_t i = 0; i < a->n_stored; i++) {
        put_id(out, "stored", a->stored[i].run);
        buf_addc(out, ' ');
        buf_addu(out, a->stored[i].number);
        buf_addc(out, '\n');
    }
    for (size_t i = 0; i < a->n_need; i++) {
        put_id(out, "need", a->need[i]);
        buf_addc(out, '\n');
    }
    if (a->time_ms > 0)
        put_number(out, "time", a->time_ms);
    if (a->interval_ms > 0)
        put_number(out, "interval", a->interval_ms);
    if (a->phase_ms >= 0)
        put_number(out, "phase", a->phase_ms);
    if (a->retry_ms > 0)
        put_number(out, "retry", a->retry_ms);
    if (a->token[0])
        buf_addf(out, "token %s\n", a->token);
    return out->err;
}

static bool get_hex(struct str *line, uint64_t *ret)
{
    struct str word;

    return str_word(line, &word) && word.len == 16 && !str_starts(word, "0x") && !str_starts(word, "0X") &&
           str_hex(word, ret);
}

static bool get_stored(struct str *line, struct answer *a)
{
    struct str word;
    uint64_t run, number;

    if (!get_hex(line, &run) || !str_word(line, &word) || !str_uint(word, &number))
        return false;
    if (a->n_stored < ARRAY_LEN(a->stored)) { /* an extra one is sent again, which is harmless */
        a->stored[a->n_stored].run = run;
        a->stored[a->n_stored++].number = number;
    }
    return true;
}

static bool get_need(struct str *line, struct answer *a)
{
    uint64_t id;

    if (!get_hex(line, &id))
        return false;
    if (a->n_need < ARRAY_LEN(a->need))
        a->need[a->n_need++] = id;
    return true;
}

static bool get_number(struct str *line, int64_t max, int64_t *ret)
{
    struct str word;
    int64_t v;

    if (!str_word(line, &word) || !str_int(word, &v) || v < 0 || v > max)
        return false;
    *ret = v;
    return true;
}

/* Printable, without spaces: it is copied into a header. */
static bool get_token(struct str *line, struct answer *a)
{
    struct str word;

    if (!str_word(line, &word) || word.len >= sizeof(a->token) || !str_visible(word, ""))
        return false;
    memcpy(a->token, word.p, word.len);
    a->token[word.len] = 0;
    return true;
}

/* Parses one line. Returns false if a known word has an invalid value. */
static bool answer_line(struct str line, struct answer *a)
{
    struct str word, more;
    bool ok;

    if (!str_word(&line, &word))
        return true;
    if (str_eq(word, "stored"))
        ok = get_stored(&line, a);
    else if (str_eq(word, "need"))
        ok = get_need(&line, a);
    else if (str_eq(word, "time"))
        ok = get_number(&line, WIRE_TIME_END - 1, &a->time_ms);
    else if (str_eq(word, "interval"))
        ok = get_number(&line, DAY_MS, &a->interval_ms);
    else if (str_eq(word, "phase"))
        ok = get_number(&line, DAY_MS, &a->phase_ms);
    else if (str_eq(word, "retry"))
        ok = get_number(&line, DAY_MS, &a->retry_ms);
    else if (str_eq(word, "token"))
        ok = get_token(&line, a);
    else
        return true;
    return ok && !str_word(&line, &more);
}

int answer_parse(struct str text, struct answer *ret, struct err *err)
{
    struct answer a = {.phase_ms = -1};
    struct str line;

    for (size_t n = 1; str_line(&text, &line); n++)
        if (!answer_line(line, &a))
            return err_set(err, -EBADMSG, "the hub's answer: line %zu has a value that does not fit its word", n);
    *ret = a;
    return 0;
}

void answer_refusal(struct str body, struct buf *out)
{
    static const char key[] = "\"detail\":\"";
    int at = str_starts(body, "{") ? str_find(body, key) : -1;

    if (at < 0) {
        buf_addstr(out, body);
        return;
    }
    for (size_t i = (size_t)at + strlen(key); i < body.len && body.p[i] != '"'; i++) {
        char c = body.p[i];
        if (c == '\\' && ++i < body.len) {
            c = body.p[i];
            if (c == 'u')
                i += 4;
            c = c == 'u' ? '?' : strchr("bfnrt", c) ? ' ' : c;
        }
        buf_addc(out, c);
    }
}
