/*
 * request.c: parses the target of a request (path and parameters). Pure: text in, views out; invalid encodings are
 * refused.
 */
#include "http/request.h"

#include <errno.h>

#include "base/mem.h"
#include "base/order.h"

/* Percent-decodes into *out and advances it. False: a bad escape, or a control character; with controls, which become
 * spaces, only a bad escape. */
static bool decode(struct str in, bool plus, bool controls, char **out, struct str *ret)
{
    char *to = *out;
    for (size_t i = 0; i < in.len; i++) {
        char c = in.p[i];
        if (c == '%') {
            uint64_t code;
            if (i + 2 >= in.len || !str_hex(str_n(in.p + i + 1, 2), &code))
                return false;
            c = (char)code;
            i += 2;
        } else if (c == '+' && plus) {
            c = ' ';
        }
        bool control = (unsigned char)c < 32 || c == 127;
        if (control && !controls)
            return false;
        *to++ = control ? ' ' : c;
    }
    *ret = str_n(*out, (size_t)(to - *out));
    *out = to;
    return true;
}

/* "a=b&c=d" */
static int pairs(struct str rest, const char *what, bool controls, char *scratch, struct param *ret, size_t *ret_n,
                 struct err *err)
{
    struct str pair;
    *ret_n = 0;
    while (str_cut(&rest, '&', &pair)) {
        if (pair.len == 0)
            continue;
        if (*ret_n == QUERY_MAX)
            return err_set(err, -EINVAL, "more than %d %ss", QUERY_MAX, what);
        struct param *p = &ret[(*ret_n)++];
        const char *equals = memchr(pair.p, '=', pair.len);
        struct str name = str_n(pair.p, equals ? (size_t)(equals - pair.p) : pair.len);
        struct str value = equals ? str_n(equals + 1, pair.len - name.len - 1) : str_n("", 0);
        if (!decode(name, true, controls, &scratch, &p->name) || !decode(value, true, controls, &scratch, &p->value) ||
            !str_utf8_ok(p->name) || !str_utf8_ok(p->value))
            return err_set(err, -EINVAL, "%s %zu has a bad %% escape or a control character", what, *ret_n);
    }
    return 0;
}

int request_target(struct request *rq, struct str target, char *scratch, struct err *err)
{
    struct str path;
    if (target.len == 0 || target.p[0] != '/')
        return err_set(err, -EINVAL, "the request's target must start with '/'");
    const char *hash = memchr(target.p, '#', target.len);
    if (hash)
        return err_set(err, -EINVAL, "the request's target has a '#'; write it as %%23");
    const char *question = memchr(target.p, '?', target.len);
    path = str_n(target.p, question ? (size_t)(question - target.p) : target.len);
    struct str rest = question ? str_n(question + 1, target.len - path.len - 1) : str_n("", 0);
    if (!decode(path, false, false, &scratch, &rq->path) || !str_utf8_ok(rq->path))
        return err_set(err, -EINVAL, "the request's path has a bad %% escape or a control character");
    return pairs(rest, "query parameter", false, scratch, rq->query, &rq->n_query, err);
}

int request_form(struct str body, char *scratch, struct param ret[QUERY_MAX], size_t *ret_n, struct err *err)
{
    return pairs(body, "field", true, scratch, ret, ret_n, err);
}

const char *const method_words[METHODS] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"};

int method_of(struct str word)
{
    size_t at = FIRST(METHODS, i, str_eq(word, method_words[i]));

    return at < METHODS ? 1 << at : -1;
}

static const struct param *query_find(const struct request *rq, const char *name)
{
    return FIND(rq->query, rq->n_query, e, str_eq(e->name, name));
}

struct str request_query(const struct request *rq, const char *name)
{
    const struct param *p = query_find(rq, name);
    return p ? p->value : str_n("", 0);
}

void trail_add(struct trail *t, const char *word)
{
    size_t n = t ? strlen(t->detail) : 0;

    if (t)
        snprintf(t->detail + n, sizeof(t->detail) - n, "%s%s", n ? ", " : "", word);
}

bool request_by_tls(const struct request *rq)
{
    return rq->tls || str_eq_nocase(rq->header(rq, "X-Forwarded-Proto"), "https");
}

bool request_flag(const struct request *rq, const char *name)
{
    const struct param *p = query_find(rq, name);
    return p && !str_eq_nocase(p->value, "false") && !str_eq(p->value, "0");
}

int64_t request_int(const struct request *rq, const char *name, int64_t def, int64_t min, int64_t max)
{
    int64_t v;
    if (!str_int(request_query(rq, name), &v))
        return def;
    return v < min ? min : v > max ? max : v;
}
