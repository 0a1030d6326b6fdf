/*
 * rule.h: rules: what is wrong when. Some are built in (docs/alerts.md lists them), others are written in muster.yaml
 * in the filter language. A rule looks at the scene (all that is known at this moment) and says what it finds; how long
 * that must last is alert_state.h's business.
 */
#pragma once

#include "base/opt.h"
#include "book/book.h"
#include "jobs/auto.h"
#include "model/event.h"
#include "now/filter.h"
#include "now/live.h"
#include "people/people.h"

/* Something that happened lately, kept by whoever owns the scene. */
struct recent {
    int64_t at_ms; /* first: they are sorted by it */
    uint16_t kind; /* enum event_kind */
    int64_t code;
    char node[NODE_KEY_MAX], device[UUID_MAX], text[320];
};

struct recent recent_of(const char *node, const char *device, const struct node_event *e); /* NULL: of none */

/* What there is to say of usage: baseline.h. */
enum usage_news_kind { USAGE_LOW, USAGE_UNUSUAL };
struct usage_news {
    enum usage_news_kind kind;
    int64_t since_ms;
    bool weak;                         /* it goes on, and does not begin */
    const char *subject, *name, *text; /* "company:acme", "acme", a sentence */
};

struct gpus_expected { /* of nodes whose name fits */
    const char *node;
    int32_t n;
};

/* With the hub: the store; damage in stored history; sources of names, channels and the command for Weights & Biases
 * that fail. */
enum scene_wrong { SCENE_STORE, SCENE_DAMAGE, SCENE_SOURCES, SCENE_CHANNELS, SCENE_WANDB, SCENE_WRONGS };

/* Everything there is to look at. Borrowed. */
struct scene {
    int64_t now_ms;
    int64_t started_ms;      /* the hub, when; 0: not known */
    const struct view *view; /* all nodes, retired ones left out */
    struct live *live;
    const struct people *people;
    struct book *book;               /* NULL: no bookings */
    const struct auto_runs *runs;    /* NULL: none are known */
    const char *wrong[SCENE_WRONGS]; /* NULL: nothing */
    const struct recent *recent;     /* newest last */
    size_t n_recent;
    const struct usage_news *usage;
    size_t n_usage;
    const struct alert *const *lost; /* alerts of GPUs that were lost, which fire */
    size_t n_lost;
    int32_t (*gpus_had)(void *arg,
                        const char *node); /* the most it had, by its key; 0: not known. NULL: nobody knows */
    void *gpus_arg;
    const struct gpus_expected *expect; /* filled in by alert_rules_look */
    size_t n_expect;
};

/* What a rule found. Text is borrowed for the call; "" where there is none. */
struct alert_finding {
    const char *subject, *node, *place, *device, *person, *text;
    int64_t since_ms; /* 0: not known */
    bool weak;        /* keeps an alert that fires; makes none */
};
struct alert_rule;
typedef void see_fn(void *arg, const struct alert_rule *r, const struct alert_finding *f);

/* A rule that looks. */
struct rule_look {
    const struct alert_rule *r;
    const struct scene *s;
    see_fn *see;
    void *arg;
    bool weak; /* what it finds is */
};
void rule_found(const struct rule_look *k, struct alert_finding f); /* text may be NULL: there is none */
/* Of a node or, where d is not NULL, of a GPU of it. */
void rule_found_at(const struct rule_look *k, const struct node_now *n, const struct device_now *d, int64_t since_ms,
                   const char *fmt, ...) __attribute__((format(printf, 5, 6)));

enum alert_of { ALERT_OF_GPU, ALERT_OF_NODE };

struct alert_rule {
    const char *name;
    const char *about;  /* when it fires, in a sentence, for lists of rules */
    const char *advice; /* what to do then */
    int32_t severity;
    int64_t for_ms, clear_ms;
    int64_t remind_ms; /* it is told again after this; 0: as is usual for its severity; ALERT_REMIND_NEVER */
    bool off, own;
    bool notice;             /* what it finds happened, at since_ms: told once, without an end */
    bool lasts;              /* a notice of what began at since_ms and goes on */
    bool no_end;             /* nobody is told that it is over */
    bool person;             /* persons it concerns are told, where a channel is `to: person` */
    const char *you, *yours; /* how that is said to one: {places}, {for}; of two, {who} is the other one, and `yours` is
                                for the last of them. NULL: as to everybody */
    bool now_only;           /* nothing is stored of what it looks at: it cannot look back */
    /* one of the three; what `look` finds comes after what `is` so */
    void (*look)(const struct rule_look *k);                                                     /* at the scene */
    bool (*is)(const struct rule_look *k, const struct node_now *n, const struct device_now *d); /* of each, see `of` */
    void (*tell)(const struct rule_look *k, const struct node_now *n, const struct device_now *d); /* where it is so */
    const char *when; /* in the filter language, for each GPU or node */
    struct filter *filter;
    const char *until;   /* once it fires it is over when this is so, not as soon as `when` is not; NULL: it is */
    struct filter *hold; /* that it is not */
    enum alert_of of;
    const char *text;      /* template of the sentence: template.h */
    bool worded;           /* a built-in one whose text somebody gave: a message of one alert says that alone */
    const char *over_text; /* template of the message that one alert is resolved; NULL: the usual one */
    bool expects;          /* takes `expect`: how many GPUs nodes have */
    int64_t limit;         /* what a built-in's look compares with, in its own unit; 0: none */
    const char *channels; /* whom to tell, names with commas between; "": everybody who takes alerts of this severity */
};

/* GPUs a node has now: those that are lost, and MIG instances, are none. */
int32_t alert_gpus(const struct node_now *n);

#define ALERT_RULES_MAX    200
#define ALERT_REMIND_NEVER (-1)

struct alert_rules;
struct alert_rules *alert_rules_new(void); /* those built in */
void alert_rules_free(struct alert_rules *r);
/*
 * The section `alerts` of muster.yaml: changes to those built in ("gpu-idle: {for: 4h}", "gpu-hot: off") and one's own
 * under `rules`. 0, or -EINVAL with "path:line:column: sentence"; r is of no use then.
 */
int alert_rules_read(struct alert_rules *r, const struct opt_section *section, struct err *err);
const struct alert_rule *alert_rules_all(const struct alert_rules *r, size_t *ret_n);
const struct alert_rule *alert_rules_find(const struct alert_rules *r, const char *name);
/* How long after it was told an alert of this severity is told again; 0: never. */
int64_t alert_rule_remind_ms(const struct alert_rule *r, int32_t severity);
/* Every rule that is not off, over the scene. */
void alert_rules_look(const struct alert_rules *r, const struct scene *s, see_fn *see, void *arg);
/* The same bit by bit: at the nodes of the view, some of all each time, and then once at all else there is. */
void alert_rules_look_nodes(const struct alert_rules *r, const struct scene *s, see_fn *see, void *arg);
void alert_rules_look_else(const struct alert_rules *r, const struct scene *s, see_fn *see, void *arg);
