/* rule.c: reads the list of rules from a config, and applies them in order. */
#include "base/order.h"
#include "wandb_pull/rule_expr.h"

#include <errno.h>

#include "base/mem.h"

#define NAME_MAX_  255
#define GLOBS_MAX  1000
#define RUN_INFO   "runInfo.gpuCount"
#define DOCUMENTED "config.num_nodes * config.num_gpus or config.world_size"
#define WORLD_SIZE "config.world_size or config[\"world size\"]"

struct globs {
    size_t n;
    const char **v; /* none: all */
};

struct rule {
    const char *label;
    bool told; /* in the config */
    struct globs teams, projects;
    int32_t from, to; /* days, both in it; INT32_MIN and INT32_MAX: without end */
    struct rule_expr *expr;
};

struct rules {
    struct arena arena;
    size_t n, cap;
    struct rule *v;
    unsigned fields;
};

void rules_free(struct rules *r)
{
    for (size_t i = 0; r && i < r->n; i++)
        rule_expr_free(r->v[i].expr);
    if (r) {
        arena_fini(&r->arena);
        free(r->v);
    }
    free(r);
}

unsigned rules_fields(const struct rules *r)
{
    return r->fields;
}

/* ---- reading ---- */

struct reading {
    const struct ytree *t;
    struct rules *rules;
    struct err *err;
};

static int read_text(struct reading *rd, const struct ynode *v, const char *what, const char **ret)
{
    struct str s = v->kind == YNODE_TEXT ? str_trim(v->text) : str_n("", 0);
    if (!s.len || v->null || s.len > NAME_MAX_ || !str_utf8_ok(s))
        return yfail(rd, v, "expected %s, up to %d bytes of plain text", what, NAME_MAX_);
    *ret = arena_strn(&rd->rules->arena, s.p, s.len);
    return 0;
}

/* One pattern, or a list of them. */
static int read_globs(struct reading *rd, const struct ynode *v, const char *what, struct globs *ret)
{
    const struct ynode *items = v->kind == YNODE_LIST ? v->v : v;
    size_t n = v->kind == YNODE_LIST ? v->n : 1;
    int r = 0;
    if (v->null)
        return 0;
    if (!n || n > GLOBS_MAX)
        return yfail(rd, v, "expected %s, or a list of them", what);
    ret->v = arena_alloc(&rd->rules->arena, n, sizeof(*ret->v));
    for (; ret->n < n && r == 0; ret->n++)
        r = read_text(rd, &items[ret->n], what, &ret->v[ret->n]);
    return r;
}

static int read_day(struct reading *rd, const struct ynode *v, int32_t *ret)
{
    if (v->null)
        return 0;
    if (v->kind != YNODE_TEXT || !date_parse(str_trim(v->text), ret))
        return yfail(rd, v, "expected a day, as 2026-01-31");
    return 0;
}

static struct rule *add(struct rules *r)
{
    VEC_ADD(r->v, r->n, r->cap, (struct rule){.from = INT32_MIN, .to = INT32_MAX});
    return &r->v[r->n - 1];
}

static int read_rule(struct reading *rd, const struct ynode *item, size_t no)
{
    struct rule *rule = add(rd->rules);
    const char *name = NULL;
    const struct ynode *gpus = NULL;
    struct err why = {0};
    int r = 0;

    if (item->kind != YNODE_MAP)
        return yfail(rd, item, "expected a rule: {team: PATTERN, gpus: EXPRESSION}");
    for (size_t i = 0; i < item->n && r == 0; i++) {
        const struct ynode *key = &item->keys[i], *v = &item->v[i];
        if (str_eq(key->text, "team"))
            r = read_globs(rd, v, "a pattern of teams", &rule->teams);
        else if (str_eq(key->text, "project"))
            r = read_globs(rd, v, "a pattern of projects", &rule->projects);
        else if (str_eq(key->text, "from"))
            r = read_day(rd, v, &rule->from);
        else if (str_eq(key->text, "to"))
            r = read_day(rd, v, &rule->to);
        else if (str_eq(key->text, "name"))
            r = read_text(rd, v, "a name", &name);
        else if (str_eq(key->text, "gpus"))
            gpus = v;
        else
            r = yfail(rd, key, "not known: a rule has team, project, from, to, gpus and name");
    }
    if (r < 0)
        return r;
    if (rule->from > rule->to)
        return yfail(rd, item, "the rule ends before it begins");
    if (!gpus || gpus->kind != YNODE_TEXT || gpus->null)
        return yfail(rd, gpus ? gpus : item, "expected 'gpus': an expression, as config.num_nodes * 8");
    r = rule_expr_new(str_trim(gpus->text), &rule->expr, &why);
    if (r < 0)
        return yfail(rd, gpus, "gpus: %s", why.msg);
    AUTO_FREE char *label =
        mem_fmt("gpu_count[%zu]%s%s: %.*s", no, name ? " " : "", name ? name : "", STR_ARG(str_trim(gpus->text)));
    rule->label = arena_str(&rd->rules->arena, label);
    rule->told = true;
    rd->rules->fields |= rule->expr->fields;
    return 0;
}

