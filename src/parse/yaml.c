/* yaml.c: reads a config file into the values of an option table. */
#include "base/buf.h"
#include "base/opt.h"
#include "parse/ytree.h"

#define YAML_PATH_MAX 200

struct walk {
    struct ytree tree;
    struct str text;
    const struct opt *opts;
    void *conf;
    bool *seen; /* by row: a key given twice is a mistake */
    struct err *err;
};

static int walk_fail(struct walk *w, const struct ynode *at, struct str key, const char *what)
{
    bool named = key.len > 0;

    return ytree_fail(&w->tree, at, w->err, "%.*s%s%s", (int)MIN(key.len, 80u), named ? key.p : "", named ? ": " : "",
                      what);
}

/* ---- keys ---- */

static char walk_fold(char c)
{
    return c == '_' || c == '.' ? '-' : c;
}

/* True if `key` is the first whole words of a longer option name: "rule" is, if there is "rule.util". */
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

static int walk_unknown(struct walk *w, const struct ynode *at, struct str key)
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

/* Sets an option from a scalar. opt_set's message names the option, the mark gives the place. */
static int walk_set(struct walk *w, const struct opt *o, const struct ynode *v)
{
    struct err why = {0};
    int r = opt_set(o, w->conf, v->text, &why);

    return r < 0 ? walk_fail(w, v, STR(""), why.msg) : 0;
}

static int walk_list(struct walk *w, const struct opt *o, const struct ynode *list)
{
    int r = 0;

    opt_clear(o, w->conf);
    for (size_t i = 0; i < list->n && r == 0; i++) {
        const struct ynode *v = &list->v[i];
        if (v->kind != YNODE_TEXT || v->null)
            return walk_fail(w, v, str_of(o->name), "expected a list of plain texts");
        r = walk_set(w, o, v);
    }
    return r;
}

/* names: {a: b, c: [d, e]} is the list a=b, c=d=e. */
static int walk_pairs(struct walk *w, const struct opt *o, const struct ynode *map)
{
    int r = 0;

    opt_clear(o, w->conf);
    for (size_t i = 0; i < map->n && r == 0; i++) {
        const struct ynode *v = &map->v[i], *one = v->kind == YNODE_LIST ? v->v : v;
        size_t n = v->kind == YNODE_LIST ? v->n : 1;
        AUTO_BUF pair = BUF_INIT(4096);
        buf_addstr(&pair, map->keys[i].text);
        for (size_t k = 0; k < n; k++) {
            if (one[k].kind != YNODE_TEXT || one[k].null)
                return walk_fail(w, v, str_of(o->name), "expected a text, or a list of plain texts");
            buf_addc(&pair, '=');
            buf_addstr(&pair, one[k].text);
        }
        struct ynode whole = *v;
        whole.text = buf_str(&pair);
        r = pair.err ? walk_fail(w, v, str_of(o->name), "too long") : walk_set(w, o, &whole);
    }
    return r;
}

/* Keeps a section as written, with its original indentation: its owner parses it and reports places. */
static int walk_section(struct walk *w, const struct opt *o, const struct ynode *v)
{
    struct opt_section *s = (struct opt_section *)(void *)((char *)w->conf + o->offset);

    if (v->kind == YNODE_TEXT && !v->null)
        return walk_fail(w, v, str_of(o->name), "expected keys or a list under it");
    opt_clear(o, w->conf);
    if (v->n)
        *s = (struct opt_section){.text = mem_fmt("%*s%.*s", (int)MIN(v->column - 1, 1u << 16), "",
                                                  (int)(v->to - v->from), w->text.p + v->from),
                                  .path = mem_str(w->tree.path),
                                  .line = v->line - 1};
    return 0;
}

/* null resets an option whose default is empty. */
static int walk_value(struct walk *w, const struct opt *o, const struct ynode *key, const struct ynode *v)
{
    bool *seen = &w->seen[o - w->opts];
    bool text = o->type == OPT_STR || o->type == OPT_PATH || o->type == OPT_SECRET || o->type == OPT_LIST;

    if (o->no_file)
        return walk_fail(w, key, str_of(o->name), "cannot be set in a file");
    if (*seen)
        return walk_fail(w, key, str_of(o->name), "given twice");
    *seen = true;
    if (o->type == OPT_SECTION)
        return walk_section(w, o, v);
    if (o->type == OPT_LIST && v->kind == YNODE_LIST)
        return walk_list(w, o, v);
    if (o->type == OPT_LIST && v->kind == YNODE_MAP)
        return walk_pairs(w, o, v);
    if (v->kind != YNODE_TEXT || (!text && v->null))
        return walk_fail(w, v, str_of(o->name), walk_expected(o->type));
    if (v->null) {
        opt_clear(o, w->conf);
        return 0;
    }
    if (o->type == OPT_LIST)
        return walk_fail(w, v, str_of(o->name), walk_expected(o->type));
    return walk_set(w, o, v);
}

/* Keys and values of a mapping. path[] holds its dotted name and grows by each key in turn; the tree bounds the depth.
 */
static int walk_mapping(struct walk *w, const struct ynode *map, char path[YAML_PATH_MAX], size_t len)
{
    int r = 0;

    for (size_t i = 0; i < map->n && r == 0; i++) {
        const struct ynode *at = &map->keys[i], *v = &map->v[i];
        struct str key = at->text;
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
        if (o)
            r = walk_value(w, o, at, v);
        else if (v->kind == YNODE_MAP)
            r = walk_mapping(w, v, path, now);
        else if (v->kind != YNODE_TEXT || !v->null)
            r = walk_fail(w, v, name, "expected keys under it, each on its own line");
    }
    return r;
}

int opt_yaml(const struct opt *opts, void *conf, struct str text, const char *path, struct err *err)
{
    struct walk w = {.text = text, .opts = opts, .conf = conf, .err = err};
    char name[YAML_PATH_MAX];
    size_t rows = 0;

    while (opts[rows].name)
        rows++;
    w.seen = mem_zero(rows, sizeof(bool));
    int r = ytree_read(text, &(struct ytree_params){.path = path}, &w.tree, err);
    const struct ynode *root = w.tree.root; /* NULL, nothing but comments: every default holds */
    if (r == 0 && root && root->kind == YNODE_MAP)
        r = walk_mapping(&w, root, name, 0);
    else if (r == 0 && root && !(root->kind == YNODE_TEXT && root->null))
        r = walk_fail(&w, root, STR(""), "expected 'name: value' lines");
    ytree_fini(&w.tree);
    free(w.seen);
    return r;
}
