/*
 * rule.c: builds the list of rules (built-in rules with their changes in muster.yaml, and rules defined there) and
 * evaluates them.
 */
#include "alert/rule.h"

#include "alert/builtin.h"
#include "base/buf.h"
#include "base/order.h"
#include "format/template.h"
#include "format/words.h"
#include "model/alert.h"
#include "parse/ytree.h"

#define NAME_BYTES 60
#define EXPECT_MAX 10000

struct alert_rules {
    struct alert_rule v[ALERT_RULES_MAX];
    size_t n;
    struct gpus_expected *expect;
    size_t n_expect;
    struct arena arena; /* text of muster.yaml */
};

static int compile(struct alert_rule *r, struct filter_err *err)
{
    filter_free(r->filter);
    r->filter = NULL;
    return r->when ? filter_new_exact(str_of(r->when), NULL, &r->filter, err) : 0;
}

/* An unknown value is neither true nor false; it does not keep the alert firing. */
static int compile_until(struct alert_rule *r, struct filter_err *err)
{
    AUTO_FILTER *alone = NULL;
    AUTO_BUF text = BUF_INIT((size_t)2 * FILTER_MAX);
    int code = filter_new_exact(str_of(r->until), NULL, &alone, err); /* so that errors have the right column */

    filter_free(r->hold);
    r->hold = NULL;
    buf_addf(&text, "not (%s)", r->until);
    return code < 0 ? code : filter_new_exact(buf_str(&text), NULL, &r->hold, err);
}

struct alert_rules *alert_rules_new(void)
{
    struct alert_rules *r = mem_zero(1, sizeof(*r));
    struct filter_err err;

    for (const struct alert_rule *b = alert_builtin; b->name; b++) {
        r->v[r->n] = *b;
        r->v[r->n].channels = "";
        compile(&r->v[r->n], &err);
        if (b->until)
            compile_until(&r->v[r->n], &err);
        r->n++;
    }
    return r;
}

void alert_rules_free(struct alert_rules *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->n; i++) {
        filter_free(r->v[i].filter);
        filter_free(r->v[i].hold);
    }
    arena_fini(&r->arena);
    free(r);
}

const struct alert_rule *alert_rules_all(const struct alert_rules *r, size_t *ret_n)
{
    *ret_n = r->n;
    return r->v;
}

static struct alert_rule *find(struct alert_rules *r, struct str name)
{
    return FIND(r->v, r->n, e, str_eq(name, e->name));
}

const struct alert_rule *alert_rules_find(const struct alert_rules *r, const char *name)
{
    return find((struct alert_rules *)(uintptr_t)r, str_of(name));
}

/* ---- muster.yaml ---- */

struct reading {
    struct alert_rules *r;
    const struct ytree *t;
    struct err *err;
};

static const char *keep(struct alert_rules *r, struct str s)
{
    return arena_strn(&r->arena, s.p, s.len);
}

static int shown(struct str s)
{
    return str_utf8_ok(s) ? (int)MIN(s.len, 60u) : 0;
}

static int read_span(struct reading *rd, const struct ynode *at, int64_t least_ms, const char *what, int64_t *ret)
{
    if (at->kind != YNODE_TEXT || !str_duration_ms(str_trim(at->text), ret) || *ret < least_ms ||
        *ret > 30 * 86400000ll)
        return yfail(rd, at, "expected %s", what);
    return 0;
}

static int read_remind(struct reading *rd, const struct ynode *at, int64_t *ret)
{
    bool on;

    *ret = ALERT_REMIND_NEVER;
    if (at->kind == YNODE_TEXT && str_bool(str_trim(at->text), &on) && !on)
        return 0;
    return read_span(rd, at, 60000, "off, or a length of time from 1m to 30d", ret);
}

static int read_severity(struct reading *rd, const struct ynode *at, int32_t *ret)
{
    size_t i = FIRST(SEVERITIES, k, str_eq(str_trim(at->text), severity_words[k]));

    if (at->kind != YNODE_TEXT || i == SEVERITIES)
        return yfail(rd, at, "expected info, warning or critical");
    *ret = (int32_t)i;
    return 0;
}

