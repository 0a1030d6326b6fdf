/* ytree.c: builds a tree out of libyaml's events, in an arena. relay/found_read.c apart, nothing else knows libyaml. */
#include "parse/ytree.h"

#include <errno.h>
#include <stdarg.h>
#include <yaml.h>

struct grow {
    yaml_parser_t parser;
    yaml_event_t ev; /* the current event; freed by the next step */
    bool have_ev, lax;
    const struct ytree_params *ask;
    struct ytree *t;
    struct str text;
    size_t nodes, bytes, chars; /* bytes, chars: a place in the text, in both measures; libyaml counts characters */
    struct err *err;
};

static int grow_fail(struct grow *g, yaml_mark_t at, const char *what)
{
    return err_set(g->err, -EINVAL, "%s:%zu:%zu: %s", g->ask->path, at.line + 1 + g->ask->line, at.column + 1, what);
}

/* Reads the next event into g->ev. Rejects unsupported events here, in one place. */
static int grow_next(struct grow *g)
{
    if (g->have_ev)
        yaml_event_delete(&g->ev);
    g->have_ev = false;
    if (!yaml_parser_parse(&g->parser, &g->ev)) {
        const char *what = g->parser.problem ? g->parser.problem : "not YAML";
        if (g->parser.error == YAML_MEMORY_ERROR)
            return err_set(g->err, -ENOMEM, "%s: out of memory", g->ask->path);
        if (g->parser.error == YAML_READER_ERROR)
            return err_set(g->err, -EINVAL, "%s: %s at byte %zu", g->ask->path, what, g->parser.problem_offset);
        return grow_fail(g, g->parser.problem_mark, what);
    }
    g->have_ev = true;
    yaml_char_t *anchor = NULL, *tag = NULL;
    switch (g->ev.type) {
    case YAML_ALIAS_EVENT:
        return g->lax ? 0 : grow_fail(g, g->ev.start_mark, "aliases are not supported: write the value out");
    case YAML_SCALAR_EVENT:
        anchor = g->ev.data.scalar.anchor;
        tag = g->ev.data.scalar.tag;
        break;
    case YAML_SEQUENCE_START_EVENT:
        anchor = g->ev.data.sequence_start.anchor;
        tag = g->ev.data.sequence_start.tag;
        break;
    case YAML_MAPPING_START_EVENT:
        anchor = g->ev.data.mapping_start.anchor;
        tag = g->ev.data.mapping_start.tag;
        break;
    default:
        break;
    }
    if (anchor && !g->lax)
        return grow_fail(g, g->ev.start_mark, "anchors are not supported: write the value out");
    if (tag && !g->lax)
        return grow_fail(g, g->ev.start_mark, "tags are not supported");
    return 0;
}

/* The byte offset of character no. `index`. Mostly called in ascending order. */
static size_t grow_byte(struct grow *g, size_t index)
{
    if (index < g->chars)
        g->bytes = g->chars = 0;
    while (g->chars < index && g->bytes < g->text.len) {
        g->bytes++;
        while (g->bytes < g->text.len && ((unsigned char)g->text.p[g->bytes] & 0xc0) == 0x80)
            g->bytes++;
        g->chars++;
    }
    return g->bytes;
}

static struct ynode grow_node(struct grow *g, enum ynode_kind kind)
{
    return (struct ynode){.kind = kind,
                          .line = (uint32_t)g->ev.start_mark.line + 1 + g->ask->line,
                          .column = (uint32_t)g->ev.start_mark.column + 1,
                          .from = grow_byte(g, g->ev.start_mark.index),
                          .to = g->ev.end_mark.index};
}

static struct ynode grow_text(struct grow *g)
{
    struct ynode n = grow_node(g, YNODE_TEXT);
    struct str s = str_n(g->ev.data.scalar.value, g->ev.data.scalar.length);
    n.to = grow_byte(g, n.to);
    n.null = g->ev.data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
             (s.len == 0 || str_eq(s, "~") || str_eq_nocase(s, "null"));
    n.text = str_n(arena_strn(&g->t->arena, s.p, s.len), s.len);
    return n;
}

/* Skips the value that starts with the current event, at any depth. */
static int grow_skip(struct grow *g)
{
    int r = 0;
    for (size_t depth = 0; r == 0; r = grow_next(g)) {
        depth += g->ev.type == YAML_MAPPING_START_EVENT || g->ev.type == YAML_SEQUENCE_START_EVENT;
        depth -= g->ev.type == YAML_MAPPING_END_EVENT || g->ev.type == YAML_SEQUENCE_END_EVENT;
        if (depth == 0)
            break;
    }
    return r;
}

struct branch {
    size_t n, cap, n_keys, cap_keys;
    struct ynode *v, *keys;
};

static void *branch_keep(struct grow *g, const struct ynode *v, size_t n)
{
    struct ynode *kept = arena_alloc(&g->t->arena, MAX(n, 1u), sizeof(*kept));
    if (n)
        memcpy(kept, v, n * sizeof(*kept));
    return kept;
}

static int grow_value(struct grow *g, int depth, struct ynode *ret);

