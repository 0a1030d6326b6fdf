/* builtin.h: the built-in rules, for the files of this folder. */
#ifndef ALERT_BUILTIN_H
#define ALERT_BUILTIN_H

#include "alert/rule.h"

extern const struct alert_rule alert_builtin[]; /* name NULL at the end */

#endif
