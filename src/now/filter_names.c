/* filter_names.c: the meaning of every name of a filter, one line each; metrics come from metrics.def. */
#include "now/filter_names.h"

#include "base/order.h"

static const struct filter_field fields[] = {
    {"host", "node", TAKE_NAME, GET_NODE_TEXT, offsetof(struct node_now, name)},
    {"site", NULL, TAKE_NAME, GET_NODE_TEXT, offsetof(struct node_now, site)},
    {"driver", NULL, TAKE_PART, GET_NODE_TEXT, offsetof(struct node_now, fact.driver)},
    {"cuda", NULL, TAKE_PART, GET_NODE_TEXT, offsetof(struct node_now, fact.cuda)},
    {"os", NULL, TAKE_PART, GET_NODE_TEXT, offsetof(struct node_now, fact.os)},
    {"agent", NULL, TAKE_PART, GET_NODE_TEXT, offsetof(struct node_now, fact.agent)},
    {"model", NULL, TAKE_PART, GET_DEVICE_TEXT, offsetof(struct device_now, fact.name)},
    {"uuid", NULL, TAKE_PART, GET_DEVICE_TEXT, offsetof(struct device_now, fact.uuid)},
    {"pci", NULL, TAKE_PART, GET_DEVICE_TEXT, offsetof(struct device_now, fact.pci)},
    {"serial", NULL, TAKE_PART, GET_DEVICE_TEXT, offsetof(struct device_now, fact.serial)},
    {"gpu", "index", TAKE_COUNT, GET_INDEX, 0},
    {"mig", NULL, TAKE_COUNT, GET_MIG, 0},
    {"state", NULL, TAKE_STATE, GET_STATE, 0},
    {"user", NULL, TAKE_NAME, GET_PROC_TEXT, offsetof(struct proc_fact, user)},
    {"booker", NULL, TAKE_NAME, GET_BOOKER, 0},
    {"person", NULL, TAKE_NAME, GET_PROC_WHO, WHO_PERSON},
    {"team", NULL, TAKE_NAME, GET_PROC_WHO, WHO_GROUP},
    {"project", NULL, TAKE_NAME, GET_PROC_WHO, WHO_GROUP + 1},
    {"company", NULL, TAKE_NAME, GET_PROC_WHO, WHO_GROUP + 2},
    {"program", NULL, TAKE_PART, GET_PROC_TEXT, offsetof(struct proc_fact, name)},
    {"container", NULL, TAKE_PART, GET_PROC_TEXT, offsetof(struct proc_fact, container)},
    {"runtime", NULL, TAKE_NAME, GET_PROC_TEXT, offsetof(struct proc_fact, runtime)},
    {"pod", NULL, TAKE_PART, GET_PROC_TEXT, offsetof(struct proc_fact, pod)},
    {"slurm", NULL, TAKE_COUNT, GET_SLURM, 0},
    {"pid", NULL, TAKE_COUNT, GET_PID, 0},
    {"idle", NULL, TAKE_SPAN, GET_IDLE, 0},
    {"since", NULL, TAKE_SPAN, GET_SINCE, 0},
    {"age", NULL, TAKE_SPAN, GET_AGE, 0},
    {"mem", NULL, TAKE_UNIT, GET_DEVICE_METRIC, M_mem_used},
    {"memtotal", NULL, TAKE_UNIT, GET_DEVICE_METRIC, M_mem_total},
    {"memfree", NULL, TAKE_UNIT, GET_MEM_FREE, M_mem_used}, /* in the unit of that metric */
    {"throttle", NULL, TAKE_THROTTLE, GET_THROTTLE, M_throttle},
    {"advice", NULL, TAKE_ADVICE, GET_ADVICE, 0},
};

#define OUT_OF_SIGHT (1 << DEV_STALE | 1 << DEV_HUNG | 1 << DEV_LOST)
static const struct filter_word words[] = {
    {"free", GET_STATE, 1 << DEV_FREE},
    {"held", GET_STATE, 1 << DEV_HELD},
    {"busy", GET_STATE, 1 << DEV_BUSY},
    {"unknown", GET_STATE, 1 << DEV_UNKNOWN},
    {"starting", GET_STATE, 1 << DEV_STARTING},
    {"stale", GET_STATE, 1 << DEV_STALE},
    {"offline", GET_STATE, 1 << DEV_STALE}, /* its text on screens */
    {"hung", GET_STATE, 1 << DEV_HUNG},
    {"lost", GET_STATE, 1 << DEV_LOST},
    {"missing", GET_STATE, 1 << DEV_LOST}, /* its name on screens */
    {"broken", GET_STATE, OUT_OF_SIGHT},
    {"asleep", GET_FLAGS, FLAG_ASLEEP},
    {"mig", GET_FLAGS, FLAG_MIG},
    {"maintenance", GET_FLAGS, FLAG_MAINTENANCE},
    {"booked", GET_FLAGS, FLAG_BOOKED},
    {"mine", GET_PROC_WHO, 0},
};

const char *filter_name(size_t i)
{
    if (i < ARRAY_LEN(fields))
        return fields[i].name;
    i -= ARRAY_LEN(fields);
    return i < ARRAY_LEN(words) ? words[i].name : NULL;
}

enum filter_kind filter_kind(size_t i)
{
    if (i >= ARRAY_LEN(fields))
        return FILTER_WORD;
    return fields[i].take >= TAKE_STATE ? FILTER_TEXT : FILTER_NUMBER;
}

const struct filter_word *filter_word(struct str name)
{
    return FIND(words, ARRAY_LEN(words), w, str_eq_nocase(name, w->name));
}

const struct filter_field *filter_field(struct str name, struct filter_field *scratch)
{
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        if (str_eq_nocase(name, fields[i].name) || (fields[i].alias && str_eq_nocase(name, fields[i].alias)))
            return &fields[i];
    for (int m = 0; m < M_COUNT; m++)
        if (str_eq_nocase(name, metrics[m].name)) {
            *scratch = (struct filter_field){metrics[m].name, NULL, TAKE_UNIT, GET_DEVICE_METRIC, (size_t)m};
            if (metrics[m].scope == SCOPE_NODE)
                scratch->get = GET_NODE_METRIC;
            return scratch;
        }
    return NULL;
}

const char *filter_near(struct str name)
{
    const char *best = NULL;
    int least = 3;

    for (size_t i = 0; i < ARRAY_LEN(fields) + ARRAY_LEN(words) + M_COUNT; i++) {
        size_t own = ARRAY_LEN(fields) + ARRAY_LEN(words);
        const char *known = i < own ? filter_name(i) : metrics[i - own].name;
        int slips = str_near(name, str_of(known));
        if (slips >= 0 && slips < least) {
            least = slips;
            best = known;
        }
    }
    return best;
}
