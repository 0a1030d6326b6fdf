/*
 * yaml.c: a config file's text, as libyaml events walked over the option table. link/found_read.c apart, nothing else
 * knows libyaml; the lean agent does without. Bounded: 1 MiB of text, 8 levels, no anchors, aliases or tags, one
 * document.
 */
#include <errno.h>
#include <stdio.h>
#include <yaml.h>

#include "base/mem.h"
#include "base/opt.h"

#define YAML_TEXT_MAX (1u << 20)
#define YAML_DEPTH    8
#define YAML_PATH_MAX 200

struct walk {
    yaml_parser_t parser;
    yaml_event_t ev; /* the event at hand; freed by the next step */
    bool have_ev;
    const struct opt *opts;
    void *conf;
    bool *seen; /* by row: a key given twice is a mistake */
    const char *path;
    struct err *err;
};

static int walk_fail(struct walk *w, yaml_mark_t at, struct str key, const char *what)
{
    bool named = key.len > 0;

    return err_set(w->err, -EINVAL, "%s:%zu:%zu: %.*s%s%s", w->path, at.line + 1, at.column + 1, (int)MIN(key.len, 80u),
                   named ? key.p : "", named ? ": " : "", what);
}

/* The next event into w->ev. What we never take is refused here, once for all places. */
static int walk_next(struct walk *w)
{
    if (w->have_ev)
        yaml_event_delete(&w->ev);
    w->have_ev = false;
    if (!yaml_parser_parse(&w->parser, &w->ev)) {
        const char *what = w->parser.problem ? w->parser.problem : "not YAML";
        yaml_mark_t at = w->parser.problem_mark;
        if (w->parser.error == YAML_MEMORY_ERROR)
            return err_set(w->err, -ENOMEM, "%s: out of memory", w->path);
        if (w->parser.error == YAML_READER_ERROR)
            return err_set(w->err, -EINVAL, "%s: %s at byte %zu", w->path, what, w->parser.problem_offset);
        return walk_fail(w, at, STR(""), what);
    }
    w->have_ev = true;
    yaml_char_t *anchor = NULL, *tag = NULL;
    switch (w->ev.type) {
    case YAML_ALIAS_EVENT:
        return walk_fail(w, w->ev.start_mark, STR(""), "aliases are not supported: write the value out");
    case YAML_SCALAR_EVENT:
        anchor = w->ev.data.scalar.anchor;
        tag = w->ev.data.scalar.tag;
        break;
    case YAML_SEQUENCE_START_EVENT:
        anchor = w->ev.data.sequence_start.anchor;
        tag = w->ev.data.sequence_start.tag;
        break;
    case YAML_MAPPING_START_EVENT:
        anchor = w->ev.data.mapping_start.anchor;
        tag = w->ev.data.mapping_start.tag;
        break;
    default:
        break;
    }
    if (anchor)
        return walk_fail(w, w->ev.start_mark, STR(""), "anchors are not supported: write the value out");
    if (tag)
        return walk_fail(w, w->ev.start_mark, STR(""), "tags are not supported");
    return 0;
}

static struct str walk_text(const struct walk *w)
{
    return str_n(w->ev.data.scalar.value, w->ev.data.scalar.length);
}

static bool walk_null(const struct walk *w)
{
    struct str s = walk_text(w);

    return w->ev.data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           (s.len == 0 || str_eq(s, "~") || str_eq_nocase(s, "null"));
}

/* ---- keys ---- */

static char walk_fold(char c)
{
    return c == '_' || c == '.' ? '-' : c;
}

/* Is `key` the first whole words of an option's name, with more to come? "rule" is, when there is "rule.util". */
static bool walk_is_group(const struct opt *o, struct str key)
{
    for (size_t i = 0; i < key.len; i++)
        if (!o->name[i] || walk_fold(o->name[i]) != walk_fold(key.p[i]))
            return false;
    return o->name[key.len] == '.';
}

static const struct opt *walk_find_group(const struct walk *w, struct str key)
{
    for (const struct opt *o = w->opts; o->name; o++)
        if (walk_is_group(o, key))
            return o;
    return NULL;
}

