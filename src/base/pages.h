/*
 * pages.h: gives back the memory that only the start needed. To load libcurl reads megabytes of the thirty libraries it
 * needs in turn, and to send with it takes a few hundred KB of them. What is needed again comes back by itself, from
 * its file, as after the kernel took it where memory was short.
 */
#pragma once

#define PAGES_SETTLED_MS 20000 /* by then an agent has loaded everything and used it once */

/* What nobody can have written to of the program and its libraries. */
void pages_give_back(void);
