/*
 * rule.h: rules for alerts. Built-in rules are listed in docs/alerts.md; muster.yaml adds rules in the filter
 * language. A rule evaluates the scene (the current state of everything) and reports findings. alert_state.h decides
 * how long a finding must last.
 */
#pragma once

#include "base/opt.h"
#include "book/book.h"
#include "jobs/auto.h"
#include "model/event.h"
#include "now/filter.h"
#include "now/live.h"
#include "people/people.h"

/* A recent event, kept by the owner of the scene. */
struct recent {
    int64_t at_ms; /* first: they are sorted by it */
    uint16_t kind; /* enum event_kind */
    int64_t code;
    char node[NODE_KEY_MAX], device[UUID_MAX], text[320];
};

/* node and device may be NULL */
struct recent recent_of(const char *node, const char *device, const struct node_event *e);

/* A finding about usage: see baseline.h. */
enum usage_finding_kind { USAGE_LOW, USAGE_UNUSUAL };
struct usage_finding {
    enum usage_finding_kind kind;
    int64_t since_ms;
    bool weak;                         /* it continues an alert, but does not start one */
    const char *subject, *name, *text; /* "company:acme", "acme", a sentence */
};

struct gpus_expected { /* for nodes whose name matches */
    const char *node;
    int32_t n;
};

/* Problems of the hub itself: the store; damage in stored history; failing sources of names, channels, and the W&B
 * command. */
enum scene_wrong { SCENE_STORE, SCENE_DAMAGE, SCENE_SOURCES, SCENE_CHANNELS, SCENE_WANDB, SCENE_WRONGS };

/* All inputs of the rules. Borrowed. */
struct alert_input {
    int64_t now_ms;
    int64_t started_ms;      /* start of the hub; 0: unknown */
    const struct view *view; /* all nodes except retired ones */
    struct live *live;
    const struct people *people;
    struct book *book;               /* NULL: no bookings */
    const struct auto_runs *runs;    /* NULL: none */
    const char *wrong[SCENE_WRONGS]; /* NULL: no problem */
    const struct recent *recent;     /* newest last */
    size_t n_recent;
    const struct usage_finding *usage;
    size_t n_usage;
    const struct alert *const *lost; /* firing alerts about lost GPUs */
    size_t n_lost;
    int32_t (*gpus_had)(void *arg,
                        const char *node); /* maximum GPU count seen, by node key; 0: unknown. NULL: not available */
    void *gpus_arg;
    const struct gpus_expected *expect; /* filled in by alert_rules_evaluate */
    size_t n_expect;
};

/* A finding of a rule. Text is borrowed for the call; "" if unset. */
struct alert_finding {
    const char *subject, *node, *place, *device, *person, *text;
    int64_t since_ms; /* 0: unknown */
    bool weak;        /* keeps a firing alert; never starts one */
};
struct alert_rule;
typedef void see_fn(void *arg, const struct alert_rule *r, const struct alert_finding *f);

/* The evaluation of one rule. */
struct rule_eval {
    const struct alert_rule *r;
    const struct alert_input *s;
    see_fn *see;
    void *arg;
    bool weak; /* its findings are weak */
};
void rule_found(const struct rule_eval *k, struct alert_finding f); /* text may be NULL */
/* A finding about a node or, if d is not NULL, about one of its GPUs. */
void rule_found_at(const struct rule_eval *k, const struct node_now *n, const struct device_now *d, int64_t since_ms,
                   const char *fmt, ...) __attribute__((format(printf, 5, 6)));

enum alert_of { ALERT_OF_GPU, ALERT_OF_NODE };

struct alert_rule {
    const char *name;
    const char *about;  /* condition as a sentence, for lists of rules */
    const char *advice; /* what to do about it */
    int32_t severity;
    int64_t for_ms, clear_ms;
    int64_t remind_ms; /* interval of reminders; 0: default of its severity; ALERT_REMIND_NEVER */
    bool off, own;
    bool notice;             /* reports an event that happened at since_ms: one notification, no resolved message */
    bool lasts;              /* a notice about something that started at since_ms and may continue */
    bool no_end;             /* sends no notification when resolved */
    bool person;             /* notifies the affected persons through channels with `to: person` */
    const char *you, *yours; /* text for one recipient: {places}, {for}. With two persons, {who} is the other one and
                                `yours` is for the last one. NULL: the general text */
    bool now_only;           /* needs data that is not stored: no replay */
    /* one of the three is set; findings of `look` follow those of `is` */
    void (*look)(const struct rule_eval *k);                                                     /* on the scene */
    bool (*is)(const struct rule_eval *k, const struct node_now *n, const struct device_now *d); /* on each, see `of` */
    void (*tell)(const struct rule_eval *k, const struct node_now *n, const struct device_now *d); /* reports it */
    const char *when; /* filter expression, for each GPU or node */
    struct filter *filter;
    const char *until;   /* a firing alert ends when this holds; NULL: when `when` no longer holds */
    struct filter *hold; /* compiled negation of `until` */
    enum alert_of of;
    const char *text;      /* template of the message: template.h */
    bool worded;           /* a built-in rule with the user's text: a message about one alert contains only that text */
    const char *over_text; /* template of the resolved message of one alert; NULL: default text */
    bool expects;          /* accepts `expect`: how many GPUs nodes have */
    int64_t limit;         /* threshold of a built-in rule, in its own unit; 0: none */
    const char *channels;  /* comma-separated names; "": all channels that accept this severity */
};

/* Number of GPUs of a node, without lost ones and MIG instances. */
int32_t alert_gpus(const struct node_now *n);

#define ALERT_RULES_MAX    200
#define ALERT_REMIND_NEVER (-1)

struct alert_rules;
struct alert_rules *alert_rules_new(void); /* built-in rules */
void alert_rules_free(struct alert_rules *r);
/*
 * Reads the section `alerts` of muster.yaml: changes of built-in rules ("gpu-idle: {for: 4h}", "gpu-hot: off") and new
 * rules under `rules`. Returns 0, or -EINVAL with "path:line:column: message" in err; r must not be used then.
 */
int alert_rules_read(struct alert_rules *r, const struct opt_section *section, struct err *err);
const struct alert_rule *alert_rules_all(const struct alert_rules *r, size_t *ret_n);
const struct alert_rule *alert_rules_find(const struct alert_rules *r, const char *name);
/* Interval of reminders for this severity; 0: no reminders. */
int64_t alert_rule_remind_ms(const struct alert_rule *r, int32_t severity);
/* Evaluates all enabled rules on the scene. */
void alert_rules_evaluate(const struct alert_rules *r, const struct alert_input *s, see_fn *see, void *arg);
/* The same in steps: _nodes evaluates the nodes of the view, a part of all nodes per call. Then _else evaluates
 * everything else, once. */
void alert_rules_evaluate_nodes(const struct alert_rules *r, const struct alert_input *s, see_fn *see, void *arg);
void alert_rules_evaluate_rest(const struct alert_rules *r, const struct alert_input *s, see_fn *see, void *arg);
