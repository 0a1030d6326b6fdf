/* wrong.c: the bot's `alerts` and `silence`: what is wrong now, and silencing it. */

#include "base/clock.h"
#include "slack/words.h"

#define SHOWN 8 /* alerts with a paragraph of their own; the rest is a table */

/* ---- alerts ---- */

void dialog_query_alerts(struct dialog *s, UNUSED struct str rest)
{
    dialog_get(s, "/api/v1/alerts");
}

void dialog_silences(struct dialog *s, int64_t alert, const char *rule)
{
    char what[32], says[2][60], labels[2][60];

    if (alert)
        snprintf(what, sizeof(what), "#%lld", (long long)alert);
    else
        snprintf(what, sizeof(what), "%s", rule);
    for (int i = 0; i < 2; i++) {
        int hours = i ? 8 : 1;
        snprintf(says[i], sizeof(says[i]), "silence %s for %dh by a button", what, hours);
        snprintf(labels[i], sizeof(labels[i]), "silence %s%s%d h", alert ? "" : what, alert ? "" : " ", hours);
    }
    dialog_buttons(s, (struct dialog_button[]){{labels[0], says[0]}, {labels[1], says[1]}}, 2);
}

static void one_alert(struct dialog *s, json_t *row)
{
    json_t *quiet = json_object_get(row, "silenced");
    int64_t since = dialog_int(row, "since");
    char span[24];

    dialog_line(s, "%s: %s.%s%s%s", slack_text(row, "severity"), slack_text(row, "text"), quiet ? " Silenced by " : "",
                quiet ? slack_text(quiet, "by") : "", quiet ? "." : "");
    dialog_small(s, "%s, for %s%s%s", slack_text(row, "rule"), clock_span(MAX(0, s->ask.now_ms - since), span),
                 slack_text(row, "advice")[0] ? "; what to do: " : "", slack_text(row, "advice"));
    if (!quiet)
        dialog_silences(s, dialog_int(row, "id"), "");
}

void dialog_reply_alerts(struct dialog *s, json_t *o)
{
    json_t *list = json_object_get(o, "rows"), *row;
    size_t i, n = json_array_size(list);
    AUTO_BUF more = BUF_INIT(1u << 20);

    if (n)
        dialog_head(s, "%zu %s", n, n == 1 ? "active alert" : "active alerts");
    else
        dialog_line(s, "No active alerts.");
    json_array_foreach (list, i, row) {
        if (i < SHOWN)
            one_alert(s, row);
        else
            buf_addf(&more, "%s  %s: %s\n", slack_text(row, "severity"), slack_text(row, "rule"),
                     slack_text(row, "text"));
    }
    if (more.len)
        dialog_pre(s, "alerts", buf_str(&more));
}

/* ---- silence ---- */

/* What is to be silent: kept until the rules are known. */
struct wanted {
    int64_t alert; /* this one: "#17"; 0: by its rule or node */
    struct str rule, node, person, reason;
    int64_t for_ms, until_ms;
};

/* "RULE [node] for 2h REASON", or the node alone. */
static bool read_silence(struct dialog *s, struct str rest, struct wanted *w)
{
    struct str word;
    bool timed = false;

    *w = (struct wanted){0};
    while (!timed && str_word(&rest, &word)) {
        struct str node, gpus;
        if (word.p[0] == '#' && str_int(str_n(word.p + 1, word.len - 1), &w->alert))
            continue;
        if (str_eq_nocase(word, "for"))
            timed = dialog_span(&rest, &w->for_ms);
        else if (dialog_is_one(word, "until till", strncasecmp))
            timed = dialog_time(s, &rest, &w->until_ms);
        else if (dialog_is_one(word, "on of at", strncasecmp))
            continue;
        else if (!w->node.len && (dialog_is_node(s, word) || dialog_is_place(s, word, &node, &gpus)))
            w->node = word;
        else if (!w->rule.len)
            w->rule = dialog_is_one(word, "all everything alerts", strncasecmp) ? STR("*") : word;
        else if (!w->node.len && memchr(word.p, '*', word.len))
            w->node = word;
        else
            break;
    }
    w->reason = str_trim(rest);
    if (str_skip(&w->reason, "because "))
        w->reason = str_trim(w->reason);
    if (!timed || (!w->rule.len && !w->node.len && w->alert < 1))
        return dialog_no(s, "Which alerts, for how long and why? Example: `silence node-down dgx2 for 2h new fans`. "
                            "`alerts` "
                            "lists active alerts.");
    if (!w->reason.len)
        return dialog_no(s, "A reason is required: `silence %.*s%s%.*s for 2h new fans`.", STR_ARG(w->rule),
                         w->rule.len && w->node.len ? " " : "", STR_ARG(w->node));
    return true;
}

