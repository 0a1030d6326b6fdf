/* sse.c: parses server-sent events with the line ends of our hub: only LF. */
#include "stream/sse.h"

#include <errno.h>

#include "base/mem.h"

static bool field(struct str line, const char *name, struct str *ret)
{
    if (!str_skip(&line, name))
        return false;
    str_skip(&line, " ");
    *ret = line;
    return true;
}

/* The lines of one event, without the empty one. */
static int event(struct str text, int (*each)(void *arg, struct str name, struct str data), void *arg)
{
    AUTO_BUF joined = BUF_INIT(SSE_EVENT_MAX);
    struct str line, value, name = STR(""), data = STR("");
    size_t n = 0;

    while (str_line(&text, &line)) {
        if (field(line, "event:", &value)) {
            name = value;
        } else if (field(line, "data:", &value)) {
            if (n == 1)
                buf_addstr(&joined, data);
            if (n++) {
                buf_addc(&joined, '\n');
                buf_addstr(&joined, value);
            }
            data = n > 1 ? buf_str(&joined) : value;
        }
    }
    return n ? each(arg, name, data) : 0;
}

int sse_take(struct sse *s, struct str piece, int (*each)(void *arg, struct str name, struct str data), void *arg)
{
    size_t done = 0;
    int r = buf_addstr(&s->text, piece);

    if (r < 0)
        return -EMSGSIZE;
    for (;;) {
        size_t from = MAX(done, s->looked);
        const char *end = s->text.len > from ? memmem(s->text.p + from, s->text.len - from, "\n\n", 2) : NULL;
        if (!end)
            break;
        size_t to = (size_t)(end - s->text.p);
        r = event(str_n(s->text.p + done, to - done), each, arg);
        if (r < 0)
            return r;
        done = s->looked = to + 2;
    }
    if (done) {
        memmove(s->text.p, s->text.p + done, s->text.len - done);
        buf_cut(&s->text, s->text.len - done);
    }
    s->looked = s->text.len ? s->text.len - 1 : 0; /* the first of two line ends may be the last byte so far */
    return 0;
}

void sse_fini(struct sse *s)
{
    buf_fini(&s->text);
}
