/*
 * completion.c: `muster completion SHELL`: completions from the table of subcommands and options. A verb is a
 * lower-case word that starts an alternative of a command's args ("new
 * list
 * revoke [ID]"), or an entry of the command's own table, which has its own options.
 */
#include <ctype.h>
#include <errno.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"
#include "cli/cli.h"
#include "cli/cmd.h"

static const struct opt completion_opts[] = {{0}};
const struct opt_cmd completion_help = {
    .name = "muster completion",
    .summary = "print the completion script for bash, zsh or fish",
    .args = "bash | zsh | fish",
    .about = "`make install` installs all three scripts.",
    .examples = "source <(muster completion bash)  # in this shell, or in ~/.bashrc\n"
                "muster completion zsh > ~/.zfunc/_muster  # with ~/.zfunc in fpath before compinit\n"
                "muster completion fish > ~/.config/fish/completions/muster.fish",
    .opts = completion_opts,
};

/* ---- parsing args ---- */

/* The first word of the next alternative. Returns false at the end. */
static bool next_alternative(struct str *args, struct str *word)
{
    while (str_cut(args, '|', word)) {
        while (str_skip(word, " ") || str_skip(word, "["))
            ;
        word->len = FIRST(word->len, i, !isalnum((unsigned char)word->p[i]) && word->p[i] != '-');
        if (word->len)
            return true;
    }
    return false;
}

/* The verbs, space-separated; empty: none. */
static void verbs_of(const struct cmd *cmd, struct buf *out)
{
    struct str args = str_of(cmd->help->args && !cmd->verbs ? cmd->help->args : ""), word;

    buf_reset(out);
    for (const struct cmd *v = cmd->verbs; v && v->name; v++)
        buf_addf(out, "%s%s", v == cmd->verbs ? "" : " ", v->name);
    while (next_alternative(&args, &word))
        if (islower((unsigned char)word.p[0]))
            buf_addf(out, "%s%.*s", out->len ? " " : "", STR_ARG(word));
}

static bool takes_files(const struct opt_cmd *help)
{
    return help->args && (strstr(help->args, "FILE") || strstr(help->args, "DIR"));
}

static bool takes_command(const struct opt_cmd *help)
{
    return help->args && strstr(help->args, "COMMAND");
}

/* ---- text inside the shells' quotes ---- */

/* Escapes text in single quotes, and optionally the special characters of zsh's _arguments and _describe. */
static void add_quoted(struct buf *out, const char *s, const char *escape)
{
    for (; *s; s++) {
        if (*s == '\'')
            buf_adds(out, "'\\''");
        else {
            if (strchr(escape, *s))
                buf_addc(out, '\\');
            buf_addc(out, *s == '\n' ? ' ' : *s);
        }
    }
}

/* The first visible option at or after o; NULL at the end. */
static const struct opt *shown(const struct opt *o)
{
    while (o->name && (o->hidden || o->type == OPT_SECTION))
        o++;
    return o->name ? o : NULL;
}

static void add_choices(struct buf *out, const struct opt *o)
{
    for (size_t i = 0; o->choices[i]; i++)
        buf_addf(out, "%s%s", i ? " " : "", o->choices[i]);
}

/* --name, or --no-name if the option is on by default. */
static const char *flag_of(const struct opt *o, char out[OPT_FLAG_MAX + 6])
{
    char name[OPT_FLAG_MAX];

    snprintf(out, OPT_FLAG_MAX + 6, "%s%s", opt_is_on(o) ? "no-" : "", opt_flag(o, name));
    return out;
}

/* ---- bash ---- */

/* Completions after a command: flags, words and rest, after the values of the previous option. */
static void bash_case(struct buf *out, const struct cmd *c)
{
    AUTO_BUF verbs = BUF_INIT(2000);
    char flag[OPT_FLAG_MAX + 6];

    buf_addf(out, "    '%s')\n        case $prev in\n", c->help->name);
    for (const struct opt *o = shown(c->help->opts); o; o = shown(o + 1)) {
        if (o->type == OPT_BOOL)
            continue;
        buf_addf(out, "        --%s", flag_of(o, flag));
        if (o->letter)
            buf_addf(out, " | -%c", o->letter);
        if (o->type == OPT_CHOICE) {
            buf_adds(out, ") COMPREPLY=($(compgen -W \"");
            add_choices(out, o);
            buf_adds(out, "\" -- \"$cur\")); return ;;\n");
        } else {
            buf_adds(out,
                     o->type == OPT_PATH ? ") COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n" : ") return ;;\n");
        }
    }
    buf_adds(out, "        esac\n        flags=\"--help");
    for (const struct opt *o = shown(c->help->opts); o; o = shown(o + 1))
        buf_addf(out, " --%s", flag_of(o, flag));
    verbs_of(c, &verbs);
    buf_addf(out, "\" words=\"%s\" rest=%s ;;\n", buf_str(&verbs).p,
             takes_files(c->help)     ? "file"
             : takes_command(c->help) ? "command"
                                      : "none");
    for (const struct cmd *v = c->verbs; v && v->name; v++)
        bash_case(out, v);
}

