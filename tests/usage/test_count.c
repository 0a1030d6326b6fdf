/* Who held a device for how long: worked examples, and thousands of random histories. Numbers are those of count.h. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "usage/count.h"

#define HOUR   HOUR_MS
#define MINUTE ((int64_t)MINUTE_MS)
#define GIB    (1ll << 30)
#define T0     (500000 * HOUR)

static const struct count_rule usual = {.split = SPLIT_MEMORY,
                                        .busy_util = 500,
                                        .held_mem = GIB,
                                        .graphics_mem = GIB / 2,
                                        .spell_ms = 30 * MINUTE};

static uint64_t seed = 1;
static int64_t pick(int64_t lo, int64_t hi) /* [lo, hi] */
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return lo + (int64_t)((seed >> 20) % (uint64_t)(hi - lo + 1));
}

/* A history of some hours with what must be around them. */
struct alert_input {
    struct count_rule rule;
    size_t n_hours, n_minutes, n_uses, n_booked;
    int64_t from_ms, until_ms, hours[40];
    int carry;
    struct count_minute minutes[60 * 48];
    struct count_use uses[64];
    struct count_booked booked[8];
};

static void scene_start(struct alert_input *s, const struct count_rule *rule, size_t n_hours)
{
    memset(s, 0, sizeof(*s));
    s->rule = *rule;
    s->n_hours = n_hours;
    s->from_ms = T0 - count_reach_ms(rule);
    s->n_minutes = (size_t)((count_reach_ms(rule) + count_ahead_ms(rule)) / MINUTE) + n_hours * 60;
    s->until_ms = T0 + (int64_t)n_hours * HOUR + count_ahead_ms(rule);
    s->carry = 1;
    for (size_t h = 0; h < n_hours; h++)
        s->hours[h] = T0 + (int64_t)h * HOUR;
    for (size_t i = 0; i < s->n_minutes; i++)
        s->minutes[i] = (struct count_minute){.seen = true, .busy_ms = 0, .mem = 0, .mj = 0};
}

static void scene_count(const struct alert_input *s, size_t first, size_t n, struct arena *mem,
                        struct usage_device *ret)
{
    int64_t from_ms = s->hours[first] - count_reach_ms(&s->rule);
    size_t skip = (size_t)((from_ms - s->from_ms) / MINUTE);
    size_t minutes = (size_t)((count_reach_ms(&s->rule) + count_ahead_ms(&s->rule)) / MINUTE) + n * 60;
    struct count_input in = {from_ms, minutes, s->until_ms, s->carry, n, s->hours + first};
    struct count_device d = {"GPU-1", "H200", s->minutes + skip, s->n_uses, s->n_booked, s->uses, s->booked};

    count_device(&s->rule, &in, &d, mem, ret);
}

static struct count_minute *minute(struct alert_input *s, int i) /* of the first hour */
{
    return &s->minutes[(T0 - s->from_ms) / MINUTE + i];
}

static struct count_minute sample_of(int32_t busy_ms, int64_t mem, int64_t mj)
{
    return (struct count_minute){.seen = true, .busy_ms = busy_ms, .mem = mem, .mj = mj};
}

static void use(struct alert_input *s, const char *login, int64_t from, int64_t to, int64_t mem)
{
    s->uses[s->n_uses++] = (struct count_use){login, T0 + from, T0 + to, mem, -1, false, 0};
}

static const struct usage_sum *of(const struct usage_device *u, const char *login)
{
    static const struct usage_sum none;

    for (size_t i = 0; i < u->n; i++)
        if (strcmp(u->held[i].login, login) == 0)
            return &u->held[i].s;
    return &none;
}

static void one(const struct alert_input *s, struct arena *mem, struct usage_device *ret)
{
    scene_count(s, 0, 1, mem, ret);
}

static void nobody_on_it_is_free(void **unused)
{
    AUTO_ARENA mem = {0};
    struct alert_input *s = mem_alloc(sizeof(*s));
    struct usage_device u;

    (void)unused;
    scene_start(s, &usual, 1);
    one(s, &mem, &u);
    assert_int_equal(u.free_ms, HOUR);
    assert_int_equal(u.n, 0);
    assert_int_equal(u.down_ms + u.unused_ms, 0);
    free(s);
}

