/*
 * aliases.c: GPU Monitor's aliases.csv: a line per person, names with commas between, the last one is the person's;
 * '#' begins a comment; names are compared in lower case and without '+'. Of a name in two lines the later one counts.
 */
#include <errno.h>

#include "people/draft.h"

#define ALIASES_MAX (1u << 20)

/* As the names are compared. False: it cannot be a name. */
static bool fold(struct str s, char out[PERSON_MAX + 1], struct str *ret)
{
    size_t n = 0;
    for (size_t i = 0; i < s.len; i++) {
        if (s.p[i] == '+')
            continue;
        if (n == PERSON_MAX)
            return false;
        out[n++] = s.p[i] >= 'A' && s.p[i] <= 'Z' ? (char)(s.p[i] + 32) : s.p[i];
    }
    out[n] = 0;
    *ret = str_n(out, n);
    return str_utf8_ok(*ret);
}

static int no_name(struct draft *d, const char *path, unsigned line, struct str s)
{
    return err_set(d->err, -EINVAL, "%s:%u: '%.*s' is not a name: expected up to %d bytes of plain text", path, line,
                   str_utf8_ok(s) ? (int)MIN(s.len, 80u) : 0, s.p, PERSON_MAX);
}

static int one_line(struct draft *d, struct str names, const char *path, unsigned no)
{
    char low[PERSON_MAX + 1];
    struct str one, name, last = STR("");
    for (struct str rest = names; str_cut(&rest, ',', &one);)
        last = str_trim(one).len ? str_trim(one) : last;
    if (!last.len)
        return 0;
    if (!fold(last, low, &name) || !name.len)
        return no_name(d, path, no, last);
    const char *person = draft_keep(d, name);
    while (str_cut(&names, ',', &one)) {
        if (!fold(str_trim(one), low, &name))
            return no_name(d, path, no, str_trim(one));
        if (name.len)
            draft_rule(&d->aliases, draft_keep(d, name), NULL, person, NULL);
    }
    return 0;
}

int draft_aliases(struct draft *d, struct str text, const char *path)
{
    struct str line, names = STR("");
    int r = 0;
    if (text.len > ALIASES_MAX)
        return err_set(d->err, -EMSGSIZE, "%s: larger than %u bytes", path, ALIASES_MAX);
    for (unsigned no = 1; r == 0 && str_line(&text, &line); no++)
        if (str_cut(&line, '#', &names))
            r = one_line(d, names, path, no);
    return r;
}
