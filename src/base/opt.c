/*
 * opt.c: one table of options, filled from flags, environment and env files. Printing is in opt_print.c, YAML in
 * yaml.c. A text is never stored empty: a string option that was set to "" is NULL again, so there is one form of "not
 * set".
 */
#include "base/opt.h"

#include <errno.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"

#define OPT_ENV_PREFIX   "MUSTER_"
#define OPT_ENV_FILE_MAX (256u << 10)
#define OPT_NAME_MAX     96

/* ---- names ---- */

static char opt_fold(char c)
{
    return c == '_' || c == '.' ? '-' : c;
}

static bool opt_same(const char *name, struct str s)
{
    size_t i;

    for (i = 0; i < s.len && name[i]; i++)
        if (opt_fold(name[i]) != opt_fold(s.p[i]))
            return false;
    return i == s.len && name[i] == 0;
}

const struct opt *opt_find(const struct opt *opts, struct str name)
{
    for (const struct opt *o = opts; o->name; o++)
        if (opt_same(o->name, name))
            return o;
    return NULL;
}

const char *opt_flag(const struct opt *o, char out[OPT_FLAG_MAX])
{
    mem_copy_str(out, OPT_FLAG_MAX, o->name);
    for (char *c = out; *c; c++)
        *c = opt_fold(*c);
    return out;
}

const char *opt_env_name(const struct opt *o, char *out, size_t size)
{
    snprintf(out, size, OPT_ENV_PREFIX "%s", o->name);
    for (char *c = out; *c; c++)
        *c = opt_fold(*c) == '-' ? '_' : *c >= 'a' && *c <= 'z' ? (char)(*c - 32) : *c;
    return out;
}

/* What a mistyped name was meant to be, or NULL */
static const struct opt *opt_near(const struct opt *opts, struct str name)
{
    const struct opt *best = NULL;
    char wanted[OPT_NAME_MAX], have[OPT_FLAG_MAX];
    int least = 0;

    if (name.len >= sizeof(wanted))
        return NULL;
    memcpy(wanted, name.p, name.len);
    wanted[name.len] = 0;
    for (char *c = wanted; *c; c++)
        *c = opt_fold(*c >= 'A' && *c <= 'Z' ? (char)(*c + 32) : *c);
    for (const struct opt *o = opts; o->name; o++) {
        int d = o->hidden || o->type == OPT_SECTION ? -1 : str_near(str_of(wanted), str_of(opt_flag(o, have)));
        if (d >= 0 && (!best || d < least)) {
            best = o;
            least = d;
        }
    }
    return best;
}

/* ---- values ---- */

static void *opt_at(const struct opt *o, void *conf)
{
    return (char *)conf + o->offset;
}

static bool opt_is_text(enum opt_type type)
{
    return type == OPT_STR || type == OPT_PATH || type == OPT_SECRET;
}

static size_t opt_size(enum opt_type type)
{
    return type == OPT_BOOL      ? sizeof(bool)
           : type == OPT_CHOICE  ? sizeof(int)
           : type == OPT_LIST    ? sizeof(struct opt_list)
           : type == OPT_SECTION ? sizeof(struct opt_section)
           : opt_is_text(type)   ? sizeof(char *)
                                 : sizeof(int64_t);
}

static void opt_clear_list(struct opt_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->v[i]);
    free(list->v);
    *list = (struct opt_list){0};
}

static int opt_bad(struct err *err, struct str value, const char *what)
{
    return err_set(err, -EINVAL, "'%.*s'%s %s", (int)MIN(value.len, 80u), value.p, value.len > 80 ? "..." : "", what);
}

/* min > 0 with max 0 has no upper end. */
bool opt_has_max(const struct opt *o)
{
    return o->max > o->min || (o->max == o->min && o->max != 0);
}

