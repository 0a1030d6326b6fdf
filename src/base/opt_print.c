/*
 * opt_print.c: the option table as people read it: `config show`, --help and man pages.
 * What opt_show prints, opt_yaml reads back to the same values.
 */
#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/opt.h"
#include "base/secret.h"

#define HELP_WIDTH 100
#define MAN_DATE   "2026-11-15" /* of the release; not of the build, which is to come out the same each time */
#define HELP_LEFT  34           /* a longer flag has its text on the next line */

#ifndef MUSTER_VERSION
#define MUSTER_VERSION "0"
#endif

/* ---- values as text ---- */

const char *opt_number(const struct opt *o, int64_t v, char out[48])
{
    static const struct {
        const char *name;
        int64_t ms;
    } spans[] = {{"w", 604800000}, {"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};
    long long n = v;
    size_t i = 0;

    if (o->type == OPT_DURATION) {
        while (v % spans[i].ms)
            i++;
        snprintf(out, 48, "%lld%s", v ? (long long)(v / spans[i].ms) : 0, v ? spans[i].name : "s");
    } else if (o->type == OPT_BYTES) {
        for (; n && n % 1024 == 0 && i < 6; i++)
            n /= 1024;
        snprintf(out, 48, "%lld%.1s", n, &"\0KMGTPE"[i]);
    } else if (o->type == OPT_PERCENT) {
        AUTO_BUF b = BUF_INIT(40);
        buf_fixed(&b, v, 100);
        snprintf(out, 48, "%s%%", buf_str(&b).p);
    } else {
        snprintf(out, 48, "%lld", n);
    }
    return out;
}

/* Does every YAML reader read it as this text, unquoted? */
static bool show_plain(struct str s)
{
    int64_t v;
    bool yes;

    if (s.len == 0 || strchr(".-+%", s.p[0]) || str_fixed(s, 1, &v) || str_bool(s, &yes) || str_eq_nocase(s, "null"))
        return false;
    for (size_t i = 0; i < s.len; i++)
        if (!memchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+%-", s.p[i], 67))
            return false;
    return s.len > 1; /* y and n are booleans to some */
}

static void show_text(struct buf *out, struct str s)
{
    if (show_plain(s)) {
        buf_addstr(out, s);
        return;
    }
    buf_addc(out, '"');
    while (s.len) {
        uint32_t c = 0xfffd;
        size_t n = str_utf8(s, &c);
        n = n ? n : 1;
        if (c == '"' || c == '\\')
            buf_addf(out, "\\%c", (int)c);
        else if (c == '\t')
            buf_addstr(out, STR("\\t"));
        else if (c == 0x2028 || c == 0x2029 || c >= 0xfe00) /* line breaks to YAML 1.1, and what it may refuse */
            buf_addf(out, "\\U%08x", (unsigned)c);
        else
            buf_add(out, s.p, n);
        s = str_n(s.p + n, s.len - n);
    }
    buf_addc(out, '"');
}

/* ---- config show ---- */

/* Writes addresses that hold secrets as a comment, without the secrets; false if it finds none. */
static bool show_hidden(struct buf *out, const struct opt *o, const void *at, const char *key)
{
    char *const *v = o->type == OPT_LIST ? ((const struct opt_list *)at)->v : at;
    size_t n = o->type == OPT_LIST ? ((const struct opt_list *)at)->n : *v ? 1 : 0;
    AUTO_BUF all = BUF_INIT(1u << 20);
    bool hid = false;

    for (size_t i = 0; i < n; i++) {
        AUTO_BUF one = BUF_INIT(65536);
        hid = secret_url(&one, str_of(v[i])) || hid;
        buf_adds(&all, i ? ", " : "");
        show_text(&all, buf_str(&one));
    }
    if (hid)
        buf_addf(out, o->type == OPT_LIST ? "# %s: [%s]\n" : "# %s: %s\n", key, all.p);
    return hid;
}

static void show_leaf(struct buf *out, const struct opt *o, const void *conf, const char *key, size_t indent,
                      bool whole)
{
    const void *at = (const char *)conf + o->offset;
    char number[48];

    buf_fill(out, ' ', indent);
    if (o->type == OPT_SECRET) {
        buf_addf(out, "# %s: %s\n", key, *(char *const *)at ? "(set)" : "(not set)");
        return;
    }
    if (o->type == OPT_SECTION) {
        const struct opt_section *s = at;
        if (o->secret) {
            buf_addf(out, "# %s: %s\n", key, s->text ? "(set)" : "(not set)");
            return;
        }
        buf_addf(out, "%s:%s\n%s", key, s->text ? "" : " {}", s->text ? s->text : "");
        if (s->text && !str_ends(buf_str(out), "\n"))
            buf_addc(out, '\n');
        return;
    }
    if (o->url && !whole && show_hidden(out, o, at, key))
        return;
    buf_addf(out, "%s: ", key);
    switch (o->type) {
    case OPT_BOOL:
        buf_adds(out, *(const bool *)at ? "true" : "false");
        break;
    case OPT_CHOICE:
        show_text(out, str_of(o->choices[*(const int *)at]));
        break;
    case OPT_STR:
    case OPT_PATH: {
        const char *s = *(char *const *)at;
        show_text(out, str_of(s ? s : ""));
        break;
    }
    case OPT_LIST: {
        const struct opt_list *list = at;
        if (list->n == 0)
            buf_adds(out, "[]");
        else
            buf_cut(out, out->len - 1); /* no blank before the line's end */
        for (size_t i = 0; i < list->n; i++) {
            buf_addc(out, '\n');
            buf_fill(out, ' ', indent + 2);
            buf_adds(out, "- ");
            show_text(out, str_of(list->v[i]));
        }
        break;
    }
    default:
        buf_adds(out, opt_number(o, *(const int64_t *)at, number));
        break;
    }
    buf_addc(out, '\n');
}

static bool show_in(const struct opt *o, struct str prefix)
{
    return !o->no_file && strncmp(o->name, prefix.p, prefix.len) == 0;
}

/* Is there anything under prefix but comments? A key with nothing but comments under it would be null. */
static bool show_has_value(const struct opt *opts, struct str prefix)
{
    for (const struct opt *o = opts; o->name; o++)
        if (show_in(o, prefix) && o->type != OPT_SECRET)
            return true;
    return false;
}

/* All options under prefix ("" or "rule."), each group at the place of its first option. Dots bound the depth: names
 * are ours. */
static void show_group(struct buf *out, const struct opt *opts, const void *conf, struct str prefix, size_t indent,
                       bool whole)
{
    for (const struct opt *o = opts; o->name; o++) {
        if (!show_in(o, prefix))
            continue;
        const char *key = o->name + prefix.len, *dot = strchr(key, '.');
        if (!dot) {
            show_leaf(out, o, conf, key, indent, whole);
            continue;
        }
        struct str group = str_n(o->name, (size_t)(dot - o->name) + 1);
        const struct opt *first = opts;
        while (!show_in(first, group))
            first++;
        if (first != o)
            continue;
        buf_fill(out, ' ', indent);
        buf_addf(out, "%s%.*s:\n", show_has_value(opts, group) ? "" : "# ", (int)(dot - key), key);
        show_group(out, opts, conf, group, indent + 2, whole);
    }
}

int opt_show(const struct opt *opts, const void *conf, struct buf *out)
{
    show_group(out, opts, conf, STR(""), 0, false);
    return out->err;
}

int opt_write(const struct opt *opts, const void *conf, struct buf *out)
{
    show_group(out, opts, conf, STR(""), 0, true);
    return out->err;
}

/* ---- help ---- */

/* Words of s from column `at` on, wrapped to HELP_WIDTH, continued at column `indent`. Ends the line. */
static void help_wrap(struct buf *out, struct str s, size_t at, size_t indent)
{
    struct str word;
    bool first = true;

    while (str_word(&s, &word)) {
        size_t w = (size_t)str_width(word);
        if (!first && at + 1 + w > HELP_WIDTH) {
            buf_addc(out, '\n');
            buf_fill(out, ' ', indent);
            at = indent;
        } else if (!first) {
            buf_addc(out, ' ');
            at++;
        }
        buf_addstr(out, word);
        at += w;
        first = false;
    }
    buf_addc(out, '\n');
}

bool opt_is_on(const struct opt *o)
{
    bool on = false;

    return o->type == OPT_BOOL && o->def && str_bool(str_of(o->def), &on) && on;
}

/* " (default: 10; 1 to 3600)" */
static void help_facts(struct buf *out, const struct opt *o)
{
    const char *sep = " (";
    char a[48], b[48];
    const char *def = o->type == OPT_SECRET ? NULL : o->def;

    if (o->type == OPT_CHOICE) {
        for (size_t i = 0; o->choices[i]; i++)
            buf_addf(out, "%s%s", i ? ", " : " (one of ", o->choices[i]);
        sep = "; ";
    }
    if (o->type == OPT_BOOL)
        def = opt_is_on(o) ? "on" : NULL;
    if (o->default_text)
        def = o->default_text;
    if (def && *def) {
        buf_addf(out, "%sdefault: %s", sep, def);
        sep = "; ";
    }
    if (o->type == OPT_LIST) {
        buf_addf(out, "%smay be repeated", sep);
        sep = "; ";
    } else if (opt_has_max(o) && o->max != INT64_MAX) {
        buf_addf(out, "%s%s to %s", sep, opt_number(o, o->min, a), opt_number(o, o->max, b));
        sep = "; ";
    } else if (o->min) {
        buf_addf(out, "%sat least %s", sep, opt_number(o, o->min, a));
        sep = "; ";
    }
    if (sep[0] == ';')
        buf_addc(out, ')');
}

static void help_left(struct buf *out, const struct opt *o)
{
    char flag[OPT_FLAG_MAX];

    buf_addf(out, o->letter ? "  -%c, --%s%s" : "  %c   --%s%s", o->letter ? o->letter : ' ',
             opt_is_on(o) ? "[no-]" : "", opt_flag(o, flag));
    if (o->type != OPT_BOOL)
        buf_addf(out, " %s", o->arg ? o->arg : "VALUE");
}

static void help_row(struct buf *out, struct str left, size_t width, struct str text)
{
    size_t at = (size_t)str_width(left);

    buf_addstr(out, left);
    if (at + 2 > width) {
        buf_addc(out, '\n');
        at = 0;
    }
    buf_fill(out, ' ', width - at);
    help_wrap(out, text, width, width);
}

static bool opt_shadows_help(const struct opt *opts)
{
    for (const struct opt *o = opts; o && o->name; o++)
        if (o->letter == 'h')
            return true;
    return false;
}

static void help_options(struct buf *out, const struct opt *opts)
{
    AUTO_BUF left = BUF_INIT(300), text = BUF_INIT(4000);
    size_t width = 14; /* "  -h, --help" and two spaces */

    for (const struct opt *o = opts; o && o->name; o++) {
        buf_reset(&left);
        help_left(&left, o);
        if (!o->hidden && o->type != OPT_SECTION && left.len + 2 <= HELP_LEFT)
            width = MAX(width, left.len + 2);
    }
    buf_adds(out, "\nOptions:\n");
    for (const struct opt *o = opts; o && o->name; o++) {
        if (o->hidden || o->type == OPT_SECTION)
            continue;
        buf_reset(&left);
        buf_reset(&text);
        help_left(&left, o);
        buf_adds(&text, o->help);
        help_facts(&text, o);
        help_row(out, buf_str(&left), width, buf_str(&text));
    }
    help_row(out, opt_shadows_help(opts) ? STR("      --help") : STR("  -h, --help"), width, STR("show this help"));
    for (const struct opt *o = opts; o && o->name; o++) {
        if (o->type != OPT_SECTION || o->hidden)
            continue;
        if (width)
            buf_adds(out, "\nIn the configuration file alone:\n");
        width = 0;
        buf_reset(&left);
        buf_addf(&left, "  %s:", o->name);
        help_row(out, buf_str(&left), 14, str_of(o->help));
    }
}

/* An empty line separates paragraphs; a line that starts with a space is not reflowed. */
static void help_about(struct buf *out, struct str about)
{
    AUTO_BUF para = BUF_INIT(20000);
    struct str line;
    bool more;

    do {
        more = str_line(&about, &line);
        bool keep = more && line.len && line.p[0] == ' ';
        if (more && line.len && !keep) {
            buf_addstr(&para, line);
            buf_addc(&para, ' ');
            continue;
        }
        if (para.len)
            help_wrap(out, buf_str(&para), 0, 0);
        buf_reset(&para);
        if (keep)
            buf_addstr(out, line);
        if (more)
            buf_addc(out, '\n');
    } while (more);
}

int opt_help(const struct opt_cmd *cmd, struct buf *out)
{
    struct str line, rest;

    buf_addf(out, "Usage: %s [OPTIONS]%s%s\n\n", cmd->name, cmd->args ? " " : "", cmd->args ? cmd->args : "");
    help_wrap(out, str_of(cmd->summary), 0, 0);
    if (cmd->about) {
        buf_addc(out, '\n');
        help_about(out, str_trim(str_of(cmd->about)));
    }
    help_options(out, cmd->opts);
    rest = str_of(cmd->examples ? cmd->examples : "");
    if (rest.len)
        buf_adds(out, "\nExamples:\n");
    while (str_line(&rest, &line))
        buf_addf(out, "%s%.*s\n", line.len ? "  " : "", STR_ARG(line));
    return out->err;
}

/* ---- man pages ---- */

/* Text for roff: escapes backslashes and hyphens, and lines that start like a request. */
static void man_text(struct buf *out, struct str s)
{
    bool start = out->len == 0 || out->p[out->len - 1] == '\n';

    if (start && s.len && (s.p[0] == '.' || s.p[0] == '\''))
        buf_adds(out, "\\&");
    for (size_t i = 0; i < s.len; i++) {
        if (s.p[i] == '\\')
            buf_adds(out, "\\e");
        else if (s.p[i] == '-')
            buf_adds(out, "\\-");
        else if (s.p[i] == '\n' && i + 1 < s.len && (s.p[i + 1] == '.' || s.p[i + 1] == '\''))
            buf_adds(out, "\n\\&");
        else
            buf_addc(out, s.p[i]);
    }
}

static void man_bold(struct buf *out, const char *s)
{
    buf_adds(out, "\\fB");
    man_text(out, str_of(s));
    buf_adds(out, "\\fR");
}

/* "muster ls" as the page's name: muster-ls, in capitals for the head. */
static void man_page_name(struct buf *out, const char *name, bool capitals)
{
    for (const char *c = name; *c; c++)
        if (*c == ' ' || *c == '-')
            buf_adds(out, "\\-");
        else
            buf_addc(out, capitals && *c >= 'a' && *c <= 'z' ? (char)(*c - 32) : *c);
}

/* Verbatim lines, as .EX if it is supported; .nf works everywhere. */
static void man_verbatim(struct buf *out, struct str line, bool *on)
{
    if (!*on)
        buf_adds(out, ".PP\n.nf\n");
    *on = true;
    man_text(out, line);
    buf_addc(out, '\n');
}

static void man_about(struct buf *out, struct str about)
{
    struct str line;
    bool verbatim = false, para = false;

    while (str_line(&about, &line)) {
        if (line.len && line.p[0] == ' ') {
            man_verbatim(out, line, &verbatim);
            para = true;
            continue;
        }
        if (verbatim)
            buf_adds(out, ".fi\n");
        verbatim = false;
        if (line.len == 0) {
            para = true;
            continue;
        }
        if (para)
            buf_adds(out, ".PP\n");
        para = false;
        man_text(out, line);
        buf_addc(out, '\n');
    }
    if (verbatim)
        buf_adds(out, ".fi\n");
}

static void man_option(struct buf *out, const struct opt *o)
{
    AUTO_BUF text = BUF_INIT(4000);
    char flag[OPT_FLAG_MAX], dashed[104], env[120];

    buf_adds(out, ".TP\n");
    if (o->letter)
        buf_addf(out, "\\fB\\-%c\\fR, ", o->letter);
    snprintf(dashed, sizeof(dashed), "--%s", opt_flag(o, flag));
    man_bold(out, dashed);
    if (opt_is_on(o)) {
        snprintf(dashed, sizeof(dashed), "--no-%.90s", flag);
        buf_adds(out, ", ");
        man_bold(out, dashed);
    }
    if (o->type != OPT_BOOL) {
        buf_adds(out, " \\fI");
        man_text(out, str_of(o->arg ? o->arg : "VALUE"));
        buf_adds(out, "\\fR");
    }
    buf_addc(out, '\n');
    buf_adds(&text, o->help);
    help_facts(&text, o);
    man_text(out, buf_str(&text));
    buf_addf(out, ".\nEnvironment: \\%%%s.\n", opt_env_name(o, env, sizeof(env)));
}

static void man_sections(struct buf *out, const struct opt *opts)
{
    bool begun = false;

    for (const struct opt *o = opts; o && o->name; o++) {
        if (o->type != OPT_SECTION || o->hidden)
            continue;
        if (!begun)
            buf_adds(out, ".SH IN THE CONFIGURATION FILE ALONE\n");
        begun = true;
        buf_adds(out, ".TP\n");
        man_bold(out, o->name);
        buf_adds(out, ":\n");
        man_text(out, str_of(o->help));
        buf_adds(out, ".\n");
    }
}

/* A key of the file: "rule.preset" is preset: below rule:. */
static void man_key(struct buf *out, const struct opt *o)
{
    AUTO_BUF text = BUF_INIT(4000);
    char flag[OPT_FLAG_MAX], dashed[104], env[120];

    buf_adds(out, ".TP\n");
    man_bold(out, o->name);
    if (o->type != OPT_BOOL && o->type != OPT_SECTION) {
        buf_adds(out, " \\fI");
        man_text(out, str_of(o->arg ? o->arg : "VALUE"));
        buf_adds(out, "\\fR");
    }
    buf_addc(out, '\n');
    buf_adds(&text, o->help);
    help_facts(&text, o);
    man_text(out, buf_str(&text));
    buf_adds(out, ".\n");
    if (o->type == OPT_SECTION)
        return;
    snprintf(dashed, sizeof(dashed), "--%s", opt_flag(o, flag));
    buf_adds(out, "Flag: ");
    man_bold(out, dashed);
    buf_addf(out, ". Environment: \\%%%s.\n", opt_env_name(o, env, sizeof(env)));
    if (o->fixed)
        buf_adds(out, "A change needs a restart.\n");
}

int opt_man_keys(const struct opt *opts, struct buf *out)
{
    for (const struct opt *o = opts; o->name; o++)
        if (!o->hidden && !o->no_file)
            man_key(out, o);
    return out->err;
}

int opt_man(const struct opt_cmd *cmd, struct buf *out)
{
    struct str line, rest;

    buf_adds(out, ".TH ");
    man_page_name(out, cmd->name, true);
    buf_adds(out, " 1 \"" MAN_DATE "\" \"muster " MUSTER_VERSION "\" \"muster manual\"\n.SH NAME\n");
    man_page_name(out, cmd->name, false);
    buf_adds(out, " \\- ");
    man_text(out, str_of(cmd->summary));
    buf_adds(out, "\n.SH SYNOPSIS\n");
    man_bold(out, cmd->name);
    buf_adds(out, " [OPTIONS]");
    if (cmd->args) {
        buf_addc(out, ' ');
        man_text(out, str_of(cmd->args));
    }
    buf_addc(out, '\n');
    if (cmd->about) {
        buf_adds(out, ".SH DESCRIPTION\n");
        man_about(out, str_trim(str_of(cmd->about)));
    }
    buf_adds(out, ".SH OPTIONS\n");
    for (const struct opt *o = cmd->opts; o && o->name; o++)
        if (!o->hidden && o->type != OPT_SECTION)
            man_option(out, o);
    buf_addf(out, ".TP\n%s\\fB\\-\\-help\\fR\nshow a summary and leave.\n",
             opt_shadows_help(cmd->opts) ? "" : "\\fB\\-h\\fR, ");
    man_sections(out, cmd->opts);
    rest = str_of(cmd->examples ? cmd->examples : "");
    if (rest.len) {
        bool on = true;
        buf_adds(out, ".SH EXAMPLES\n.nf\n");
        while (str_line(&rest, &line))
            man_verbatim(out, line, &on);
        buf_adds(out, ".fi\n");
    }
    buf_adds(out, ".SH SEE ALSO\n");
    if (strcmp(cmd->name, "muster") == 0)
        buf_adds(out, ".BR muster\\-agent (1)\n");
    else
        buf_adds(out, ".BR muster (1)\n");
    return out->err;
}
