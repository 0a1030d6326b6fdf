/*
 * ssh_settings.h: settings for machines read over ssh: one list of options for `muster hub`, which starts the relay,
 * and for `muster relay` itself.
 */
#ifndef RELAY_SSH_SETTINGS_H
#define RELAY_SSH_SETTINGS_H

#include "base/opt.h"

struct ssh_settings {
    struct opt_list nodes, sources;
    char *source_token_file, *source_ca_file, *source_only;
    char *user, *key, *config, *known_hosts, *jump, *control_dir, *ini, *program;
    int64_t every, connections, connect;
};

/* Rows for a table of options; m is the struct ssh_settings in strct. */
#define SSH_OPTS(strct, m)                                                                                             \
    OPTN(strct, "nodes", m.nodes, 0, OPT_LIST, NULL, "HOST",                                                           \
         "machines without an agent, read over ssh: host, user@host, host:port, gpu[01-20]; may be repeated"),         \
        OPTN(strct, "sources", m.sources, 0, OPT_LIST, NULL, "KIND:WHAT",                                              \
             "where names of more such machines come from: consul:URL, file_sd:FILE, http_sd:URL, ssh_config:FILE, "   \
             "sinfo:PARTITION, dns_srv:NAME; may be repeated",                                                         \
             .url = true),                                                                                             \
        OPTN(strct, "source.token_file", m.source_token_file, 0, OPT_PATH, NULL, "FILE",                               \
             "file that holds the token for consul and http_sd"),                                                      \
        OPTN(strct, "source.ca_file", m.source_ca_file, 0, OPT_PATH, NULL, "FILE",                                     \
             "certificates to trust there instead of the system's"),                                                   \
        OPTN(strct, "source.only", m.source_only, 0, OPT_STR, NULL, "PATTERNS",                                        \
             "take only names that fit one of these, as gpu*,dgx-??"),                                                 \
        OPTN(strct, "ssh.user", m.user, 0, OPT_STR, NULL, "USER",                                                      \
             "log in there as this user (ssh's choice unless told)"),                                                  \
        OPTN(strct, "ssh.key", m.key, 0, OPT_PATH, NULL, "FILE", "with this private key"),                             \
        OPTN(strct, "ssh.config", m.config, 0, OPT_PATH, NULL, "FILE",                                                 \
             "ssh's configuration; the user's own unless told"),                                                       \
        OPTN(strct, "ssh.known_hosts", m.known_hosts, 0, OPT_PATH, NULL, "FILE",                                       \
             "host keys that are trusted; the user's own unless told"),                                                \
        OPTN(strct, "ssh.jump", m.jump, 0, OPT_STR, NULL, "HOST", "by way of this host"),                              \
        OPTN(strct, "ssh.control_dir", m.control_dir, 0, OPT_PATH, NULL, "DIR",                                        \
             "share connections through sockets in this folder (ControlMaster)"),                                      \
        OPTN(strct, "ssh.every", m.every, 0, OPT_DURATION, "5s", "TIME", "time between samples", .min = 1000,          \
             .max = 600000),                                                                                           \
        OPTN(strct, "ssh.connections", m.connections, 0, OPT_INT, "32", "N",                                           \
             "connections opened at the same time, at most", .min = 1, .max = 1024),                                   \
        OPTN(strct, "ssh.connect", m.connect, 0, OPT_DURATION, "10s", "TIME",                                          \
             "a host that has not answered by then does not answer", .min = 1000, .max = 300000),                      \
        OPTN(strct, "ssh.ini", m.ini, 0, OPT_PATH, NULL, "FILE",                                                       \
             "config.ini of Web-GPU-Monitor: [common] user, hosts, key_filename"),                                     \
        OPTN(strct, "ssh.program", m.program, 0, OPT_STR, "ssh", "PROGRAM", "what to start as ssh")

#endif
