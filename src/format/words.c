/* words.c: writes the sentences, times and cells that several screens have alike. */
#include "format/words.h"

#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/plain.h"
#include "model/work.h"

const char *const vendor_words[VENDOR_COUNT] = {"", "nvidia", "amd", "intel"};

static const char *const kinds[8] = {"",    "compute",     "graphics",     "compute+graphics",
                                     "mps", "compute+mps", "graphics+mps", "compute+graphics+mps"};

const char *kind_words(uint8_t kind)
{
    return kinds[kind & 7];
}

int kind_by_words(struct str s)
{
    return WHICH(ARRAY_LEN(kinds), i, str_eq(s, kinds[i]));
}

/* What a buf-writing function says, into out[size], cut at a letter. */
static struct str keep(struct buf *b, char *out, size_t size)
{
    mem_copy_str(out, size, b->p ? b->p : "");
    return str_of(out);
}

struct str throttle_text(uint64_t mask, char out[256])
{
    AUTO_BUF b = BUF_INIT(512);

    throttle_words(&b, mask);
    return keep(&b, out, 256);
}

struct str holders(const struct device_now *d, char out[160])
{
    AUTO_BUF b = BUF_INIT(1024);

    if (d->state == DEV_HELD || d->state == DEV_BUSY)
        device_users(d, &b);
    if (!b.len && d->state == DEV_HELD && d->booking)
        buf_addf(&b, "(%s)", d->booking->person);
    return keep(&b, out, 160);
}

const char *device_service(const struct device_now *d)
{
    static const struct {
        enum metric m;
        const char *why;
    } signs[] = {{M_rows_failed, "a memory row could not be remapped"},
                 {M_rows_spent, "a bank of its memory has no spare row left"},
                 {M_rows_pending, "a memory row waits for a reset"}};

    for (size_t i = 0; i < ARRAY_LEN(signs); i++)
        if (sample_has(&d->now, signs[i].m) && d->now.v[signs[i].m] > 0)
            return signs[i].why;
    return NULL;
}

void reason_text(struct buf *out, const char *reason)
{
    static const struct {
        const char *head, *shown;
    } heads[] = {{"driver does not answer", "driver not responding"},
                 {"was there, is gone: ", ""},
                 {"was there, is gone", "no longer listed by its node"},
                 {"nobody on it", "not in use"}};
    struct str rest = str_of(reason);

    for (size_t i = 0; i < ARRAY_LEN(heads); i++)
        if (str_skip(&rest, heads[i].head)) {
            buf_adds(out, heads[i].shown);
            break;
        }
    buf_addstr(out, rest);
}

static void say_state(struct buf *out, const struct device_now *d, int64_t now_ms)
{
    char who[160], span[24];
    int64_t held_ms = device_held_ms(d);

    if (d->state == DEV_HUNG && d->reason[0]) {
        reason_text(out, d->reason);
        return;
    }
    buf_adds(out, state_shown(dev_states[d->state].word));
    if (d->state == DEV_STARTING && strcmp(d->reason, "starting") == 0)
        return;
    if (d->state != DEV_HELD && d->state != DEV_BUSY) {
        if (d->state == DEV_FREE && d->since_ms)
            buf_addf(out, " for %s", clock_span(MAX(0, now_ms - d->since_ms), span));
        if (d->reason[0] && (d->state != DEV_FREE || strcmp(d->reason, "nobody on it") != 0)) {
            buf_adds(out, ": ");
            reason_text(out, d->reason);
        }
        return;
    }
    if (d->state == DEV_HELD && !d->n_procs && d->booking) {
        buf_addf(out, ": %s", d->reason);
        return;
    }
    if (holders(d, who).len) {
        buf_addf(out, " by %s", who);
        if (held_ms)
            buf_addf(out, " for %s", clock_span(MAX(0, now_ms - held_ms), span));
    } else {
        buf_addf(out, ": %s", d->reason);
    }
    if (d->state == DEV_HELD && d->idle_since_ms)
        buf_addf(out, ", idle for %s", clock_span(MAX(0, now_ms - device_idle_ms(d)), span));
    else if (holders(d, who).len && strcmp(d->reason, SPIN_WORDS) == 0)
        buf_adds(out, ": " SPIN_WORDS);
    else if (d->n_advice)
        buf_addf(out, ": %s", advice_rules[d->advice[0].rule].title);
    if (device_has_dead_process(d))
        buf_adds(out, ": " PROC_GONE_WORDS);
}

