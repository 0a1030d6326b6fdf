/* test_tokens.c: tokens as the hub remembers them: bound once, revoked for good, minted for who enrols. */
#include "test.h"

#include <errno.h>

#include "access/tokens.h"
#include "base/clock.h"
#include "fault_vfs.h"
#include "temp_store.h"

#define NOW 1794700000000ll

struct fix {
    char *dir;
    struct store *store;
    struct tokens *tokens;
};

static void fix_open(struct fix *f)
{
    fault_install();
    clock_set_for_test(NOW);
    f->dir = dir_new_quick();
    f->store = store_new_for_test(f->dir, NULL);
    f->tokens = tokens_new(f->store);
}

static void fix_close(struct fix *f)
{
    fault_arm(FAULT_NONE, 0);
    tokens_free(f->tokens);
    store_close(f->store);
    dir_free(f->dir);
    clock_set_for_test(-1);
}

/* What the hub does once a second, and at the start. */
static void look(struct fix *f)
{
    assert_int_equal(tokens_load(f->tokens, NULL), 0);
}

/* As the command line does beside us, a second ago. */
static void put(struct fix *f, const char *id, const char *role, const char *node, int64_t revoked_ms)
{
    struct store_token t = {.created_ms = NOW, .revoked_ms = revoked_ms};
    mem_copy_str(t.id, sizeof(t.id), id);
    mem_copy_str(t.role, sizeof(t.role), role);
    mem_copy_str(t.node, sizeof(t.node), node);
    assert_int_equal(store_put_now(f->store, STORE_TOKEN, &t, NULL), 0);
    look(f);
}

/* What is put without waiting for the disk waits from now on, as within one commit's time, … */
static void hold(void)
{
    fault_arm(FAULT_FULL, 1);
}

/* … and is there now. */
static void settle(struct fix *f)
{
    fault_arm(FAULT_NONE, 0);
    assert_int_equal(store_flush(f->store, NULL), 0);
}

static void start_again(struct fix *f)
{
    tokens_free(f->tokens);
    store_close(f->store);
    f->store = store_new_for_test(f->dir, NULL);
    f->tokens = tokens_new(f->store);
    look(f);
}

static int use(struct fix *f, const char *id, const char *node)
{
    struct err err = {0};
    return tokens_use(f->tokens, id, node, NOW, &err);
}

static void what_the_command_line_did_counts_when_it_was_read(void **unused)
{
    struct fix f;
    struct token t;
    (void)unused;
    fix_open(&f);
    put(&f, "aaaaaaaa", "admin", "", 0);
    put(&f, "bbbbbbbb", "admin", "", 0);
    assert_true(tokens_find(f.tokens, "aaaaaaaa", &t));
    assert_true(tokens_find(f.tokens, "bbbbbbbb", &t));
    put(&f, "aaaaaaaa", "admin", "", NOW);
    assert_true(tokens_find(f.tokens, "aaaaaaaa", &t));
    assert_true(t.revoked);
    assert_true(tokens_find(f.tokens, "bbbbbbbb", &t));
    assert_false(t.revoked);
    put(&f, "cccccccc", "admin", "", 0);
    assert_true(tokens_find(f.tokens, "cccccccc", &t));
    assert_false(tokens_find(f.tokens, "dddddddd", &t));
    fix_close(&f);
}

static void a_token_is_one_nodes(void **unused)
{
    struct fix f;
    (void)unused;
    fix_open(&f);
    put(&f, "aaaaaaaa", "agent", "", 0);
    put(&f, "bbbbbbbb", "agent", "", 0);
    put(&f, "cccccccc", "agent", "n2", 0);
    hold();
    assert_int_equal(use(&f, "aaaaaaaa", "n1"), 0);
    assert_int_equal(use(&f, "aaaaaaaa", "n1"), 0);
    assert_int_equal(use(&f, "aaaaaaaa", "n2"), -EACCES);
    assert_int_equal(use(&f, "bbbbbbbb", "n1"), -EACCES); /* n1 has one */
    assert_int_equal(use(&f, "bbbbbbbb", "n2"), 0);
    assert_int_equal(use(&f, "cccccccc", "n2"), -EACCES); /* made for it, but not the first to be used */
    settle(&f);
    put(&f, "bbbbbbbb", "agent", "n2", NOW);
    assert_int_equal(use(&f, "cccccccc", "n2"), 0);
    fix_close(&f);
}

