/* relay.h: the settings of `muster relay`; a hub writes them to a file for the relay it starts. */
#ifndef CMD_RELAY_H
#define CMD_RELAY_H

#include "relay/files_settings.h"
#include "relay/ssh_settings.h"

struct relay_conf {
    char *config;
    char *hub, *token, *token_file, *pin, *ca_file, *proxy;
    struct ssh_settings ssh;
    struct files_settings files;
    int log_level, log_format;
};
extern const struct opt relay_opts[];

#endif