static void bash(struct buf *out)
{
    buf_adds(out, "# bash completion for muster; made by `muster completion bash`\n"
                  "_muster() {\n"
                  "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} flags= words= rest=none\n"
                  "    local at=\"muster ${COMP_WORDS[1]}\"\n"
                  "    COMPREPLY=()\n"
                  "    if ((COMP_CWORD == 1)); then\n        COMPREPLY=($(compgen -W \"--help --version");
    for (const struct cmd *c = cmds; c->name; c++)
        if (!c->hidden)
            buf_addf(out, " %s", c->name);
    buf_adds(out, "\" -- \"$cur\"))\n        return\n    fi\n");
    for (const struct cmd *c = cmds; c->name; c++)
        if (c->verbs)
            buf_addf(out, "    [ \"${COMP_WORDS[1]}\" = %s ] && ((COMP_CWORD > 2)) && at+=\" ${COMP_WORDS[2]}\"\n",
                     c->name);
    buf_adds(out, "    case $at in\n");
    for (const struct cmd *c = cmds; c->name; c++)
        if (!c->hidden)
            bash_case(out, c);
    buf_adds(out, "    esac\n"
                  "    case $cur:$rest in\n"
                  "    -*) COMPREPLY=($(compgen -W \"$flags\" -- \"$cur\")) ;;\n"
                  "    *:file) COMPREPLY=($(compgen -W \"$words\" -- \"$cur\") $(compgen -f -- \"$cur\")) ;;\n"
                  "    *:command) COMPREPLY=($(compgen -c -- \"$cur\")) ;;\n"
                  "    *) COMPREPLY=($(compgen -W \"$words\" -- \"$cur\")) ;;\n"
                  "    esac\n}\ncomplete -o filenames -F _muster muster\n");
}

/* ---- zsh ---- */

static void zsh_option(struct buf *out, const struct opt *o)
{
    char flag[OPT_FLAG_MAX + 6];
    const char *again = o->type == OPT_LIST ? "*" : "";

    flag_of(o, flag);
    if (o->letter && !opt_is_on(o) && o->type != OPT_LIST)
        buf_addf(out, " \\\n            '(-%c --%s)'{-%c,--%s}'[", o->letter, flag, o->letter, flag);
    else
        buf_addf(out, " \\\n            '%s--%s[", again, flag);
    add_quoted(out, o->help, "[]\\:");
    buf_addc(out, ']');
    if (o->type != OPT_BOOL) {
        buf_addc(out, ':');
        add_quoted(out, o->arg ? o->arg : "VALUE", "[]\\:");
        if (o->type == OPT_CHOICE) {
            buf_adds(out, ":(");
            add_choices(out, o);
            buf_addc(out, ')');
        } else {
            buf_adds(out, o->type == OPT_PATH ? ":_files" : ": ");
        }
    }
    buf_addc(out, '\'');
}

static void zsh_case(struct buf *out, const struct cmd *c)
{
    AUTO_BUF verbs = BUF_INIT(2000);

    buf_addf(out, "    %s)\n        ", c->name);
    verbs_of(c, &verbs);
    if (c->verbs) { /* its verbs have their own options: shift the words by one more */
        buf_adds(out, "if ((CURRENT > 2)); then\n        shift words\n    ((CURRENT--))\n    case $words[1] in\n");
        for (const struct cmd *v = c->verbs; v->name; v++)
            zsh_case(out, v);
        buf_adds(out, "    esac\n        return\n        fi\n        ");
    }
    buf_adds(out, "_arguments '--help[show this help]'");
    for (const struct opt *o = shown(c->help->opts); o; o = shown(o + 1))
        zsh_option(out, o);
    if (verbs.len)
        buf_addf(out, " \\\n            '1:verb:(%s)'", buf_str(&verbs).p);
    if (takes_command(c->help))
        buf_adds(out, " \\\n            '*::command: _normal'");
    else if (takes_files(c->help))
        buf_adds(out, " \\\n            '*:file:_files'");
    buf_adds(out, " ;;\n");
}

