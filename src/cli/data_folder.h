/* data_folder.h: finds the data folder for a command that works on it without the hub. */
#pragma once

#include "base/err.h"

#define DATA_FOLDER_MAX 4096
/* Options of such a command: put DATA_FOLDER_OPTS(struct) in its table, and data and hub in the struct. */
#define DATA_FOLDER_OPTS(strct)                                                                                        \
    OPT(strct, data, 'd', OPT_PATH, NULL, "DIR", "data folder of the hub",                                             \
        .default_text = "that of the hub on this machine, or of `muster up`"),                                         \
        OPT(strct, hub, 0, OPT_STR, NULL, "URL", "hub on this machine that is queried for its data folder",            \
            .default_text = "port 8765", .url = true)

/* Writes to out: data if set; else the folder of this user's running hub; else the folder reported by the hub on this
 * machine; else the default. Returns -ENOENT with a message in err if it has no hub's data. */
int data_folder(const char *data, char *hub, char out[DATA_FOLDER_MAX], struct err *err);
