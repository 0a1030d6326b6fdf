/*
 * aliases.c: GPU Monitor's aliases.csv: a line per person with comma-separated names, the last one is the person; '#'
 * starts a comment. Names are compared in lower case and without '+'. If a name is in two lines, the later one counts.
 */
#include <errno.h>

#include "people/draft.h"

#define ALIASES_MAX (1u << 20)

static bool is_name(struct str s, char low[PERSON_MAX + 1])
{
    return str_utf8_ok(s) && alias_fold(s, low);
}

static int no_name(struct draft *d, const char *path, unsigned line, struct str s)
{
    return err_set(d->err, -EINVAL, "%s:%u: '%.*s' is not a name: expected up to %d bytes of plain text", path, line,
                   str_utf8_ok(s) ? (int)MIN(s.len, 80u) : 0, s.p, PERSON_MAX);
}

static int one_line(struct draft *d, struct str names, const char *path, unsigned no)
{
    char low[PERSON_MAX + 1];
    struct str one, last = STR("");
    for (struct str rest = names; str_cut(&rest, ',', &one);)
        last = str_trim(one).len ? str_trim(one) : last;
    if (!last.len)
        return 0;
    if (!is_name(last, low) || !low[0])
        return no_name(d, path, no, last);
    const char *person = draft_keep(d, str_of(low));
    while (str_cut(&names, ',', &one)) {
        if (!is_name(str_trim(one), low))
            return no_name(d, path, no, str_trim(one));
        if (low[0])
            draft_rule(&d->aliases, draft_keep(d, str_of(low)), NULL, person, NULL);
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