static void a_process_holds_from_its_first_moment_to_its_last(void **unused)
{
    AUTO_ARENA mem = {0};
    struct alert_input *s = mem_alloc(sizeof(*s));
    struct usage_device u;

    (void)unused;
    scene_start(s, &usual, 1);
    use(s, "kim", 10 * MINUTE + 20123, 40 * MINUTE + 5, 4 * GIB);
    for (int i = 15; i < 20; i++)
        *minute(s, i) = sample_of(45000, 8 * GIB, 600000);
    one(s, &mem, &u);
    const struct usage_sum *kim = of(&u, "kim");
    assert_int_equal(kim->held_ms, 40 * MINUTE + 5 - 10 * MINUTE - 20123);
    assert_int_equal(kim->busy_ms, 5 * 45000);
    assert_int_equal(kim->mib_s, 5 * 60 * 8192);
    assert_int_equal(kim->mj, 5 * 600000);
    assert_int_equal(kim->long_ms, 0); /* four minutes, and twenty */
    assert_int_equal(u.free_ms, HOUR - kim->held_ms);
    free(s);
}

static void the_first_minute_with_samples_is_whole_of_who_ran_before(void **unused)
{
    static const struct {
        const char *what;
        int64_t began, seen;
        int first; /* minute with samples */
        int64_t kim, nobody;
    } cases[] = {
        {"began long before", -5 * HOUR, 20 * MINUTE + 37000, 20, 10 * MINUTE, 0},
        {"seen in the minute after", -5 * HOUR, 21 * MINUTE + 4000, 20, 10 * MINUTE, 0},
        {"began within the minute", 20 * MINUTE + 10000, 20 * MINUTE + 37000, 20, 10 * MINUTE - 10000, 10000},
        {"not known when it began", -T0, 20 * MINUTE + 37000, 20, 10 * MINUTE - 37000, 37000},
        {"samples were there before", -5 * HOUR, 20 * MINUTE + 37000, 15, 10 * MINUTE - 37000, 37000},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_ARENA mem = {0};
        struct alert_input *s = mem_alloc(sizeof(*s));
        struct usage_device u;
        scene_start(s, &usual, 1);
        for (size_t k = 0; k < s->n_minutes; k++)
            s->minutes[k].seen = false;
        for (int k = cases[i].first; k < 30; k++)
            *minute(s, k) = sample_of(k < 20 ? 0 : MINUTE, 0, 0);
        use(s, "kim", cases[i].seen, 30 * MINUTE, GIB);
        s->uses[0].began_ms = T0 + cases[i].began;
        one(s, &mem, &u);
        if (of(&u, "kim")->held_ms != cases[i].kim || of(&u, "")->held_ms < cases[i].nobody)
            fail_msg("%s: kim %lld, nobody %lld", cases[i].what, (long long)of(&u, "kim")->held_ms,
                     (long long)of(&u, "")->held_ms);
        free(s);
    }
}

