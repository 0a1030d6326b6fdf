/* web_answer.c: reads bodies and statuses of W&B's replies. Pure. */
#include "wandb_pull/web_answer.h"

#include <errno.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"

enum { WORDS_MAX = 240, ERRORS_MAX = 3 };

static json_t *body_json(struct str body)
{
    return json_loadb(body.p ? body.p : "", body.len, JSON_ALLOW_NUL, NULL);
}

/* "text" or {"message":"text"}; a path gives the place. */
static void add_error(struct buf *ret, const json_t *e)
{
    const json_t *text = json_is_string(e) ? e : json_object_get(e, "message");
    const char *s = json_string_value(text);
    size_t n = json_string_length(text), at = ret->len;

    if (!s || !n || at > WORDS_MAX)
        return;
    buf_adds(ret, at ? "; " : "");
    at = ret->len;
    buf_add(ret, s, MIN(n, (size_t)WORDS_MAX));
    if (n > WORDS_MAX) {
        while (ret->len > at && ((unsigned char)ret->p[ret->len - 1] & 0xC0) == 0x80)
            buf_cut(ret, ret->len - 1); /* not within a letter */
        if (ret->len > at && (unsigned char)ret->p[ret->len - 1] >= 0xC0)
            buf_cut(ret, ret->len - 1);
        buf_adds(ret, "...");
    }
    for (; at < ret->len; at++)
        if ((unsigned char)ret->p[at] < ' ' || ret->p[at] == 127)
            ret->p[at] = ' ';
}

/*
 * Appends the error messages of the body, with control characters as spaces. Returns false if the body has no errors.
 */
static bool json_words(const json_t *j, struct buf *ret)
{
    const json_t *errors = json_object_get(j, "errors"), *error = json_object_get(j, "error"), *e;
    size_t i, before = ret->len;

    if (json_is_array(errors)) {
        json_array_foreach (errors, i, e)
            if (i < ERRORS_MAX)
                add_error(ret, e);
        if (json_array_size(errors) > ERRORS_MAX)
            buf_addf(ret, " (and %zu more)", json_array_size(errors) - ERRORS_MAX);
    } else if (errors) {
        add_error(ret, errors);
    }
    add_error(ret, error);
    return ret->len > before;
}

/* Statuses that are not retried, and their meaning. */
static const struct {
    int status, code;
} final[] = {{400, -EINVAL}, {401, -EACCES},   {403, -EACCES}, {404, -ENOENT}, {409, -EEXIST},
             {410, -EIO},    {413, -EMSGSIZE}, {422, -EINVAL}, {501, -EIO}};

/* Returns 0 if the status is not in the list. */
static int final_code(int status)
{
    size_t i = FIRST(ARRAY_LEN(final), k, final[k].status == status);

    return i < ARRAY_LEN(final) ? final[i].code : 0;
}

bool wandb_is_retryable(int status, bool conflict_again)
{
    if (status == 409)
        return conflict_again;
    return !final_code(status) && (status == 0 || status >= 400);
}

int wandb_answer_status(const char *what, int status, struct str body, struct err *err)
{
    AUTO_BUF words = BUF_INIT(2048);

    if (status >= 200 && status < 300)
        return 0;
    json_auto_t *j = body_json(body);
    if (!json_words(j, &words) && status == 401)
        buf_adds(&words, "the key is not accepted");
    int code = final_code(status);
    return err_set(err, code ? code : -EIO, "%s: HTTP %d%s%s", what, status, words.len ? ": " : "", buf_str(&words).p);
}

int wandb_answer_data(const char *what, int status, struct str body, json_t **ret, struct err *err)
{
    AUTO_BUF words = BUF_INIT(2048);
    int r = wandb_answer_status(what, status, body, err);

    if (r < 0)
        return r;
    json_auto_t *j = body_json(body);
    json_t *data = json_object_get(j, "data");
    const json_t *errors = json_object_get(j, "errors"), *error = json_object_get(j, "error");
    if (!json_is_object(j))
        r = err_set(err, -EBADMSG, "%s: the answer is not JSON", what);
    else if (json_words(j, &words))
        r = err_set(err, -EPROTO, "%s: %s", what, buf_str(&words).p);
    else if (json_array_size(errors) || (errors && !json_is_array(errors) && !json_is_null(errors)) ||
             (error && !json_is_null(error)))
        r = err_set(err, -EPROTO, "%s: the response reports a failure without a reason", what);
    else if (!json_is_object(data))
        r = err_set(err, -EBADMSG, "%s: the answer has no data", what);
    else
        *ret = json_incref(data);
    return r;
}
