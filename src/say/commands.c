/* commands.c: the one table of what the bot does when it is spoken to. */
#include "say/talk.h"

static void ask_help(struct say *s, struct str rest)
{
    AUTO_BUF b = BUF_INIT(8192);

    (void)rest;
    say_head(s, "What I do");
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
        say_small(s, "I do not know who you are here.");
    s->ephemeral = true;
}

const struct say_command say_commands[] = {
    {"help", "hello commands usage?", "help", "this list", "help", .open = true, .ask = ask_help},
    {0},
};
