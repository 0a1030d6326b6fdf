/* test_list.c: which machines are read over ssh, as people write them and as the old config.ini has them. */
#include <errno.h>

#include "base/buf.h"
#include "relay/list.h"

#include "test.h"

static void names_of(const struct target_list *l, struct buf *out)
{
    for (size_t i = 0; i < l->n; i++) {
        const struct relay_target *t = &l->v[i];
        buf_addf(out, "%s%s=%s%s%s", i ? " " : "", t->name, t->user ? t->user : "", t->user ? "@" : "", t->host);
        if (t->port)
            buf_addf(out, ":%d", t->port);
    }
}

static void entries_become_machines(void **unused)
{
    static const struct {
        const char *text, *want; /* NULL: refused */
    } cases[] = {
        {"gpu01", "gpu01=gpu01"},
        {"raj@gpu01", "gpu01=raj@gpu01"},
        {"gpu01:2222", "gpu01:2222=gpu01:2222"},
        {"raj@gpu01:2222", "gpu01:2222=raj@gpu01:2222"},
        {"a, b ,c", "a=a b=b c=c"},
        {"a,,", "a=a"},
        {"a,a,b@a", "a=a"}, /* once */
        {"gpu[01-03]", "gpu01=gpu01 gpu02=gpu02 gpu03=gpu03"},
        {"gpu[9-11].lab", "gpu9.lab=gpu9.lab gpu10.lab=gpu10.lab gpu11.lab=gpu11.lab"},
        {"gpu[1,3,5-6]", "gpu1=gpu1 gpu3=gpu3 gpu5=gpu5 gpu6=gpu6"},
        {"r[1-2]n[1-2]", "r1n1=r1n1 r1n2=r1n2 r2n1=r2n1 r2n2=r2n2"},
        {"u@gpu[1-2]:22", "gpu1:22=u@gpu1:22 gpu2:22=u@gpu2:22"},
        {"[::1]:2222", "[::1]:2222=::1:2222"},
        {"fe80::1", "fe80::1=fe80::1"},
        {"", ""},
        {"gpu[01-", NULL},
        {"gpu[]", NULL},
        {"gpu[3-1]", NULL},
        {"gpu[a-b]", NULL},
        {"gpu[1-99999]", NULL},
        {"gpu[1-1000][1-1000]", NULL},
        {"@gpu01", NULL},
        {"raj@", NULL},
        {"gpu01:0", NULL},
        {"gpu01:99999", NULL},
        {"gpu01:ssh", NULL},
        {"a/b", NULL},
        {"x234567890123456789012345678901234567890123456789012345678901234567890", NULL},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct target_list l = {0};
        struct err err = {0};
        AUTO_BUF got = BUF_INIT(4096);
        print_message("'%s'\n", cases[i].text);
        int r = target_list_add(&l, str_of(cases[i].text), NULL, &err);
        assert_int_equal(r, cases[i].want ? 0 : -EINVAL);
        assert_int_equal(!err.msg[0], r == 0);
        names_of(&l, &got);
        if (cases[i].want)
            assert_string_equal(got.p ? got.p : "", cases[i].want);
        target_list_fini(&l);
    }
}

static void a_user_is_for_those_who_name_none(void **unused)
{
    struct target_list l = {0};
    AUTO_BUF got = BUF_INIT(4096);
    (void)unused;
    assert_int_equal(target_list_add(&l, STR("a,b@c"), "monitor", NULL), 0);
    names_of(&l, &got);
    assert_string_equal(got.p, "a=monitor@a c=b@c");
    target_list_fini(&l);
}

static void the_old_file_is_read_as_it_is(void **unused)
{
    static const struct {
        const char *text, *user, *hosts, *key; /* hosts NULL: refused */
    } cases[] = {
        {"[common]\nuser = me\nhosts = a,b, c\nkey_filename = /home/me/.ssh/id\n", "me", "a,b, c", "/home/me/.ssh/id"},
        {"# old\n[other]\nhosts=x\n[common]\r\nHosts: a\r\nUSER: me\r\n", "me", "a", NULL},
        {"[common]\nhosts = a,\n    b,\n    ; not this\n    c\nuser = me\n", "me", "a, b, c", NULL},
        {"[common]\nhosts = a\nport = 22\n", NULL, "a", NULL},
        {"[common]\nhosts =\n", NULL, NULL, NULL},
        {"[common]\nuser = me\n", NULL, NULL, NULL},
        {"hosts = a\n", NULL, NULL, NULL},
        {"", NULL, NULL, NULL},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct ini got = {0};
        print_message("'%s'\n", cases[i].text);
        int r = ini_parse(str_of(cases[i].text), &got, NULL);
        assert_int_equal(r, cases[i].hosts ? 0 : -EINVAL);
        if (r == 0) {
            assert_string_equal(got.hosts, cases[i].hosts);
            assert_string_equal(got.user ? got.user : "", cases[i].user ? cases[i].user : "");
            assert_string_equal(got.key ? got.key : "", cases[i].key ? cases[i].key : "");
        }
        ini_fini(&got);
    }
}

static void ten_thousand_names_are_each_found_and_each_once(void **unused)
{
    struct target_list l = {0};
    struct err err = {0};
    char name[32];
    (void)unused;
    assert_int_equal(target_list_find(&l, STR("gpu00001")), -1);
    assert_int_equal(target_list_add(&l, STR("gpu[00001-10000]"), NULL, &err), 0);
    assert_int_equal(target_list_add(&l, STR("gpu[05000-10000]"), "raj", &err), 0);
    assert_int_equal(l.n, 10000);
    for (int i = 1; i <= 10000; i++) {
        snprintf(name, sizeof(name), "gpu%05d", i);
        assert_int_equal(target_list_find(&l, str_of(name)), i - 1);
    }
    assert_int_equal(target_list_find(&l, STR("gpu10001")), -1);
    assert_int_equal(target_list_add(&l, STR("x[1-10000]"), NULL, &err), -EINVAL);
    assert_string_equal(err.msg, "more than 16384 nodes");
    target_list_fini(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_become_machines),
        cmocka_unit_test(a_user_is_for_those_who_name_none),
        cmocka_unit_test(the_old_file_is_read_as_it_is),
        cmocka_unit_test(ten_thousand_names_are_each_found_and_each_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