static void a_shared_device_is_split_by_memory(void **unused)
{
    static const struct {
        enum usage_split split;
        int64_t kim, lee;
    } cases[] = {{SPLIT_MEMORY, HOUR * 3 / 4, HOUR / 4},
                 {SPLIT_EQUAL, HOUR / 2, HOUR / 2},
                 {SPLIT_SM, HOUR / 5, HOUR * 4 / 5}};
    AUTO_ARENA mem = {0};
    struct alert_input *s = mem_alloc(sizeof(*s));
    struct usage_device u;

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct count_rule rule = usual;
        rule.split = cases[i].split;
        scene_start(s, &rule, 1);
        use(s, "kim", -HOUR, 3 * HOUR, 20 * GIB); /* two processes of one person are one holder */
        use(s, "kim", -HOUR, 3 * HOUR, 10 * GIB);
        use(s, "lee", -HOUR, 3 * HOUR, 10 * GIB);
        s->uses[0].sm = 500;
        s->uses[1].sm = 500;
        s->uses[2].sm = 4000;
        for (int m = 0; m < 60; m++)
            *minute(s, m) = sample_of(30000, 40 * GIB, 1001);
        one(s, &mem, &u);
        assert_int_equal(of(&u, "kim")->held_ms, cases[i].kim);
        assert_int_equal(of(&u, "lee")->held_ms, cases[i].lee);
        assert_int_equal(of(&u, "kim")->busy_ms, cases[i].kim / 2);
        assert_int_equal(of(&u, "kim")->mj + of(&u, "lee")->mj, 60 * 1001);
        assert_int_equal(u.n, 2);
        s->uses[2].mem = -1; /* one that is not known: equal, unless the multiprocessors tell */
        one(s, &mem, &u);
        assert_int_equal(of(&u, "lee")->held_ms, rule.split == SPLIT_SM ? cases[i].lee : HOUR / 2);
    }
    free(s);
}

static void idle_spells_count_only_when_they_are_long(void **unused)
{
    static const struct {
        int from, to; /* idle minutes, working before and after */
        int64_t want;
    } cases[] = {{10, 39, 0}, {10, 40, 30 * MINUTE}, {0, 60, 60 * MINUTE},  {-29, 0, 0},           {-29, 1, MINUTE},
                 {59, 88, 0}, {59, 89, MINUTE},      {50, 90, 10 * MINUTE}, {-30, 90, 60 * MINUTE}};
    AUTO_ARENA mem = {0};
    struct alert_input *s = mem_alloc(sizeof(*s));
    struct usage_device u;

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        scene_start(s, &usual, 1);
        use(s, "kim", -2 * HOUR, 4 * HOUR, GIB);
        for (int m = -30; m < 90; m++)
            minute(s, m)->busy_ms = m >= cases[i].from && m < cases[i].to ? 2999 : 60000;
        one(s, &mem, &u);
        int idle = MIN(cases[i].to, 60) - MAX(cases[i].from, 0);
        int64_t busy_in_idle = 2999ll * MAX(idle, 0);
        print_message("idle from %d to %d\n", cases[i].from, cases[i].to);
        assert_int_equal(of(&u, "kim")->busy_ms, (60 - MAX(idle, 0)) * MINUTE + busy_in_idle);
        assert_int_equal(of(&u, "kim")->long_ms, cases[i].want / MINUTE * (MINUTE - 2999));
    }
    free(s);
}

/* Unknown is not zero: what was not measured is in neither number. */
static void work_counts_where_it_was_measured(void **unused)
{
    static const struct {
        int32_t work, tensor;
        int64_t held_until; /* in a minute of its own */
        int64_t effective, tensors;
    } cases[] = {{30000, 12000, MINUTE, 30000, 12000}, {0, 0, MINUTE, 0, 0},
                 {-1, 15000, MINUTE, -1, 15000},       {-1, -1, MINUTE, -1, -1},
                 {45000, 50, 20000, 20000, 50},        {20000, -1, 20000, 20000, -1}};
    struct alert_input *s = mem_alloc(sizeof(*s));

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_ARENA mem = {0};
        struct usage_device u;
        scene_start(s, &usual, 1);
        for (size_t m = 0; m < s->n_minutes; m++)
            s->minutes[m].work_ms = s->minutes[m].tensor_ms = -1;
        use(s, "kim", 0, 3 * MINUTE, GIB); /* three minutes that nobody measured */
        use(s, "kim", 10 * MINUTE, 10 * MINUTE + cases[i].held_until, 3 * GIB);
        use(s, "lee", 10 * MINUTE, 10 * MINUTE + cases[i].held_until, GIB);
        *minute(s, 2) = (struct count_minute){true, 0, 0, 500, -1, -1};
        *minute(s, 10) = (struct count_minute){true, 0, 0, 4000, cases[i].work, cases[i].tensor};
        one(s, &mem, &u);
        const struct usage_sum *kim = of(&u, "kim"), *lee = of(&u, "lee");
        bool work = cases[i].effective >= 0, tensor = cases[i].tensors >= 0;
        print_message("work %d, tensor %d\n", cases[i].work, cases[i].tensor);
        assert_int_equal(kim->held_ms, 3 * MINUTE + cases[i].held_until * 3 / 4);
        assert_int_equal(kim->work_of_ms, work ? cases[i].held_until * 3 / 4 : 0);
        assert_int_equal(kim->tensor_of_ms, tensor ? cases[i].held_until * 3 / 4 : 0);
        assert_int_equal(kim->work_ms + lee->work_ms, MAX(cases[i].effective, 0));
        assert_int_equal(kim->tensor_ms + lee->tensor_ms, MAX(cases[i].tensors, 0));
        assert_in_range(lee->work_ms, MAX(cases[i].effective, 0) / 4, MAX(cases[i].effective, 0) / 4 + 1);
        assert_int_equal(kim->work_mj, work ? kim->mj - 500 : 0); /* of the measured minutes alone */
    }
    free(s);
}

