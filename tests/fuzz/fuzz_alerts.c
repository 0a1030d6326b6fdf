/* The sections `alerts` and `channels` of muster.yaml, a template, and the notes of alerts, silences and messages: any
 * bytes. */
#include <stdlib.h>

#include "alert/channel.h"
#include "alert/note.h"
#include "alert/rule.h"
#include "alert/template.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
    if (template_check(str_of(text), &err) == 0)
        template_fill(&out, text, &n, NULL, 2000, 1000);
    AUTO_FREE struct alert *a = alert_read(bytes, &err);
    AUTO_FREE struct silence *s = silence_read(bytes, &err);
    (void)s;
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
