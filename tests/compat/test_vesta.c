/* test_vesta.c: how often a sender of vesta posts, as the hub takes it. */
#include "test.h"

#include "compat/vesta.h"
#include "nodes/peers.h"

static int32_t post_every(struct vesta_pace *p, int64_t *now_ms, int64_t gap_ms, int n)
{
    int32_t pace = 0;

    for (int i = 0; i < n; i++)
        pace = vesta_pace_ms(p, *now_ms += gap_ms);
    return pace;
}

static void an_outage_is_no_pace(void **unused)
{
    struct vesta_pace p = {0};
    int64_t now_ms = 1000000;

    (void)unused;
    assert_int_equal(vesta_pace_ms(&p, now_ms), 60000); /* not known yet */
    assert_int_equal(post_every(&p, &now_ms, 10000, 60), 10000);
    for (int i = 0; i < 20; i++) { /* away for six minutes, back for three posts, and again */
        assert_int_equal(post_every(&p, &now_ms, 360000, 1), 10000);
        assert_int_equal(post_every(&p, &now_ms, 10000, 3), 10000);
    }
    assert_int_equal(post_every(&p, &now_ms, 300000, 60), 300000); /* cron was changed */
    assert_int_equal(post_every(&p, &now_ms, 10000, 60), 10000);
}

static void a_sender_that_posts_rarely_is_known_for_it(void **unused)
{
    struct vesta_pace p = {0};
    int64_t now_ms = 1000000;

    (void)unused;
    vesta_pace_ms(&p, now_ms);
    assert_int_equal(post_every(&p, &now_ms, 300000, 60), 300000);
    assert_int_equal(vesta_pace_ms(&p, now_ms), 300000); /* twice in one millisecond, or a clock set back: nothing */
    assert_int_equal(vesta_pace_ms(&p, now_ms - 5000), 300000);
}

TESTS(cmocka_unit_test(an_outage_is_no_pace), cmocka_unit_test(a_sender_that_posts_rarely_is_known_for_it))