static void of_two_tokens_at_once_one_gets_the_node(void **unused)
{
    struct fix f;
    struct err err = {0};
    struct token t;
    (void)unused;
    fix_open(&f);
    put(&f, "aaaaaaaa", "agent", "", 0);
    put(&f, "bbbbbbbb", "agent", "", 0);
    hold();
    assert_int_equal(use(&f, "aaaaaaaa", "n1"), 0);
    for (int i = 0; i < 3; i++) { /* on its way to the disk, there, and after a restart */
        assert_int_equal(tokens_use(f.tokens, "bbbbbbbb", "n1", NOW, &err), -EACCES);
        assert_string_equal(err.msg, "node n1 has a token already (aaaaaaaa): `muster token revoke aaaaaaaa` frees it");
        assert_true(tokens_find(f.tokens, "bbbbbbbb", &t));
        assert_string_equal(t.node, "");
        assert_int_equal(use(&f, "aaaaaaaa", "n1"), 0);
        if (i == 0)
            settle(&f);
        else
            start_again(&f);
    }
    assert_int_equal(use(&f, "bbbbbbbb", "n2"), 0); /* it is good for another */
    fix_close(&f);
}

static void a_token_on_its_way_is_not_read_from_the_store(void **unused)
{
    struct fix f;
    struct token t;
    (void)unused;
    fix_open(&f);
    put(&f, "aaaaaaaa", "agent", "", 0);
    hold();
    assert_int_equal(use(&f, "aaaaaaaa", "n1"), 0);
    fault_arm(FAULT_NONE, 0);
    put(&f, "bbbbbbbb", "agent", "", 0); /* all are read again, and the store may have it without a node */
    assert_int_equal(use(&f, "aaaaaaaa", "n2"), -EACCES);
    assert_true(tokens_find(f.tokens, "aaaaaaaa", &t));
    assert_string_equal(t.node, "n1");
    settle(&f);
    fix_close(&f);
}

static void a_token_revoked_on_its_way_frees_the_node(void **unused)
{
    struct fix f;
    (void)unused;
    fix_open(&f);
    put(&f, "aaaaaaaa", "agent", "", 0);
    put(&f, "bbbbbbbb", "agent", "", 0);
    hold();
    assert_int_equal(use(&f, "aaaaaaaa", "n1"), 0);
    assert_int_equal(use(&f, "bbbbbbbb", "n1"), -EACCES);
    fault_arm(FAULT_NONE, 0);
    put(&f, "aaaaaaaa", "agent", "", NOW); /* the command line does not know of n1 */
    assert_int_equal(use(&f, "bbbbbbbb", "n1"), 0);
    fix_close(&f);
}

static void what_could_not_be_put_takes_no_node(void **unused)
{
    struct fix f;
    struct store *tools;
    (void)unused;
    fix_open(&f);
    put(&f, "aaaaaaaa", "agent", "", 0);
    put(&f, "bbbbbbbb", "agent", "", 0);
    assert_int_equal(store_open_tools(&tools, f.dir, NULL, NULL), 0); /* refuses what is put without waiting */
    struct tokens *t = tokens_new(tools);
    assert_int_equal(tokens_load(t, NULL), 0);
    struct err err = {0};
    assert_int_equal(tokens_use(t, "aaaaaaaa", "n1", NOW, &err), -EROFS);
    assert_int_equal(tokens_use(t, "bbbbbbbb", "n1", NOW, &err), -EROFS); /* not -EACCES */
    tokens_free(t);
    store_close(tools);
    fix_close(&f);
}