static void what_nobody_explains_is_somebodys(void **unused)
{
    static const struct {
        int busy;
        int64_t mem;
        int64_t held, busy_ms; /* of "" in that minute */
    } cases[] = {{0, GIB, 0, 0},           {0, GIB + 1, 60000, 0},         {2999, 0, 0, 0}, {3000, 0, 3000, 3000},
                 {60000, 0, 60000, 60000}, {30000, 9 * GIB, 60000, 30000}, {-1, 0, 0, 0}};
    AUTO_ARENA mem = {0};
    struct alert_input *s = mem_alloc(sizeof(*s));
    struct usage_device u;

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        scene_start(s, &usual, 1);
        *minute(s, 5) = sample_of(cases[i].busy, cases[i].mem, 0);
        one(s, &mem, &u);
        print_message("busy %d ms, memory %lld\n", cases[i].busy, (long long)cases[i].mem);
        assert_int_equal(of(&u, "")->held_ms, cases[i].held);
        assert_int_equal(of(&u, "")->busy_ms, cases[i].busy_ms);
        assert_int_equal(u.free_ms, HOUR - cases[i].held);
    }
    /* a display server does not hold, and its memory is nobody's */
    scene_start(s, &usual, 1);
    use(s, "gdm", -HOUR, 2 * HOUR, GIB / 4);
    s->uses[0].graphics = true;
    for (int m = 0; m < 60; m++)
        minute(s, m)->mem = GIB + GIB / 4;
    one(s, &mem, &u);
    assert_int_equal(u.free_ms, HOUR);
    s->uses[0].mem = GIB / 2;
    one(s, &mem, &u);
    assert_int_equal(of(&u, "gdm")->held_ms, HOUR);
    free(s);
}

static void a_minute_without_a_sample_is_down(void **unused)
{
    AUTO_ARENA mem = {0};
    struct alert_input *s = mem_alloc(sizeof(*s));
    struct usage_device u;

    (void)unused;
    scene_start(s, &usual, 1);
    use(s, "kim", -HOUR, 2 * HOUR, GIB);
    for (int m = 10; m < 25; m++)
        minute(s, m)->seen = false;
    minute(s, 40)->seen = false;
    one(s, &mem, &u);
    assert_int_equal(u.down_ms, 14 * MINUTE); /* the sample before stands for one more minute */
    assert_int_equal(of(&u, "kim")->held_ms, 46 * MINUTE);
    s->carry = 5;
    one(s, &mem, &u);
    assert_int_equal(u.down_ms, 10 * MINUTE);
    for (size_t i = 0; i < s->n_minutes; i++)
        s->minutes[i].seen = false;
    one(s, &mem, &u);
    assert_int_equal(u.down_ms, HOUR);
    assert_int_equal(u.n, 0);
    free(s);
}

