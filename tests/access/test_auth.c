/* Tokens, sessions, Host, Origin and addresses: who gets in, and who only looks as if. */
#include "http/address.h"
#include "test.h"

#include "access/auth.h"
#include "http/origin.h"

static void a_token_is_found_again_by_its_text_and_by_no_other(void **unused)
{
    (void)unused;
    struct token t = {0}, other = {0};
    char text[64], other_text[64], id[20];
    uint8_t hash[32];
    token_new(t.id, t.hash, text);
    token_new(other.id, other.hash, other_text);
    assert_int_equal(strlen(text), 56);
    assert_true(token_split(str_of(text), id, hash));
    assert_string_equal(id, t.id);
    assert_true(token_match(&t, hash));
    assert_false(token_match(&other, hash));
    t.revoked = true;
    assert_false(token_match(&t, hash));
}

static void what_is_not_a_token_is_not_split(void **unused)
{
    static const char *const bad[] = {"",
                                      "mst_",
                                      "mst_abcdefgh_short",
                                      "xyz_abcdefgh_0123456789012345678901234567890123456789012",
                                      "mst_abcdefghX0123456789012345678901234567890123456789012",
                                      "mst_abcdefgh_012345678901234567890123456789012345678901 ",
                                      "mst_abcdefgh_0123456789012345678901234567890123456789012x",
                                      "mst_abc'efgh_0123456789012345678901234567890123456789012"};
    char id[20];
    uint8_t hash[32];
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        print_message("'%s'\n", bad[i]);
        assert_false(token_split(str_of(bad[i]), id, hash));
    }
    assert_false(token_split(str_n("mst_abcdefgh_\0001234567890123456789012345678901234567890123", 56), id, hash));
}

static void a_secret_is_known_by_its_hash_and_its_every_letter(void **unused)
{
    char text[SECRET_MAX], other[SECRET_MAX];
    uint8_t hash[32], again[32];
    (void)unused;
    secret_new(text, hash);
    secret_new(other, again);
    assert_string_not_equal(text, other);
    assert_memory_not_equal(hash, again, 32);
    assert_true(secret_hash(str_of(text), again));
    assert_memory_equal(hash, again, 32);
    for (size_t i = 0; i < strlen(text); i++) {
        char was = text[i];
        assert_false(secret_hash(str_n(text, i), again));
        text[i] = was == 'A' ? 'B' : 'A';
        assert_true(secret_hash(str_of(text), again));
        assert_memory_not_equal(hash, again, 32);
        text[i] = '.'; /* as in the cookies of before */
        assert_false(secret_hash(str_of(text), again));
        text[i] = was;
    }
    assert_false(secret_hash(str_n("", 0), again));
}

static void a_cookie_is_found_among_others(void **unused)
{
    static const struct {
        const char *header, *want;
    } cases[] = {{"muster=a.b.c", "a.b.c"},    {"x=1; muster=v; y=2", "v"}, {"xmuster=1", ""}, {"muster", ""}, {"", ""},
                 {"a=muster=1; muster=2", "2"}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("'%s'\n", cases[i].header);
        assert_true(str_eq(cookie_value(str_of(cases[i].header), "muster"), cases[i].want));
    }
    assert_true(str_eq(cookie_session(str_of("muster=a; __Host-muster=b"), false), "b"));
    assert_true(str_eq(cookie_session(str_of("__Host-muster=; muster=a"), false), "a"));
    assert_true(str_eq(cookie_session(str_of("__Host-must=c"), false), ""));
    assert_true(str_eq(cookie_session(str_of("muster=a; __Host-muster=b"), true), "b"));
    assert_true(str_eq(cookie_session(str_of("__Host-muster=; muster=a"), true), ""));
    assert_true(str_eq(cookie_session(str_of("muster=a"), true), ""));
}

static void a_foreign_host_is_not_ours(void **unused)
{
    static const char *const names[] = {"hub.lab.example", "*.internal"};
    static const struct {
        const char *host;
        bool want;
    } cases[] = {{"localhost", true},
                 {"LOCALHOST:8765", true},
                 {"127.0.0.1:8765", true},
                 {"[::1]:8765", true},
                 {"10.1.2.3", true},
                 {"hub.lab.example:80", true},
                 {"HUB.LAB.example", true},
                 {"a.internal", true},
                 {"evil.example", false},
                 {"hub.lab.example.evil.example", false},
                 {"localhost.evil.example", false},
                 {"", false},
                 {"[::1", false},
                 {"[::1]:x", false},
                 {"10.1.2.3:x", false},
                 {"10.1.2.3:", false},
                 {"10.1.2.3:65536", false},
                 {"a:b:c", false},
                 {"127.0.0.1.evil.example", false}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("'%s'\n", cases[i].host);
        assert_int_equal(host_allowed(str_of(cases[i].host), names, ARRAY_LEN(names)), cases[i].want);
    }
}

