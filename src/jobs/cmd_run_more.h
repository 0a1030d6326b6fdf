/* cmd_run_more.h: what the page of a run has below its verdict, in a terminal: charts of its GPUs, its processes. */
#pragma once

#include <jansson.h>

#include "cli/client.h"

/* v: its verdict, as the hub says it. 0 or -errno with a sentence; nothing where nothing is known. */
int run_charts_put(const struct client_conf *client, const json_t *v, int width, struct buf *out, struct err *err);
int run_processes_put(const struct client_conf *client, const json_t *v, struct buf *out, struct err *err);
