/* What hosts print for `muster fetch`: any bytes; each row that comes of them is one line. */
#include <stdlib.h>

#include "base/buf.h"
#include "compat/sheet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sheet *s = sheet_new();
    struct str text = str_n(data, size), line;
    struct buf out = BUF_INIT(64u << 20);
    size_t lines = 0;

    while (str_line(&text, &line))
        sheet_line(s, line);
    sheet_rows(s, "host", &out);
    for (size_t i = 0; i < out.len; i++)
        lines += out.p[i] == '\n';
    if (lines > SHEET_ROWS)
        abort();
    buf_fini(&out);
    sheet_free(s);
    return 0;
}
