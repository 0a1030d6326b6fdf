/* test_sessions.c: browsers' sessions: over restarts, ended on the hub, never more than there may be; links that work
 * once. */
#include "test.h"

#include <inttypes.h>

#include "access/links.h"
#include "access/sessions.h"
#include "access/tokens.h"
#include "base/clock.h"
#include "model/note.h"
#include "temp_store.h"

#define NOW  1794700000000ll
#define HOUR 3600000ll

struct fix {
    char *dir;
    struct store *store;
    struct tokens *tokens;
    struct sessions *s;
    int done;
};

static void fix_open(struct fix *f)
{
    *f = (struct fix){0};
    clock_set_for_test(NOW);
    f->dir = dir_new_quick();
    f->store = store_new_for_test(f->dir, NULL);
    f->tokens = tokens_new(f->store);
    f->s = sessions_new(f->store, f->tokens);
}

static void fix_close(struct fix *f)
{
    sessions_free(f->s);
    tokens_free(f->tokens);
    store_close(f->store);
    dir_free(f->dir);
    clock_set_for_test(-1);
}

/* As after a restart. */
static void start_again(struct fix *f, int64_t now_ms)
{
    store_flush(f->store, NULL);
    sessions_free(f->s);
    f->s = sessions_new(f->store, f->tokens);
    assert_int_equal(sessions_load(f->s, now_ms, NULL), 0);
}

static struct token put_token(struct fix *f, const char *id, const char *role, const char *person, int64_t revoked_ms)
{
    struct store_token t = {.created_ms = NOW, .revoked_ms = revoked_ms};
    struct token ret;
    mem_copy_str(t.id, sizeof(t.id), id);
    mem_copy_str(t.role, sizeof(t.role), role);
    mem_copy_str(t.person, sizeof(t.person), person);
    assert_int_equal(store_put_now(f->store, STORE_TOKEN, &t, NULL), 0);
    assert_int_equal(tokens_load(f->tokens, NULL), 0);
    assert_true(tokens_find(f->tokens, id, &ret));
    return ret;
}

static bool works(struct fix *f, const char *cookie, int64_t now_ms)
{
    struct token t;
    return sessions_find(f->s, str_of(cookie), now_ms, &t);
}

static void count_note(void *arg, const struct note *n)
{
    (void)n;
    ++*(size_t *)arg;
}

static size_t notes(struct fix *f)
{
    size_t n = 0;
    store_flush(f->store, NULL);
    assert_int_equal(store_each(f->store, EACH_NOTE(NOTE_SESSION, count_note, &n), NULL), 0);
    return n;
}

static void on_done(void *arg, int result)
{
    assert_int_equal(result, 0);
    ((struct fix *)arg)->done++;
}

static void a_session_lasts_over_a_restart_until_it_is_ended(void **unused)
{
    struct fix f;
    char a[SECRET_MAX], b[SECRET_MAX];
    (void)unused;
    fix_open(&f);
    struct token kim = put_token(&f, "aaaaaaaa", "member", "kim miles", 0), got;
    sessions_begin(f.s, &kim, NOW, NOW + 5 * HOUR, a);
    sessions_begin(f.s, &kim, NOW, NOW + 9 * HOUR, b);
    start_again(&f, NOW + 1);
    assert_true(sessions_find(f.s, str_of(a), NOW + 2, &got));
    assert_string_equal(got.person, "kim miles");
    assert_int_equal(got.role, ROLE_MEMBER);
    AUTO_FREE char *header = mem_fmt("x=1; muster=%s", a);
    assert_int_equal(sessions_end(f.s, str_of(header), &got, false, on_done, &f), 1);
    assert_false(works(&f, a, NOW + 3));
    assert_true(works(&f, b, NOW + 3));
    assert_int_equal(sessions_end(f.s, str_of(header), &got, false, on_done, &f), 0); /* there is nothing to end */
    start_again(&f, NOW + 4);
    assert_int_equal(f.done, 1);
    assert_false(works(&f, a, NOW + 5));
    assert_true(works(&f, b, NOW + 9 * HOUR - 1));
    assert_false(works(&f, b, NOW + 9 * HOUR));
    assert_int_equal(notes(&f), 0);
    assert_false(works(&f, "aaaaaaaa.1794700000000.0123456789012345678901234567890123456789012", NOW)); /* of before */
    fix_close(&f);
}

static void time_that_passed_while_the_hub_was_away_counts(void **unused)
{
    struct fix f;
    char a[SECRET_MAX];
    (void)unused;
    fix_open(&f);
    struct token kim = put_token(&f, "aaaaaaaa", "member", "kim", 0);
    sessions_begin(f.s, &kim, NOW, NOW + HOUR, a);
    start_again(&f, NOW + HOUR);
    assert_int_equal(sessions_count(f.s), 0);
    assert_int_equal(notes(&f), 0);
    fix_close(&f);
}

