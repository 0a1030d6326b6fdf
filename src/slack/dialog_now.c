/* dialog_now.c: the bot's `free` and `who`: what GPUs and people do at this moment. */

#include "base/clock.h"
#include "base/order.h"
#include "format/render.h"
#include "format/words.h"
#include "model/now.h"
#include "model/rows.h"
#include "now/filter.h"
#include "slack/words.h"

/* ---- free ---- */

enum { FREE_PICK = 1, FREE_LIST }; /* say.count: so many in particular, or all there are */

static void free_target(const struct dialog_words *w, struct buf *to)
{
    char count[24];

    snprintf(count, sizeof(count), "%lld", (long long)w->count);
    buf_adds(to, "/api/v1/free");
    dialog_param(to, "count", str_of(count));
    dialog_param(to, "model", w->model);
    dialog_param(to, "node", w->node);
    dialog_param(to, "mem", w->mem);
    dialog_param(to, "free_for", STR("0s")); /* now is now, as in the list */
    if (w->one_node)
        dialog_param(to, "same_host", STR("true"));
}

/* What was said as a filter; or what was typed, where that is one. False: neither, and the answer says so. */
static bool free_filter(struct dialog *s, struct str text, const struct dialog_words *w, struct buf *to)
{
    struct filter *f = NULL;
    struct filter_err err = {0};

    buf_adds(to, "free");
    if (!w->odd.len) {
        if (w->model.len)
            buf_addf(to, " model:\"%.*s\"", STR_ARG(w->model));
        if (w->node.len)
            buf_addf(to, " host:%.*s", STR_ARG(w->node));
        if (w->mem.len)
            buf_addf(to, " memfree>=%.*s", STR_ARG(w->mem));
        return true;
    }
    if (filter_new_exact(text, s->ask.person, &f, &err) < 0)
        return dialog_no(s,
                         "I do not understand '%.*s' (%s). Examples: `free 4 h200 on dgx2 40G` or with a filter, `free "
                         "model:h200 memfree>=40G`.",
                         DIALOG_ARG(w->odd), err.message);
    filter_free(f);
    buf_addf(to, " (%.*s)", STR_ARG(text));
    return true;
}

void dialog_query_free(struct dialog *s, struct str rest)
{
    AUTO_BUF target = BUF_INIT(8192);
    AUTO_BUF filter = BUF_INIT(4096);
    struct dialog_words w;

    if (!dialog_words(s, rest, &w))
        return;
    s->count = w.count && !w.odd.len ? FREE_PICK : FREE_LIST;
    s->title = dialog_keep(s, str_trim(rest));
    if (s->count == FREE_PICK) {
        free_target(&w, &target);
    } else {
        if (!free_filter(s, rest, &w, &filter))
            return;
        buf_adds(&target, "/api/v1/state");
        dialog_param(&target, "filter", buf_str(&filter));
    }
    dialog_get(s, target.p);
}

static void tell_pick(struct dialog *s, struct str body)
{
    json_auto_t *o = json_loadb(body.p, body.len, 0, NULL);
    json_t *v = json_object_get(o, "devices");
    size_t n = json_array_size(v);
    const char *model = slack_text(json_array_get(v, 0), "model");
    bool same = n > 0;

    for (size_t i = 1; i < n; i++)
        same &= strcmp(slack_text(json_array_get(v, i), "model"), model) == 0;
    int64_t until_ms = dialog_int(o, "free_until");
    dialog_line(s, "%zu free now: %s%s%s%s%s%s", n, slack_text(o, "where"), same ? " (" : "", same ? model : "",
                same ? ")" : "", until_ms ? "; booked from " : "", until_ms ? dialog_when(s, until_ms) : "");
    dialog_small(s, "This does not reserve them. To reserve: `book %s for 4h`.", s->title);
}

