/* dialog_commands.c: the one table of what the bot does when it is spoken to. */
#include "slack/talk.h"

static void ask_help(struct dialog *s, UNUSED struct str rest)
{
    AUTO_BUF b = BUF_INIT(8192);

    dialog_head(s, "Commands");
    for (const struct dialog_command *c = dialog_commands; c->name; c++)
        if (c->usage)
            buf_addf(&b, "`%s`: %s\n", c->usage, c->about);
    dialog_line(s, "%s", b.p);
    buf_reset(&b);
    for (size_t i = 0; i < DIALOG_OLDS; i++)
        if (s->ask.conf->keywords[i][0])
            buf_addf(&b, "%s`%s%s`", b.len ? ", " : "", s->ask.conf->prefix, s->ask.conf->keywords[i]);
    if (b.len)
        dialog_line(s, "In a channel, without a mention, alone in a message: %s, or the name of a host.", b.p);
    if (s->ask.person[0])
        dialog_small(s, "You are %s here.", s->ask.person);
    else
        dialog_small(s, "I do not know your muster user.");
    s->ephemeral = true;
}

const struct dialog_command dialog_commands[] = {
    {"free", "available idle?", "free [N] [filter]",
     "which GPUs are free, or N of them: `free 4 h200`, `free memfree>=40G`",
     .hint = "`wait N` puts you in the queue; I send you a message when it is your turn.", .ask = dialog_query_free,
     .tell = dialog_reply_free},
    {"who", "users people", "who [node|user]", "users of GPUs: `who dgx2`, `who kim`", .ask = dialog_query_who,
     .tell = dialog_reply_who},
    {"usage", "used hours", "usage me|USER|TEAM [last 7d]", "GPU-hours with a chart: `usage me last 30d`",
     .ask = dialog_query_usage, .tell = dialog_reply_usage},
    {"history", "plot chart graph", "history NODE[:GPU] METRIC [last 24h]", "a chart: `history dgx2:3 power last 2h`",
     .ask = dialog_query_history, .tell = dialog_reply_history},
    {"book", "reserve", "book N [filter] for 4h [from ...]",
     "reserve GPUs: `book 2 h200 for 4h`, `book dgx2:0,1 from tomorrow 9:00 for 2 days`",
     .hint = "`wait N` puts you in the queue for the next free GPUs.", .acts = true, .ask = dialog_query_book,
     .tell_json = dialog_reply_book},
    {"bookings", "reservations booked", "bookings", "list bookings", .ask = dialog_query_bookings,
     .tell_json = dialog_reply_bookings},
    {"release", "unbook leave cancel", "release ID", "end a booking or leave the queue", .acts = true,
     .ask = dialog_query_release, .tell_json = dialog_reply_release},
    {"wait", "queue", "wait N [filter]", "queue for N GPUs; I send you a message when it is your turn", .acts = true,
     .ask = dialog_query_wait, .tell_json = dialog_reply_wait},
    {"alerts", "alert wrong problems", "alerts", "active alerts", .ask = dialog_query_alerts,
     .tell_json = dialog_reply_alerts},
    {"silence", "mute quiet", "silence RULE [node] for 2h REASON", "mute notifications of some alerts for a time",
     .acts = true, .ask = dialog_query_silence, .tell = dialog_reply_silence},
    {"unsilence", "unmute", "unsilence ID", "end a silence", .acts = true, .ask = dialog_query_unsilence,
     .tell_json = dialog_reply_unsilence},
    {"help", "hello commands", "help", "this list", .open = true, .ask = ask_help},
    {0},
};