static void a_revoked_token_takes_its_sessions_along(void **unused)
{
    struct fix f;
    char a[SECRET_MAX], b[SECRET_MAX], c[SECRET_MAX];
    (void)unused;
    fix_open(&f);
    struct token kim = put_token(&f, "aaaaaaaa", "member", "kim", 0),
                 lee = put_token(&f, "bbbbbbbb", "member", "lee", 0);
    sessions_begin(f.s, &kim, NOW, NOW + HOUR, a);
    sessions_begin(f.s, &kim, NOW, NOW + HOUR, b);
    sessions_begin(f.s, &lee, NOW, NOW + HOUR, c);
    put_token(&f, "aaaaaaaa", "member", "kim", NOW);
    clock_set_for_test(NOW + 2000);
    assert_false(works(&f, a, NOW + 2000));
    assert_int_equal(sessions_count(f.s), 1);
    assert_false(works(&f, b, NOW + 2000));
    assert_true(works(&f, c, NOW + 2000));
    put_token(&f, "bbbbbbbb", "member", "lee", NOW); /* while the hub is away */
    clock_set_for_test(NOW + 4000);
    start_again(&f, NOW + 4000);
    assert_int_equal(sessions_count(f.s), 0);
    assert_int_equal(notes(&f), 0);
    fix_close(&f);
}

static void all_of_ones_own_end_and_nobody_elses(void **unused)
{
    struct fix f;
    char a[SECRET_MAX], b[SECRET_MAX], c[SECRET_MAX], d[SECRET_MAX], e[SECRET_MAX];
    (void)unused;
    fix_open(&f);
    struct token kim = put_token(&f, "aaaaaaaa", "member", "kim", 0),
                 kims = put_token(&f, "bbbbbbbb", "admin", "kim", 0),
                 lee = put_token(&f, "cccccccc", "member", "lee", 0), root = put_token(&f, "dddddddd", "admin", "", 0),
                 wall = put_token(&f, "eeeeeeee", "reader", "", 0), nobody = {0};
    sessions_begin(f.s, &kim, NOW, NOW + HOUR, a);
    sessions_begin(f.s, &kims, NOW, NOW + HOUR, b);
    sessions_begin(f.s, &lee, NOW, NOW + HOUR, c);
    sessions_begin(f.s, &root, NOW, NOW + HOUR, d);
    sessions_begin(f.s, &wall, NOW, NOW + HOUR, e);
    assert_int_equal(sessions_end(f.s, str_of(""), &nobody, true, on_done, &f), 0);
    AUTO_FREE char *header = mem_fmt("__Host-muster=%s", a);
    assert_int_equal(sessions_end(f.s, str_of(header), &kim, true, on_done, &f), 2);
    assert_true(works(&f, c, NOW) && works(&f, d, NOW) && works(&f, e, NOW));
    assert_int_equal(sessions_end(f.s, str_of(""), &root, true, on_done, &f), 1); /* without a name: of that token */
    assert_true(works(&f, c, NOW) && works(&f, e, NOW));
    assert_int_equal(notes(&f), 2);
    fix_close(&f);
}

static void there_are_never_too_many_of_a_token(void **unused)
{
    struct fix f;
    char first[SECRET_MAX], second[SECRET_MAX], more[SECRET_MAX], other[SECRET_MAX];
    (void)unused;
    fix_open(&f);
    struct token kim = put_token(&f, "aaaaaaaa", "member", "kim", 0),
                 lee = put_token(&f, "bbbbbbbb", "member", "lee", 0);
    sessions_begin(f.s, &lee, NOW - 5, NOW + 99 * HOUR, other); /* the oldest of all, but another's */
    sessions_begin(f.s, &kim, NOW, NOW + 99 * HOUR, first);
    sessions_begin(f.s, &kim, NOW + 1, NOW + 99 * HOUR, second);
    for (size_t i = 2; i < SESSIONS_PER_TOKEN; i++)
        sessions_begin(f.s, &kim, NOW + 2, NOW + 99 * HOUR, more);
    assert_true(works(&f, first, NOW + 2 * HOUR)); /* used since: the second is the one that waits longest */
    sessions_begin(f.s, &kim, NOW + 2 * HOUR, NOW + 99 * HOUR, more);
    assert_int_equal(sessions_count(f.s), SESSIONS_PER_TOKEN + 1);
    assert_true(works(&f, first, NOW + 2 * HOUR) && works(&f, other, NOW + 2 * HOUR) &&
                works(&f, more, NOW + 2 * HOUR));
    assert_false(works(&f, second, NOW + 2 * HOUR));
    assert_int_equal(notes(&f), SESSIONS_PER_TOKEN + 1);
    fix_close(&f);
}

