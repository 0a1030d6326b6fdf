/* test_local_hub.c: who gets the token of the data folder: the hub of that folder, and nobody else. */
#include "test.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "cli/local_hub.h"
#include "store_dir.h"

#define TOKEN "mst_abcdefgh_secret"

static char *dir;

static void write_in(const char *name, const char *text)
{
    AUTO_FREE char *path = mem_fmt("%s/%s", dir, name);
    struct err err = {0};
    assert_int_equal(file_write(path, 0600, text, strlen(text), &err), 0);
}

static void drop(const char *name)
{
    AUTO_FREE char *path = mem_fmt("%s/%s", dir, name);
    unlink(path);
}

static bool sent(const char *url, bool unnamed)
{
    AUTO_BUF b = {0};
    struct err err = {0};
    assert_int_equal(local_hub_token(url, unnamed, &b, &err), 0);
    assert_true(b.len == 0 || strcmp(b.p, TOKEN) == 0);
    return b.len > 0;
}

static void write_lock(void)
{
    char pid[24];
    snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());
    write_in("lock", pid);
}

static int make_dir(void **unused)
{
    (void)unused;
    dir = dir_new_quick();
    setenv("MUSTER_DATA", dir, 1);
    write_in("admin.token", TOKEN "\n");
    return 0;
}

static int drop_dir(void **unused)
{
    (void)unused;
    unsetenv("MUSTER_DATA");
    dir_free(dir);
    return 0;
}

static void its_own_hub_gets_it_by_every_name_of_this_machine(void **unused)
{
    (void)unused;
    write_lock();
    write_in("hub.url", "http://0.0.0.0:8765\nhttps://hub.example.org:9000\n");
    assert_true(sent("http://127.0.0.1:8765", false));
    assert_true(sent("http://localhost:8765/", false));
    assert_true(sent("http://[::1]:8765", false));
    assert_true(sent("https://hub.example.org:9000", false));
    assert_false(sent("https://127.0.0.1:8765", false));
    assert_false(sent("http://127.0.0.1:8766", false));
}

static void a_host_that_only_begins_like_this_machine_does_not(void **unused)
{
    (void)unused;
    write_lock();
    write_in("hub.url", "http://127.0.0.1:8765\n");
    assert_false(sent("http://127.evil.example:8765", false));
    assert_false(sent("http://127.0.0.1@evil.example:8765", false));
    assert_false(sent("http://localhost@evil.example:8765", false));
    assert_false(sent("http://evil.example:8765", false));
}

static void who_has_the_port_of_a_hub_that_ended_does_not(void **unused)
{
    (void)unused;
    assert_false(sent("http://127.0.0.1:8765", true)); /* it ended in good order: no hub.url */
    write_in("lock", "999999999\n");
    assert_false(sent("http://127.0.0.1:8765", true));
    write_in("hub.url", "http://127.0.0.1:8765\n"); /* it was killed */
    assert_false(sent("http://127.0.0.1:8765", true));
    write_lock();
    assert_true(sent("http://127.0.0.1:8765", true));
    drop("hub.url"); /* an older release, which says nothing and runs */
    assert_true(sent("http://127.0.0.1:8765", true));
    assert_false(sent("http://127.0.0.1:8765", false));
}

static void a_hub_of_roots_in_somebodys_folder_gets_it_from_root(void **unused)
{
    AUTO_FREE char *lock = mem_fmt("%s/lock", dir);
    (void)unused;
    if (geteuid() != 0)
        skip();
    write_lock();
    write_in("hub.url", "http://127.0.0.1:8765\n");
    assert_int_equal(chown(lock, 12345, 12345), 0);
    assert_true(sent("http://127.0.0.1:8765", false));
}

static void a_command_that_names_no_hub_finds_the_one_that_runs(void **unused)
{
    static const struct {
        const char *file, *url, *pin;
    } cases[] = {{"http://127.0.0.1:9000\n", "http://127.0.0.1:9000", ""},
                 {"http://0.0.0.0:9000\n", "http://127.0.0.1:9000", ""},
                 {"https://[::]:9000\nsha256//abc=\n", "https://[::1]:9000", "sha256//abc="},
                 {"https://hub.example.org:9000\nhttp://127.0.0.1:8765\n", "http://127.0.0.1:8765", ""},
                 {"http://192.0.2.7:9000\n", "http://192.0.2.7:9000", ""},
                 {"\n", NULL, ""}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF url = BUF_INIT(1024), pin = BUF_INIT(128);
        write_lock();
        write_in("hub.url", cases[i].file);
        print_message("%s", cases[i].file);
        assert_int_equal(local_hub_find(&url, &pin), cases[i].url != NULL);
        assert_string_equal(url.p ? url.p : "", cases[i].url ? cases[i].url : "");
        assert_string_equal(pin.p ? pin.p : "", cases[i].pin);
        write_in("lock", "999999999\n"); /* it was killed */
        assert_false(local_hub_find(&url, &pin));
    }
}

TESTS(cmocka_unit_test_setup_teardown(its_own_hub_gets_it_by_every_name_of_this_machine, make_dir, drop_dir),
      cmocka_unit_test_setup_teardown(a_host_that_only_begins_like_this_machine_does_not, make_dir, drop_dir),
      cmocka_unit_test_setup_teardown(a_command_that_names_no_hub_finds_the_one_that_runs, make_dir, drop_dir),
      cmocka_unit_test_setup_teardown(who_has_the_port_of_a_hub_that_ended_does_not, make_dir, drop_dir),
      cmocka_unit_test_setup_teardown(a_hub_of_roots_in_somebodys_folder_gets_it_from_root, make_dir, drop_dir))
