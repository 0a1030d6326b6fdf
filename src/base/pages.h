/*
 * pages.h: gives back the memory that only the start needed. To load libcurl reads megabytes of the thirty libraries it
 * needs in turn, and to send with it takes a few hundred KB of them. What is needed again comes back by itself, from
 * its file, as after the kernel took it where memory was short.
 */
#pragma once

#include <stdint.h>

#include "base/str.h"

#define PAGES_SETTLED_MS 20000 /* by then an agent has loaded everything and used it once */

struct pages {
    uint64_t begin, end;
};

/* Of the text of /proc/PID/smaps the next part of a file that cannot be written to and that nobody wrote to (the
 * dynamic linker does so to some); false at the end. */
bool pages_next(struct str *rest, struct pages *ret);
void pages_give_back(void);
