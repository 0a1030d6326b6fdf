/* The agent's settings: what a table cannot check, and what leaves with them. */
#include "agent/conf.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/conf.h"
#include "agent/identity.h"
#include "base/file.h"
#include "base/mem.h"
#include "test.h"
#include "uplink/hubs.h"
#include "uplink/sender.h"

static int load(struct agent_conf *c, struct err *err, const char *const *flags)
{
    char *argv[16] = {mem_str("muster-agent")};
    int argc = 1, argi;

    while (flags[argc - 1]) {
        argv[argc] = mem_str(flags[argc - 1]);
        argc++;
    }
    int r = conf_load(c, argc, argv, &argi, err);
    for (int i = 0; i < argc; i++)
        free(argv[i]);
    return r;
}

static void a_hub_is_an_address_and_nothing_else(void **unused)
{
    static const struct {
        const char *given, *want; /* NULL: refused */
    } cases[] = {
        {"https://hub:8765", "https://hub:8765"},
        {"http://hub/", "http://hub"},
        {"hub:8765", "http://hub:8765"},
        {"https://hub/muster///", "https://hub/muster"},
        {"ftp://hub", NULL},
        {"http://", NULL},
        {"", NULL},
        {"http://a b", NULL},
        {"http://hub?x=1", NULL},
        {"http://user:password@hub", NULL},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct agent_conf c = {0};
        struct err err = {0};
        print_message("'%s'\n", cases[i].given);
        int r = load(&c, &err, (const char *[]){"--hub", cases[i].given, NULL});
        if (cases[i].want) {
            assert_int_equal(r, 0);
            assert_string_equal(c.hub.v[0], cases[i].want);
        } else if (r == 0) {
            assert_int_equal(c.hub.n, 0); /* an empty list item is none at all */
        } else {
            assert_int_equal(r, -EINVAL);
            assert_null(strstr(err.msg, "password@"));
        }
        conf_fini(&c);
    }
}

static void one_hub_by_two_names_is_refused(void **unused)
{
    struct agent_conf c = {0};
    struct err err = {0};

    (void)unused;
    assert_int_equal(load(&c, &err, (const char *[]){"--hub", "http://h:1", "--hub", "https://h:1/", NULL}), -EINVAL);
    assert_non_null(strstr(err.msg, "twice"));
}

static void hubs_that_stand_in_for_each_other_have_commas_between(void **unused)
{
    static const struct {
        const char *hub, *want; /* NULL: refused */
    } cases[] = {
        {"a:1,https://b:2/", "http://a:1,https://b:2"},
        {" http://a , b ", "http://a,http://b"},
        {"a:1,b:2,http://a:1/", NULL},
        {"a,", "http://a"},
        {"a,,b", NULL},
        {",a", NULL},
        {"", NULL},
        {"a,ftp://b", NULL},
        {"a,b,c,d,e,f,g,h", "http://a,http://b,http://c,http://d,http://e,http://f,http://g,http://h"},
        {"a,b,c,d,e,f,g,h,i", NULL},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct agent_conf c = {0};
        struct err err = {0};
        print_message("'%s'\n", cases[i].hub);
        assert_int_equal(load(&c, &err, (const char *[]){"--hub", cases[i].hub, NULL}), cases[i].want ? 0 : -EINVAL);
        if (cases[i].want) {
            assert_int_equal(c.hub.n, 1);
            assert_string_equal(c.hub.v[0], cases[i].want);
        }
        conf_fini(&c);
    }
}

static void one_text_has_blanks_between_hubs_that_all_get_everything(void **unused)
{
    struct agent_conf c = {0};
    struct err err = {0};

    (void)unused;
    setenv("MUSTER_HUB", "a:1,b:2  c:3", 1);
    int r = load(&c, &err, (const char *[]){NULL});
    unsetenv("MUSTER_HUB");
    assert_int_equal(r, 0);
    assert_int_equal(c.hub.n, 2);
    assert_string_equal(c.hub.v[0], "http://a:1,http://b:2");
    assert_string_equal(c.hub.v[1], "http://c:3");
    conf_fini(&c);
}

#define KEY_A "sha256//7HIpactkIAq2Y49orFOOQKurWxmmSFZhBCoQYcRhJ3Y="
#define KEY_B "sha256//AAAAactkIAq2Y49orFOOQKurWxmmSFZhBCoQYcRhJ3Y="
static void pins_are_one_for_all_hubs_or_one_each(void **unused)
{
    static const struct {
        const char *hub, *pin;
        int want;
    } cases[] = {
        {"https://a,https://b", KEY_A, 0},
        {"https://a,https://b", KEY_A "," KEY_B, 0},
        {"https://a,https://b", KEY_A ";" KEY_B "," KEY_B, 0},
        {"https://a,https://b,https://c", KEY_A "," KEY_B, -EINVAL},
        {"https://a", KEY_A "," KEY_B, -EINVAL},
        {"https://a,https://b", KEY_A ",", -EINVAL},
        {"https://a,https://b", "," KEY_A, -EINVAL},
        {"https://a,https://b", KEY_A ",x", -EINVAL},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct agent_conf c = {0};
        struct err err = {0};
        print_message("'%s' '%s'\n", cases[i].hub, cases[i].pin);
        assert_int_equal(load(&c, &err, (const char *[]){"--hub", cases[i].hub, "--pin", cases[i].pin, NULL}),
                         cases[i].want);
        conf_fini(&c);
    }
}

