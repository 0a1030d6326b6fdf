/* data_folder.h: which data folder a command means that works on one beside the hub. */
#pragma once

#include "base/err.h"

#define DATA_FOLDER_MAX 4096
/* Options of such a command: put DATA_FOLDER_OPTS(struct) in its table, and data and hub in the struct. */
#define DATA_FOLDER_OPTS(strct)                                                                                        \
    OPT(strct, data, 'd', OPT_PATH, NULL, "DIR", "data folder of the hub",                                             \
        .default_text = "that of the hub on this machine, or of `muster up`"),                                         \
        OPT(strct, hub, 0, OPT_STR, NULL, "URL", "hub on this machine that is queried for its data folder",            \
            .default_text = "port 8765", .url = true)

/* Into out: data where it is given; else the folder of this user's hub where that runs; else what the hub says that
 * answers here; else the usual one. -ENOENT with a sentence where no hub's data is. */
int data_folder(const char *data, char *hub, char out[DATA_FOLDER_MAX], struct err *err);
