/* secret.c: masks secrets in addresses, and moves them out of the program's visible arguments. */
#include "base/secret.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"

#define HIDDEN "***"

/* ---- addresses ---- */

/* How many bytes of s come before any of these. */
static size_t span_until(struct str s, const char *ends)
{
    size_t n = 0;

    while (n < s.len && !strchr(ends, s.p[n]))
        n++;
    return n;
}

static bool holds_word(struct str s, const char *const *words)
{
    for (; *words; words++)
        for (size_t i = 0, n = strlen(*words); i + n <= s.len; i++)
            if (str_eq_nocase(str_n(s.p + i, n), *words))
                return true;
    return false;
}

/* "a=1&token=x" -> "a=1&token=***" */
static bool hide_query(struct buf *out, struct str query)
{
    static const char *const names[] = {"token", "key", "secret", "pass", "sig", "auth", "cred", "code", NULL};
    struct str one, name;
    bool hid = false;

    for (bool first = true; str_cut(&query, '&', &one); first = false) {
        struct str value = one;
        buf_adds(out, first ? "" : "&");
        bool secret = str_cut(&value, '=', &name) && value.len && holds_word(name, names);
        buf_addstr(out, secret ? name : one);
        if (secret)
            buf_adds(out, "=" HIDDEN);
        hid = hid || secret;
    }
    return hid;
}

bool secret_url(struct buf *out, struct str url)
{
    static const char *const hooks[] = {"hooks.", "webhook", NULL}, *const hook_paths[] = {"/webhooks/", NULL};
    int at = str_find(url, "://");
    bool hid = false;
    bool web = at >= 4 && (str_eq_nocase(str_n(url.p + at - 4, 4), "http") ||
                           (at >= 5 && str_eq_nocase(str_n(url.p + at - 5, 5), "https")));
    size_t scheme = at < 0 ? 0 : (size_t)at + 3;

    buf_add(out, url.p, scheme);
    struct str rest = str_n(url.p + scheme, url.len - scheme);
    struct str host = str_n(rest.p, span_until(rest, "/?#"));
    rest = str_n(rest.p + host.len, rest.len - host.len);
    int who = str_rfind(host, "@");
    if (who > 0 && (web || !scheme || memchr(host.p, ':', (size_t)who))) { /* a login alone, as for ssh, is no secret */
        buf_adds(out, HIDDEN);
        host = str_n(host.p + who, host.len - (size_t)who);
        hid = true;
    }
    buf_addstr(out, host);
    struct str path = str_n(rest.p, span_until(rest, "?#"));
    rest = str_n(rest.p + path.len, rest.len - path.len);
    if (web && path.len > 1 && (holds_word(host, hooks) || holds_word(path, hook_paths))) {
        buf_adds(out, "/" HIDDEN);
        hid = true;
    } else {
        buf_addstr(out, path);
    }
    if (rest.len && rest.p[0] == '?') {
        struct str query = str_n(rest.p + 1, span_until(str_n(rest.p + 1, rest.len - 1), "#"));
        buf_addc(out, '?');
        hid = hide_query(out, query) || hid;
        rest = str_n(query.p + query.len, rest.len - query.len - 1);
    }
    buf_addstr(out, rest);
    return hid;
}

/* The length of the address behind "://" in a text: a password may contain marks that end an address. */
static size_t address_len(struct str behind)
{
    struct str host = str_n(behind.p, span_until(behind, " \t\r\n\"`<>/?#"));
    int who = str_rfind(host, "@");
    size_t from = who < 0 ? 0 : (size_t)who;

    return from + span_until(str_n(behind.p + from, behind.len - from), " \t\r\n'\"`<>,;)");
}

struct str secret_host(struct str host)
{
    struct str name = host;

    if (str_skip(&host, "["))
        return str_n(host.p, MIN((size_t)MAX(str_find(host, "]"), 0), host.len));
    str_cut(&host, ':', &name);
    return name;
}

bool secret_host_is_local(struct str host)
{
    static const char *const names[] = {"", "localhost", "::1"};
    struct str name = secret_host(host);

    return str_starts(name, "/") || str_starts(name, "%2F") || str_starts(name, "%2f") || str_starts(name, "127.") ||
           ANY(ARRAY_LEN(names), i, str_eq_nocase(name, names[i]));
}

bool secret_in_clear(const char *url, char ret[SECRET_HOST_MAX])
{
    struct str rest = str_of(url);
    int at = str_find(rest, "://");
    struct str scheme = str_n(rest.p, (size_t)MAX(at, 0));

    if (!str_eq_nocase(scheme, "http") && !str_eq_nocase(scheme, "smtp"))
        return false;
    rest = str_drop(rest, scheme.len + 3);
    rest.len = span_until(rest, "/?#");
    struct str host = str_drop(rest, (size_t)(str_rfind(rest, "@") + 1));
    if (secret_host_is_local(host))
        return false;
    snprintf(ret, SECRET_HOST_MAX, "%.*s", STR_ARG(secret_host(host)));
    return true;
}

int secret_text(struct buf *out, struct str s)
{
    int at;

    while (out->err == 0 && (at = str_find(s, "://")) >= 0) {
        struct str behind = str_n(s.p + at + 3, s.len - (size_t)at - 3);
        size_t n = (size_t)at + 3 + address_len(behind);
        secret_url(out, str_n(s.p, n));
        s = str_n(s.p + n, s.len - n);
    }
    return buf_addstr(out, s);
}

/* ---- command lines ---- */

static void hide_arg(const struct opt *o, char **arg, size_t from)
{
    static char **kept; /* so that the copies are never lost, to a leak checker neither */
    static size_t n;
    char *was = *arg + from;
    AUTO_BUF shown = BUF_INIT(65536);

    if (!was[0] || (o->type != OPT_SECRET && !secret_url(&shown, str_of(was))))
        return;
    kept = mem_grow(kept, n + 1, sizeof(*kept));
    kept[n++] = mem_str(*arg);
    memset(was, '*', strlen(was));
    *arg = kept[n - 1];
}

/* The option of an argument, and the offset of its value in it; 0: the next argument is the value. */
static const struct opt *option_of(const struct opt *opts, const char *arg, size_t *ret_value)
{
    struct str rest = str_of(arg), name;

    *ret_value = 0;
    if (str_skip(&rest, "--")) {
        size_t whole = rest.len;
        str_cut(&rest, '=', &name);
        if (name.len < whole)
            *ret_value = 2 + name.len + 1;
        return opt_find(opts, name);
    }
    for (const struct opt *o = opts; arg[0] == '-' && arg[1] && o->name; o++)
        if (o->letter == arg[1]) {
            *ret_value = arg[2] ? 2 : 0;
            return o;
        }
    return NULL;
}

void secret_args(const struct opt *opts, int argc, char **argv)
{
    for (int i = 1; opts && i < argc && strcmp(argv[i], "--") != 0; i++) {
        size_t value;
        const struct opt *o = option_of(opts, argv[i], &value);
        if (!o || o->type == OPT_BOOL || o->type == OPT_SECTION)
            continue;
        bool hides = o->type == OPT_SECRET || o->url;
        if (!value && i + 1 < argc)
            i++;
        else if (!value)
            return;
        if (hides)
            hide_arg(o, &argv[i], value);
    }
}
