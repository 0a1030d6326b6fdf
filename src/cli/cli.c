/* cli.c: common start of all subcommands. Only this folder and the programs print text for users. */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/ioctl.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/plain.h"
#include "base/secret.h"
#include "cli/client.h"
#include "cli/cmd.h"

enum { CONFIG_MAX = 1 << 20 };

int cli_fail(const struct opt_cmd *help, int code, const char *fmt, ...)
{
    AUTO_BUF b = BUF_INIT(4096);
    AUTO_BUF open = BUF_INIT(65536);
    AUTO_BUF clean = BUF_INIT(6ul * 65536);
    buf_addf(&b, "%s: ", help->name);
    va_list ap;
    va_start(ap, fmt);
    buf_vaddf(&b, fmt, ap);
    va_end(ap);
    secret_text(&open, buf_str(&b));    /* it may quote an address … */
    plain_text(&clean, buf_str(&open)); /* … and a hub */
    fprintf(stderr, "%s\n", clean.p);
    return code;
}

static int print_exact(const struct opt_cmd *help, const struct buf *out)
{
    if (out->err)
        return cli_fail(help, EXIT_REACH, "the answer is too large to print");
    if (out->len && fwrite(out->p, 1, out->len, stdout) != out->len && errno != EPIPE)
        return cli_fail(help, EXIT_REACH, "cannot write: %s", strerror(errno));
    if (fflush(stdout) && errno != EPIPE)
        return cli_fail(help, EXIT_REACH, "cannot write: %s", strerror(errno));
    return EXIT_OK;
}

static int print_clean(const struct opt_cmd *help, const struct buf *out, int (*add)(struct buf *out, struct str s))
{
    AUTO_BUF clean = BUF_INIT(plain_room(buf_str(out)));
    if (!out->err)
        add(&clean, buf_str(out));
    return print_exact(help, out->err ? out : &clean);
}

int cli_print(const struct opt_cmd *help, const struct buf *out)
{
    return print_clean(help, out, cli_colour() ? plain_tinted : plain_print);
}

int cli_print_json(const struct opt_cmd *help, const struct buf *out)
{
    return print_clean(help, out, plain_json);
}

static int read_config(const struct opt_cmd *help, void *conf, const char *path, bool must, struct err *err)
{
    AUTO_BUF text = BUF_INIT(CONFIG_MAX);
    int r = file_read(path, CONFIG_MAX, &text, err);
    if (r == -ENOENT && !must) {
        *err = (struct err){0};
        return 0;
    }
    return r < 0 ? r : opt_yaml(help->opts, conf, buf_str(&text), path, err);
}

int cli_load(const struct opt_cmd *help, void *conf, int argc, char **argv, int *ret_argi, struct err *err)
{
    opt_defaults(help->opts, conf);
    int r = 0;
    if (help->file) {
        const char *named = opt_args_peek(help->opts, "config", !help->leads, argc, argv);
        named = named ? named : getenv("MUSTER_CONFIG");
        r = read_config(help, conf, named ? named : "/etc/muster/muster.yaml", named != NULL, err);
    }
    if (!r)
        r = opt_env(help->opts, conf, err);
    if (!r)
        r = (help->leads ? opt_args : opt_args_mixed)(help->opts, conf, argc, argv, ret_argi, err);
    if (r < 0 && help->args && strstr(help->args, "[-- FLAG") && str_starts(str_of(err->msg), "unknown option")) {
        struct err why = *err;
        return err_set(err, r, "%s; put flags of another program behind --", why.msg);
    }
    return r;
}

int cli_help(const struct opt_cmd *help)
{
    AUTO_BUF out = BUF_INIT(1 << 20);
    opt_help(help, &out);
    return cli_print(help, &out);
}

int cli_parse(const struct opt_cmd *help, void *conf, int argc, char **argv, int *ret_argi)
{
    struct err err = {0};
    int r = cli_load(help, conf, argc, argv, ret_argi, &err);
    if (r == 1)
        return cli_help(help);
    if (r < 0)
        return cli_fail(help, EXIT_USAGE, "%s", err.msg);
    if (help->file && !help->args && *ret_argi != argc)
        return cli_fail(help, EXIT_USAGE, "'%s' is one word too many", argv[*ret_argi]);
    return -1;
}

/* Whether the arguments of a help line ("list | end ID") have this word. */
static bool has_word(const char *args, const char *word)
{
    size_t n = strlen(word);

    for (const char *p = args; p && *p; p += strspn(p, " |[]")) {
        size_t len = strcspn(p, " |[]");
        if (len == n && n && memcmp(p, word, n) == 0)
            return true;
        p += len;
    }
    return false;
}

