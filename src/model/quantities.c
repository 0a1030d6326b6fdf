/* quantities.c: the glossary of help, man page and page; docs/states.md has the same. */
#include "model/quantities.h"

#include <stddef.h>

const struct quantity quantities[] = {
    {"busy", "utilisation of 5 % or more within a minute; busy hours: held time with a kernel; idle hours: the other "
             "held hours"},
    {"active", "share of time in which a kernel runs; utilisation is the driver's coarser estimate of it"},
    {"efficiency", "share of its peak that the busiest part reaches; effective hours: held hours times efficiency"},
    {NULL, NULL},
};
