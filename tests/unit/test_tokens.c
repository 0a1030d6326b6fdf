/* test_tokens.c: tokens as the hub remembers them: bound once, revoked for good, minted for who enrols. */
#include "test.h"

#include <errno.h>

#include "base/clock.h"
#include "base/mem.h"
#include "hub/tokens.h"
#include "store/store.h"

#define NOW 1794700000000ll

struct fix {
    struct store *store;
    struct tokens *tokens;
};

static void fix_open(struct fix *f)
{
    clock_set_for_test(NOW);
    assert_int_equal(store_open_mem(&f->store, NULL), 0);
    f->tokens = tokens_new(f->store);
}

static void fix_close(struct fix *f)
{
    tokens_free(f->tokens);
    store_close(f->store);
    clock_set_for_test(-1);
}

static void put(struct fix *f, const char *id, const char *role, const char *node, int64_t revoked_ms)
{
    struct store_token t = {.created_ms = NOW, .revoked_ms = revoked_ms};
    mem_copy_str(t.id, sizeof(t.id), id);
    mem_copy_str(t.role, sizeof(t.role), role);
    mem_copy_str(t.node, sizeof(t.node), node);
    assert_int_equal(store_token_put(f->store, &t, NULL), 0);
}

static void a_revoked_token_ends_within_a_second(void **unused)
{
    struct fix f;
    struct token t;
    (void)unused;
    fix_open(&f);
    put(&f, "aaaaaaaa", "admin", "", 0);
    put(&f, "bbbbbbbb", "admin", "", 0);
    assert_int_equal(tokens_find(f.tokens, "aaaaaaaa", &t), 1);
    assert_int_equal(tokens_find(f.tokens, "bbbbbbbb", &t), 1);
    put(&f, "aaaaaaaa", "admin", "", NOW); /* as the command line does beside us */
    clock_set_for_test(NOW + 1000);
    assert_int_equal(tokens_find(f.tokens, "aaaaaaaa", &t), 1);
    assert_true(t.revoked);
    assert_int_equal(tokens_find(f.tokens, "bbbbbbbb", &t), 1);
    assert_false(t.revoked);
    put(&f, "cccccccc", "admin", "", 0);
    assert_int_equal(tokens_find(f.tokens, "cccccccc", &t), 1); /* a new one at once */
    fix_close(&f);
}

static void a_token_is_one_nodes(void **unused)
{
    struct fix f;
    struct err err = {0};
    (void)unused;
    fix_open(&f);
    put(&f, "aaaaaaaa", "agent", "", 0);
    put(&f, "bbbbbbbb", "agent", "", 0);
    assert_int_equal(tokens_use(f.tokens, "aaaaaaaa", "n1", NOW, &err), 0);
    assert_int_equal(tokens_use(f.tokens, "aaaaaaaa", "n1", NOW, &err), 0);
    assert_int_equal(tokens_use(f.tokens, "aaaaaaaa", "n2", NOW, &err), -EACCES);
    assert_int_equal(tokens_use(f.tokens, "bbbbbbbb", "n1", NOW, &err), -EACCES); /* n1 has one */
    assert_int_equal(tokens_use(f.tokens, "bbbbbbbb", "n2", NOW, &err), 0);
    put(&f, "cccccccc", "agent", "n2", 0); /* made for it, but not the first to be used */
    assert_int_equal(tokens_use(f.tokens, "cccccccc", "n2", NOW, &err), -EACCES);
    put(&f, "bbbbbbbb", "agent", "n2", NOW);
    assert_int_equal(tokens_use(f.tokens, "cccccccc", "n2", NOW, &err), 0);
    fix_close(&f);
}

static void who_enrols_again_gets_a_new_secret_unless_alive(void **unused)
{
    struct fix f;
    struct err err = {0};
    struct token t;
    char one[64], two[64];
    (void)unused;
    fix_open(&f);
    assert_int_equal(tokens_enroll(f.tokens, "eeeeeeee", "n1", false, false, NOW, one, &err), 0);
    assert_int_equal(tokens_enroll(f.tokens, "eeeeeeee", "n1", true, true, NOW, two, &err), -EBUSY);
    assert_int_equal(tokens_enroll(f.tokens, "eeeeeeee", "n1", false, true, NOW, two, &err), 0);
    assert_memory_equal(one, two, 12); /* the same token */
    assert_string_not_equal(one, two);
    char id[20];
    uint8_t hash[32];
    assert_true(token_split(str_of(one), id, hash));
    assert_int_equal(tokens_find(f.tokens, id, &t), 1);
    assert_false(token_match(&t, hash)); /* the old secret ended at once */
    assert_true(token_split(str_of(two), id, hash));
    assert_true(token_match(&t, hash));
    fix_close(&f);
}

TESTS(cmocka_unit_test(a_revoked_token_ends_within_a_second), cmocka_unit_test(a_token_is_one_nodes),
      cmocka_unit_test(who_enrols_again_gets_a_new_secret_unless_alive))
