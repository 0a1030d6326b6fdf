/* say_commands.c: the one table of what the bot does when it is spoken to. */
#include "slack/talk.h"

static void ask_help(struct say *s, UNUSED struct str rest)
{
    AUTO_BUF b = BUF_INIT(8192);

    say_head(s, "Commands");
    for (const struct say_command *c = say_commands; c->name; c++)
        if (c->usage)
            buf_addf(&b, "`%s`: %s\n", c->usage, c->about);
    say_line(s, "%s", b.p);
    buf_reset(&b);
    for (size_t i = 0; i < SAY_OLDS; i++)
        if (s->ask.conf->keywords[i][0])
            buf_addf(&b, "%s`%s%s`", b.len ? ", " : "", s->ask.conf->prefix, s->ask.conf->keywords[i]);
    if (b.len)
        say_line(s, "In a channel, without a mention, alone in a message: %s, or the name of a host.", b.p);
    if (s->ask.person[0])
        say_small(s, "You are %s here.", s->ask.person);
    else
        say_small(s, "I do not know your muster user.");
    s->ephemeral = true;
}

const struct say_command say_commands[] = {
    {"free", "available idle?", "free [N] [filter]",
     "which GPUs are free, or N of them: `free 4 h200`, `free memfree>=40G`",
     .hint = "`wait N` puts you in the queue; I send you a message when it is your turn.", .ask = say_ask_free,
     .tell = say_tell_free},
    {"who", "users people", "who [node|user]", "users of GPUs: `who dgx2`, `who kim`", .ask = say_ask_who,
     .tell = say_tell_who},
    {"usage", "used hours", "usage me|USER|TEAM [last 7d]", "GPU-hours with a chart: `usage me last 30d`",
     .ask = say_ask_usage, .tell = say_tell_usage},
    {"history", "plot chart graph", "history NODE[:GPU] METRIC [last 24h]", "a chart: `history dgx2:3 power last 2h`",
     .ask = say_ask_history, .tell = say_tell_history},
    {"book", "reserve", "book N [filter] for 4h [from ...]",
     "reserve GPUs: `book 2 h200 for 4h`, `book dgx2:0,1 from tomorrow 9:00 for 2 days`",
     .hint = "`wait N` puts you in the queue for the next free GPUs.", .acts = true, .ask = say_ask_book,
     .tell_json = say_tell_book},
    {"bookings", "reservations booked", "bookings", "list bookings", .ask = say_ask_bookings,
     .tell_json = say_tell_bookings},
    {"release", "unbook leave cancel", "release ID", "end a booking or leave the queue", .acts = true,
     .ask = say_ask_release, .tell_json = say_tell_release},
    {"wait", "queue", "wait N [filter]", "queue for N GPUs; I send you a message when it is your turn", .acts = true,
     .ask = say_ask_wait, .tell_json = say_tell_wait},
    {"alerts", "alert wrong problems", "alerts", "active alerts", .ask = say_ask_alerts, .tell_json = say_tell_alerts},
    {"silence", "mute quiet", "silence RULE [node] for 2h REASON", "mute notifications of some alerts for a time",
     .acts = true, .ask = say_ask_silence, .tell = say_tell_silence},
    {"unsilence", "unmute", "unsilence ID", "end a silence", .acts = true, .ask = say_ask_unsilence,
     .tell_json = say_tell_unsilence},
    {"help", "hello commands", "help", "this list", .open = true, .ask = ask_help},
    {0},
};
