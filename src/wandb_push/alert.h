/* alert.h: W&B's own alert, which it carries to people by mail or chat. It belongs to a run, which is made for it. */
#pragma once

#include "wandb_pull/config.h"
#include "wandb_pull/web_api.h"

struct wandb_alert {
    const char *run, *job_type; /* the run's name: "Health Alert" */
    const char *salt;           /* with the name it makes the run's id: the same day is the same run */
    const char *title;          /* below 64 characters */
    struct str text;
    bool warn; /* severity WARN, else INFO */
    int64_t at_ms;
};
/* Into the config's dashboard: -EINVAL when it has none. The loop runs meanwhile. */
int wandb_alert_send(struct wandb *w, const struct wandb_config *config, const struct wandb_alert *a, struct err *err);
