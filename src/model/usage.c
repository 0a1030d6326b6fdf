/* usage.c: the names of the choices in usage (by whom, per what). */
#include "model/usage.h"

const char *const usage_split_words[] = {[SPLIT_MEMORY] = "memory", [SPLIT_EQUAL] = "equal", [SPLIT_SM] = "sm", NULL};
const char *const usage_by_words[] = {[BY_PERSON] = "person",   [BY_TEAM] = "team", [BY_PROJECT] = "project",
                                      [BY_COMPANY] = "company", [BY_NODE] = "node", [BY_MODEL] = "model",
                                      [BY_DEVICE] = "device",   [BY_JOB] = "job",   NULL};

int64_t usage_weight(int64_t v)
{
    int bits = v > 0 ? 63 - __builtin_clzll((unsigned long long)v) : 0;

    return bits > 4 ? v >> (bits - 4) << (bits - 4) : v;
}