/* The nodes of a state, as the hub wrote it. */
static bool parse(struct dialog *s, struct str body, struct read_state *ret)
{
    struct err err = {0};

    return state_parse(body, ret, &err) == 0 || dialog_no(s, "That failed: %s.", err.msg);
}

/* "3" or "3.1" */
static void add_index(const struct device_now *d, struct buf *out)
{
    buf_addi(out, d->fact.index);
    if (d->fact.mig >= 0)
        buf_addf(out, ".%d", (int)d->fact.mig);
}

#define BOOKED_SHOWN 400 /* bytes after which no more are listed */

/* "0,1,4" of those of a model; booked: "dgx1:4 from 2026-11-20 10:00 CET" of those with a booking to come. */
static void indexes(struct dialog *s, const struct node_now *n, const char *model, struct buf *out, struct buf *booked)
{
    for (size_t i = 0; i < n->n_devices; i++) {
        const struct device_now *d = &n->devices[i];
        if (strcmp(device_shown(d), model) != 0)
            continue;
        buf_adds(out, out->len ? "," : "");
        add_index(d, out);
        if (!d->next || booked->len > BOOKED_SHOWN)
            continue;
        buf_addf(booked, "%s%s:", booked->len ? ", " : "", node_shown(n));
        add_index(d, booked);
        buf_addf(booked, " from %s", dialog_when(s, d->next->from_ms));
    }
}

static void tell_list(struct dialog *s, struct str body)
{
    static const struct column_spec columns[] = {
        {"node", "NODE", CELL_TEXT, .weight = 100},
        {"free", "FREE", CELL_INT, .right = true, .weight = 90},
        {"gpus", "GPUS", CELL_TEXT, .weight = 99},
        {"model", "MODEL", CELL_TEXT, .weight = 80},
        {"memory", "MEMORY", CELL_TEXT, .right = true, .weight = 70},
    };
    struct read_state p;
    struct rows rows;
    size_t n = 0;
    AUTO_BUF booked = BUF_INIT(4096);

    if (!parse(s, body, &p))
        return;
    rows_init(&rows, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < p.n; i++) {
        const struct node_now *node = &p.nodes[i];
        n += node->n_devices;
        for (size_t k = 0; k < node->n_devices; k++) {
            const struct device_now *d = &node->devices[k];
            AUTO_BUF which = BUF_INIT(4096);
            AUTO_BUF mem = BUF_INIT(64);
            if (ANY(k, m, strcmp(device_shown(&node->devices[m]), device_shown(d)) == 0))
                continue;
            indexes(s, node, device_shown(d), &which, &booked);
            struct cell *c = rows_add(&rows);
            size_t many = 1;
            for (size_t m = 0; m < which.len; m++)
                many += which.p[m] == ',';
            if (sample_has(&d->now, M_mem_total))
                render_amount(&mem, "bytes", (double)d->now.v[M_mem_total]);
            cell_text(&c[0], str_of(node_shown(node)));
            cell_int(&c[1], (int64_t)many);
            cell_text(&c[2], buf_str(&which));
            cell_text(&c[3], str_of(device_shown(d)));
            cell_some_text(&c[4], buf_str(&mem).p);
        }
    }
    if (!n) {
        s->refused = true;
        dialog_line(s, "No GPU%s is free now. With `wait 1` I send you a message when one is.",
                    s->title[0] ? " like that" : "");
    } else {
        dialog_head(s, "%zu of %zu GPUs free%s%s", n, MAX(p.of, n), s->title[0] ? ": " : "", s->title);
        dialog_rows(s, "free", &rows);
        if (booked.len)
            dialog_line(s, "Booked: %s", booked.p);
        dialog_small(s, "%s%s", p.notice[0] ? p.notice : "As of ", p.notice[0] ? "" : dialog_when(s, s->ask.now_ms));
    }
    rows_fini(&rows);
    read_state_fini(&p);
}

