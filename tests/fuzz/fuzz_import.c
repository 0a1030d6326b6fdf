/*
 * fuzz_import.c: any lines as an export, in whichever format the first one says: records within bounds, or an error
 * with a column inside the line. What was read is written in all formats, so that nothing in a record is out of bounds.
 */
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "format/export.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static int64_t per(void *arg, const char *node, const char *metric)
{
    (void)arg;
    return node[0] == 'z' || metric[0] == 'z' ? 0 : 100;
}

static void check_text(const char *s, size_t max)
{
    if (s && strlen(s) >= max)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct export_reader *r = export_reader_new(per, NULL);
    struct str rest = str_n(p, n), line;
    struct custom_fact custom = {.name = "c", .per = 1};

    while (str_line(&rest, &line)) {
        struct export_record rec;
        struct err err = {0};
        size_t column = 0;
        int code = export_line(r, line, &rec, &column, &err);
        if (code < 0) {
            if (!err.msg[0] || column < 1 || column > line.len + 1)
                abort();
            break;
        }
        if (code == 0)
            continue;
        check_text(rec.node, NODE_KEY_MAX);
        check_text(rec.device, UUID_MAX);
        if (rec.kind == REC_SAMPLES && (rec.per <= 0 || !rec.metric[0]))
            abort();
        rec.custom = rec.kind == REC_SAMPLES ? &custom : rec.custom;
        rec.name = rec.name ? rec.name : "";
        for (int f = 0; f < EXPORT_FORMATS; f++) {
            AUTO_BUF out = BUF_INIT(64u << 20);
            struct export_writer w = {.format = (enum export_format)f};
            export_put(&w, &out, &rec);
        }
    }
    export_reader_free(r);
    return 0;
}
