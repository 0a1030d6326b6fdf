/* relay.h: settings of `muster relay`; a hub writes them to a file for its own relay. */
#pragma once

#include "relay/settings.h"

struct relay_conf {
    char *config;
    char *hub, *token, *token_file, *pin, *ca_file, *proxy;
    struct relay_settings machines;
    bool sandbox;
    struct opt_list sandbox_folders;
    int log_level, log_format;
};
extern const struct opt relay_cmd_opts[];
