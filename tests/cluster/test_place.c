/* test_place.c: the address of a shared store: which may stand in settings, and what a hub asks for with it. */
#include "test.h"

#include <errno.h>
#include <sys/stat.h>

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

static void a_password_that_everybody_can_read_is_refused(void **unused)
{
    char *dir = dir_new();
    AUTO_FREE char *file = mem_fmt("%s/password", dir);
    static const struct {
        mode_t mode;
        bool good;
    } t[] = {{0600, true}, {0400, true}, {0604, false}, {0644, false}};
    (void)unused;

    assert_int_equal(file_write(file, 0600, "a\n", 2, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        struct err err = {0};
        assert_int_equal(chmod(file, t[i].mode), 0);
        AUTO_FREE char *place = place_of("postgres://u@h/m", file, &err);
        assert_int_equal(place != NULL, t[i].good);
        assert_int_equal(err.msg[0] != 0, !t[i].good);
        if (!t[i].good)
            assert_true(str_starts(str_of(err.msg), "store_password_file: ") && strstr(err.msg, "chmod 600"));
    }
    dir_free(dir);
}

static void the_way_to_a_server_is_open_without_tls(void **unused)
{
    static const struct {
        const char *place, *host; /* NULL: it is not */
    } t[] = {
        {"postgres://muster@db/m", "db"},
        {"postgres://muster:%61@db:5433/m", "db"},
        {"postgres://@db?sslmode=prefer", "db"},
        {"postgres://muster@db/m?sslmode=disable&target_session_attrs=read-write", "db"},
        {"postgres://muster@127.0.0.1,db2:5432/m", "db2"},
        {"postgres://muster@[fd00::1]:5432/m", "fd00::1"},
        {"postgres:///m?host=db", "db"},
        {"postgres://muster@db/m?sslmode=require", NULL},
        {"postgres://muster@db/m?target_session_attrs=any&sslmode=verify-full", NULL},
        {"postgres://muster@db1,db2/m?sslmode=verify-ca", NULL},
        {"postgres://muster@localhost:5433/m", NULL},
        {"postgres://muster@127.0.0.1/m", NULL},
        {"postgres://muster@[::1]:5432/m", NULL},
        {"postgres://%2Frun%2Fpostgresql/m", NULL},
        {"postgres:///m?host=/run/postgresql", NULL},
        {"postgres:///m", NULL},
    };
    (void)unused;

    unsetenv("PGHOST");
    unsetenv("PGSSLMODE");
    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        char host[128] = "";
        print_message("%s\n", t[i].place);
        assert_int_equal(place_is_open(t[i].place, host), t[i].host != NULL);
        assert_string_equal(host, t[i].host ? t[i].host : "");
    }
    char host[128];
    setenv("PGHOST", "db", 1);
    assert_true(place_is_open("postgres:///m", host));
    setenv("PGSSLMODE", "require", 1);
    assert_false(place_is_open("postgres:///m", host));
    unsetenv("PGHOST");
    unsetenv("PGSSLMODE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_may_stand_in_settings),
        cmocka_unit_test(a_password_is_taken_from_a_file),
        cmocka_unit_test(a_password_that_everybody_can_read_is_refused),
        cmocka_unit_test(the_way_to_a_server_is_open_without_tls),
    };

    cmocka_set_test_filter(getenv("MUSTER_TEST_ONLY"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
