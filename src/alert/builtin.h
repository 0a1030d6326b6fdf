/* builtin.h: the built-in rules, for the files of this folder. */
#pragma once

#include "alert/rule.h"
#include "model/alert.h"

extern const struct alert_rule alert_builtin[]; /* name NULL at the end */
/* Whether the run named in the subject of this notice is still running. False if the notice is not about a run. */
bool alert_run_is_active(const struct auto_runs *runs, const struct alert *a);