void dialog_reply_free(struct dialog *s, UNUSED size_t call, struct str body)
{
    if (s->count == FREE_PICK)
        tell_pick(s, body);
    else
        tell_list(s, body);
}

/* ---- who ---- */

enum { WHO_ALL, WHO_NODE, WHO_PERSON }; /* say.count */

void dialog_query_who(struct dialog *s, struct str rest)
{
    static const char idle[] = "is on uses using has the node host gpu gpus holds at what which whose running";
    AUTO_BUF target = BUF_INIT(4096);
    AUTO_BUF filter = BUF_INIT(1024);
    struct str word = {0}, w, node = {0}, gpus = {0};

    while (str_word(&rest, &w))
        if (!dialog_is_one(w, idle, strncmp))
            word = w;
    if (!word.len) {
        buf_adds(&target, "/api/v1/people");
    } else if (dialog_is_node(s, word) || dialog_is_place(s, word, &node, &gpus)) {
        bool whole = dialog_is_node(s, word);
        s->count = WHO_NODE;
        s->what = dialog_keep(s, word);
        buf_adds(&target, "/api/v1/state");
        dialog_param(&target, "node", whole ? word : node);
        if (!whole && strspn(dialog_keep(s, gpus), "0123456789") == gpus.len) {
            buf_addf(&filter, "gpu:%.*s", STR_ARG(gpus));
            dialog_param(&target, "filter", buf_str(&filter));
        }
    } else {
        s->count = WHO_PERSON;
        s->what = str_eq_nocase(word, "me") || str_eq_nocase(word, "i") ? s->ask.person : dialog_keep(s, word);
        if (memchr(word.p, '"', word.len) || !s->what[0]) {
            dialog_no(s, "Which node or user? Examples: `who dgx2`, `who kim`, or `who` for all users.");
            return;
        }
        buf_adds(&target, "/api/v1/people");
        buf_addf(&filter, "person:\"%s\"", s->what);
        dialog_param(&target, "filter", buf_str(&filter));
    }
    dialog_get(s, target.p);
}

/* "dgx1:0,1 dgx2:3" */
static void places_of(json_t *devices, struct buf *out)
{
    const char *last = "";
    size_t i;
    json_t *d;

    json_array_foreach (devices, i, d) {
        const char *node = slack_text(d, "node");
        if (strcmp(node, last) != 0)
            buf_addf(out, "%s%s:", out->len ? " " : "", node);
        else
            buf_addc(out, ',');
        buf_addf(out, "%lld", (long long)dialog_int(d, "index"));
        last = node;
    }
}

static void tell_people(struct dialog *s, struct str body)
{
    static const struct column_spec columns[] = {
        {"person", "USER", CELL_TEXT, .weight = 100},
        {"gpus", "GPUS", CELL_INT, .right = true, .weight = 95},
        {"idle", "IDLE", CELL_TEXT, .right = true, .weight = 80},
        {"memory", "MEMORY", CELL_TEXT, .right = true, .weight = 70},
        {"since", "SINCE", CELL_TEXT, .weight = 60},
        {"where", "WHERE", CELL_TEXT, .weight = 99},
    };
    json_auto_t *o = json_loadb(body.p, body.len, 0, NULL);
    json_t *row;
    struct rows rows;
    size_t i, n = 0;
    char since[24], idle[24];

    rows_init(&rows, columns, ARRAY_LEN(columns));
    json_array_foreach (o, i, row) {
        const char *person = slack_text(row, "person");
        AUTO_BUF where = BUF_INIT(65536);
        AUTO_BUF mem = BUF_INIT(64);
        if (!dialog_int(row, "gpus") || (s->count == WHO_PERSON && strcasecmp(person, s->what) != 0))
            continue;
        n++;
        struct cell *c = rows_add(&rows);
        places_of(json_object_get(row, "devices"), &where);
        render_amount(&mem, "bytes", (double)dialog_int(row, "memory"));
        snprintf(idle, sizeof(idle), "%lld", (long long)dialog_int(row, "idle"));
        cell_text(&c[0], str_of(person[0] ? person : "(unknown)"));
        cell_int(&c[1], dialog_int(row, "gpus"));
        cell_some_text(&c[2], dialog_int(row, "idle") ? idle : "");
        cell_text(&c[3], buf_str(&mem));
        if (dialog_int(row, "since"))
            cell_text(&c[4], str_of(clock_span(MAX(0, s->ask.now_ms - dialog_int(row, "since")), since)));
        cell_text(&c[5], buf_str(&where));
    }
    if (!n && s->count == WHO_PERSON)
        dialog_line(s, "%s uses no GPU now.", s->what);
    else if (!n)
        dialog_line(s, "No GPU is in use now.");
    else {
        if (s->count != WHO_PERSON)
            dialog_head(s, "%zu %s on GPUs now", n, n == 1 ? "user is" : "users are");
        dialog_rows(s, "who", &rows);
    }
    rows_fini(&rows);
}

