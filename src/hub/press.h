/*
 * press.h: large answers compressed beside the loop: a hundred megabytes take half a second. A blob that several wait
 * for is compressed once.
 */
#ifndef HUB_PRESS_H
#define HUB_PRESS_H

#include "api/cache.h"

struct work;
struct press;
struct press *press_new(struct work *work);
void press_free(struct press *p); /* after work's end: nothing is under way then */
/* done(arg) is called on the loop once b->gz is there, or could not be made. False: too much waits already. */
bool press_add(struct press *p, struct blob *b, void (*done)(void *arg), void *arg);

#endif
