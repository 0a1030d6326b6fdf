/* links.c: links that log in once, put into the store and taken out of it by the thread that reads records. */
#include "access/links.h"

#include <errno.h>

#include "base/buf.h"
#include "base/mem.h"
#include "hub/hub.h"
#include "hub/record_fetch.h"
#include "model/note.h"
#include "store/records.h"

#define LINE 128

int link_put(struct store *s, const char *token, int64_t now_ms, char text[SECRET_MAX], struct err *err)
{
    AUTO_BUF line = BUF_INIT(LINE);
    uint8_t hash[32];

    secret_new(text, hash);
    buf_addx(&line, hash, sizeof(hash));
    buf_addf(&line, " %s", token);
    struct note n = {.kind = NOTE_LINK, .id = secret_id(hash), .over_ms = now_ms + ONCE_MS, .bytes = buf_str(&line)};
    return store_put_few(s, &n, now_ms, ONCE_MAX, err);
}

int link_take(struct store *s, struct str text, int64_t now_ms, struct store_token *ret, struct err *err)
{
    AUTO_BUF line = BUF_INIT(LINE), want = BUF_INIT(LINE);
    uint8_t hash[32];
    int64_t over_ms = 0;
    struct str rest, word;

    if (!secret_hash(text, hash))
        return 0;
    buf_addx(&want, hash, sizeof(hash));
    int r = store_take_note(s, NOTE_LINK, secret_id(hash), &over_ms, &line, err);
    rest = buf_str(&line);
    if (r < 1 || over_ms <= now_ms || !str_word(&rest, &word) || !str_eq(word, buf_str(&want).p) ||
        !str_word(&rest, &word) || word.len >= sizeof(ret->id))
        return MIN(r, 0);
    char id[sizeof(ret->id)] = "";
    memcpy(id, word.p, word.len);
    return store_get(s, GET_TOKEN(id, ret), err);
}

/* ---- inside a handler ---- */

struct link_preview {
    struct record_fetch read; /* first */
    char token[20];           /* whose link is made; empty: one is taken */
    char text[SECRET_MAX];
    int64_t now_ms;
    struct store_token found;
};

static int look_at_link(struct record_fetch *r, struct store *s, struct err *err)
{
    struct link_preview *x = (struct link_preview *)r;

    return x->token[0] ? link_put(s, x->token, x->now_ms, x->text, err)
                       : link_take(s, str_of(x->text), x->now_ms, &x->found, err);
}

static void end_look(struct record_fetch *r)
{
    explicit_bzero(((struct link_preview *)r)->text, SECRET_MAX);
    free(r);
}

static int look_for(struct hub *h, struct request *rq, struct link_preview *x)
{
    x->read = (struct record_fetch){.read = look_at_link, .done = end_look};
    x->now_ms = rq->now_ms;
    int r = record_fetch_for(h, rq, &x->read, NULL);
    if (r != -EINPROGRESS)
        end_look(&x->read);
    return r;
}

int link_put_for(struct hub *h, struct request *rq, char text[SECRET_MAX])
{
    struct link_preview *x = (struct link_preview *)request_fetched(rq);

    if (x) {
        mem_copy_str(text, SECRET_MAX, x->text);
        return x->read.code;
    }
    x = mem_zero(1, sizeof(*x));
    mem_copy_str(x->token, sizeof(x->token), rq->who->token.id);
    return look_for(h, rq, x);
}

int link_take_for(struct hub *h, struct request *rq, struct str text, struct token *ret)
{
    struct link_preview *x = (struct link_preview *)request_fetched(rq);

    if (x && x->read.code == 1)
        tokens_know(h->tokens, &x->found);
    if (x)
        return x->read.code == 1 ? tokens_find(h->tokens, x->found.id, ret) && !ret->revoked : x->read.code;
    if (text.len >= SECRET_MAX)
        return 0;
    x = mem_zero(1, sizeof(*x));
    memcpy(x->text, text.p, text.len);
    return look_for(h, rq, x);
}