static int read_channels(struct reading *rd, const struct ynode *at, const char **ret)
{
    AUTO_BUF b = BUF_INIT(4096);
    size_t n = at->kind == YNODE_LIST ? at->n : 1;

    for (size_t i = 0; i < n; i++) {
        const struct ynode *one = at->kind == YNODE_LIST ? &at->v[i] : at;
        if (one->kind != YNODE_TEXT || !name_ok(str_trim(one->text), NAME_BYTES) ||
            memchr(one->text.p, ',', one->text.len))
            return yfail(rd, one, "expected the name of a channel");
        buf_addf(&b, "%s%.*s", i ? "," : "", STR_ARG(str_trim(one->text)));
    }
    if (b.err)
        return yfail(rd, at, "too many channels");
    *ret = keep(rd->r, buf_str(&b));
    return 0;
}

/* `when`, or `until`. */
static int read_filter(struct reading *rd, const struct ynode *at, bool until, struct alert_rule *r)
{
    struct filter_err bad;

    if (at->kind != YNODE_TEXT || !str_trim(at->text).len)
        return yfail(rd, at, "expected a filter, as %s", until ? "temp<80" : "held idle>2h");
    *(until ? &r->until : &r->when) = keep(rd->r, str_trim(at->text));
    if ((until ? compile_until(r, &bad) : compile(r, &bad)) < 0)
        return yfail(rd, at, "column %u of the filter: %s", bad.column, bad.message);
    return 0;
}

static int read_switch(struct reading *rd, const struct ynode *at, const char *more, bool *ret)
{
    bool on = at->kind == YNODE_TEXT && (str_eq(at->text, "on") || str_eq(at->text, "true"));

    if (!on && !(at->kind == YNODE_TEXT && (str_eq(at->text, "off") || str_eq(at->text, "false"))))
        return yfail(rd, at, "expected off%s on%s", more[0] ? "," : " or", more);
    *ret = on;
    return 0;
}

/* {"dgx*": 8, ws1: 2} */
static int read_expect(struct reading *rd, const struct ynode *at)
{
    struct alert_rules *r = rd->r;

    if (at->kind != YNODE_MAP || at->n > EXPECT_MAX)
        return yfail(rd, at, "expected how many GPUs nodes have: {\"dgx*\": 8, ws1: 2}, at most %d", EXPECT_MAX);
    r->expect = arena_alloc(&r->arena, at->n + 1, sizeof(*r->expect));
    r->n_expect = 0;
    for (size_t i = 0; i < at->n; i++) {
        int64_t n;
        if (at->v[i].kind != YNODE_TEXT || !str_int(str_trim(at->v[i].text), &n) || n < 0 || n > DEVICES_MAX)
            return yfail(rd, &at->v[i], "expected a number of GPUs up to %d", DEVICES_MAX);
        r->expect[r->n_expect++] = (struct gpus_expected){keep(r, str_trim(at->keys[i].text)), (int32_t)n};
    }
    return 0;
}

static int read_text(struct reading *rd, const struct ynode *at, bool holes, const char **ret)
{
    struct err bad = {0};

    if (at->kind != YNODE_TEXT || !at->text.len)
        return yfail(rd, at, "expected a text");
    if (holes ? template_check(at->text, &bad) < 0 : at->text.len > TEMPLATE_MAX || !str_utf8_ok(at->text))
        return yfail(rd, at, "%s", bad.msg[0] ? bad.msg : "expected a text of at most 1000 bytes");
    *ret = keep(rd->r, at->text);
    return 0;
}