static void a_pin_is_the_sha256_of_a_key_in_base64(void **unused)
{
    static const struct {
        const char *pin;
        int want;
    } cases[] = {
        {"sha256//7HIpactkIAq2Y49orFOOQKurWxmmSFZhBCoQYcRhJ3Y=", 0},
        {"sha256//7HIpactkIAq2Y49orFOOQKurWxmmSFZhBCoQYcRhJ3Y=;sha256//AAAAactkIAq2Y49orFOOQKurWxmmSFZhBCoQYcRhJ3Y=",
         0},
        {"7HIpactkIAq2Y49orFOOQKurWxmmSFZhBCoQYcRhJ3Y=", -EINVAL},
        {"sha256//short=", -EINVAL},
        {"sha256//7HIpactkIAq2Y49orFOOQKurWxmmSFZhBCoQYcRhJ3Yx", -EINVAL},
        {"sha256//7HIpactkIAq2Y49or!OOQKurWxmmSFZhBCoQYcRhJ3Y=", -EINVAL},
        {"sha256//7HIpactkIAq2Y49orFOOQKurWxmmSFZhBCoQYcRhJ3Y=;x", -EINVAL},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct agent_conf c = {0};
        struct err err = {0};
        print_message("'%s'\n", cases[i].pin);
        assert_int_equal(load(&c, &err, (const char *[]){"--pin", cases[i].pin, NULL}), cases[i].want);
        conf_fini(&c);
    }
}

static void a_hubs_folder_has_a_name_that_cannot_climb(void **unused)
{
    static const struct {
        const char *url, *want;
    } cases[] = {
        {"https://hub.example:8765", "hub.example_8765"},
        {"http://hub.example:8765", "hub.example_8765"},
        {"http://../../etc", "_._.._etc"},
        {"http://[::1]:8765/x", "___1__8765_x"},
        {"http://.hidden", "_hidden"},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF b = BUF_INIT(1024);
        hub_leaf(str_of(cases[i].url), &b);
        print_message("'%s'\n", cases[i].url);
        assert_null(strchr(b.p, '/'));
        assert_true(b.p[0] != '.');
        assert_string_equal(b.p, cases[i].want);
    }
}

static void a_stronger_source_of_a_token_replaces_both_kinds_of_a_weaker(void **unused)
{
    char path[] = "/tmp/muster-env-XXXXXX";
    struct agent_conf c = {0};
    struct err err = {0};
    int fd = mkstemp(path);

    (void)unused;
    assert_int_equal(write(fd, "MUSTER_TOKEN=infile\n", 20), 20);
    close(fd);
    assert_int_equal(load(&c, &err, (const char *[]){"--env-file", path, NULL}), 0);
    assert_string_equal(c.token, "infile");
    conf_fini(&c);
    assert_int_equal(load(&c, &err, (const char *[]){"--env-file", path, "--token-file", "/x", NULL}), 0);
    assert_null(c.token);
    assert_string_equal(c.token_file, "/x");
    conf_fini(&c);
    assert_int_equal(load(&c, &err, (const char *[]){"--token", "a", "--token-file", "/x", NULL}), -EINVAL);
    unlink(path);
}

static void back_off_doubles_up_to_a_minute_with_full_jitter(void **unused)
{
    int64_t top = 1000;

    (void)unused;
    for (unsigned n = 1; n < 100; n++) {
        assert_true(sender_backoff_ms(n, 0) >= 50);
        assert_true(sender_backoff_ms(n, 0) < 100);
        assert_near(sender_backoff_ms(n, 0.999999), top, 5);
        top = MIN(top * 2, 60000);
    }
}

static void a_node_keeps_its_id_and_a_folder_has_one_agent(void **unused)
{
    char dir[] = "/tmp/muster-identity-XXXXXX";
    struct node_identity one = {.lock_fd = -1}, two = {.lock_fd = -1};
    struct err err = {0};
    struct stat st;

    (void)unused;
    assert_non_null(mkdtemp(dir));
    AUTO_FREE char *state = mem_fmt("%s/a/b", dir), *file = mem_fmt("%s/node-id", state);
    assert_int_equal(identity_open(&one, state, &err), 0);
    assert_true(one.fresh);
    assert_int_equal(identity_open(&two, state, &err), -EBUSY);
    identity_close(&one);
    assert_int_equal(identity_open(&two, state, &err), 0);
    assert_false(two.fresh);
    assert_memory_equal(&one.node, &two.node, sizeof(one.node));
    assert_int_not_equal(one.run, two.run);
    identity_close(&two);
    assert_int_equal(stat(state, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(file_write(file, 0600, "not an id\n", 10, &err), 0);
    assert_int_equal(identity_open(&two, state, &err), -EINVAL);
    assert_non_null(strstr(err.msg, "node-id"));
    AUTO_FREE char *rm = mem_fmt("rm -rf '%s'", dir);
    assert_int_equal(system(rm), 0);
}

TESTS(cmocka_unit_test(a_hub_is_an_address_and_nothing_else), cmocka_unit_test(one_hub_by_two_names_is_refused),
      cmocka_unit_test(hubs_that_stand_in_for_each_other_have_commas_between),
      cmocka_unit_test(one_text_has_blanks_between_hubs_that_all_get_everything),
      cmocka_unit_test(pins_are_one_for_all_hubs_or_one_each), cmocka_unit_test(a_pin_is_the_sha256_of_a_key_in_base64),
      cmocka_unit_test(a_hubs_folder_has_a_name_that_cannot_climb),
      cmocka_unit_test(a_stronger_source_of_a_token_replaces_both_kinds_of_a_weaker),
      cmocka_unit_test(back_off_doubles_up_to_a_minute_with_full_jitter),
      cmocka_unit_test(a_node_keeps_its_id_and_a_folder_has_one_agent))