static int opt_set_number(const struct opt *o, int64_t *ret, struct str value, struct err *err)
{
    struct str s = value;
    char limit[48];
    int64_t v;

    switch (o->type) {
    case OPT_DURATION:
        if (!str_duration_ms(s, &v))
            return opt_bad(err, value, "is not a length of time (like 500ms, 10s, 5m or 1h30m)");
        break;
    case OPT_BYTES:
        if (!str_bytes(s, &v))
            return opt_bad(err, value, "is not a size (like 512, 40M or 1.5G)");
        break;
    case OPT_PERCENT:
        if (str_ends(s, "%"))
            s = str_trim(str_n(s.p, s.len - 1));
        if (!str_fixed(s, 100, &v))
            return opt_bad(err, value, "is not a percentage (like 5 or 12.5%)");
        break;
    default:
        if (!str_int(s, &v))
            return opt_bad(err, value, "is not a whole number");
        break;
    }
    if ((o->min || o->max) && v < o->min)
        return err_set(err, -EINVAL, "'%.*s' is below %s", (int)MIN(value.len, 80u), value.p,
                       opt_number(o, o->min, limit));
    if (opt_has_max(o) && v > o->max)
        return err_set(err, -EINVAL, "'%.*s' is above %s", (int)MIN(value.len, 80u), value.p,
                       opt_number(o, o->max, limit));
    *ret = v;
    return 0;
}

static int opt_set_choice(const struct opt *o, int *ret, struct str value, struct err *err)
{
    AUTO_BUF all = BUF_INIT(300);

    for (int i = 0; o->choices[i]; i++) {
        if (str_eq(value, o->choices[i])) {
            *ret = i;
            return 0;
        }
        buf_addf(&all, "%s%s", i ? ", " : "is not one of ", o->choices[i]);
    }
    return opt_bad(err, value, buf_str(&all).p);
}

static int opt_check_text(const struct opt *o, struct str value, struct err *err)
{
    if (str_utf8_ok(value))
        return 0;
    if (o->type == OPT_SECRET)
        return err_set(err, -EINVAL, "the value is not plain text");
    return err_set(err, -EINVAL, "the value has control characters or is not UTF-8");
}

/* As opt_set, but the message does not name the option: every caller has its own name for it. */
static int opt_value(const struct opt *o, void *conf, struct str value, struct err *err)
{
    void *at = opt_at(o, conf);

    if (o->type == OPT_SECTION)
        return err_set(err, -EINVAL, "can only be set in a file");
    if (opt_is_text(o->type) || o->type == OPT_LIST) {
        int r = opt_check_text(o, value, err);
        if (r < 0)
            return r;
        if (o->type == OPT_LIST) {
            struct opt_list *list = at;
            list->v = mem_grow(list->v, list->n + 2, sizeof(*list->v));
            list->v[list->n++] = mem_strn(value.p, value.len);
            list->v[list->n] = NULL;
            return 0;
        }
        char **text = at;
        free(*text);
        *text = value.len ? mem_strn(value.p, value.len) : NULL;
        return 0;
    }
    value = str_trim(value);
    if (o->type == OPT_BOOL)
        return str_bool(value, at) ? 0 : opt_bad(err, value, "is not yes or no");
    if (o->type == OPT_CHOICE)
        return opt_set_choice(o, at, value, err);
    return opt_set_number(o, at, value, err);
}

int opt_set(const struct opt *o, void *conf, struct str value, struct err *err)
{
    int r = opt_value(o, conf, value, err);

    return r < 0 ? err_prefix(err, r, "%s", o->name) : 0;
}

void opt_clear(const struct opt *o, void *conf)
{
    void *at = opt_at(o, conf);

    if (o->type == OPT_LIST) {
        opt_clear_list(at);
    } else if (o->type == OPT_SECTION) {
        struct opt_section *s = at;
        free(s->text);
        free(s->path);
        *s = (struct opt_section){0};
    } else if (opt_is_text(o->type)) {
        char **text = at;
        free(*text);
        *text = NULL;
    }
}

/* A value that may be a comma list; it replaces the value of a weaker source. */
static int opt_set_whole(const struct opt *o, void *conf, struct str value, struct err *err)
{
    struct str item;
    int r = 0;

    if (o->type != OPT_LIST)
        return opt_value(o, conf, value, err);
    opt_clear(o, conf);
    while (r == 0 && (o->blanks ? str_word(&value, &item) : str_cut(&value, ',', &item))) {
        item = str_trim(item);
        if (item.len)
            r = opt_value(o, conf, item, err);
    }
    return r;
}

void opt_defaults(const struct opt *opts, void *conf)
{
    for (const struct opt *o = opts; o->name; o++) {
        struct err err = {0};
        memset(opt_at(o, conf), 0, opt_size(o->type)); /* a new conf starts here: earlier content is not freed */
        if (o->def && opt_set_whole(o, conf, str_of(o->def), &err) < 0) {
            fprintf(stderr, "option %s: bad default: %s\n", o->name, err.msg); /* a bug in the table, not the user's
                                                                                * mistake */
            abort();
        }
    }
}

