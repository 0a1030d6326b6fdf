/* message_blocks.c: writes alerts for a Slack channel as blocks, with buttons to silence them. */
#include "model/alert.h"
#include "model/message.h"
#include "slack/talk.h"

#define RULE_MAX 30 /* bytes of a rule's name that a button holds */

static bool one_word(const char *s)
{
    return s[0] && strlen(s) <= RULE_MAX && !strpbrk(s, " \t#*?[\"");
}

/* Of one alert it is that one that is silenced; of several, the rule, and the button says so. */
static void add_buttons(struct dialog *s, const struct message *m)
{
    int64_t alert = 0;
    bool one = str_int(str_of(m->alerts), &alert) && alert > 0;

    if (one || one_word(m->rule))
        dialog_silences(s, one ? alert : 0, m->rule);
}

void dialog_message_json(struct buf *out, const struct message *m)
{
    struct dialog s = {.text = BUF_INIT(1u << 20), .blocks = BUF_INIT(1u << 20)};

    s.j = json_on(&s.blocks);
    json_arr(&s.j, NULL);
    if (m->title[0])
        dialog_line(&s, "%s", m->title);
    if (m->text[0])
        dialog_line(&s, "%s", m->text);
    if ((m->kind == MESSAGE_FIRED || m->kind == MESSAGE_REMINDER) && m->rule[0]) {
        dialog_small(&s, "%s%s%s", m->severity >= 0 && m->severity < SEVERITIES ? severity_words[m->severity] : "",
                     m->rule[0] ? ", rule " : "", m->rule);
        add_buttons(&s, m);
    }
    json_end_arr(&s.j);
    if (s.n_blocks && !s.blocks.err)
        buf_addstr(out, buf_str(&s.blocks));
    buf_fini(&s.text);
    buf_fini(&s.blocks);
    arena_fini(&s.mem);
}
