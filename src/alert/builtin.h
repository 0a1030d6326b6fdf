/* builtin.h: the built-in rules, for the files of this folder. */
#pragma once

#include "alert/rule.h"

extern const struct alert_rule alert_builtin[]; /* name NULL at the end */