static void a_moved_token_leaves_its_node_and_has_the_new_one(void **unused)
{
    struct fix f;
    struct err err = {0};
    (void)unused;
    fix_open(&f);
    put(&f, "aaaaaaaa", "agent", "", 0);
    put(&f, "bbbbbbbb", "agent", "", 0);
    assert_int_equal(use(&f, "aaaaaaaa", "n1"), 0);
    settle(&f);
    hold();
    assert_int_equal(tokens_move(f.tokens, "aaaaaaaa", "n2", NOW, &err), 0);
    assert_int_equal(use(&f, "aaaaaaaa", "n1"), -EACCES);
    assert_int_equal(use(&f, "bbbbbbbb", "n2"), -EACCES);
    assert_int_equal(use(&f, "bbbbbbbb", "n1"), 0);
    settle(&f);
    start_again(&f);
    assert_int_equal(use(&f, "aaaaaaaa", "n2"), 0);
    assert_int_equal(use(&f, "bbbbbbbb", "n1"), 0);
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
    int retry_s;
    put(&f, "eeeeeeee", "enroll", "", 0);
    hold();
    assert_int_equal(tokens_enroll(f.tokens, "eeeeeeee", "n1", false, NOW, one, &retry_s, &err), 0);
    assert_int_equal(tokens_enroll(f.tokens, "eeeeeeee", "n1", true, NOW, two, &retry_s, &err), -EBUSY);
    assert_int_equal(tokens_enroll(f.tokens, "eeeeeeee", "n1", false, NOW, two, &retry_s, &err), 0);
    assert_memory_equal(one, two, 12); /* the same token */
    assert_string_not_equal(one, two);
    char id[20];
    uint8_t hash[32];
    assert_true(token_split(str_of(one), id, hash));
    assert_true(tokens_find(f.tokens, id, &t));
    assert_false(token_match(&t, hash)); /* the old secret ended at once */
    assert_true(token_split(str_of(two), id, hash));
    assert_true(token_match(&t, hash));
    assert_int_equal(use(&f, id, "n1"), 0);
    settle(&f);
    start_again(&f);
    assert_true(tokens_find(f.tokens, id, &t));
    assert_true(token_match(&t, hash));
    assert_string_equal(t.node, "n1");
    fix_close(&f);
}

static void put_enroll(struct fix *f, const char *id, int64_t uses, int64_t expires_ms)
{
    struct store_token t = {.created_ms = NOW, .uses = uses, .expires_ms = expires_ms};
    mem_copy_str(t.id, sizeof(t.id), id);
    mem_copy_str(t.role, sizeof(t.role), "enroll");
    assert_int_equal(store_put_now(f->store, STORE_TOKEN, &t, NULL), 0);
    look(f);
}

static int enroll(struct fix *f, const char *id, int node, int *retry_s)
{
    struct err err = {0};
    char key[16], text[64];
    snprintf(key, sizeof(key), "n%d", node);
    return tokens_enroll(f->tokens, id, key, false, NOW, text, retry_s, &err);
}

static void an_enroll_token_is_used_up_and_stays_so(void **unused)
{
    struct fix f;
    struct store_token st;
    int retry_s = 0;
    (void)unused;
    fix_open(&f);
    put_enroll(&f, "eeeeeeee", 3, 0);
    hold();
    for (int i = 0; i < 3; i++)
        assert_int_equal(enroll(&f, "eeeeeeee", i, &retry_s), 0);
    assert_int_equal(enroll(&f, "eeeeeeee", 3, &retry_s), -EDQUOT);
    assert_int_equal(enroll(&f, "eeeeeeee", 1, &retry_s), 0); /* one of its own again is no new node */
    settle(&f);
    assert_int_equal(store_get(f.store, GET_TOKEN("eeeeeeee", &st), NULL), 1);
    assert_int_equal(st.enrolled, 3);
    start_again(&f);
    assert_int_equal(enroll(&f, "eeeeeeee", 3, &retry_s), -EDQUOT);
    fix_close(&f);
}

/* What another hub did, as the store has it in the end. */
static void of_several_hubs_the_store_says_whose_a_token_is(void **unused)
{
    struct fix f;
    struct store_token st = {.created_ms = NOW, .role = "agent", .node = "n2", .used_ms = NOW};
    struct token t;
    (void)unused;
    fix_open(&f);
    tokens_share(f.tokens);
    put(&f, "aaaaaaaa", "agent", "", 0);
    assert_int_equal(use(&f, "aaaaaaaa", "n1"), 0);
    mem_copy_str(st.id, sizeof(st.id), "aaaaaaaa");
    assert_int_equal(store_flush(f.store, NULL), 0);
    assert_int_equal(store_put_now(f.store, STORE_TOKEN, &st, NULL), 0);
    look(&f);
    assert_true(tokens_find(f.tokens, "aaaaaaaa", &t));
    assert_string_equal(t.node, "n1"); /* ours may be on its way */
    clock_set_for_test(NOW + 13000);
    look(&f); /* again, though nothing else was put */
    assert_true(tokens_find(f.tokens, "aaaaaaaa", &t));
    assert_string_equal(t.node, "n2");
    assert_int_equal(use(&f, "aaaaaaaa", "n1"), -EACCES);
    assert_int_equal(use(&f, "aaaaaaaa", "n2"), 0);
    fix_close(&f);
}

