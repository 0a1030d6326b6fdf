/*
 * pages.h: gives back the memory that only the start needed. Loading libcurl reads megabytes of its thirty libraries,
 * and sending with it needs a few hundred KB of them. The kernel reads pages that are needed again from their files, as
 * after it reclaimed them.
 */
#pragma once

#define PAGES_SETTLED_MS 20000 /* by then an agent has loaded everything and used it once */

/* Gives back the pages of the program and its libraries that cannot have been written to. */
void pages_give_back(void);