static bool is_given(const struct opt_cmd *help, const struct opt *o, int argc, char **argv)
{
    const char *value = opt_args_peek(help->opts, o->name, !help->leads, argc, argv);

    return value && !(o->verb && strcmp(value, "false") == 0);
}

/* Refuses an option that the verb does not use. */
static int check_verb(const struct opt_cmd *help, int argc, char **argv, int argi, struct err *err)
{
    bool named = argi < argc && has_word(help->args, argv[argi]);
    const struct opt *by = NULL; /* the verb is an option */
    char flag[OPT_FLAG_MAX], own[OPT_FLAG_MAX];

    for (const struct opt *o = help->opts; o->name && !by; o++)
        by = o->verb && is_given(help, o, argc, argv) ? o : NULL;
    const char *verb = by ? by->name : named ? argv[argi] : help->verb;
    for (const struct opt *o = help->opts; verb && o->name; o++)
        if (((o->verb && o != by) || (o->verbs && !has_word(o->verbs, verb))) && is_given(help, o, argc, argv))
            return err_set(err, -EINVAL, "--%s is not used by `%s%s%s`", opt_flag(o, flag), help->name,
                           by      ? " --"
                           : named ? " "
                                   : "",
                           by      ? opt_flag(by, own)
                           : named ? verb
                                   : "");
    return 0;
}

static int exit_of(const struct opt_cmd *help, int code)
{
    for (const int *no = help->no; no && *no; no++)
        if (code == -*no)
            return EXIT_NO;
    return code == -EINVAL ? EXIT_USAGE : EXIT_REACH;
}

int cmd_start(const struct cmd *c, int argc, char **argv)
{
    if (c->main)
        return c->main(argc, argv);
    AUTO_FREE void *conf = mem_zero(1, c->help->conf_size);
    struct cmd_call call = {.conf = conf};
    int argi = argc, r = cli_parse(c->help, conf, argc, argv, &argi);
    if (r < 0) {
        call.argc = argc - argi;
        call.argv = argv + argi;
        r = check_verb(c->help, argc, argv, argi, &call.err);
        if (r == 0 && call.argc && c->help->args && !c->help->args[0])
            r = err_set(&call.err, -EINVAL, "'%s' is not expected here; see --help", call.argv[0]);
        else if (r == 0)
            r = c->run(&call);
        if (r < 0)
            r = cli_fail(c->help, exit_of(c->help, r), "%s", call.err.msg);
    }
    opt_fini(c->help->opts, conf);
    return r;
}

int cli_save(const struct opt_cmd *help, const char *path, bool binary, const struct buf *out)
{
    struct err err = {0};
    if (!path)
        return binary && !isatty(STDOUT_FILENO) ? print_exact(help, out) : cli_print(help, out);
    return file_output(path, 0644, out->p, out->len, &err) < 0 ? cli_fail(help, EXIT_REACH, "%s", err.msg) : EXIT_OK;
}

int cli_stream(const char *path, int (*write)(void *arg, FILE *to, struct err *err), void *arg, struct err *err)
{
    struct file_output o;

    if (!path)
        return write(arg, stdout, err);
    int r = file_output_open(path, 0600, &o, err);
    if (r < 0)
        return r;
    FILE *to = fdopen(fcntl(o.fd, F_DUPFD_CLOEXEC, 0), "w");
    r = to ? write(arg, to, err) : err_set(err, -ENOMEM, "cannot write '%s'", path);
    if (to && fclose(to) != 0 && r == 0)
        r = err_set(err, -errno, "cannot write '%s': %s", path, strerror(errno));
    return file_output_close(&o, r, err);
}

int cli_width(int fallback)
{
    struct winsize ws;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) == 0 && ws.ws_col)
        return ws.ws_col;
    return fallback;
}

void cli_table_params(struct buf *path, int64_t told, const char *file)
{
    char width[24];
    snprintf(width, sizeof(width), "%d", told ? (int)told : !file && isatty(STDOUT_FILENO) ? cli_width(80) : 0);
    client_param(path, "width", width);
    client_param(path, "colour", !file && cli_colour() ? "true" : NULL);
}

bool cli_colour(void)
{
    const char *term = getenv("TERM"), *no = getenv("NO_COLOR");
    return isatty(STDOUT_FILENO) && (!no || !no[0]) && term && strcmp(term, "dumb") != 0;
}