void opt_fini(const struct opt *opts, void *conf)
{
    for (const struct opt *o = opts; conf && o->name; o++)
        opt_clear(o, conf);
}

/* ---- what differs ---- */

static bool same_list(const struct opt_list *a, const struct opt_list *b)
{
    return a->n == b->n && !ANY(a->n, i, !str_same(a->v[i], b->v[i]));
}

static bool same_value(const struct opt *o, const void *a, const void *b)
{
    if (opt_is_text(o->type))
        return str_same(*(char *const *)a, *(char *const *)b);
    if (o->type == OPT_LIST)
        return same_list(a, b);
    if (o->type == OPT_SECTION)
        return str_same(((const struct opt_section *)a)->text, ((const struct opt_section *)b)->text);
    return memcmp(a, b, opt_size(o->type)) == 0;
}

const struct opt *opt_fixed_differs(const struct opt *opts, const void *a, const void *b)
{
    for (const struct opt *o = opts; o->name; o++)
        if (o->fixed && !same_value(o, (const char *)a + o->offset, (const char *)b + o->offset))
            return o;
    return NULL;
}

bool opt_differ(const struct opt *opts, const char *names, const void *a, const void *b)
{
    struct str rest = str_of(names), name;
    bool differ = false;

    while (str_word(&rest, &name)) {
        const struct opt *o = opt_find(opts, name);
        differ |= !same_value(o, (const char *)a + o->offset, (const char *)b + o->offset);
    }
    return differ;
}

/* ---- environment ---- */

/* An empty variable counts as one that is not there, as service managers and container tools have it. */
int opt_env(const struct opt *opts, void *conf, struct err *err)
{
    char name[OPT_NAME_MAX + sizeof(OPT_ENV_PREFIX)];

    for (const struct opt *o = opts; o->name; o++) {
        const char *v = o->type == OPT_SECTION ? NULL : getenv(opt_env_name(o, name, sizeof(name)));
        int r = v && *v ? opt_set_whole(o, conf, str_of(v), err) : 0;
        if (r < 0)
            return err_prefix(err, r, "%s", name);
    }
    return 0;
}

static const struct opt *opt_find_env(const struct opt *opts, struct str name)
{
    char have[OPT_NAME_MAX + sizeof(OPT_ENV_PREFIX)];

    for (const struct opt *o = opts; o->name; o++)
        if (o->type != OPT_SECTION && str_eq(name, opt_env_name(o, have, sizeof(have))))
            return o;
    return NULL;
}

/* Quotes as systemd and shells have them: '...' as is, "..." with \" and \\. The text in *out, which is emptied first.
 */
static int opt_unquote(struct str v, struct buf *out, struct err *err)
{
    buf_reset(out);
    if (v.len == 0 || (v.p[0] != '"' && v.p[0] != '\''))
        return buf_addstr(out, v);
    char quote = v.p[0];
    size_t i;
    for (i = 1; i < v.len && v.p[i] != quote; i++) {
        if (quote == '"' && v.p[i] == '\\' && i + 1 < v.len && (v.p[i + 1] == '"' || v.p[i + 1] == '\\'))
            i++;
        buf_addc(out, v.p[i]);
    }
    if (i + 1 != v.len)
        return err_set(err, -EINVAL, i < v.len ? "text after the closing quote" : "a quote is not closed");
    return out->err;
}

static int opt_env_unknown(const struct opt *opts, struct str name, struct err *err)
{
    char best[OPT_NAME_MAX + sizeof(OPT_ENV_PREFIX)];
    struct str bare = name;
    const struct opt *o = str_skip(&bare, OPT_ENV_PREFIX) ? opt_near(opts, bare) : NULL;

    if (o)
        return err_set(err, -EINVAL, "unknown name '%.*s' (did you mean '%s'?)", (int)MIN(name.len, 80u), name.p,
                       opt_env_name(o, best, sizeof(best)));
    return err_set(err, -EINVAL, "unknown name '%.*s'", (int)MIN(name.len, 80u), name.p);
}

