/* guest.h: a node of another hub as this one shows it: by names that are one's own, in this hub's time. Pure. */
#pragma once

#include "model/now.h"

/* "munich/" before its key, its name and the uuids of its devices. shift_ms: what is added to the other hub's clock. */
void guest_make(struct node_now *n, const char *site, int64_t shift_ms);
/* The key such a node has; one that is too long then is a hash of it. */
void guest_key(const char *site, const char *key, char ret[NODE_KEY_MAX]);
/* What to add to a clock that shows theirs_ms now: nothing where both agree, about as much as before where it did not
 * jump. Then what is told does not tremble with how long it was on its way. */
int64_t guest_shift(int64_t was_ms, int64_t ours_ms, int64_t theirs_ms);
