/* state.c: the names and marks of states. */
#include "model/state.h"

#include "base/mem.h"

const struct state_info dev_states[DEV_STATES] = {
    [DEV_FREE] = {"free", "○", ".", "not in use, not booked", 32},
    [DEV_HELD] = {"held", "◐", "o", "in use or booked, but idle", 33},
    [DEV_BUSY] = {"busy", "●", "#", "used now or within the last minute", 94},
    [DEV_UNKNOWN] = {"unknown", "?", "~", "reports neither utilisation nor memory", 90},
    [DEV_STARTING] = {"starting", "◌", ":", "no data since the start of its agent or of the hub", 90},
    [DEV_STALE] = {"stale", "◌", "?", "no data", 90},
    [DEV_HUNG] = {"hung", "✕", "x", "no response from the driver", 35},
    [DEV_LOST] = {"lost", "∅", "-", "no longer listed by its node", 35},
};

const char *const collect_words[COLLECT_STATES] = {"starting", "ok", "hung", "paused", "none", "failed"};
const char *const node_words[NODE_STATES] = {"up", "down", "hung", "paused", "maintenance"};

const char *state_shown(const char *word)
{
    static const struct {
        const char *word, *shown;
    } names[] = {{"stale", "offline"}, {"down", "offline"}, {"hung", "not responding"}, {"lost", "missing"}};

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(word, names[i].word) == 0)
            return names[i].shown;
    return word;
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
