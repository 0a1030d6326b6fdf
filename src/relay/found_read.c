/* found_read.c: reads the formats of sources into a list. Pure; all text is untrusted. */
#include <arpa/nameser.h>
#include <errno.h>
#include <jansson.h>
#include <resolv.h>
#include <yaml.h>

#include "base/buf.h"
#include "base/order.h"
#undef MIN /* resolv.h brings sys/param.h's */
#undef MAX

#include "relay/found.h"

/* ---- JSON ---- */

static json_t *load_list(struct str text, const char *whose, struct err *err)
{
    json_error_t bad;
    json_t *j = json_loadb(text.p ? text.p : "", text.len, 0, &bad);
    if (!j) {
        err_set(err, -EBADMSG, "%s is not JSON: line %d, column %d", whose, bad.line, bad.column);
    } else if (!json_is_array(j)) {
        err_set(err, -EBADMSG, "%s is not a list", whose);
        json_decref(j);
        j = NULL;
    }
    return j;
}

static struct str text_of(const json_t *j)
{
    return json_is_string(j) ? str_n(json_string_value(j), json_string_length(j)) : STR("");
}

static struct str text_at(const json_t *j, const char *key)
{
    return text_of(json_object_get(j, key));
}

static int filled(const struct found_list *l, struct err *err)
{
    return l->full ? err_set(err, -EBADMSG, "more than %d nodes, or too much text about them", FOUND_MAX) : 0;
}

/* Accepts NULL: the node was skipped. */
static void label_node(struct found *f, struct str name, struct str value)
{
    if (f)
        labels_add(&f->labels, name, value);
}

/* ---- Consul ---- */

static void label_tags(struct found *f, const json_t *tags)
{
    AUTO_BUF all = BUF_INIT(256);
    size_t i;
    json_t *tag;
    json_array_foreach (tags, i, tag) {
        size_t before = all.len;
        struct str s = text_of(tag);
        if (!s.len)
            continue;
        if (before)
            buf_addc(&all, ',');
        if (buf_addstr(&all, s) < 0) { /* only the labels that fit */
            buf_cut(&all, before);
            break;
        }
    }
    label_node(f, STR("consul_tags"), buf_str(&all));
}

/* Labels set by users; Consul's own metadata is ignored. */
static void label_meta(struct found *f, json_t *meta)
{
    const char *key;
    json_t *v;
    json_object_foreach (meta, key, v)
        if (!str_starts(str_of(key), "consul-"))
            label_node(f, str_of(key), text_of(v));
}

/* The worst of its checks. */
static struct str health_of(const json_t *checks)
{
    static const char *const order[] = {"passing", "warning", "critical", "maintenance"};
    size_t i, worst = 0;
    json_t *c;
    json_array_foreach (checks, i, c) {
        for (size_t k = worst + 1; k < ARRAY_LEN(order); k++)
            if (str_eq(text_at(c, "Status"), order[k]))
                worst = k;
    }
    return str_of(order[worst]);
}

static void consul_one(struct found_list *l, json_t *j)
{
    json_t *node = json_object_get(j, "Node"), *service = json_object_get(j, "Service");
    bool health = json_is_object(node) && json_is_object(service);
    json_t *where = health ? node : j;
    struct str name = health ? text_at(node, "Node") : text_of(node);
    struct str address = health ? text_at(service, "Address") : text_at(j, "ServiceAddress");
    if (!address.len)
        address = text_at(where, "Address");
    json_int_t port = json_integer_value(health ? json_object_get(service, "Port") : json_object_get(j, "ServicePort"));
    struct found *f = found_list_add(l, name, address, port);
    if (!f)
        return;
    label_node(f, STR("consul_dc"), text_at(where, "Datacenter"));
    label_node(f, STR("consul_service"), health ? text_at(service, "Service") : text_at(j, "ServiceName"));
    label_tags(f, health ? json_object_get(service, "Tags") : json_object_get(j, "ServiceTags"));
    if (health)
        label_node(f, STR("consul_health"), health_of(json_object_get(j, "Checks")));
    label_meta(f, health ? json_object_get(service, "Meta") : json_object_get(j, "ServiceMeta"));
    label_meta(f, health ? json_object_get(node, "Meta") : json_object_get(j, "NodeMeta"));
}

int found_consul(struct found_list *l, struct str text, struct err *err)
{
    json_auto_t *all = load_list(text, "Consul's answer", err);
    json_t *one;
    size_t i;
    if (!all)
        return -EBADMSG;
    json_array_foreach (all, i, one)
        consul_one(l, one);
    return filled(l, err);
}

/* ---- Prometheus' service discovery ---- */