static void tell_node(struct dialog *s, struct str body)
{
    static const struct column_spec columns[] = {
        {"gpu", "GPU", CELL_TEXT, .right = true, .weight = 100},
        {"state", "STATE", CELL_TEXT, .weight = 99},
        {"who", "USER", CELL_TEXT, .weight = 98},
        {"program", "PROGRAM", CELL_TEXT, .weight = 60},
        {"memory", "MEMORY", CELL_TEXT, .right = true, .weight = 70},
        {"util", "UTIL", CELL_TEXT, .right = true, .weight = 80},
        {"booked", "BOOKED", CELL_TEXT, .weight = 75},
    };
    struct read_state p;
    struct rows rows;

    if (!parse(s, body, &p))
        return;
    rows_init(&rows, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < p.n; i++)
        for (size_t k = 0; k < p.nodes[i].n_devices; k++) {
            const struct device_now *d = &p.nodes[i].devices[k];
            struct cell *c = rows_add(&rows);
            AUTO_BUF who = BUF_INIT(1024);
            AUTO_BUF mem = BUF_INIT(64);
            AUTO_BUF util = BUF_INIT(64);
            AUTO_BUF gpu = BUF_INIT(64);
            bool seen = d->state <= DEV_IN_SIGHT;
            add_index(d, &gpu);
            device_users(d, &who);
            if (seen && sample_has(&d->now, M_mem_used))
                render_amount(&mem, "bytes", (double)d->now.v[M_mem_used]);
            if (seen && sample_has(&d->now, M_util))
                render_amount(&util, "ratio", (double)d->now.v[M_util] / 10000);
            cell_text(&c[0], buf_str(&gpu));
            cell_text(&c[1], str_of(state_shown(dev_states[d->state].word)));
            cell_some_text(&c[2], buf_str(&who).p);
            cell_some_text(&c[3], d->n_procs ? d->procs[0].fact->name : "");
            cell_some_text(&c[4], buf_str(&mem).p);
            cell_some_text(&c[5], buf_str(&util).p);
            cell_some_text(&c[6], d->booking ? d->booking->person : "");
        }
    if (p.n) {
        AUTO_BUF words = BUF_INIT(1024);
        if (p.nodes[0].state != NODE_UP || p.nodes[0].reason[0]) {
            buf_adds(&words, ": ");
            node_sentence(&words, &p.nodes[0]);
        }
        dialog_head(s, "%s%s", s->what, buf_str(&words).p);
    }
    if (rows.n)
        dialog_rows(s, "who", &rows);
    else
        dialog_line(s, "There is no GPU.");
    rows_fini(&rows);
    read_state_fini(&p);
}

void dialog_reply_who(struct dialog *s, UNUSED size_t call, struct str body)
{
    if (s->count == WHO_NODE)
        tell_node(s, body);
    else
        tell_people(s, body);
}
