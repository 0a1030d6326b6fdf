/* collectors.c: the list of ways to read devices. By itself, so that libmuster can do with two of them. */
#include "collect/collect.h"

/* Every one whose devices are present is used, in this order. */
const struct collector_ops *const collectors[] = {&collector_nvml, &collector_smi, &collector_replay, &collector_exec,
                                                  NULL};