/* The name meant by an unknown key: a group's or an option's in the same place, or an option's in another. */
static struct str walk_near(const struct walk *w, struct str key)
{
    struct str best = STR("");
    int words = 0, least = 0;

    for (size_t i = 0; i < key.len; i++)
        words += key.p[i] == '.';
    for (const struct opt *o = w->opts; o->name; o++) {
        struct str name = str_of(o->name), same = {name.p, 0};
        for (int left = words; same.len < name.len && (name.p[same.len] != '.' || left-- > 0);)
            same.len++;
        int d = o->hidden ? -1 : str_near(key, same);
        bool elsewhere = !o->hidden && name.len > key.len + 1 && name.p[name.len - key.len - 1] == '.' &&
                         memcmp(name.p + name.len - key.len, key.p, key.len) == 0;
        if (d < 0 && elsewhere)
            d = 5; /* the right word in the wrong place: weaker than a slip */
        if (d >= 0 && (best.len == 0 || d < least)) {
            best = d == 5 ? name : same;
            least = d;
        }
    }
    return best;
}

static int walk_unknown(struct walk *w, yaml_mark_t at, struct str key)
{
    struct str near = walk_near(w, key);
    char what[300];

    if (near.len)
        snprintf(what, sizeof(what), "unknown key '%.*s' (did you mean '%.*s'?)", (int)MIN(key.len, 80u), key.p,
                 (int)MIN(near.len, 80u), near.p);
    else
        snprintf(what, sizeof(what), "unknown key '%.*s'", (int)MIN(key.len, 80u), key.p);
    return walk_fail(w, at, STR(""), what);
}

/* ---- values ---- */

static const char *walk_expected(enum opt_type type)
{
    switch (type) {
    case OPT_BOOL:
        return "expected yes or no";
    case OPT_INT:
        return "expected a whole number";
    case OPT_DURATION:
        return "expected a length of time, like 10s or 5m";
    case OPT_BYTES:
        return "expected a size, like 40G";
    case OPT_PERCENT:
        return "expected a percentage, like 5%";
    case OPT_LIST:
        return "expected a list, like [a, b]";
    default:
        return "expected one text";
    }
}

/* A scalar for the option; the sentence of opt_set names the option, the mark says where. */
static int walk_set(struct walk *w, const struct opt *o)
{
    struct err why = {0};
    int r = opt_set(o, w->conf, walk_text(w), &why);

    return r < 0 ? walk_fail(w, w->ev.start_mark, STR(""), why.msg) : 0;
}

static int walk_list(struct walk *w, const struct opt *o)
{
    opt_clear(o, w->conf);
    for (;;) {
        int r = walk_next(w);
        if (r < 0 || w->ev.type == YAML_SEQUENCE_END_EVENT)
            return r;
        if (w->ev.type != YAML_SCALAR_EVENT || walk_null(w))
            return walk_fail(w, w->ev.start_mark, str_of(o->name), "expected a list of plain texts");
        r = walk_set(w, o);
        if (r < 0)
            return r;
    }
}

/* The value of an option: w->ev is its first event. null takes the default back, where that is nothing. */
static int walk_value(struct walk *w, const struct opt *o, yaml_mark_t key_at)
{
    bool *seen = &w->seen[o - w->opts];
    bool text = o->type == OPT_STR || o->type == OPT_PATH || o->type == OPT_SECRET || o->type == OPT_LIST;

    if (o->no_file)
        return walk_fail(w, key_at, str_of(o->name), "cannot be set in a file");
    if (*seen)
        return walk_fail(w, key_at, str_of(o->name), "given twice");
    *seen = true;
    if (o->type == OPT_LIST && w->ev.type == YAML_SEQUENCE_START_EVENT)
        return walk_list(w, o);
    if (w->ev.type != YAML_SCALAR_EVENT || (!text && walk_null(w)))
        return walk_fail(w, w->ev.start_mark, str_of(o->name), walk_expected(o->type));
    if (walk_null(w)) {
        opt_clear(o, w->conf);
        return 0;
    }
    if (o->type == OPT_LIST)
        return walk_fail(w, w->ev.start_mark, str_of(o->name), walk_expected(o->type));
    return walk_set(w, o);
}