static void a_write_comes_from_our_own_page_or_from_no_page(void **unused)
{
    static const struct {
        const char *origin, *host;
        bool cookie, want;
    } cases[] = {{"http://hub:8765", "hub:8765", true, true},
                 {"https://hub", "hub", true, true},
                 {"http://HUB:8765", "hub:8765", true, true},
                 {"http://evil:8765", "hub:8765", true, false},
                 {"http://hub:8766", "hub:8765", false, false},
                 {"http://hub", "hub:8765", false, false},
                 {"null", "hub", false, false},
                 {"", "hub", false, true},
                 {"", "hub", true, false},
                 {"file://hub", "hub", false, false},
                 {"http://", "", false, false},
                 {"http://h[b", "h{b", false, false}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("'%s' on '%s'\n", cases[i].origin, cases[i].host);
        assert_int_equal(origin_allowed(str_of(cases[i].origin), str_of(cases[i].host), cases[i].cookie),
                         cases[i].want);
    }
}

static void an_address_is_in_a_block_or_it_is_not(void **unused)
{
    static const struct {
        const char *address, *block;
        bool want;
    } cases[] = {{"10.1.2.3", "10.0.0.0/8", true},        {"11.1.2.3", "10.0.0.0/8", false},
                 {"10.1.2.3", "10.1.2.3", true},          {"10.1.2.4", "10.1.2.3", false},
                 {"10.1.2.3", "10.1.2.2/31", true},       {"10.1.2.4", "10.1.2.2/31", false},
                 {"fe80::1", "fe80::/10", true},          {"::1", "::1", true},
                 {"::ffff:10.1.2.3", "10.0.0.0/8", true}, {"10.1.2.3", "::/0", false},
                 {"1.2.3.4", "0.0.0.0/0", true},          {"nonsense", "0.0.0.0/0", false}};
    static const char *const bad[] = {"10.0.0.0/33", "10.0.0.0/-1", "10.0.0/8", "x", "", "10.0.0.0/", "::/129"};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("%s in %s\n", cases[i].address, cases[i].block);
        assert_int_equal(address_in(cases[i].address, &cases[i].block, 1), cases[i].want);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(address_block_ok(bad[i]));
    assert_true(address_is_loopback("127.9.9.9"));
    assert_true(address_is_loopback("::1"));
    assert_false(address_is_loopback("128.0.0.1"));
}

static void clients_are_ipv4_addresses_and_64s_of_ipv6(void **unused)
{
    static const struct {
        const char *a, *b;
        bool same;
    } cases[] = {{"10.0.0.1", "10.0.0.1", true},
                 {"10.0.0.1", "10.0.0.2", false},
                 {"10.0.0.1", "::ffff:10.0.0.1", true},
                 {"::ffff:10.0.0.2", "::ffff:10.0.0.1", false},
                 {"2001:db8:1:2::1", "2001:db8:1:2:a:b:c:d", true},
                 {"2001:DB8:1:2::1", "2001:db8:0001:2::2", true},
                 {"2001:db8:1:2::1", "2001:db8:1:3::1", false},
                 {"2001:db8:1:2::1", "10.0.0.1", false},
                 {"fe80::1%eth0", "fe80::2", true},
                 {"::1", "::1", true},
                 {"", "", true},
                 {"", "::", false},
                 {"a:b", "a:c", false}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("%s and %s\n", cases[i].a, cases[i].b);
        assert_int_equal(address_same_client(cases[i].a, cases[i].b), cases[i].same);
        assert_int_equal(address_same_client(cases[i].b, cases[i].a), cases[i].same);
    }
}

TESTS(cmocka_unit_test(a_token_is_found_again_by_its_text_and_by_no_other),
      cmocka_unit_test(what_is_not_a_token_is_not_split),
      cmocka_unit_test(a_secret_is_known_by_its_hash_and_its_every_letter),
      cmocka_unit_test(a_cookie_is_found_among_others), cmocka_unit_test(a_foreign_host_is_not_ours),
      cmocka_unit_test(a_write_comes_from_our_own_page_or_from_no_page),
      cmocka_unit_test(an_address_is_in_a_block_or_it_is_not),
      cmocka_unit_test(clients_are_ipv4_addresses_and_64s_of_ipv6))