/* "host:9100", "host", "[::1]:9100", "::1". */
static struct found *sd_target(struct found_list *l, struct str s)
{
    int64_t port = 0;
    int colon = str_rfind(s, ":"), end = str_find(s, "]");
    struct str host = s;
    if (s.len && s.p[0] == '[' && end > 0)
        host = str_n(s.p + 1, (size_t)end - 1);
    else if (colon >= 0 && str_find(s, ":") == colon)
        host = str_n(s.p, (size_t)colon);
    if (colon > end && host.len < s.len && !str_int(str_n(s.p + colon + 1, s.len - (size_t)colon - 1), &port)) {
        l->skipped++;
        return NULL;
    }
    return found_list_add(l, host, host, port);
}

static int sd_groups(struct found_list *l, const json_t *all, struct err *err)
{
    size_t i, k;
    json_t *group, *target, *v;
    const char *key;
    json_array_foreach (all, i, group) {
        json_t *targets = json_object_get(group, "targets"), *labels = json_object_get(group, "labels");
        if (!json_is_array(targets) || (labels && !json_is_object(labels) && !json_is_null(labels)))
            return err_set(err, -EBADMSG, "group %zu is not {\"targets\": [...], \"labels\": {...}}", i + 1);
        json_array_foreach (targets, k, target) {
            struct found *f = sd_target(l, text_of(target));
            json_object_foreach (labels, key, v)
                if (f && !str_starts(str_of(key), "__"))
                    label_node(f, str_of(key), text_of(v));
        }
    }
    return filled(l, err);
}

int found_sd_json(struct found_list *l, struct str text, struct err *err)
{
    json_auto_t *all = load_list(text, "the list of targets", err);
    if (!all)
        return -EBADMSG;
    return sd_groups(l, all, err);
}

/* ---- the same in YAML: made JSON first. No anchors, aliases or tags; at most four levels. ---- */

#define SD_DEPTH 4

static json_t *yaml_value(yaml_parser_t *p, yaml_event_t *first, int depth);

/* The next event; the caller deletes it. */
static bool yaml_next(yaml_parser_t *p, yaml_event_t *ret)
{
    return yaml_parser_parse(p, ret) == 1;
}

static json_t *yaml_items(yaml_parser_t *p, int depth)
{
    json_t *all = json_array();
    yaml_event_t e;
    while (yaml_next(p, &e)) {
        bool end = e.type == YAML_SEQUENCE_END_EVENT;
        json_t *v = end ? NULL : yaml_value(p, &e, depth);
        yaml_event_delete(&e);
        if (end)
            return all;
        if (!v)
            break;
        json_array_append_new(all, v);
    }
    json_decref(all);
    return NULL;
}

static json_t *yaml_members(yaml_parser_t *p, int depth)
{
    json_t *all = json_object();
    yaml_event_t e, of;
    while (yaml_next(p, &e)) {
        bool end = e.type == YAML_MAPPING_END_EVENT;
        json_t *v = NULL;
        if (e.type == YAML_SCALAR_EVENT && yaml_next(p, &of)) {
            v = yaml_value(p, &of, depth);
            yaml_event_delete(&of);
        }
        if (v && json_object_setn_new(all, (const char *)e.data.scalar.value, e.data.scalar.length, v) < 0)
            v = NULL; /* the key is no text */
        yaml_event_delete(&e);
        if (end)
            return all;
        if (!v)
            break;
    }
    json_decref(all);
    return NULL;
}

static json_t *yaml_value(yaml_parser_t *p, yaml_event_t *first, int depth)
{
    if (depth == SD_DEPTH)
        return NULL;
    if (first->type == YAML_SCALAR_EVENT && !first->data.scalar.anchor && !first->data.scalar.tag)
        return json_stringn((const char *)first->data.scalar.value, first->data.scalar.length);
    if (first->type == YAML_SEQUENCE_START_EVENT && !first->data.sequence_start.anchor &&
        !first->data.sequence_start.tag)
        return yaml_items(p, depth + 1);
    if (first->type == YAML_MAPPING_START_EVENT && !first->data.mapping_start.anchor && !first->data.mapping_start.tag)
        return yaml_members(p, depth + 1);
    return NULL;
}

