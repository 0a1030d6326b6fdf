/* usage.c: words for what can be chosen of usage. */
#include "model/usage.h"

const char *const usage_split_words[] = {[SPLIT_MEMORY] = "memory", [SPLIT_EQUAL] = "equal", [SPLIT_SM] = "sm", NULL};
