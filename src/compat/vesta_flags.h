/* vesta_flags.h: the flags that vesta's server was started with, as text of YAML. */
#pragma once

#include "base/err.h"

struct buf;

/*
 * Adds a line of YAML for each flag. An argument without a dash, or --local_settings_yaml_path, is the settings' file.
 * 0, or -EINVAL with a message: an unknown flag, or a flag without its value.
 */
int vesta_flags_read(int argc, char **argv, struct buf *yaml, const char **file, struct err *err);