/* Keys and values until the mapping ends. path[] holds the dotted name of the mapping and grows by each key in turn. */
static int walk_mapping(struct walk *w, char path[YAML_PATH_MAX], size_t len, int depth)
{
    for (;;) {
        int r = walk_next(w);
        if (r < 0 || w->ev.type == YAML_MAPPING_END_EVENT)
            return r;
        yaml_mark_t at = w->ev.start_mark;
        if (w->ev.type != YAML_SCALAR_EVENT)
            return walk_fail(w, at, str_n(path, len), "expected a key");
        struct str key = walk_text(w);
        if (key.len == 0 || !str_utf8_ok(key) || len + key.len + 2 > YAML_PATH_MAX)
            return walk_fail(w, at, str_n(path, len), key.len ? "that is no key" : "an empty key");
        size_t now = len;
        if (len)
            path[now++] = '.';
        memcpy(path + now, key.p, key.len);
        now += key.len;
        struct str name = str_n(path, now);
        const struct opt *o = opt_find(w->opts, name);
        if (!o && !walk_find_group(w, name))
            return walk_unknown(w, at, name);
        r = walk_next(w);
        if (r < 0)
            return r;
        if (o)
            r = walk_value(w, o, at);
        else if (w->ev.type == YAML_MAPPING_START_EVENT && depth >= YAML_DEPTH)
            r = walk_fail(w, at, name, "nested too deeply");
        else if (w->ev.type == YAML_MAPPING_START_EVENT)
            r = walk_mapping(w, path, now, depth + 1);
        else if (w->ev.type != YAML_SCALAR_EVENT || !walk_null(w))
            r = walk_fail(w, w->ev.start_mark, name, "expected keys under it, each on its own line");
        if (r < 0)
            return r;
    }
}

static int walk_document(struct walk *w)
{
    char path[YAML_PATH_MAX];
    int r = walk_next(w); /* stream start */

    if (r == 0)
        r = walk_next(w);
    if (r < 0 || w->ev.type == YAML_STREAM_END_EVENT) /* nothing but comments: every default holds */
        return r;
    r = walk_next(w);
    if (r < 0)
        return r;
    if (w->ev.type == YAML_MAPPING_START_EVENT)
        r = walk_mapping(w, path, 0, 1);
    else if (w->ev.type != YAML_SCALAR_EVENT || !walk_null(w))
        r = walk_fail(w, w->ev.start_mark, STR(""), "expected 'name: value' lines");
    if (r == 0)
        r = walk_next(w); /* document end */
    if (r == 0)
        r = walk_next(w);
    if (r == 0 && w->ev.type != YAML_STREAM_END_EVENT)
        r = walk_fail(w, w->ev.start_mark, STR(""), "a second document: there can be one");
    return r;
}

int opt_yaml(const struct opt *opts, void *conf, struct str text, const char *path, struct err *err)
{
    struct walk w = {.opts = opts, .conf = conf, .path = path, .err = err};
    size_t rows = 0;

    if (text.len > YAML_TEXT_MAX)
        return err_set(err, -EMSGSIZE, "%s: larger than %u bytes", path, YAML_TEXT_MAX);
    if (!yaml_parser_initialize(&w.parser))
        return err_set(err, -ENOMEM, "%s: out of memory", path);
    while (opts[rows].name)
        rows++;
    w.seen = mem_zero(rows, sizeof(bool));
    yaml_parser_set_encoding(&w.parser, YAML_UTF8_ENCODING); /* not guessed from the first bytes */
    yaml_parser_set_input_string(&w.parser, (const unsigned char *)text.p, text.len);
    int r = walk_document(&w);
    if (w.have_ev)
        yaml_event_delete(&w.ev);
    yaml_parser_delete(&w.parser);
    free(w.seen);
    return r;
}
