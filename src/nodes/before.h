/* before.h: since when GPUs do nothing, and since when nobody is on them: what a hub that starts knows of the time
 * before. */
#pragma once

struct hub;
/* Reads the last day back, on a worker; live hears of it when it is done. */
void before_read(struct hub *h);