static int opt_env_line(const struct opt *opts, void *conf, struct str line, struct buf *scratch, struct err *err)
{
    struct str name;

    line = str_trim(line);
    if (line.len == 0 || line.p[0] == '#' || line.p[0] == ';')
        return 0;
    if (!memchr(line.p, '=', line.len))
        return err_set(err, -EINVAL, "expected " OPT_ENV_PREFIX "NAME=value");
    str_cut(&line, '=', &name);
    const struct opt *o = opt_find_env(opts, name);
    if (!o)
        return opt_env_unknown(opts, name, err);
    if (o->no_file)
        return err_set(err, -EINVAL, "%.*s cannot be set in a file", STR_ARG(name));
    int r = opt_unquote(str_trim(line), scratch, err);
    if (r == 0 && scratch->len)
        r = opt_set_whole(o, conf, buf_str(scratch), err);
    return r < 0 ? err_prefix(err, r, "%.*s", STR_ARG(name)) : 0;
}

int opt_env_text(const struct opt *opts, void *conf, struct str text, const char *path, struct err *err)
{
    AUTO_BUF scratch = BUF_INIT(OPT_ENV_FILE_MAX);
    struct str line;

    for (unsigned n = 1; str_line(&text, &line); n++) {
        int r = opt_env_line(opts, conf, line, &scratch, err);
        if (r < 0)
            return err_prefix(err, r, "%s:%u", path, n);
    }
    return 0;
}

int opt_env_file(const struct opt *opts, void *conf, const char *path, struct err *err)
{
    AUTO_BUF text = {0};
    int r = file_read(path, OPT_ENV_FILE_MAX, &text, err);

    return r < 0 ? r : opt_env_text(opts, conf, buf_str(&text), path, err);
}

/* ---- flags ---- */

struct opt_walk {
    const struct opt *opts;
    void *conf;
    int argc, at; /* at: the next argument to read */
    char **argv;
    bool *seen; /* by row: a list's first flag drops the values of weaker sources */
    bool help;
    const struct opt *peek; /* read this option alone, into peeked; conf is unused */
    const char *peeked;
    int flag_at, peeked_at; /* the argument with the flag that is read now; with peek's */
};

static int opt_flag_value(struct opt_walk *w, const struct opt *o, const char *shown, struct str value, struct err *err)
{
    bool *seen = &w->seen[o - w->opts];

    if (w->peek) {
        w->peeked_at = o == w->peek ? w->flag_at : w->peeked_at;
        w->peeked = o == w->peek ? value.p : w->peeked;
        return 0;
    }
    if (o->type == OPT_LIST && !*seen)
        opt_clear(o, w->conf);
    *seen = true;
    int r = opt_value(o, w->conf, value, err);
    return r < 0 ? err_prefix(err, r, "%s", shown) : 0;
}

/* The argument after a flag, as its value. */
static int opt_next_value(struct opt_walk *w, const struct opt *o, const char *shown, struct err *err)
{
    if (w->at >= w->argc)
        return err_set(err, -EINVAL, "%s needs a value%s%s", shown, o->arg ? ": " : "", o->arg ? o->arg : "");
    return opt_flag_value(w, o, shown, str_of(w->argv[w->at++]), err);
}

static int opt_long_unknown(struct opt_walk *w, struct str name, struct err *err)
{
    char flag[OPT_FLAG_MAX];
    const struct opt *o = opt_near(w->opts, name);

    if (o)
        return err_set(err, -EINVAL, "unknown option '--%.*s' (did you mean '--%s'?)", (int)MIN(name.len, 80u), name.p,
                       opt_flag(o, flag));
    return err_set(err, -EINVAL, "unknown option '--%.*s'", (int)MIN(name.len, 80u), name.p);
}

static int opt_long(struct opt_walk *w, const char *arg, struct err *err)
{
    char shown[OPT_FLAG_MAX + 2], flag[OPT_FLAG_MAX];
    struct str value = str_of(arg + 2), name, positive;
    bool has_value = strchr(arg, '=') != NULL, no = false;

    str_cut(&value, '=', &name);
    const struct opt *o = opt_find(w->opts, name);
    positive = name;
    if (!o && (str_skip(&positive, "no-") || str_skip(&positive, "no_"))) {
        o = opt_find(w->opts, positive);
        no = o && o->type == OPT_BOOL;
        o = no ? o : NULL;
    }
    if (!o && str_eq(name, "help") && !has_value) {
        w->help = true;
        return 0;
    }
    if (!o)
        return opt_long_unknown(w, name, err);
    snprintf(shown, sizeof(shown), "--%s", opt_flag(o, flag));
    if (no && has_value)
        return err_set(err, -EINVAL, "--no-%s accepts no value", flag);
    if (o->type == OPT_BOOL && !has_value)
        return opt_flag_value(w, o, shown, no ? STR("false") : STR("true"), err);
    return has_value ? opt_flag_value(w, o, shown, value, err) : opt_next_value(w, o, shown, err);
}