/* One too many: it was given, and the store does not have it. */
static void a_token_that_the_store_did_not_take_is_no_good(void **unused)
{
    struct fix f;
    struct token t;
    char text[64], id[20];
    uint8_t hash[32];
    int retry_s = 0;
    struct err err = {0};
    (void)unused;
    fix_open(&f);
    tokens_share(f.tokens);
    put_enroll(&f, "eeeeeeee", 9, 0);
    assert_int_equal(tokens_enroll(f.tokens, "eeeeeeee", "n1", false, NOW, text, &retry_s, &err), 0);
    assert_true(token_split(str_of(text), id, hash));
    assert_int_equal(store_flush(f.store, NULL), 0);
    look(&f);
    assert_true(tokens_find(f.tokens, id, &t));
    store_take_over(f.store, "n1", ""); /* as if it had never been there */
    assert_int_equal(store_flush(f.store, NULL), 0);
    put(&f, "bbbbbbbb", "agent", "n3", 0);
    assert_true(tokens_find(f.tokens, id, &t)); /* it may be on its way */
    clock_set_for_test(NOW + 13000);
    look(&f);
    assert_false(tokens_find(f.tokens, id, &t));
    assert_true(tokens_find(f.tokens, "bbbbbbbb", &t));
    fix_close(&f);
}

static void enrolment_has_a_burst_and_a_rate(void **unused)
{
    struct fix f;
    int retry_s = 0, node = 0;
    (void)unused;
    fix_open(&f);
    put_enroll(&f, "eeeeeeee", 0, 0); /* as every token from before there were limits */
    put_enroll(&f, "dddddddd", 150, 0);
    for (int i = 0; i < ENROLL_BURST; i++)
        assert_int_equal(enroll(&f, "eeeeeeee", node++, &retry_s), 0);
    for (int i = 0; i < 25; i++) {
        assert_int_equal(enroll(&f, "eeeeeeee", node, &retry_s), -EUSERS);
        assert_int_equal(retry_s, 1 + i / ENROLL_RATE); /* one behind the other */
    }
    for (int i = 0; i < 150; i++) /* another token's own business */
        assert_int_equal(enroll(&f, "dddddddd", 1000 + i, &retry_s), 0);
    clock_set_for_test(NOW + 1000);
    for (int i = 0; i < ENROLL_RATE; i++)
        assert_int_equal(enroll(&f, "eeeeeeee", node++, &retry_s), 0);
    assert_int_equal(enroll(&f, "eeeeeeee", node, &retry_s), -EUSERS);
    fix_close(&f);
}

static void a_token_expires_while_it_is_remembered(void **unused)
{
    struct fix f;
    struct token t;
    (void)unused;
    fix_open(&f);
    put_enroll(&f, "eeeeeeee", 0, NOW + 60000);
    assert_true(tokens_find(f.tokens, "eeeeeeee", &t));
    assert_false(t.revoked);
    clock_set_for_test(NOW + 60000);
    assert_true(tokens_find(f.tokens, "eeeeeeee", &t));
    assert_true(t.revoked);
    fix_close(&f);
}

static void a_token_that_ended_meanwhile_adds_no_node(void **unused)
{
    struct fix f;
    struct err err = {0};
    char text[64];
    int retry_s;
    (void)unused;
    fix_open(&f);
    put_enroll(&f, "eeeeeeee", 0, NOW + 60000);
    assert_int_equal(tokens_enroll(f.tokens, "eeeeeeee", "n1", false, NOW + 59999, text, &retry_s, &err), 0);
    assert_int_equal(tokens_enroll(f.tokens, "eeeeeeee", "n2", false, NOW + 60000, text, &retry_s, &err), -EACCES);
    put_enroll(&f, "dddddddd", 0, 0);
    assert_int_equal(enroll(&f, "dddddddd", 3, &retry_s), 0);
    put(&f, "dddddddd", "enroll", "", NOW);
    assert_int_equal(enroll(&f, "dddddddd", 4, &retry_s), -EACCES);
    fix_close(&f);
}

