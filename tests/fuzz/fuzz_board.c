/* load_data.csv, and its list of hosts that were not read: any bytes become a board or an error; a page of it has no
 * markup but its own. */
#include <stdlib.h>

#include "base/buf.h"
#include "compat/board.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_page(const struct board *b)
{
    static const struct board_page page = {"x", 60, 900};
    struct buf out = BUF_INIT(BOARD_HTML_MAX);
    size_t scripts = 0;

    board_html(&out, b, &page);
    for (struct str rest = buf_str(&out); rest.len;) {
        int at = str_find(rest, "<script");
        if (at < 0)
            break;
        scripts++;
        rest = str_n(rest.p + at + 1, rest.len - (size_t)at - 1);
    }
    if (!out.err && scripts != 1)
        abort();
    buf_fini(&out);
}

static void check_unread(struct board *b, struct str text)
{
    struct err err = {0};
    size_t before = b->n;
    int r = board_unread(text, b, &err);

    if (r < 0 ? !err.msg[0] || b->n != before : b->n < before)
        abort();
    check_page(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct board b = {0}, none = {.notice = ""};
    struct err err = {0};
    size_t gpus = 0;

    check_unread(&none, str_n(data, size));
    board_fini(&none);
    if (board_csv(str_n(data, size), 1, &b, &err) < 0) {
        if (!err.msg[0] || b.v)
            abort();
        return 0;
    }
    for (size_t i = 0; i < b.n; i++)
        gpus += b.v[i].n;
    if (gpus > BOARD_GPUS_MAX || gpus < b.n)
        abort();
    check_page(&b);
    check_unread(&b, str_n(data, size));
    board_fini(&b);
    return 0;
}