static void booked_and_nobody_on_it_is_told_apart(void **unused)
{
    AUTO_ARENA mem = {0};
    struct alert_input *s = mem_alloc(sizeof(*s));
    struct usage_device u;

    (void)unused;
    scene_start(s, &usual, 1);
    s->booked[s->n_booked++] = (struct count_booked){T0 + 10 * MINUTE + 500, T0 + 30 * MINUTE};
    use(s, "kim", 20 * MINUTE, 25 * MINUTE + 250, GIB);
    one(s, &mem, &u);
    assert_int_equal(u.unused_ms, 20 * MINUTE - 500 - 5 * MINUTE - 250);
    assert_int_equal(u.free_ms, 40 * MINUTE + 500);
    s->until_ms = T0 + 12 * MINUTE; /* the hour under way */
    one(s, &mem, &u);
    assert_int_equal(u.unused_ms, 2 * MINUTE - 500);
    assert_int_equal(u.free_ms, 10 * MINUTE + 500);
    free(s);
}

static void parts_add_up_to_the_whole(void **unused)
{
    (void)unused;
    for (int k = 0; k < 20000; k++) {
        int64_t w[9], part[9], total = pick(0, k % 3 ? 60000 : 1ll << 40), sum = 0, all = 0;
        size_t n = (size_t)pick(1, 9);
        for (size_t i = 0; i < n; i++)
            all += w[i] = pick(0, 3) ? pick(0, k % 2 ? 7 : 1ll << 41) : 0;
        count_split(total, w, n, part);
        for (size_t i = 0; i < n; i++) {
            sum += part[i];
            assert_true(part[i] >= 0 && (w[i] || !part[i]));
            assert_true(all == 0 || (__int128)part[i] * all - (__int128)total * w[i] < all);
            assert_true(all == 0 || (__int128)total * w[i] - (__int128)part[i] * all < all);
        }
        assert_int_equal(sum, all ? total : 0);
    }
}

static void random_scene(struct alert_input *s)
{
    static const char *const logins[] = {"ana", "ben", "kim", "lee", "", "root"};
    struct count_rule rule = usual;
    rule.split = (enum usage_split)pick(0, 2);
    rule.spell_ms = pick(0, 3) ? 30 * MINUTE : pick(1, 90) * MINUTE;
    rule.held_mem = pick(0, 3) ? GIB : -1;
    scene_start(s, &rule, (size_t)pick(1, 8));
    s->carry = (int)pick(1, COUNT_CARRY);
    int64_t span = (int64_t)s->n_minutes * MINUTE;
    if (pick(0, 3) == 0)
        s->until_ms = T0 + pick(0, (int64_t)s->n_hours * 60) * MINUTE;
    for (size_t i = 0; i < s->n_minutes;) { /* stretches that are alike */
        size_t len = (size_t)pick(1, 50);
        int how = (int)pick(0, 5);
        for (; len && i < s->n_minutes; len--, i++)
            s->minutes[i] = (struct count_minute){how > 0,
                                                  how == 1   ? -1
                                                  : how == 2 ? 0
                                                             : (int32_t)pick(0, 60000),
                                                  how == 3 ? -1 : pick(0, 80 * GIB),
                                                  pick(0, 1 << 26),
                                                  how == 4 ? -1 : (int32_t)pick(0, 60000),
                                                  how == 5 ? -1 : (int32_t)pick(0, 60000)};
    }
    s->n_uses = (size_t)pick(0, 40);
    for (size_t i = 0; i < s->n_uses; i++) {
        int64_t at = s->from_ms + pick(-span / 2, span), len = pick(0, 2) ? pick(0, span) : pick(0, 2 * MINUTE);
        s->uses[i] = (struct count_use){logins[pick(0, 5)],
                                        at,
                                        at + len,
                                        pick(0, 4) ? pick(0, 80 * GIB) : -1,
                                        pick(0, 1) ? (int32_t)pick(0, 10000) : -1,
                                        pick(0, 9) == 0,
                                        pick(0, 1) ? at - pick(0, span) : 0};
    }
    s->n_booked = (size_t)pick(0, 4);
    for (size_t i = 0; i < s->n_booked; i++) {
        int64_t at = s->from_ms + pick(0, span);
        s->booked[i] = (struct count_booked){at, at + pick(0, 3 * HOUR)};
    }
}