/* "-x value", "-xvalue", and several letters that need no value in one: "-vq". */
static int opt_letters(struct opt_walk *w, const char *arg, struct err *err)
{
    for (const char *c = arg + 1; *c; c++) {
        char shown[3] = {'-', *c, 0};
        const struct opt *o = w->opts;
        int r;
        while (o->name && o->letter != *c)
            o++;
        if (!o->name && *c == 'h') {
            w->help = true;
            return 0;
        }
        if (!o->name)
            return err_set(err, -EINVAL, "unknown option '%s'",
                           (*c > ' ' && *c < 0x7f) ? shown : arg); /* not half a UTF-8 character */
        if (o->type != OPT_BOOL)
            return c[1] ? opt_flag_value(w, o, shown, str_of(c + 1), err) : opt_next_value(w, o, shown, err);
        r = opt_flag_value(w, o, shown, STR("true"), err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* When mixed, stores operands in order in ops[]; else the first operand ends it. Returns as opt_args. */
static int opt_walk_args(struct opt_walk *w, char **ops, int *n_ops, struct err *err)
{
    while (w->at < w->argc && !w->help) {
        char *arg = w->argv[w->at];
        int r;
        if (arg[0] != '-' || !arg[1]) {
            if (!ops)
                break;
            ops[(*n_ops)++] = arg;
            w->at++;
            continue;
        }
        w->flag_at = w->at++;
        if (strcmp(arg, "--") == 0)
            break;
        r = arg[1] == '-' ? opt_long(w, arg, err) : opt_letters(w, arg, err);
        if (r < 0)
            return r;
    }
    return w->help ? 1 : 0;
}

static struct opt_walk opt_walk_of(const struct opt *opts, void *conf, int argc, char **argv)
{
    size_t rows = 0;

    while (opts[rows].name)
        rows++;
    return (struct opt_walk){.opts = opts,
                             .conf = conf,
                             .argc = argc,
                             .at = MIN(argc, 1),
                             .argv = argv,
                             .seen = mem_zero(rows, sizeof(bool))};
}

static struct opt_walk opt_peek(const struct opt *opts, const char *name, bool mixed, int argc, char **argv)
{
    struct opt_walk w = opt_walk_of(opts, NULL, argc, argv);
    AUTO_FREE char **ops = mem_zero((size_t)argc + 1, sizeof(*ops));
    struct err ignored = {0}; /* opt_args reports it */
    int n = 0;

    w.peek = opt_find(opts, str_of(name));
    if (w.peek)
        opt_walk_args(&w, mixed ? ops : NULL, &n, &ignored);
    free(w.seen);
    return w;
}

const char *opt_args_peek(const struct opt *opts, const char *name, bool mixed, int argc, char **argv)
{
    return opt_peek(opts, name, mixed, argc, argv).peeked;
}

int opt_args_drop(const struct opt *opts, const char *name, int argc, char **argv)
{
    for (;;) {
        struct opt_walk w = opt_peek(opts, name, true, argc, argv);
        if (!w.peeked)
            return argc;
        memmove(argv + w.peeked_at, argv + w.peeked_at + 1, (size_t)(argc - w.peeked_at) * sizeof(*argv));
        argc--;
    }
}

int opt_args(const struct opt *opts, void *conf, int argc, char **argv, int *ret_argi, struct err *err)
{
    struct opt_walk w = opt_walk_of(opts, conf, argc, argv);
    int r = opt_walk_args(&w, NULL, NULL, err);

    free(w.seen);
    if (r == 0)
        *ret_argi = w.at;
    return r;
}

int opt_args_mixed(const struct opt *opts, void *conf, int argc, char **argv, int *ret_argi, struct err *err)
{
    struct opt_walk w = opt_walk_of(opts, conf, argc, argv);
    AUTO_FREE char **ops = mem_zero((size_t)argc + 1, sizeof(*ops));
    int n = 0, to = w.at;
    int r = opt_walk_args(&w, ops, &n, err);

    free(w.seen);
    if (r != 0)
        return r;
    /* Move flags to the front and the operands among them behind them. Arguments after "--" keep their places. */
    for (int from = to, op = 0; from < w.at; from++) {
        if (op < n && argv[from] == ops[op])
            op++;
        else
            argv[to++] = argv[from];
    }
    for (int i = 0; i < n; i++)
        argv[to + i] = ops[i];
    *ret_argi = to;
    return 0;
}
