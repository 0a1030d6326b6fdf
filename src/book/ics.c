/* ics.c: writes bookings as iCalendar lines: escaped, folded at 75 octets, terminated by CRLF; all times in UTC. */
#include "book/ics.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/plain.h"

#define FOLD 75

/* One content line; a character is never cut in two. */
static void line(struct buf *out, struct str s)
{
    size_t room = FOLD;

    while (s.len) {
        uint32_t c;
        size_t n = str_utf8(s, &c) ?: 1;
        if (n > room) {
            buf_adds(out, "\r\n ");
            room = FOLD - 1;
        }
        buf_add(out, s.p, n);
        room -= n;
        s = str_n(s.p + n, s.len - n);
    }
    buf_adds(out, "\r\n");
}

static void put(struct buf *out, const char *name, const char *value)
{
    AUTO_BUF b = BUF_INIT(65536);

    buf_addf(&b, "%s:%s", name, value);
    line(out, buf_str(&b));
}

static void put_text(struct buf *out, const char *name, struct str value)
{
    AUTO_BUF b = BUF_INIT(65536), clean = BUF_INIT(plain_room(value));

    plain_text(&clean, value);
    value = buf_str(&clean);
    buf_addf(&b, "%s:", name);
    for (size_t i = 0; i < value.len; i++) {
        char c = value.p[i];
        if (c == '\\' || c == ';' || c == ',')
            buf_addc(&b, '\\');
        if (c == '\n')
            buf_adds(&b, "\\n");
        else
            buf_addc(&b, c);
    }
    line(out, buf_str(&b));
}

static void put_time(struct buf *out, const char *name, int64_t ms)
{
    char iso[32], text[20];

    clock_iso(ms, iso); /* 2026-11-15T10:46:12.345Z */
    snprintf(text, sizeof(text), "%.4s%.2s%.2sT%.2s%.2s%.2sZ", iso, iso + 5, iso + 8, iso + 11, iso + 14, iso + 17);
    put(out, name, text);
}

void render_ics_start(struct buf *out, const char *name)
{
    put(out, "BEGIN", "VCALENDAR");
    put(out, "VERSION", "2.0");
    put(out, "PRODID", "-//muster//" MUSTER_VERSION "//EN");
    put(out, "CALSCALE", "GREGORIAN");
    put(out, "METHOD", "PUBLISH");
    put_text(out, "X-WR-CALNAME", str_of(name));
    put(out, "REFRESH-INTERVAL;VALUE=DURATION", "PT15M");
    put(out, "X-PUBLISHED-TTL", "PT15M");
}

void render_ics_booking(struct buf *out, const struct booking *h)
{
    AUTO_BUF summary = BUF_INIT(4096);
    char text[64];
    bool cancelled = booking_end_ms(h) <= h->from_ms;

    put(out, "BEGIN", "VEVENT");
    snprintf(text, sizeof(text), "booking-%" PRId64 "-%" PRId64 "@muster", h->id, h->created_ms);
    put(out, "UID", text);
    snprintf(text, sizeof(text), "%d", (int)h->changes);
    put(out, "SEQUENCE", text);
    put_time(out, "DTSTAMP", h->changed_ms);
    put_time(out, "CREATED", h->created_ms);
    put_time(out, "LAST-MODIFIED", h->changed_ms);
    put_time(out, "DTSTART", h->from_ms);
    put_time(out, "DTEND", cancelled ? h->until_ms : booking_end_ms(h));
    buf_addf(&summary, "%s: %s", h->person, h->places);
    put_text(out, "SUMMARY", buf_str(&summary));
    put_text(out, "LOCATION", str_of(h->places));
    if (h->comment[0])
        put_text(out, "DESCRIPTION", str_of(h->comment));
    put(out, "STATUS", cancelled ? "CANCELLED" : "CONFIRMED");
    put(out, "TRANSP", "TRANSPARENT");
    put(out, "END", "VEVENT");
}

void render_ics_end(struct buf *out)
{
    put(out, "END", "VCALENDAR");
}