static bool grow_asked(const struct grow *g, struct str key)
{
    const char *const *only = g->ask->only;
    while (only && *only && !str_eq(key, *only))
        only++;
    return !only || *only;
}

static int grow_branch(struct grow *g, int depth, struct ynode *node, struct branch *b)
{
    bool map = node->kind == YNODE_MAP;
    for (;;) {
        int r = grow_next(g);
        if (r < 0)
            return r;
        if (g->ev.type == YAML_MAPPING_END_EVENT || g->ev.type == YAML_SEQUENCE_END_EVENT)
            break;
        if (map) {
            if (g->ev.type != YAML_SCALAR_EVENT)
                return grow_fail(g, g->ev.start_mark, "expected a key");
            struct ynode key = grow_text(g);
            bool skip = depth == 1 && !grow_asked(g, key.text);
            g->lax = skip;
            r = grow_next(g);
            if (r == 0 && skip)
                r = grow_skip(g);
            g->lax = false;
            if (r < 0)
                return r;
            if (skip)
                continue;
            VEC_ADD(b->keys, b->n_keys, b->cap_keys, key);
        }
        struct ynode v = {0};
        r = grow_value(g, depth + 1, &v);
        if (r < 0)
            return r;
        VEC_ADD(b->v, b->n, b->cap, v);
    }
    node->to = grow_byte(g, g->ev.end_mark.index);
    node->n = b->n;
    node->v = branch_keep(g, b->v, b->n);
    if (map)
        node->keys = branch_keep(g, b->keys, b->n);
    return 0;
}

/* Builds the value that starts with the current event. */
static int grow_value(struct grow *g, int depth, struct ynode *ret)
{
    if (++g->nodes > YTREE_NODES)
        return grow_fail(g, g->ev.start_mark, "too many values");
    if (g->ev.type == YAML_SCALAR_EVENT) {
        *ret = grow_text(g);
        return 0;
    }
    if (depth > YTREE_DEPTH)
        return grow_fail(g, g->ev.start_mark, "nested too deeply");
    struct branch b = {0};
    struct ynode node = grow_node(g, g->ev.type == YAML_MAPPING_START_EVENT ? YNODE_MAP : YNODE_LIST);
    int r = grow_branch(g, depth, &node, &b);
    free(b.v);
    free(b.keys);
    if (r == 0)
        *ret = node;
    return r;
}

static int grow_document(struct grow *g)
{
    struct ynode root = {0};
    int r = grow_next(g); /* stream start */
    if (r == 0)
        r = grow_next(g);
    if (r < 0 || g->ev.type == YAML_STREAM_END_EVENT)
        return r;
    r = grow_next(g);
    if (r == 0)
        r = grow_value(g, 1, &root);
    if (r == 0)
        r = grow_next(g); /* document end */
    if (r == 0)
        r = grow_next(g);
    if (r == 0 && g->ev.type != YAML_STREAM_END_EVENT)
        r = grow_fail(g, g->ev.start_mark, "a second document: there can be one");
    if (r == 0)
        g->t->root = branch_keep(g, &root, 1);
    return r;
}

int ytree_read(struct str text, const struct ytree_params *ask, struct ytree *ret, struct err *err)
{
    struct grow g = {.ask = ask, .t = ret, .text = text, .err = err};
    *ret = (struct ytree){.path = ask->path};
    if (text.len > YTREE_TEXT)
        return err_set(err, -EMSGSIZE, "%s: larger than %u bytes", ask->path, YTREE_TEXT);
    if (!yaml_parser_initialize(&g.parser))
        return err_set(err, -ENOMEM, "%s: out of memory", ask->path);
    yaml_parser_set_encoding(&g.parser, YAML_UTF8_ENCODING); /* not guessed from the first bytes */
    yaml_parser_set_input_string(&g.parser, (const unsigned char *)text.p, text.len);
    int r = grow_document(&g);
    if (g.have_ev)
        yaml_event_delete(&g.ev);
    yaml_parser_delete(&g.parser);
    return r;
}

int ytree_section(const struct opt_section *s, const char *what, struct ytree *ret, struct err *err)
{
    if (!s || !s->text)
        return 0;
    int r = ytree_read(str_of(s->text), &(struct ytree_params){.path = s->path, .line = s->line}, ret, err);
    if (r == 0 && what && ret->root && ret->root->kind != YNODE_MAP)
        r = ytree_fail(ret, ret->root, err, "expected %s", what);
    return r;
}

void ytree_fini(struct ytree *t)
{
    arena_fini(&t->arena);
    *t = (struct ytree){0};
}

int ytree_fail(const struct ytree *t, const struct ynode *at, struct err *err, const char *fmt, ...)
{
    char what[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof(what), fmt, ap);
    va_end(ap);
    return err_set(err, -EINVAL, "%s:%u:%u: %s", t->path, at->line, at->column, what);
}

const struct ynode *ynode_get(const struct ynode *map, const char *key)
{
    for (size_t i = 0; map && map->kind == YNODE_MAP && i < map->n; i++)
        if (str_eq(map->keys[i].text, key))
            return &map->v[i];
    return NULL;
}
