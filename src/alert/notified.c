/* notified.c: reads and writes the recipients of an alert as tab-separated lines. */
#include "alert/notified.h"

#include <inttypes.h>

#include "base/buf.h"

static bool plain(struct str s)
{
    return !s.len || (!memchr(s.p, '\t', s.len) && !memchr(s.p, '\n', s.len) && !memchr(s.p, 0, s.len));
}

bool notified_next(struct str *rest, struct notified *ret)
{
    struct str line, at;
    struct notified t;

    while (str_line(rest, &line))
        if (str_cut(&line, '\t', &at) && str_int(at, &t.at_ms) && str_cut(&line, '\t', &t.channel) &&
            str_cut(&line, '\t', &t.to) && plain(t.channel) && plain(t.to) && plain(line)) {
            t.person = line;
            *ret = t;
            return true;
        }
    return false;
}

static void add(struct buf *out, const struct notified *t)
{
    buf_addf(out, "%" PRId64 "\t%.*s\t%.*s\t%.*s\n", t->at_ms, STR_ARG(t->channel), STR_ARG(t->to), STR_ARG(t->person));
}

bool notified_add(struct buf *list, const struct notified *t)
{
    AUTO_BUF out = BUF_INIT(list->max);
    struct str rest = buf_str(list);
    struct notified one;
    size_t n = 0;
    bool there = false;

    if (!plain(t->channel) || !plain(t->to) || !plain(t->person))
        return false;
    for (; notified_next(&rest, &one); n++) {
        bool same = str_eq_str(one.channel, t->channel) && str_eq_str(one.to, t->to);
        add(&out, same ? t : &one);
        there = there || same;
    }
    if (!there && n >= TOLD_MAX)
        return false;
    if (!there)
        add(&out, t);
    if (out.err)
        return false;
    buf_fini(list);
    *list = out;
    out = (struct buf){0};
    return true;
}