void device_sentence(struct buf *out, const struct device_now *d, int64_t now_ms)
{
    const char *service = device_service(d);

    say_state(out, d, now_ms);
    if (service)
        buf_addf(out, "; needs service: %s", service);
}

const char *device_note(const struct device_now *d)
{
    return d->fact.note[0] && !strstr(d->reason, d->fact.note) ? d->fact.note : NULL;
}

bool words_line(struct str *rest, int width, struct str *ret)
{
    size_t len = rest->len, most = (size_t)MAX(width, 1);

    if (len > most)
        for (len = most; len && rest->p[len] != ' ';)
            len--;
    if (!len) /* a long word: whoever shows it cuts it, and the next ones have lines of their own */
        for (len = MIN(most, rest->len); len < rest->len && rest->p[len] != ' ';)
            len++;
    *ret = str_n(rest->p, len);
    *rest = str_trim(str_drop(*rest, len));
    return len > 0;
}

void node_sentence(struct buf *out, const struct node_now *n)
{
    char span[24];

    bool told = n->reason[0] && strcmp(n->reason, "in maintenance") != 0;
    /* "up, cannot be read" would be half a lie, "paused, reading is paused" says it twice */
    bool alone = told && ((n->state == NODE_UP && n->collect == COLLECT_FAILED) || n->state == NODE_PAUSED ||
                          n->state == NODE_HUNG);

    if (!alone)
        buf_adds(out, state_shown(node_words[n->state]));
    if (told) {
        buf_adds(out, alone ? "" : ", ");
        reason_text(out, n->reason);
    }
    if (n->clock_off_ms)
        buf_addf(out, ", clock off by %s", clock_span(n->clock_off_ms, span));
}

bool memory_left(const struct sample *s, int64_t *ret)
{
    int64_t reserved = sample_has(s, M_mem_reserved) ? s->v[M_mem_reserved] : 0;

    return sample_has(s, M_mem_used) && sample_has(s, M_mem_total) &&
           !__builtin_sub_overflow(s->v[M_mem_total], s->v[M_mem_used], ret) &&
           !__builtin_sub_overflow(*ret, reserved, ret);
}

bool node_is_dark(const struct node_now *n)
{
    size_t dark = 0;

    if (!n->at_ms || !n->n_devices || n->state == NODE_DOWN || n->state == NODE_HUNG)
        return true;
    for (size_t i = 0; i < n->n_devices; i++)
        dark +=
            n->devices[i].state == DEV_STARTING || n->devices[i].state == DEV_STALE || n->devices[i].state == DEV_LOST;
    return dark == n->n_devices;
}

const char *node_model(const struct node_now *n)
{
    const char *model = "";

    for (size_t i = 0; i < n->n_devices; i++) {
        const struct device_fact *f = &n->devices[i].fact;
        const char *shown = device_shown(&n->devices[i]);
        if (f->parent[0] || strcmp(shown, model) == 0)
            continue;
        if (model[0])
            return "several";
        model = shown;
    }
    return model;
}

#define TIME_FORM "%Y/%m/%d %H:%M:%S"

const char *time_as(int64_t at_ms, enum time_form form, char out[32])
{
    time_t t = (time_t)(at_ms / 1000);
    struct tm tm = {0};

    if (!localtime_r(&t, &tm))
        gmtime_r(&t, &tm);
    strftime(out, 32,
             form == TIME_NUMBER ? "%Y%m%d%H%M%S"
             : form == TIME_MDY  ? "%m/%d/%Y %H:%M:%S"
             : form == TIME_DMY  ? "%d/%m/%Y %H:%M:%S"
                                 : TIME_FORM,
             &tm);
    return out;
}

