/* Since when a process is on its device. */
#include "test.h"

#include "nodes/peers.h"

static void a_hold_begins_when_it_was_seen_or_was_there_before_anybody_looked(void **unused)
{
    static const struct {
        const char *what;
        int64_t watched_ms, start_ms, first_ms, want_ms;
    } cases[] = {
        {"it ran when its node was first heard of", 1000000, 400000, 1000000, 400000},
        {"the first list of processes came a minute later", 1000000, 400000, 1060000, 400000},
        {"it ran for long before it took the GPU", 1000000, 1500000, 9000000, 9000000},
        {"it began after its node was there", 1000000, 1005000, 1010000, 1005000},
        {"nobody knows when it began", 1000000, 0, 1010000, 1010000},
        {"its clock is ahead", 1000000, 1020000, 1010000, 1010000},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (held_since_ms(cases[i].watched_ms, cases[i].start_ms, cases[i].first_ms) != cases[i].want_ms)
            fail_msg("%s", cases[i].what);
}

TESTS(cmocka_unit_test(a_hold_begins_when_it_was_seen_or_was_there_before_anybody_looked))