static void put_silence(struct dialog *s, const struct wanted *w)
{
    AUTO_BUF body = BUF_INIT(8192);
    struct json j = json_on(&body);
    AUTO_BUF span = BUF_INIT(64);

    /* the API reads both as text */
    buf_addf(&span, "%lldm",
             (long long)MAX(1, ((w->for_ms ? w->for_ms : w->until_ms - s->ask.now_ms) + 59999) / 60000));
    json_obj(&j, NULL);
    dialog_member(&j, "rule", w->rule);
    dialog_member(&j, "node", w->node);
    dialog_member(&j, "person", w->person);
    json_str(&j, "for", buf_str(&span));
    json_str(&j, "reason", str_n(w->reason.p, MIN(w->reason.len, 200u)));
    json_end_obj(&j);
    dialog_call(s, "POST", "/api/v1/silences", &body);
}

void dialog_query_silence(struct dialog *s, struct str rest)
{
    struct wanted w;

    if (!read_silence(s, rest, &w))
        return;
    s->what = dialog_keep(s, rest);
    dialog_get(s, w.alert ? "/api/v1/alerts?state=all" : "/api/v1/alerts/rules"); /* is there such a one? */
}

/* What an alert is of: its rule, and where or whose it is. */
static void silence_one(struct dialog *s, json_t *rows, struct wanted *w)
{
    size_t i;
    json_t *row;

    json_array_foreach (rows, i, row) {
        if (dialog_int(row, "id") != w->alert)
            continue;
        w->rule = str_of(slack_text(row, "rule"));
        w->node = str_of(slack_text(row, "place"));
        w->person = w->node.len ? w->person : str_of(slack_text(row, "person"));
        put_silence(s, w);
        return;
    }
    dialog_no(s, "Alert %lld no longer exists. `alerts` lists active alerts.", (long long)w->alert);
}

static void check_rule(struct dialog *s, struct str body)
{
    json_auto_t *o = json_loadb(body.p, body.len, 0, NULL);
    json_t *row;
    struct wanted w;
    const char *near = "";
    int best = 0;
    bool known = false;
    size_t i;

    if (!read_silence(s, str_of(s->what), &w)) /* it was understood before */
        return;
    json_array_foreach (json_object_get(o, "rows"), i, row) {
        const char *name = slack_text(row, "rule");
        int n = str_near(w.rule, str_of(name));
        known |= str_glob(w.rule, str_of(name));
        if (n >= 0 && (!near[0] || n < best)) {
            near = name;
            best = n;
        }
    }
    if (w.alert)
        silence_one(s, json_object_get(o, "rows"), &w);
    else if (!w.rule.len || known)
        put_silence(s, &w);
    else if (near[0])
        dialog_no(s, "There is no rule and no node '%.*s'. Did you mean %s?", DIALOG_ARG(w.rule), near);
    else
        dialog_no(s, "There is no rule and no node '%.*s'. `alerts` lists active alerts with their rules.",
                  DIALOG_ARG(w.rule));
}

void dialog_reply_silence(struct dialog *s, size_t call, struct str body)
{
    if (call == 0) {
        check_rule(s, body);
        return;
    }
    json_auto_t *o = json_loadb(body.p, body.len, 0, NULL);
    const char *rule = slack_text(o, "rule"), *node = slack_text(o, "node");
    int64_t id = dialog_int(o, "id");
    char says[40];

    dialog_line(s, "Muted: %s%s%s until %s: %s", rule[0] && strcmp(rule, "*") != 0 ? rule : "anything",
                node[0] ? " on " : "", node, dialog_when(s, dialog_int(o, "until")), slack_text(o, "reason"));
    dialog_small(s, "By %s; `unsilence %lld` ends it.", slack_text(o, "by"), (long long)id);
    snprintf(says, sizeof(says), "unsilence %lld", (long long)id);
    dialog_buttons(s, &(struct dialog_button){"end the silence", says}, 1);
}

void dialog_query_unsilence(struct dialog *s, struct str rest)
{
    AUTO_BUF target = BUF_INIT(128);
    struct str w = str_trim(rest);
    int64_t id;

    if (!str_int(w, &id) || id < 1) {
        dialog_no(s, "Which silence? Example: `unsilence 3`. `alerts` and the page list silences.");
        return;
    }
    buf_addf(&target, "/api/v1/silences/%lld", (long long)id);
    dialog_call(s, "DELETE", target.p, NULL);
}

void dialog_reply_unsilence(struct dialog *s, UNUSED json_t *o)
{
    dialog_line(s, "The silence has ended.");
}