static void a_note_that_is_no_session_is_taken_away(void **unused)
{
    static const char *const bad[] =
        {"", "x", "00 aaaaaaaa 1 2 3 kim",
         "000000000000000000000000000000000000000000000000000000000000000g aaaaaaaa 1 2 3 k",
         "0000000000000000000000000000000000000000000000000000000000000000 aaaaaaaa 1 x 3 k"};
    struct fix f;
    (void)unused;
    fix_open(&f);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        store_put(f.store, STORE_NOTE,
                  &(struct note){.kind = NOTE_SESSION, .id = (int64_t)i + 1, .bytes = str_of(bad[i])}, 1, on_done, &f);
    start_again(&f, NOW);
    assert_int_equal(sessions_count(f.s), 0);
    assert_int_equal(notes(&f), 0);
    fix_close(&f);
}

static int take_link(struct fix *f, const char *text, int64_t now_ms, const char *want)
{
    struct store_token got = {0};
    int r = link_take(f->store, str_of(text), now_ms, &got, NULL);
    if (r == 1)
        assert_string_equal(got.id, want);
    return r;
}

static void a_link_works_once_and_for_ten_minutes(void **unused)
{
    struct fix f;
    char a[SECRET_MAX], b[SECRET_MAX], c[SECRET_MAX], more[SECRET_MAX];
    struct err err = {0};
    (void)unused;
    fix_open(&f);
    put_token(&f, "aaaaaaaa", "admin", "", 0);
    assert_int_equal(link_put(f.store, "aaaaaaaa", NOW, a, &err), 0);
    assert_int_equal(link_put(f.store, "aaaaaaaa", NOW, b, &err), 0);
    assert_int_equal(link_put(f.store, "gone", NOW, c, &err), 0);
    assert_int_equal(take_link(&f, "nonsense", NOW, ""), 0);
    assert_int_equal(take_link(&f, a, NOW + ONCE_MS - 1, "aaaaaaaa"), 1);
    assert_int_equal(take_link(&f, a, NOW + 1, ""), 0);
    assert_int_equal(take_link(&f, b, NOW + ONCE_MS, ""), 0);
    assert_int_equal(take_link(&f, c, NOW, ""), 0); /* of no token */
    assert_int_equal(link_put(f.store, "aaaaaaaa", NOW, c, &err), 0);
    for (size_t i = 0; i < ONCE_MAX; i++)
        assert_int_equal(link_put(f.store, "aaaaaaaa", NOW + 1, more, &err), 0);
    assert_int_equal(take_link(&f, c, NOW, ""), 0); /* it gave way to newer ones */
    assert_int_equal(take_link(&f, more, NOW, "aaaaaaaa"), 1);
    fix_close(&f);
}

static void one_that_another_hub_ended_is_not_stored_again(void **unused)
{
    struct fix f;
    char a[SECRET_MAX];
    (void)unused;
    fix_open(&f);
    struct token kim = put_token(&f, "aaaaaaaa", "member", "kim", 0);
    sessions_begin(f.s, &kim, NOW, NOW + 9 * HOUR, a);
    int64_t id = sessions_id(str_of(a));
    assert_int_equal(notes(&f), 1);
    struct note gone = {.kind = NOTE_SESSION, .id = id, .over_ms = NOTE_GONE};
    store_put(f.store, STORE_NOTE, &gone, 1, NULL, NULL); /* by the other hub */
    assert_int_equal(notes(&f), 0);
    assert_true(works(&f, a, NOW + 2 * HOUR)); /* before the news: its use is stored */
    sessions_take(f.s, &gone, true, NOW + 2 * HOUR);
    assert_false(works(&f, a, NOW + 2 * HOUR));
    assert_int_equal(notes(&f), 0);
    fix_close(&f);
}

TESTS(cmocka_unit_test(one_that_another_hub_ended_is_not_stored_again),
      cmocka_unit_test(a_session_lasts_over_a_restart_until_it_is_ended),
      cmocka_unit_test(time_that_passed_while_the_hub_was_away_counts),
      cmocka_unit_test(a_revoked_token_takes_its_sessions_along),
      cmocka_unit_test(all_of_ones_own_end_and_nobody_elses), cmocka_unit_test(there_are_never_too_many_of_a_token),
      cmocka_unit_test(a_note_that_is_no_session_is_taken_away),
      cmocka_unit_test(a_link_works_once_and_for_ten_minutes))
