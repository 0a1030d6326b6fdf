/* test_place.c: the address of a shared store: which may stand in settings, and what a hub asks for with it. */
#include "test.h"

#include <errno.h>

#include "temp_store.h"

#include "base/file.h"
#include "cluster/place.h"

static void what_may_stand_in_settings(void **unused)
{
    static const struct {
        const char *url, *wrong; /* NULL: nothing */
    } t[] = {
        {"postgres://muster@db/muster", NULL},
        {"postgresql://muster@db1,db2:5433/muster?sslmode=require", NULL},
        {"postgres://db/muster", NULL},
        {"postgres://@db/muster", NULL},
        {"postgres://[::1]:5432/muster", NULL}, /* no user: these colons are the host's */
        {"postgres://muster@db?a=:@", NULL},
        {"postgres://muster:secret@db/muster", "a password does not belong"},
        {"postgres://:secret@db", "a password does not belong"},
        {"postgres://muster@db/muster?password=secret", "a password does not belong"},
        {"mysql://muster@db/muster", "the address of a PostgreSQL server"},
        {"postgres:", "the address of a PostgreSQL server"},
        {"", "the address of a PostgreSQL server"},
    };
    (void)unused;

    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        struct err err = {0};
        int r = place_check(t[i].url, &err);
        if (r != (t[i].wrong ? -EINVAL : 0) || (t[i].wrong && !strstr(err.msg, t[i].wrong)))
            fail_msg("%s: %d %s", t[i].url, r, err.msg);
    }
}

static void a_password_is_taken_from_a_file(void **unused)
{
    static const struct {
        const char *url, *with;
    } t[] = {
        {"postgres://muster@db/m", "postgres://muster:%61%40%2F@db/m?target_session_attrs=read-write"},
        {"postgres://db/m", "postgres://:%61%40%2F@db/m?target_session_attrs=read-write"},
        {"postgres://@db/m", "postgres://:%61%40%2F@db/m?target_session_attrs=read-write"},
        {"postgres://u@a,b/m?target_session_attrs=any", "postgres://u:%61%40%2F@a,b/m?target_session_attrs=any"},
        {"postgres://u@a/m?sslmode=require",
         "postgres://u:%61%40%2F@a/m?sslmode=require&target_session_attrs=read-write"},
    };
    AUTO_FREE char *file = NULL;
    char *dir = dir_new();
    (void)unused;

    file = mem_fmt("%s/password", dir);
    assert_int_equal(file_write(file, 0600, "a@/\n", 4, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        struct err err = {0};
        AUTO_FREE char *place = place_of(t[i].url, file, &err);
        assert_string_equal(place, t[i].with);
        AUTO_FREE char *hub = place_for_hub(place, 7), *want = mem_fmt("%s&application_name=muster-hub-7", t[i].with);
        assert_string_equal(hub, want);
    }
    struct err err = {0};
    assert_null(place_of("postgres://u:secret@a/m", file, &err));
    assert_null(strstr(err.msg, "secret"));
    assert_null(place_of("postgres://u@a/m", "/nowhere", &err));
    assert_true(str_starts(str_of(err.msg), "store_password_file"));
    dir_free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_may_stand_in_settings),
        cmocka_unit_test(a_password_is_taken_from_a_file),
    };

    cmocka_set_test_filter(getenv("MUSTER_TEST_ONLY"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