static void a_deleted_nodes_token_ends_at_once(void **unused)
{
    struct fix f;
    struct token t;
    (void)unused;
    fix_open(&f);
    put(&f, "aaaaaaaa", "agent", "n1", 0);
    put(&f, "bbbbbbbb", "agent", "n2", 0);
    assert_true(tokens_find(f.tokens, "aaaaaaaa", &t));
    tokens_forget(f.tokens, "n1");
    put(&f, "cccccccc", "agent", "", 0);
    assert_false(tokens_find(f.tokens, "aaaaaaaa", &t)); /* the store has it still */
    store_take_over(f.store, "n1", "");
    settle(&f);
    look(&f);
    assert_false(tokens_find(f.tokens, "aaaaaaaa", &t));
    assert_true(tokens_find(f.tokens, "bbbbbbbb", &t));
    fix_close(&f);
}

static void a_node_deleted_on_its_way_is_anybodys(void **unused)
{
    struct fix f;
    struct token t;
    struct store_token st;
    (void)unused;
    fix_open(&f);
    put(&f, "aaaaaaaa", "agent", "", 0);
    put(&f, "bbbbbbbb", "agent", "", 0);
    put(&f, "cccccccc", "agent", "n2", 0);
    put(&f, "dddddddd", "agent", "", 0);
    assert_int_equal(use(&f, "cccccccc", "n2"), 0);
    settle(&f);
    hold();
    assert_int_equal(use(&f, "aaaaaaaa", "n1"), 0);
    for (int i = 1; i <= 2; i++) {
        store_take_over(f.store, i == 1 ? "n1" : "n2", "");
        tokens_forget(f.tokens, i == 1 ? "n1" : "n2");
    }
    assert_int_equal(use(&f, "bbbbbbbb", "n1"), 0);
    assert_int_equal(use(&f, "dddddddd", "n2"), 0); /* the store has it as the other's still */
    assert_false(tokens_find(f.tokens, "aaaaaaaa", &t));
    settle(&f);
    assert_int_equal(store_get(f.store, GET_TOKEN("aaaaaaaa", &st), NULL), 0);
    assert_int_equal(store_get(f.store, GET_TOKEN("bbbbbbbb", &st), NULL), 1);
    assert_string_equal(st.node, "n1");
    assert_int_equal(store_get(f.store, GET_TOKEN("dddddddd", &st), NULL), 1);
    assert_string_equal(st.node, "n2");
    fix_close(&f);
}

TESTS(cmocka_unit_test(what_the_command_line_did_counts_when_it_was_read), cmocka_unit_test(a_token_is_one_nodes),
      cmocka_unit_test(of_two_tokens_at_once_one_gets_the_node),
      cmocka_unit_test(a_token_on_its_way_is_not_read_from_the_store),
      cmocka_unit_test(a_token_revoked_on_its_way_frees_the_node),
      cmocka_unit_test(what_could_not_be_put_takes_no_node),
      cmocka_unit_test(a_moved_token_leaves_its_node_and_has_the_new_one),
      cmocka_unit_test(who_enrols_again_gets_a_new_secret_unless_alive),
      cmocka_unit_test(of_several_hubs_the_store_says_whose_a_token_is),
      cmocka_unit_test(a_token_that_the_store_did_not_take_is_no_good),
      cmocka_unit_test(an_enroll_token_is_used_up_and_stays_so), cmocka_unit_test(enrolment_has_a_burst_and_a_rate),
      cmocka_unit_test(a_token_expires_while_it_is_remembered),
      cmocka_unit_test(a_token_that_ended_meanwhile_adds_no_node), cmocka_unit_test(a_deleted_nodes_token_ends_at_once),
      cmocka_unit_test(a_node_deleted_on_its_way_is_anybodys))
