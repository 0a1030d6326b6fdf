/*
 * files_settings.h: settings for machines known by GPU Monitor's files: one list of options for `muster hub`, which
 * starts the relay, and for `muster relay` itself.
 */
#ifndef RELAY_FILES_SETTINGS_H
#define RELAY_FILES_SETTINGS_H

#include "base/opt.h"

struct files_settings {
    struct opt_list pull, sources;
    char *watch, *zone;
    int64_t port, every, connections;
};

/* Rows for a table of options; m is the struct files_settings in strct. */
#define FILES_OPTS(strct, m)                                                                                           \
    OPTN(strct, "files.pull", m.pull, 0, OPT_LIST, NULL, "HOST",                                                       \
         "machines that show GPU Monitor's files over HTTP: host, host:port, gpu[01-20]; may be repeated"),            \
        OPTN(strct, "files.sources", m.sources, 0, OPT_LIST, NULL, "KIND:WHAT",                                        \
             "where names of more such machines come from, as in sources: consul:fetch_stats_conf.json"),              \
        OPTN(strct, "files.port", m.port, 0, OPT_INT, "8114", "PORT", "where they are asked", .min = 1, .max = 65535), \
        OPTN(strct, "files.watch", m.watch, 0, OPT_PATH, NULL, "DIR",                                                  \
             "a folder into which such files are pushed, as HOST_gpus.csv"),                                           \
        OPTN(strct, "files.zone", m.zone, 0, OPT_STR, "auto", "ZONE",                                                  \
             "the zone of the times in them: auto (by the clock time of uptime), UTC, or as +02:00"),                  \
        OPTN(strct, "files.every", m.every, 0, OPT_DURATION, "20s", "TIME", "time between pulls", .min = 1000,         \
             .max = 600000),                                                                                           \
        OPTN(strct, "files.connections", m.connections, 0, OPT_INT, "16", "N", "machines asked at the same time",      \
             .min = 1, .max = 1024)

#endif