static const char *put_ms(int64_t at_ms, char out[32])
{
    size_t n = strlen(out);

    snprintf(out + n, 32 - n, ".%03d", (int)(at_ms % 1000 + 1000) % 1000);
    return out;
}

const char *local_time(int64_t at_ms, char out[32])
{
    time_as(at_ms, TIME_YMD, out);
    out[4] = out[7] = '-';
    return out;
}

const char *view_time(const struct view *v, int64_t at_ms, char out[32])
{
    return v->time_form ? time_as(at_ms, v->time_form, out) : local_time(at_ms, out);
}

const struct custom_fact sent_fact = {.name = "vesta_timestamp", .unit = UNIT_SECONDS, .kind = KIND_GAUGE, .per = 1000};

static const char *put_sent(int64_t sent_ms, char out[32])
{
    time_t t = (time_t)(sent_ms / 1000);
    struct tm tm = {0};

    gmtime_r(&t, &tm);
    strftime(out, 32, TIME_FORM, &tm);
    return put_ms(sent_ms, out);
}

int64_t sent_parse(const char *s)
{
    struct tm tm = {0};
    const char *rest = strptime(s, TIME_FORM, &tm);
    int64_t ms = 0;
    char again[32];

    if (!rest || *rest != '.' || !str_int(str_of(rest + 1), &ms) || ms < 0 || ms > 999)
        return -1;
    ms += 1000 * (int64_t)timegm(&tm);
    return ms >= 0 && strcmp(put_sent(ms, again), s) == 0 ? ms : -1;
}

const char *device_stamp(const struct node_now *n, const struct device_now *d, char out[32])
{
    for (size_t i = 0; i < d->n_custom; i++) {
        size_t at = d->custom[i].metric - METRIC_CUSTOM;
        if (at < n->fact.n_custom && strcmp(n->fact.custom[at].name, sent_fact.name) == 0 &&
            d->custom[i].at_ms == d->at_ms)
            return put_sent(d->custom[i].v, out);
    }
    if (!d->at_ms)
        return NULL;
    time_as(d->at_ms, TIME_YMD, out);
    return put_ms(d->at_ms, out);
}

/* The bytes of the longest head of s that takes at most width columns. */
static size_t head_of(struct str s, int width)
{
    size_t n = 0;

    while (n < s.len) {
        uint32_t point;
        size_t step = str_utf8(str_n(s.p + n, s.len - n), &point);
        step = step ? step : 1;
        if (str_width(str_n(s.p, n + step)) > width)
            break;
        n += step;
    }
    return n;
}

void fit(struct buf *out, struct str s, int width, enum fit how, bool ascii)
{
    const char *dots = ascii ? "~" : "…";
    AUTO_BUF clean = BUF_INIT(plain_room(s));
    if (!plain_is(s)) {
        plain_line(&clean, s);
        s = buf_str(&clean);
    }
    int wide = str_width(s), room = MAX(width - 1, 0);

    if (width <= 0)
        return;
    if (wide <= width) {
        if (how == FIT_RIGHT)
            buf_fill(out, ' ', (size_t)(width - wide));
        buf_addstr(out, s);
        if (how != FIT_RIGHT)
            buf_fill(out, ' ', (size_t)(width - wide));
        return;
    }
    if (how == FIT_CUT_HEAD) {
        size_t from = head_of(s, wide - room);
        while (str_width(str_n(s.p + from, s.len - from)) > room) /* a wide letter straddles */
            from += head_of(str_n(s.p + from, s.len - from), 2);
        s = str_n(s.p + from, s.len - from);
        buf_adds(out, dots);
        buf_addstr(out, s);
        buf_fill(out, ' ', (size_t)(room - str_width(s)));
    } else {
        s = str_n(s.p, head_of(s, room));
        buf_addstr(out, s);
        buf_adds(out, dots);
        buf_fill(out, ' ', (size_t)(room - str_width(s)));
    }
}
