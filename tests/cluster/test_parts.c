/* test_parts.c: which parts of the nodes a hub has among others. */
#include "test.h"

#include "cluster/member.h"

/* K4 */
static void each_part_is_one_hubs(void **unused)
{
    static const struct {
        const char *hubs; /* l: leads, h: is there, L and H: so, of another version, -: is gone */
        size_t parts[5];
    } rows[] = {
        {"l", {12}},
        {"lh", {6, 6}},
        {"hl", {6, 6}},
        {"lhh", {0, 6, 6}},
        {"-hl-h", {0, 6, 0, 0, 6}},
        {"hhhh", {3, 3, 3, 3}}, /* nobody leads yet */
        {"hhlhh", {3, 3, 0, 3, 3}},
        {"lH", {12, 0}},
        {"hL", {0, 12}},
        {"hH", {0, 0}},
        {"lh-", {6, 6, 0}},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct hub_row v[5] = {0};
        size_t n = strlen(rows[i].hubs);
        uint32_t all = 0;
        print_message("%s\n", rows[i].hubs);
        for (size_t k = 0; k < n; k++) {
            char c = rows[i].hubs[k];
            v[k] = (struct hub_row){.id = (int64_t)k + 7, .here = c != '-', .leads = c == 'l' || c == 'L'};
            snprintf(v[k].version, sizeof(v[k].version), c == 'L' || c == 'H' ? "2" : c == '-' ? "0" : "1");
        }
        for (size_t k = 0; k < n; k++) {
            uint32_t mask = member_parts_of(v[k].id, v, n);
            assert_int_equal(__builtin_popcount(mask), rows[i].parts[k]);
            assert_false(mask & all);
            all |= mask;
        }
        assert_int_equal(member_parts_of(99, v, n), 0); /* one that is not listed */
    }
}

TESTS(cmocka_unit_test(each_part_is_one_hubs))