/* Reads one member of a rule, built-in or user-defined. */
static int read_member(struct reading *rd, const struct ynode *key, const struct ynode *v, struct alert_rule *r)
{
    if (str_eq(key->text, "for") || str_eq(key->text, "clear"))
        return read_span(rd, v, 0, "a length of time up to 30d, as 10m or 2h",
                         str_eq(key->text, "for") ? &r->for_ms : &r->clear_ms);
    if (str_eq(key->text, "severity"))
        return read_severity(rd, v, &r->severity);
    if (str_eq(key->text, "remind"))
        return read_remind(rd, v, &r->remind_ms);
    if (str_eq(key->text, "person"))
        return v->kind == YNODE_TEXT && str_bool(str_trim(v->text), &r->person) ? 0
                                                                                : yfail(rd, v, "expected yes or no");
    if (str_eq(key->text, "channel") || str_eq(key->text, "channels"))
        return read_channels(rd, v, &r->channels);
    if (str_eq(key->text, "advice"))
        return read_text(rd, v, false, &r->advice);
    if (str_eq(key->text, "when") && (r->own || r->when))
        return read_filter(rd, v, false, r);
    if (str_eq(key->text, "until") && (r->own || r->when))
        return read_filter(rd, v, true, r);
    if (str_eq(key->text, "expect") && r->expects)
        return read_expect(rd, v);
    if (str_eq(key->text, "resolved") && !r->notice) {
        bool told = true;
        int code = read_switch(rd, v, "", &told);
        r->no_end = !told;
        return code;
    }
    if (str_eq(key->text, "text")) {
        r->worded = !r->own;
        return read_text(rd, v, true, &r->text);
    }
    if (str_eq(key->text, "resolved_text") && !r->notice)
        return read_text(rd, v, true, &r->over_text);
    if (str_eq(key->text, "of") && r->own && v->kind == YNODE_TEXT) {
        r->of = str_eq(v->text, "node") ? ALERT_OF_NODE : ALERT_OF_GPU;
        if (str_eq(v->text, "node") || str_eq(v->text, "gpu"))
            return 0;
    }
    if (str_eq(key->text, "name") && r->own)
        return 0; /* read before */
    return yfail(rd, key,
                 "'%.*s' is not understood here: for, clear, severity, remind, person, channel, advice, text, "
                 "resolved, resolved_text%s",
                 shown(key->text), key->text.p,
                 r->own       ? ", when, until, of and name are"
                 : r->when    ? ", when and until are"
                 : r->expects ? " and expect are"
                              : " are");
}

static int read_members(struct reading *rd, const struct ynode *map, struct alert_rule *r)
{
    int code = 0;

    if (ynode_get(map, "when") && !ynode_get(map, "until")) { /* the built-in `until` belongs to the built-in `when` */
        filter_free(r->hold);
        r->hold = NULL;
        r->until = NULL;
    }
    for (size_t i = 0; i < map->n && code == 0; i++)
        code = read_member(rd, &map->keys[i], &map->v[i], r);
    return code;
}

static int read_own(struct reading *rd, const struct ynode *at)
{
    const struct ynode *name = ynode_get(at, "name");

    if (at->kind != YNODE_MAP || !name || !ynode_get(at, "when"))
        return yfail(rd, at, "expected a rule: {name: ..., when: FILTER, for: 10m, text: ...}");
    if (name->kind != YNODE_TEXT || !name_ok(str_trim(name->text), NAME_BYTES))
        return yfail(rd, name, "expected a name of up to %d bytes", NAME_BYTES);
    if (find(rd->r, str_trim(name->text)))
        return yfail(rd, name, "there is a rule '%.*s' already", STR_ARG(str_trim(name->text)));
    if (rd->r->n == ALERT_RULES_MAX)
        return yfail(rd, at, "at most %d rules", ALERT_RULES_MAX);
    struct alert_rule *r = &rd->r->v[rd->r->n++];
    *r = (struct alert_rule){.name = keep(rd->r, str_trim(name->text)),
                             .severity = SEV_WARNING,
                             .clear_ms = 60000,
                             .own = true,
                             .advice = "",
                             .channels = "",
                             .text = "{place}: {state}, {reason}"};
    int code = read_members(rd, at, r);
    r->about = r->when;
    return code;
}

/* "off", "on", or {for: ..., ...} */
static int read_builtin(struct reading *rd, const struct ynode *v, struct alert_rule *r)
{
    if (v->kind == YNODE_MAP) {
        r->off = false;
        return read_members(rd, v, r);
    }
    bool on = !r->off;
    int code = read_switch(rd, v, ", or {for: 10m, severity: warning, ...}", &on);

    r->off = !on;
    return code;
}

