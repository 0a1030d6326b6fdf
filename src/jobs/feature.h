/* feature.h: jobs in the hub, for other features. */
#pragma once

#include "hub/hub.h"
#include "jobs/auto.h"

const struct auto_runs *hub_jobs_runs(struct hub *h); /* the current runs */
