/* before.h: loads from the store since when GPUs are idle or free, after a start of the hub. */
#pragma once

struct hub;
/* Reads the last day on a worker thread, then passes the result to live. */
void before_read(struct hub *h);
