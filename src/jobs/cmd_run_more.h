/* cmd_run_more.h: what the page of a run has below its verdict, in a terminal: charts of its GPUs, its processes. */
#pragma once

#include <jansson.h>

#include "cli/client.h"

/* v: its verdict, as the hub sends it. Writes nothing without data; if the hub fails, partial data and its error
 * message. */
void run_charts_put(const struct client_conf *client, const json_t *v, int width, struct buf *out);
void run_processes_put(const struct client_conf *client, const json_t *v, struct buf *out);