static int read_all(struct reading *rd, const struct ynode *root)
{
    int code = 0;

    for (size_t i = 0; root && i < root->n && code == 0; i++) {
        const struct ynode *key = &root->keys[i], *v = &root->v[i];
        struct alert_rule *r = find(rd->r, key->text);
        if (str_eq(key->text, "rules")) {
            if (v->kind != YNODE_LIST)
                return yfail(rd, v, "expected a list of rules");
            for (size_t k = 0; k < v->n && code == 0; k++)
                code = read_own(rd, &v->v[k]);
        } else if (r && !r->own) {
            code = read_builtin(rd, v, r);
        } else {
            code = yfail(rd, key, "there is no built-in rule '%.*s'; `muster alerts rules` lists them",
                         shown(key->text), key->text.p);
        }
    }
    return code;
}

int alert_rules_read(struct alert_rules *r, const struct opt_section *section, struct err *err)
{
    AUTO_YTREE t = {0};
    struct reading rd = {r, &t, err};
    int code = ytree_section(section, "names of rules, or rules:", &t, err);

    return code < 0 ? code : read_all(&rd, t.root);
}

int64_t alert_rule_remind_ms(const struct alert_rule *r, int32_t severity)
{
    if (r->remind_ms || r->notice)
        return MAX(r->remind_ms, 0);
    return severity == SEV_CRITICAL ? 4 * 3600000 : severity == SEV_WARNING ? 24 * 3600000 : 0;
}

/* ---- evaluation ---- */

struct recent recent_of(const char *node, const char *device, const struct node_event *e)
{
    struct recent r = {.at_ms = e->at_ms, .kind = e->kind, .code = e->code};
    AUTO_BUF about = BUF_INIT(sizeof(r.text));

    mem_copy_str(r.node, sizeof(r.node), node ? node : "");
    mem_copy_str(r.device, sizeof(r.device), device ? device : "");
    event_about(e, &about);
    mem_copy_str(r.text, sizeof(r.text), buf_str(&about).p);
    return r;
}

/* A node without reports for this long is down. */
static int64_t lost_after(const struct alert_input *s)
{
    return (s->live ? live_rule(s->live) : &state_rule_default)->down_after_ms;
}

void rule_found(const struct rule_eval *k, struct alert_finding f)
{
    const char **texts[] = {&f.node, &f.place, &f.device, &f.person};

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        *texts[i] = *texts[i] ? *texts[i] : "";
    k->see(k->arg, k->r, &f);
}

void rule_found_at(const struct rule_eval *k, const struct node_now *n, const struct device_now *d, int64_t since_ms,
                   const char *fmt, ...)
{
    char subject[MAX(UUID_MAX, NODE_KEY_MAX) + 8], place[NAME_MAX_LEN + 16], who[160] = "";
    AUTO_BUF text = BUF_INIT(4096);
    va_list ap;

    va_start(ap, fmt);
    buf_vaddf(&text, fmt, ap);
    va_end(ap);
    snprintf(subject, sizeof(subject), "%s:%s", d ? "gpu" : "node", d ? d->fact.uuid : n->key);
    mem_copy_str(place, sizeof(place), node_shown(n));
    if (d)
        snprintf(place, sizeof(place), "%s:%d", node_shown(n), (int)d->fact.index);
    rule_found(k, (struct alert_finding){.subject = subject,
                                         .node = n->key,
                                         .place = place,
                                         .device = d ? d->fact.uuid : "",
                                         .person = d && holders(d, who).len ? who : "",
                                         .text = buf_str(&text).p,
                                         .since_ms = since_ms,
                                         .weak = k->weak});
}

static bool fits(const struct rule_eval *k, const struct node_now *n, const struct device_now *d)
{
    const struct alert_rule *r = k->r;
    int64_t now_ms = k->s->now_ms;

    return !n->maintenance &&
           (filter_match(r->filter, n, d, now_ms) || (r->hold && filter_match(r->hold, n, d, now_ms)));
}

static void tell_fitting(const struct rule_eval *k, const struct node_now *n, const struct device_now *d)
{
    struct rule_eval as = *k;
    AUTO_BUF text = BUF_INIT(4096);

    as.weak = !filter_match(k->r->filter, n, d, k->s->now_ms);
    template_fill(&text, k->r->text,
                  &(struct template_scene){.n = n,
                                           .d = d,
                                           .now_ms = k->s->now_ms,
                                           .since_ms = d ? d->since_ms : n->since_ms,
                                           .lost_ms = lost_after(k->s)});
    rule_found_at(&as, n, d, 0, "%s", buf_str(&text).p);
}