/* A rule of ours, whose text is known to be right. */
static struct rule *add_own(struct rules *r, const char *what, const char *text)
{
    struct rule *rule = add(r);
    if (rule_expr_new(str_of(text), &rule->expr, NULL) == 0)
        r->fields |= rule->expr->fields;
    AUTO_FREE char *s = mem_fmt("%s: %s", what, text);
    rule->label = arena_str(&r->arena, s);
    return rule;
}

static int read_rules(struct reading *rd, const struct ynode *list)
{
    int r = 0;
    if (list->null)
        return 0;
    if (list->kind != YNODE_LIST)
        return yfail(rd, list, "gpu_count: expected a list of rules");
    if (list->n > RULES_MAX)
        return yfail(rd, list, "gpu_count: more than %d rules", RULES_MAX);
    for (size_t i = 0; i < list->n && r == 0; i++)
        r = read_rule(rd, &list->v[i], i + 1);
    return r;
}

int rules_read(const struct ytree *t, const struct ynode *list, const struct company *companies, size_t n_companies,
               struct rules **ret, struct err *err)
{
    struct rules *rules = mem_zero(1, sizeof(*rules));
    struct reading rd = {t, rules, err};
    int r = list ? read_rules(&rd, list) : 0;
    if (r < 0) {
        rules_free(rules);
        return r;
    }
    for (size_t i = 0; i < n_companies; i++)
        if (companies[i].world_size && companies[i].n_teams) {
            struct rule *rule = add_own(rules, "distributed_learning", WORLD_SIZE);
            rule->teams.v = arena_alloc(&rules->arena, companies[i].n_teams, sizeof(*rule->teams.v));
            for (size_t k = 0; k < companies[i].n_teams; k++)
                rule->teams.v[rule->teams.n++] = companies[i].teams[k];
        }
    if (!list)
        add_own(rules, "no gpu_count in the config", DOCUMENTED);
    *ret = rules;
    return 0;
}

/* ---- applying ---- */

static bool is_for(const struct globs *g, const char *name)
{
    return !g->n || ANY(g->n, i, str_glob(str_of(g->v[i]), str_of(name)));
}

static void tell(const struct rule_listener *told, const char *rule, enum rule_reason why, const char *because)
{
    if (told && told->rule)
        told->rule(told->arg, rule, why, because && *because ? because : NULL);
}

enum rules_result rules_apply(const struct rules *r, const char *team, const char *project, int32_t day,
                              struct run_node *run, const struct rule_listener *told, struct rule_answer *ret)
{
    const struct rule *applies = NULL;
    char because[RULE_BECAUSE];
    int32_t gpus = 0;

    for (size_t i = 0; i < r->n && (told || !applies); i++) {
        const struct rule *rule = &r->v[i];
        enum rule_reason why = RULE_NOT_REACHED;
        because[0] = 0;
        if (applies)
            ;
        else if (!is_for(&rule->teams, team))
            why = RULE_OTHER_TEAM;
        else if (!is_for(&rule->projects, project))
            why = RULE_OTHER_PROJECT;
        else if (day < rule->from || day > rule->to)
            why = RULE_OTHER_DAY;
        else {
            int v = rule_expr_run(rule->expr, run, told, &gpus, because);
            if (v == -EAGAIN)
                return RULES_NEED_METADATA;
            why = v == 0 ? RULE_APPLIES : RULE_NO_VALUE;
            applies = v == 0 ? rule : NULL;
        }
        tell(told, rule->label, why, because);
    }
    tell(told, RUN_INFO,
         applies          ? RULE_NOT_REACHED
         : run->gpus >= 0 ? RULE_APPLIES
                          : RULE_NO_VALUE,
         !applies && run->gpus < 0 ? "runInfo.gpuCount is not there" : NULL);
    if (applies)
        *ret = (struct rule_answer){gpus, applies->told, applies->label};
    else
        *ret = (struct rule_answer){MAX(run->gpus, 0), false, RUN_INFO};
    return RULES_DONE;
}
