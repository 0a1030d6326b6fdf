/* dialog_old.c: the commands of vesta's bot, as its users know them: lists as files, HELP and WHERE as messages. */
#include "slack/words.h"

#include "base/plain.h"
#include "model/state.h"

/* A list of the terminal's page; rest: one host. */
static void ask_page(struct dialog *s, struct str rest)
{
    static const char *const how[] = {[DIALOG_HOSTS] = "&list=names",
                                      [DIALOG_ALL] = "&list=processes",
                                      [DIALOG_ALL_CMD] = "",
                                      [DIALOG_ALL_DETAIL] = "&detail=true"};
    AUTO_BUF target = BUF_INIT(4096);

    s->what = dialog_keep(s, s->ask.text);
    buf_addf(&target, "/?term=true%s", how[s->cmd - dialog_old_commands]);
    dialog_param(&target, "node", rest);
    dialog_get(s, target.p);
}

/* `<command>.txt`, titled `response: <command>`. What is no letter of a file's name is a line. */
static void tell_list(struct dialog *s, UNUSED size_t call, struct str body)
{
    AUTO_BUF what = BUF_INIT(plain_room(str_of(s->what)));
    char cut[101], start[71], name[80], title[120];

    plain_line(&what, str_of(s->what));
    mem_copy_str(cut, sizeof(cut), buf_str(&what).p);
    mem_copy_str(start, sizeof(start), cut);
    snprintf(title, sizeof(title), "response: %s", cut);
    snprintf(name, sizeof(name), "%s.txt", start);
    for (char *p = name; *p; p++)
        if (strchr("/\\:*?\"<>| ", *p))
            *p = '_';
    buf_adds(&s->text, title);
    dialog_file(s, name, title, "text/plain", body.len ? body : STR("no hosts\n"));
}

static void ask_help(struct dialog *s, UNUSED struct str rest)
{
    static const char *const about[DIALOG_OLDS] = {"the hosts that are watched",
                                                   "all hosts, and the processes on their GPUs",
                                                   "all hosts as on the command line",
                                                   "all hosts in detail",
                                                   "this message",
                                                   "where the page is; with the name of a host, where that is"};
    const struct dialog_conf *c = s->ask.conf;
    AUTO_BUF b = BUF_INIT(8192);

    for (size_t i = 0; i < DIALOG_OLDS; i++)
        if (c->keywords[i][0])
            buf_addf(&b, "`%s%s`: %s\n", c->prefix, c->keywords[i], about[i]);
    buf_addf(&b, "`%sNAME`: the host of that name, and the processes on its GPUs\n", c->prefix);
    buf_adds(&b, "Said to me (by mention, slash command or directly) `help` lists what else I do.");
    dialog_line(s, "%s", b.p);
}

static void ask_where(struct dialog *s, struct str rest)
{
    AUTO_BUF target = BUF_INIT(4096);

    if (!rest.len) {
        if (s->ask.url[0])
            dialog_line(s, "The page of %s is at %s", s->ask.name[0] ? s->ask.name : "muster", s->ask.url);
        else
            dialog_line(s, "I do not know under which address people reach the page: `url` in muster.yaml says it.");
        return;
    }
    s->what = dialog_keep(s, rest);
    buf_adds(&target, "/api/v1/state");
    dialog_param(&target, "node", rest);
    dialog_get(s, target.p);
}

static void tell_where(struct dialog *s, UNUSED size_t call, struct str body)
{
    json_auto_t *o = json_loadb(body.p, body.len, 0, NULL);
    json_t *n = json_array_get(json_object_get(o, "nodes"), 0);
    const char *address = slack_text(n, "address");
    json_t *age = json_object_get(n, "age_ms");

    dialog_line(s, "%s (%s) last update: %s, status: %s", s->what, address[0] ? address : "address not known",
                age ? dialog_when(s, s->ask.now_ms - json_integer_value(age)) : "never",
                state_shown(slack_text(n, "state")));
}

const struct dialog_command dialog_old_commands[DIALOG_OLDS + 1] = {
    [DIALOG_HOSTS] = {"hosts", .ask = ask_page, .tell = tell_list, .any_size = true},
    [DIALOG_ALL] = {"all", .ask = ask_page, .tell = tell_list, .any_size = true},
    [DIALOG_ALL_CMD] = {"all_cmd", .ask = ask_page, .tell = tell_list, .any_size = true},
    [DIALOG_ALL_DETAIL] = {"all_detail", .ask = ask_page, .tell = tell_list, .any_size = true},
    [DIALOG_HELP] = {"help", .open = true, .ask = ask_help},
    [DIALOG_WHERE] = {"where", .ask = ask_where, .tell = tell_where},
    {0},
};