/* C1, C2, C4, C5 */
static void check_sums(const struct alert_input *s, const struct usage_device *u, size_t hour)
{
    int64_t held = 0, mj = u->mj, want_mj = 0;
    int64_t counted = MAX(0, MIN(s->hours[hour] + HOUR, s->until_ms) - s->hours[hour]);

    for (size_t k = 0; k < u->n; k++) {
        const struct usage_sum *x = &u->held[k].s;
        held += x->held_ms;
        mj += x->mj;
        assert_true(x->held_ms > 0 && x->busy_ms >= 0 && x->busy_ms <= x->held_ms);
        assert_true(x->long_ms >= 0 && x->long_ms <= x->held_ms - x->busy_ms);
        assert_true(x->mib_s >= 0 && x->mj >= 0);
        assert_true(x->work_ms >= 0 && x->work_ms <= x->work_of_ms && x->work_of_ms <= x->held_ms); /* C5 */
        assert_true(x->tensor_ms >= 0 && x->tensor_ms <= x->tensor_of_ms && x->tensor_of_ms <= x->held_ms);
        assert_true(x->work_mj >= 0 && x->work_mj <= x->mj);
        assert_true(k == 0 || strcmp(u->held[k - 1].login, u->held[k].login) < 0);
    }
    assert_true(u->free_ms >= 0 && u->unused_ms >= 0 && u->down_ms >= 0);
    assert_int_equal(held + u->free_ms + u->unused_ms + u->down_ms, counted);
    for (int64_t at = s->hours[hour]; at < s->hours[hour] + counted; at += MINUTE) {
        const struct count_minute *m = &s->minutes[(at - s->from_ms) / MINUTE];
        want_mj += m->seen ? m->mj : 0;
    }
    assert_int_equal(mj, want_mj);
}

static void random_histories_add_up_and_count_alike_in_pieces(void **unused)
{
    struct alert_input *s = mem_alloc(sizeof(*s));
    size_t hours = 0, shared = 0;

    (void)unused;
    for (int k = 0; k < 4000; k++) {
        AUTO_ARENA mem = {0};
        struct usage_device whole[40], part[40];
        random_scene(s);
        scene_count(s, 0, s->n_hours, &mem, whole);
        for (size_t h = 0; h < s->n_hours; h++) {
            check_sums(s, &whole[h], h);
            scene_count(s, h, 1, &mem, part); /* C3 */
            assert_int_equal(part[0].free_ms, whole[h].free_ms);
            assert_int_equal(part[0].unused_ms, whole[h].unused_ms);
            assert_int_equal(part[0].down_ms, whole[h].down_ms);
            assert_int_equal(part[0].mj, whole[h].mj);
            assert_int_equal(part[0].n, whole[h].n);
            for (size_t i = 0; i < part[0].n; i++) {
                assert_string_equal(part[0].held[i].login, whole[h].held[i].login);
                assert_memory_equal(&part[0].held[i].s, &whole[h].held[i].s, sizeof(struct usage_sum));
            }
            shared += whole[h].n > 1;
            hours++;
        }
    }
    print_message("%zu hours, %zu of them shared\n", hours, shared);
    assert_true(shared > 5000);
    free(s);
}

TESTS(cmocka_unit_test(nobody_on_it_is_free), cmocka_unit_test(a_process_holds_from_its_first_moment_to_its_last),
      cmocka_unit_test(the_first_minute_with_samples_is_whole_of_who_ran_before),
      cmocka_unit_test(a_shared_device_is_split_by_memory), cmocka_unit_test(idle_spells_count_only_when_they_are_long),
      cmocka_unit_test(work_counts_where_it_was_measured), cmocka_unit_test(what_nobody_explains_is_somebodys),
      cmocka_unit_test(a_minute_without_a_sample_is_down), cmocka_unit_test(booked_and_nobody_on_it_is_told_apart),
      cmocka_unit_test(parts_add_up_to_the_whole), cmocka_unit_test(random_histories_add_up_and_count_alike_in_pieces))
