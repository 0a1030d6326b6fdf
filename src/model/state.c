/* state.c: the names and marks of states. */
#include "model/state.h"

const struct state_info dev_states[DEV_STATES] = {
    [DEV_FREE] = {"free", "○", ".", "nobody, nothing booked", 32},
    [DEV_HELD] = {"held", "◐", "o", "in use by somebody, idle", 33},
    [DEV_BUSY] = {"busy", "●", "#", "used now or within the last minute", 94},
    [DEV_UNKNOWN] = {"unknown", "?", "~", "reports neither utilisation nor memory", 90},
    [DEV_STARTING] = {"starting", "◌", ":", "no data since the start of its agent or of the hub", 90},
    [DEV_STALE] = {"stale", "◌", "?", "no data", 90},
    [DEV_HUNG] = {"hung", "✕", "x", "driver does not answer", 35},
    [DEV_LOST] = {"lost", "∅", "-", "was there, is gone", 35},
};

const char *const collect_words[COLLECT_STATES] = {"starting", "ok", "hung", "paused", "none", "failed"};
const char *const node_words[NODE_STATES] = {"up", "down", "hung", "paused", "maintenance"};

const char *state_shown(const char *word)
{
    return strcmp(word, "stale") == 0 || strcmp(word, "down") == 0 ? "offline" : word;
}

int dev_state_by_word(struct str s)
{
    for (int i = 0; i < DEV_STATES; i++)
        if (str_eq(s, dev_states[i].word))
            return i;
    return -1;
}

int node_state_by_word(struct str s)
{
    for (int i = 0; i < NODE_STATES; i++)
        if (str_eq(s, node_words[i]))
            return i;
    return -1;
}
