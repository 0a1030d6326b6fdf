/* Keys and clicks of `muster top`, over a small cluster, on screens of any size: two bytes each. Whatever is typed, the
 * screen can be drawn, and no glyph of it is one that a terminal would obey. */
#include <errno.h>
#include <stdlib.h>

#include "base/plain.h"
#include "tui/top.h"
#include "view_fixture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct cluster *cluster;

static void check(bool ok)
{
    if (!ok)
        abort();
}

static int no_fd(void *arg)
{
    (void)arg;
    return -1;
}

static bool nothing_new(void *arg)
{
    (void)arg;
    return false;
}

static void show(void *arg, struct view *ret)
{
    (void)arg;
    *ret = cluster->v;
}

static const char *no_status(void *arg)
{
    (void)arg;
    return NULL;
}

static const struct feed_event *events(void *arg, size_t *ret_n)
{
    static const struct feed_event e[] = {{NOW - 1000, "dgx2", "", "hung", "the driver\x1b[2J does not answer"}};
    (void)arg;
    *ret_n = ARRAY_LEN(e);
    return e;
}

static const struct feed_alert *alerts(void *arg, size_t *ret_n)
{
    static const struct feed_alert a[] = {{.since_ms = NOW - 5000,
                                           .critical = true,
                                           .node = "key-dgx2",
                                           .place = "dgx2",
                                           .rule = "r",
                                           .text = "x\u202ey"}};
    (void)arg;
    *ret_n = ARRAY_LEN(a);
    return a;
}

/* A process that is never there: nothing gets a signal. */
static int aim_nowhere(void *arg, int32_t pid, int64_t start_ms)
{
    (void)arg, (void)start_ms;
    return pid & 1 ? -ESRCH : -EPERM;
}

static int fire_nothing(void *arg, int fd, int sig)
{
    (void)arg, (void)fd, (void)sig;
    return -ESRCH;
}

static void draw(struct top *t, int w, int h, bool ascii)
{
    struct sheet s = {.ascii = ascii};

    sheet_size(&s, w, h);
    top_draw(t, &s);
    for (int i = 0; i < w * h; i++)
        check(s.v[i].c == 0 || plain_point(s.v[i].c));
    sheet_fini(&s);
}

/* A byte as a key: letters are themselves, those behind them the keys beyond Unicode, the last any code point. */
static int key_of(uint8_t a, uint8_t b)
{
    if (a < 0x80)
        return a;
    if (a < 0xc0)
        return KEY__FIRST + 1 + a % (TOP_NOTHING - KEY__FIRST);
    return (a & 0x3f) << 8 | b;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct feed feed = {.name = "hub",
                              .fd = no_fd,
                              .read = nothing_new,
                              .view = show,
                              .status = no_status,
                              .events = events,
                              .alerts = alerts,
                              .aim = aim_nowhere,
                              .fire = fire_nothing,
                              .local = size & 1};
    struct top t;

    if (!cluster) {
        in_utc(NULL);
        cluster = cluster_new();
    }
    top_init(&t, &feed, "kim", 1000);
    top_refresh(&t, true);
    for (size_t i = 0; i + 1 < size && i < 400; i += 2) {
        uint8_t a = data[i], b = data[i + 1];
        if (a == 0xff) {
            top_click(&t, b >> 2, b * 3 % 90, b & 1);
        } else if (a == 0xfe) {
            top_refresh(&t, b & 1);
        } else if (!top_key(&t, key_of(a, b))) {
            break;
        }
        draw(&t, 1 + b % 130, 1 + (a ^ b) % 50, b & 1);
    }
    top_fini(&t);
    return 0;
}