/* Reports a finding of a built-in rule with the user's text. */
static void see_worded(void *arg, const struct alert_rule *r, const struct alert_finding *found)
{
    const struct rule_eval *k = arg;
    struct alert_finding f = *found;
    AUTO_BUF text = BUF_INIT(4096);
    struct template_scene t = {.n = f.node[0] && k->s->live ? live_find(k->s->live, f.node) : NULL,
                               .now_ms = k->s->now_ms,
                               .since_ms = f.since_ms ? f.since_ms : k->s->now_ms,
                               .lost_ms = lost_after(k->s)};

    for (size_t i = 0; t.n && f.device[0] && i < t.n->n_devices && !t.d; i++)
        t.d = strcmp(t.n->devices[i].fact.uuid, f.device) == 0 ? &t.n->devices[i] : NULL;
    template_fill(&text, r->text, &t);
    f.text = buf_str(&text).p;
    k->see(k->arg, r, &f);
}

struct place {
    const struct node_now *n;
    const struct device_now *d; /* NULL: the node itself */
};

/* The evaluation of one rule, with its matches in view order. */
struct walk {
    struct rule_eval as_it_is, worded;
    const struct rule_eval *k; /* one of the two */
    bool (*is)(const struct rule_eval *k, const struct node_now *n, const struct device_now *d);
    void (*tell)(const struct rule_eval *k, const struct node_now *n, const struct device_now *d);
    struct place *v;
    size_t n, cap;
};

static void walk_begin(struct walk *w, const struct alert_rule *r, const struct alert_input *s, see_fn *see, void *arg)
{
    w->as_it_is = (struct rule_eval){r, s, see, arg, false};
    w->worded = (struct rule_eval){r, s, see_worded, &w->as_it_is, false};
    w->k = r->worded && !r->filter ? &w->worded : &w->as_it_is;
    w->is = r->filter ? fits : r->is;
    w->tell = r->filter ? tell_fitting : r->tell;
}

static void walk_node(struct walk *w, const struct node_now *n)
{
    bool gpus = w->k->r->of == ALERT_OF_GPU;

    for (size_t i = 0; w->is && i < (gpus ? n->n_devices : 1); i++) {
        const struct device_now *d = gpus ? &n->devices[i] : NULL;
        if (w->is(w->k, n, d))
            VEC_ADD(w->v, w->n, w->cap, (struct place){n, d});
    }
}

static void walk_tell(struct walk *w)
{
    for (size_t i = 0; i < w->n; i++)
        w->tell(w->k, w->v[i].n, w->v[i].d);
    free(w->v);
}

/* Evaluates all rules on one node before the next node: there may be ten thousand nodes. Reports findings rule by
 * rule. */
static void look(const struct alert_rules *r, const struct alert_input *scene, bool nodes, bool rest, see_fn *see,
                 void *arg)
{
    AUTO_FREE struct walk *walks = mem_zero(r->n, sizeof(*walks));
    struct alert_input with = *scene;
    size_t n = 0;

    with.expect = r->expect;
    with.n_expect = r->n_expect;
    for (size_t i = 0; i < r->n; i++)
        if (!r->v[i].off)
            walk_begin(&walks[n++], &r->v[i], &with, see, arg);
    for (size_t i = 0; nodes && i < with.view->n; i++)
        for (size_t k = 0; k < n; k++)
            walk_node(&walks[k], with.view->nodes[i]);
    for (size_t k = 0; k < n; k++) {
        walk_tell(&walks[k]);
        if (rest && walks[k].k->r->look)
            walks[k].k->r->look(walks[k].k);
    }
}

void alert_rules_evaluate(const struct alert_rules *r, const struct alert_input *scene, see_fn *see, void *arg)
{
    look(r, scene, true, true, see, arg);
}

void alert_rules_evaluate_nodes(const struct alert_rules *r, const struct alert_input *scene, see_fn *see, void *arg)
{
    look(r, scene, true, false, see, arg);
}

void alert_rules_evaluate_rest(const struct alert_rules *r, const struct alert_input *scene, see_fn *see, void *arg)
{
    look(r, scene, false, true, see, arg);
}
