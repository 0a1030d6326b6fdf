/* progress.c: one line on a terminal, rewritten repeatedly. */
#include "cli/progress.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "format/render.h"

enum { EVERY_MS = 250, FIRST_MS = 500 };

void progress_start(struct progress *p, const char *what, const char *unit, int64_t total, bool quiet)
{
    *p = (struct progress){.unit = unit, .total = total, .start_ms = clock_mono_ms()};
    mem_copy_str(p->what, sizeof(p->what), what);
    p->on = !quiet && isatty(STDERR_FILENO);
    p->said_ms = p->start_ms + FIRST_MS - EVERY_MS; /* a short command prints no line */
}

static bool in_bytes(const char *unit)
{
    return strcmp(unit, "bytes") == 0;
}

static void add_amount(struct buf *b, const char *unit, int64_t v)
{
    if (in_bytes(unit))
        render_amount(b, unit, (double)v);
    else
        buf_addi(b, v);
}

void progress_at(struct progress *p, int64_t done)
{
    int64_t now = p->on ? clock_mono_ms() : 0, spent = now - p->start_ms;
    char span[24];
    AUTO_BUF b = BUF_INIT(512);

    if (!p->on || now - p->said_ms < EVERY_MS)
        return;
    p->said_ms = now;
    buf_addf(&b, "\r\033[K%s: ", p->what);
    add_amount(&b, p->unit, done);
    if (p->total > 0) {
        int64_t percent = (int64_t)(100.0 * (double)done / (double)p->total);
        buf_adds(&b, " of ");
        add_amount(&b, p->unit, MAX(p->total, done));
        buf_addf(&b, "%s%s, %d %%", in_bytes(p->unit) ? "" : " ", in_bytes(p->unit) ? "" : p->unit,
                 (int)MIN(percent, 100));
        if (done > 0 && done < p->total && spent > 2000)
            buf_addf(&b, ", %s left",
                     clock_span((int64_t)((double)spent * (double)(p->total - done) / (double)done), span));
    } else if (!in_bytes(p->unit)) {
        buf_addf(&b, " %s", p->unit);
    }
    p->shown = true;
    fwrite(b.p, 1, b.len, stderr);
    fflush(stderr);
}

void progress_watch(void *p, int64_t done, int64_t total)
{
    ((struct progress *)p)->total = total;
    progress_at(p, done);
}

void progress_end(struct progress *p)
{
    if (p->shown) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
    p->shown = false;
}
