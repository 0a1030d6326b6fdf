/* opt_table.h: one option of each type, for the tests of flags, environment and YAML. */
#ifndef TESTS_UNIT_OPT_TABLE_H
#define TESTS_UNIT_OPT_TABLE_H

#include "base/opt.h"

struct conf {
    bool demo, color;
    int64_t interval, keep, room, util, offset;
    char *hub, *data, *token;
    int collector, level;
    struct opt_list node, tags;
    char *only_flag;
    struct opt_section people;
};

static const char *const collector_names[] = {"auto", "nvml", "smi", NULL};
static const char *const level_names[] = {"error", "warn", "info", NULL};

static const struct opt table[] = {
    OPT(conf, interval, 'i', OPT_INT, "10", "SECONDS", "time between samples", .min = 1, .max = 3600),
    OPT(conf, demo, 'd', OPT_BOOL, NULL, NULL, "show made-up devices"),
    OPT(conf, color, 0, OPT_BOOL, "yes", NULL, "colours on the screen"),
    OPT(conf, hub, 'H', OPT_STR, NULL, "URL", "where the hub is"),
    OPTN(conf, "data", data, 0, OPT_PATH, "/var/lib/muster", "DIR", "where state is kept"),
    OPT(conf, token, 't', OPT_SECRET, NULL, "TOKEN", "what lets us in"),
    OPTN(conf, "keep_raw", keep, 0, OPT_DURATION, "30d", "TIME", "how long samples are kept", .min = 3600000),
    OPTN(conf, "rule.util", util, 0, OPT_PERCENT, "5%", "PERCENT", "below this a device is idle", .max = 10000),
    OPTN(conf, "rule.room", room, 0, OPT_BYTES, "512M", "BYTES", "memory that does not count", .min = 0,
         .max = 1LL << 40, .default_text = "half of it"),
    OPT(conf, collector, 'c', OPT_CHOICE, "auto", "NAME", "how to read the devices", .choices = collector_names),
    OPT(conf, node, 'n', OPT_LIST, "a,b", "NAME", "nodes to show"),
    OPT(conf, tags, 0, OPT_LIST, NULL, "WORD", "words to match"),
    OPTN(conf, "log.level", level, 0, OPT_CHOICE, "info", "LEVEL", "least weight of a line", .choices = level_names),
    OPTN(conf, "rule.offset", offset, 0, OPT_INT, "0", "N", "may be negative", .min = -5, .max = 5, .hidden = true),
    OPT(conf, only_flag, 0, OPT_STR, NULL, "X", "not for files", .no_file = true),
    OPT(conf, people, 0, OPT_SECTION, NULL, NULL, "who is who"),
    {0},
};

#endif