int found_sd_yaml(struct found_list *l, struct str text, struct err *err)
{
    yaml_parser_t p;
    yaml_event_t e;
    json_auto_t *all = NULL;
    bool empty = false;
    if (!yaml_parser_initialize(&p))
        return err_set(err, -ENOMEM, "out of memory");
    yaml_parser_set_input_string(&p, (const unsigned char *)(text.p ? text.p : ""), text.len);
    while (!all && !empty && yaml_next(&p, &e)) {
        bool begins = e.type == YAML_STREAM_START_EVENT || e.type == YAML_DOCUMENT_START_EVENT;
        empty = e.type == YAML_STREAM_END_EVENT;
        all = begins || empty ? NULL : yaml_value(&p, &e, 0);
        yaml_event_delete(&e);
        if (!begins && !all)
            break;
    }
    int r = 0;
    if (p.error)
        r = err_set(err, -EBADMSG, "line %zu: %s", p.problem_mark.line + 1, p.problem ? p.problem : "not YAML");
    else if (!empty && !json_is_array(all))
        r = err_set(err, -EBADMSG, "it is not a list of {targets, labels} in plain YAML (no anchors, aliases or tags)");
    else if (!empty)
        r = sd_groups(l, all, err);
    yaml_parser_delete(&p);
    return r;
}

/* ---- Slurm ---- */

static bool has_gpu(struct str gres)
{
    struct str one;
    while (str_cut(&gres, ',', &one))
        if (str_eq(one, "gpu") || str_starts(one, "gpu:"))
            return true;
    return false;
}

int found_sinfo(struct found_list *l, struct str text, struct err *err)
{
    struct str line, name, gres, state;
    size_t n = 0;
    while (str_line(&text, &line)) {
        n++;
        if (!str_trim(line).len)
            continue;
        if (!str_word(&line, &name) || !str_word(&line, &gres) || !str_word(&line, &state) || str_trim(line).len)
            return err_set(err, -EBADMSG, "line %zu of sinfo's answer is not a node, its gres and its state", n);
        if (!has_gpu(gres))
            continue;
        struct found *f = found_list_add(l, name, name, 0);
        label_node(f, STR("slurm_gres"), gres);
        while (state.len && strchr("*~#!%$@^-+", state.p[state.len - 1])) /* marks: not answering, powered off, ... */
            state.len--;
        label_node(f, STR("slurm_state"), state);
    }
    return filled(l, err);
}

/* ---- ssh's configuration ---- */

/* Reads the next word; quoted words may contain spaces. */
static bool config_word(struct str *rest, struct str *ret)
{
    *rest = str_trim(*rest);
    if (rest->len && rest->p[0] == '"') {
        struct str inside = str_drop(*rest, 1);
        size_t n = FIRST(inside.len, i, inside.p[i] == '"');
        *ret = str_n(inside.p, n);
        *rest = str_drop(inside, n + (n < inside.len));
        return true;
    }
    return str_word(rest, ret);
}

void found_ssh_config(struct found_list *l, struct str text, void (*include)(void *arg, struct str path), void *arg)
{
    struct str line, word;
    while (str_line(&text, &line)) {
        line = str_trim(line);
        size_t n = FIRST(line.len, i, strchr(" \t=\"", line.p[i])); /* a NUL ends it, too */
        struct str key = str_n(line.p, n), rest = str_trim(str_drop(line, n));
        str_skip(&rest, "=");
        bool host = str_eq_nocase(key, "host"), more = str_eq_nocase(key, "include") && include;
        while ((host || more) && config_word(&rest, &word)) {
            if (word.len && word.p[0] == '#')
                break;
            if (more)
                include(arg, word);
            else if (word.len && !ANY(word.len, i, word.p[i] && strchr("*?!", word.p[i])))
                found_list_add(l, word, word, 0);
        }
    }
}

/* ---- DNS ---- */

int found_srv(struct found_list *l, const uint8_t *answer, size_t n, struct err *err)
{
    ns_msg m;
    ns_rr rr;
    char target[NS_MAXDNAME];
    if (n > 65535 || ns_initparse(answer, (int)n, &m) < 0)
        return err_set(err, -EBADMSG, "the name server's answer is none");
    for (int i = 0; i < ns_msg_count(m, ns_s_an); i++) {
        if (ns_parserr(&m, ns_s_an, i, &rr) < 0)
            return err_set(err, -EBADMSG, "the name server's answer is cut or damaged");
        if (ns_rr_type(rr) != ns_t_srv || ns_rr_rdlen(rr) < 7)
            continue;
        const uint8_t *p = ns_rr_rdata(rr);
        if (dn_expand(ns_msg_base(m), ns_msg_end(m), p + 6, target, sizeof(target)) < 0)
            return err_set(err, -EBADMSG, "the name server's answer is cut or damaged");
        struct str host = str_of(target);
        if (host.len && host.p[host.len - 1] == '.')
            host.len--;
        if (host.len)
            found_list_add(l, host, host, p[4] << 8 | p[5]);
    }
    return filled(l, err);
}
