/* The sections `alerts`, `channels` and `reports` of muster.yaml, a template, and the notes of alerts, silences and
 * messages: any bytes. */
#include <stdlib.h>

#include "alert/notified.h"
#include "alert/rule.h"
#include "base/buf.h"
#include "base/mem.h"
#include "format/note.h"
#include "format/template.h"
#include "notify/channel.h"
#include "report/schedule.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whatever is told: what is due was so before now, and what comes next comes after. */
static void look(const struct schedules *b)
{
    struct zone *utc = zone_utc();
    size_t n = b->n;
    const struct scheduled *v = b->v;

    for (size_t i = 0; i < n; i++) {
        struct scheduled_due last, next;
        const int64_t now_ms = 1794700000000;
        scheduled_times(&v[i], v[i].zone ? v[i].zone : utc, now_ms, &last, &next);
        if (last.at_ms > now_ms || next.at_ms <= now_ms || last.to_ms > last.at_ms || last.from_ms >= last.to_ms)
            abort();
    }
    zone_free(utc);
}

/* Whoever was told can be put into a list again, and is found there. */
static void look_told(struct str list)
{
    AUTO_BUF again = BUF_INIT(1u << 20);
    struct notified t, got;

    for (int n = 0; n < TOLD_MAX && notified_next(&list, &t); n++) {
        if (!notified_add(&again, &t))
            abort();
        struct str rest = buf_str(&again);
        bool found = false;
        while (notified_next(&rest, &got))
            found = found || (str_eq_str(got.channel, t.channel) && str_eq_str(got.to, t.to) && got.at_ms == t.at_ms);
        if (!found)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str bytes = str_n((const char *)data, size);
    AUTO_FREE char *text = mem_strn(bytes.p, bytes.len);
    char path[] = "m.yaml";
    struct opt_section section = {.text = text, .path = path};
    struct alert_rules *r = alert_rules_new();
    struct node_now n = {.name = "dgx1"};
    AUTO_BUF out = BUF_INIT(1u << 20);
    struct err err = {0};

    alert_rules_read(r, &section, &err);
    alert_rules_free(r);
    struct channels *c = channels_new();
    channels_read(c, &section, &err);
    channels_free(c);
    struct schedules *b = schedules_new();
    if (schedules_read(b, &section, NULL, &err) == 0)
        look(b);
    schedules_free(b);
    if (template_check(str_of(text), &err) == 0)
        template_fill(&out, text, &(struct template_scene){.n = &n, .now_ms = 2000, .since_ms = 1000});
    AUTO_FREE struct alert *a = alert_read(bytes, &err);
    AUTO_FREE struct silence *s = silence_read(bytes, &err);
    (void)s;
    look_told(bytes);
    if (a) { /* what is read is written and read again */
        buf_reset(&out);
        alert_write(a, &out);
        AUTO_FREE struct alert *again = alert_read(buf_str(&out), &err);
        if (!again || again->id != a->id)
            abort();
    }
    AUTO_FREE struct message *m = message_read(bytes, &err);
    for (int type = 0; m && type < CHANNEL_TYPES; type++) {
        buf_reset(&out);
        channel_body(&(struct channel){.type = (enum channel_type)type}, m, &out);
    }
    return 0;
}