static void zsh(struct buf *out)
{
    buf_adds(out, "#compdef muster\n# zsh completion for muster; made by `muster completion zsh`\n"
                  "_muster() {\n    local -a commands=(\n");
    for (const struct cmd *c = cmds; c->name; c++)
        if (!c->hidden) {
            buf_addf(out, "        '%s:", c->name);
            add_quoted(out, c->help->summary, "\\:");
            buf_adds(out, "'\n");
        }
    buf_adds(out, "    )\n"
                  "    if ((CURRENT == 2)); then\n        _describe command commands\n        return\n    fi\n"
                  "    shift words\n    ((CURRENT--))\n    case $words[1] in\n");
    for (const struct cmd *c = cmds; c->name; c++)
        if (!c->hidden)
            zsh_case(out, c);
    buf_adds(out, "    esac\n}\nif [[ $funcstack[1] == _muster ]]; then\n    _muster \"$@\"\nelse\n"
                  "    compdef _muster muster\nfi\n");
}

/* ---- fish ---- */

/* words: the words required after "muster"; a command with a typed verb no longer matches. */
static void fish_case(struct buf *out, const struct cmd *c, const char *words)
{
    AUTO_BUF verbs = BUF_INIT(2000);
    char flag[OPT_FLAG_MAX + 6];

    verbs_of(c, &verbs);
    AUTO_FREE char *but =
        c->verbs ? mem_fmt("; and not __fish_seen_subcommand_from %s", buf_str(&verbs).p) : mem_str("");
    AUTO_FREE char *here = mem_fmt("complete -c muster -n '__muster_at %s%s'", words, but);
    if (verbs.len)
        buf_addf(out, "%s -a '%s'\n", here, buf_str(&verbs).p);
    if (takes_files(c->help))
        buf_addf(out, "%s -F\n", here);
    if (takes_command(c->help))
        buf_addf(out, "%s -a '(__fish_complete_subcommand)'\n", here);
    buf_addf(out, "%s -l help -d 'show this help'\n", here);
    for (const struct opt *o = shown(c->help->opts); o; o = shown(o + 1)) {
        buf_addf(out, "%s -l %s", here, flag_of(o, flag));
        if (o->letter && !opt_is_on(o))
            buf_addf(out, " -s %c", o->letter);
        if (o->type == OPT_CHOICE) {
            buf_adds(out, " -x -a '");
            add_choices(out, o);
            buf_addc(out, '\'');
        } else if (o->type != OPT_BOOL) {
            buf_adds(out, o->type == OPT_PATH ? " -r -F" : " -x");
        }
        buf_adds(out, " -d '");
        add_quoted(out, o->help, "\\");
        buf_adds(out, "'\n");
    }
    for (const struct cmd *v = c->verbs; v && v->name; v++) {
        AUTO_FREE char *more = mem_fmt("%s %s", words, v->name);
        fish_case(out, v, more);
    }
}

static void fish(struct buf *out)
{
    buf_adds(out, "# fish completion for muster; made by `muster completion fish`\ncomplete -c muster -f\n"
                  "function __muster_at\n    set -l typed (commandline -opc)\n    set -e typed[1]\n"
                  "    for i in (seq (count $argv))\n        test \"$typed[$i]\" = \"$argv[$i]\"; or return 1\n"
                  "    end\nend\n"
                  "complete -c muster -n __fish_use_subcommand -l help -d 'list the commands'\n"
                  "complete -c muster -n __fish_use_subcommand -l version -d 'which version this is'\n");
    for (const struct cmd *c = cmds; c->name; c++) {
        if (c->hidden)
            continue;
        buf_addf(out, "complete -c muster -n __fish_use_subcommand -a %s -d '", c->name);
        add_quoted(out, c->help->summary, "\\");
        buf_adds(out, "'\n");
        fish_case(out, c, c->name);
    }
}

int cmd_completion(struct cmd_call *c)
{
    static const struct {
        const char *shell;
        void (*write)(struct buf *out);
    } shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};

    for (size_t i = 0; c->argc == 1 && i < ARRAY_LEN(shells); i++)
        if (strcmp(c->argv[0], shells[i].shell) == 0) {
            AUTO_BUF out = BUF_INIT(1 << 20);
            shells[i].write(&out);
            return cli_print(&completion_help, &out);
        }
    return err_set(&c->err, -EINVAL, "expected %s", completion_help.args);
}
