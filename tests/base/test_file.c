/* Whole files, in a folder of our own. */
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"

static char top[64];

/* A path in our folder; good until the fourth call from now. */
static const char *in(const char *name)
{
    static char paths[4][200];
    static unsigned next;
    char *p = paths[next++ % 4];

    snprintf(p, sizeof(paths[0]), "%s/%s", top, name);
    return p;
}

static int make_top(void **unused)
{
    (void)unused;
    snprintf(top, sizeof(top), "/tmp/muster-file-XXXXXX");
    return mkdtemp(top) ? 0 : -1;
}

static int drop_top(void **unused)
{
    AUTO_FREE char *cmd = mem_fmt("rm -rf '%s'", top);

    (void)unused;
    return system(cmd);
}

static unsigned entries(const char *path)
{
    DIR *d = opendir(path);
    unsigned n = 0;

    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

static void what_is_written_is_read(void **unused)
{
    struct err err = {0};
    AUTO_BUF got = {0};
    struct stat st;
    char small[4];

    (void)unused;
    assert_int_equal(file_write(in("f"), 0600, "hello\n", 6, &err), 0);
    assert_int_equal(file_write(in("f"), 0600, "again\n", 6, &err), 0); /* over the old one */
    assert_int_equal(entries(top), 1);                                  /* no temporary left */
    assert_int_equal(file_read(in("f"), 6, &got, &err), 0);
    assert_string_equal(got.p, "again\n");
    assert_int_equal(file_size(in("f")), 6);
    assert_int_equal(stat(in("f"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(file_read_small(in("f"), small, sizeof(small)), 3);
    assert_string_equal(small, "aga");
    assert_int_equal(file_write(in("empty"), 0600, NULL, 0, &err), 0);
    assert_int_equal(file_size(in("empty")), 0);
}

static void a_file_of_others_keeps_its_mode(void **unused)
{
    struct err err = {0};
    struct stat st, wrote;
    mode_t was = umask(077);

    (void)unused;
    assert_int_equal(file_write_over(in("f"), 0664, "new\n", 4, NULL, &err), 0);
    assert_int_equal(stat(in("f"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0664); /* whatever the umask says */
    assert_int_equal(chmod(in("f"), 0646), 0);
    assert_int_equal(file_write_over(in("f"), 0664, "newer\n", 6, &wrote, &err), 0);
    assert_int_equal(stat(in("f"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0646);
    assert_int_equal(st.st_size, 6);
    assert_true(wrote.st_ino == st.st_ino && wrote.st_size == 6 && wrote.st_mtim.tv_sec == st.st_mtim.tv_sec &&
                wrote.st_mtim.tv_nsec == st.st_mtim.tv_nsec);
    assert_int_equal(file_write_over("/nowhere/f", 0664, "x", 1, &wrote, &err), -ENOENT);
    assert_int_equal(wrote.st_size, 6); /* untouched */
    umask(was);
}

static void only_a_regular_file_is_replaced_by_an_output(void **unused)
{
    struct err err = {0};
    AUTO_BUF got = {0};
    char read_back[8] = {0};
    struct stat before, st;

    (void)unused;
    unsigned n = entries(top);
    assert_int_equal(mkfifo(in("pipe"), 0600), 0);
    AUTO_CLOSE int fd = open(in("pipe"), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_int_equal(file_output(in("pipe"), 0600, "piped", 5, &err), 0);
    assert_int_equal(read(fd, read_back, sizeof(read_back)), 5);
    assert_string_equal(read_back, "piped");
    assert_int_equal(file_write(in("pipe"), 0600, "x", 1, &err), -EINVAL); /* nor by a file of our own */
    assert_non_null(strstr(err.msg, "not a regular file"));
    assert_int_equal(lstat(in("pipe"), &st), 0);
    assert_true(S_ISFIFO(st.st_mode));

    assert_int_equal(symlink("/dev/full", in("full")), 0); /* a device, where no mistake replaces it */
    assert_int_equal(file_output(in("full"), 0600, "x", 1, &err), -ENOSPC);
    assert_int_equal(lstat(in("full"), &st), 0);
    assert_true(S_ISLNK(st.st_mode));

    assert_int_equal(symlink("target", in("link")), 0); /* to nothing, then to a regular file */
    assert_int_equal(file_output(in("link"), 0600, "one", 3, &err), 0);
    assert_int_equal(lstat(in("target"), &before), 0);
    assert_int_equal(file_output(in("link"), 0600, "two", 3, &err), 0);
    assert_int_equal(lstat(in("target"), &st), 0);
    assert_true(before.st_ino != st.st_ino); /* whole or not at all */
    assert_int_equal(lstat(in("link"), &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(file_read(in("target"), 9, &got, &err), 0);
    assert_string_equal(got.p, "two");
    assert_int_equal(entries(top), n + 4); /* no temporary left */
}

static void a_failed_output_leaves_the_old_file(void **unused)
{
    struct err err = {0};
    AUTO_BUF got = {0};
    struct file_output o;

    (void)unused;
    assert_int_equal(file_output(in("out"), 0600, "old", 3, &err), 0);
    unsigned n = entries(top);
    assert_int_equal(file_output_open(in("out"), 0600, &o, &err), 0);
    assert_int_equal(file_put(o.fd, "ne", 2), 0);
    assert_int_equal(file_output_close(&o, -EIO, &err), -EIO);
    assert_int_equal(file_read(in("out"), 9, &got, &err), 0);
    assert_string_equal(got.p, "old");
    assert_int_equal(entries(top), n);
}

static void failures_are_sentences_and_leave_the_output_alone(void **unused)
{
    struct err err = {0};
    struct buf got = {.len = 77};
    char small[8] = "x";

    (void)unused;
    assert_int_equal(file_write(in("big"), 0600, "0123456789", 10, &err), 0);
    assert_int_equal(file_read(in("big"), 9, &got, &err), -EMSGSIZE);
    assert_non_null(strstr(err.msg, "larger than 9 bytes"));
    assert_int_equal(file_read(in("none"), 9, &got, &err), -ENOENT);
    assert_non_null(strstr(err.msg, "cannot open '"));
    assert_non_null(strstr(err.msg, "No such file or directory"));
    assert_int_equal(file_read(top, 9, &got, &err), -EISDIR);
    assert_int_equal(got.len, 77);
    assert_int_equal(file_read_small(in("none"), small, sizeof(small)), -ENOENT);
    assert_int_equal(file_size(in("none")), -ENOENT);
    assert_int_equal(file_write(in("none/x"), 0600, "x", 1, &err), -ENOENT);
    assert_int_equal(file_sync_dir(in("none")), -ENOENT);
    /* A folder is in the way: the old stays, the temporary goes. */
    assert_int_equal(file_mkdirs(in("way/in"), 0700, &err), 0);
    assert_true(file_write(in("way"), 0600, "x", 1, &err) < 0);
    struct stat st;
    assert_int_equal(stat(in("way"), &st), 0);
    assert_true(S_ISDIR(st.st_mode));
    DIR *d = opendir(top);
    for (struct dirent *e; (e = readdir(d));)
        assert_null(strstr(e->d_name, ".tmp-"));
    closedir(d);
}

static void folders_are_made_with_their_parents(void **unused)
{
    struct err err = {0};
    struct stat st;

    (void)unused;
    assert_int_equal(file_mkdirs(in("a/b//c/"), 0700, &err), 0);
    assert_int_equal(stat(in("a/b/c"), &st), 0);
    assert_true(S_ISDIR(st.st_mode));
    assert_int_equal(file_mkdirs(in("a/b/c"), 0700, &err), 0);
    assert_int_equal(file_mkdirs("/", 0700, &err), 0);
    assert_int_equal(file_write(in("a/file"), 0600, "x", 1, &err), 0);
    assert_int_equal(file_mkdirs(in("a/file"), 0700, &err), -ENOTDIR);
    assert_int_equal(file_mkdirs(in("a/file/x"), 0700, &err), -ENOTDIR);
    assert_int_equal(file_sync_dir(in("a")), 0);
}

static void a_secret_is_the_first_line(void **unused)
{
    static const struct {
        const char *text;
        int want;
        const char *secret;
    } cases[] = {
        {"s3cret\n", 0, "s3cret"},
        {"  s3cret \r\nmore\n", 0, "s3cret"},
        {"", -EINVAL, NULL},
        {"\nlater\n", -EINVAL, NULL},
        {"a\x01"
         "b\n",
         -EINVAL, NULL},
        {"\xff\xfe\n", -EINVAL, NULL},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = {0};
        AUTO_BUF got = {0};
        assert_int_equal(file_write(in("secret"), 0600, cases[i].text, strlen(cases[i].text), &err), 0);
        assert_int_equal(file_read_secret(in("secret"), &got, &err), cases[i].want);
        if (cases[i].want == 0) {
            assert_string_equal(got.p, cases[i].secret);
            assert_string_equal(err.msg, "");
        } else {
            assert_true(strlen(err.msg) > 0);
            assert_null(got.p);
        }
    }
    struct err err = {0};
    AUTO_BUF got = {0}, big = BUF_INIT(5000);
    assert_int_equal(file_write(in("secret"), 0600, "open\n", 5, &err), 0);
    static const struct {
        mode_t mode;
        bool root, other; /* accepted if root owns the file; if another user does */
    } modes[] = {{0600, true, true},   {0400, true, true},   {0640, true, false},  {0440, true, false},
                 {0660, false, false}, {0604, false, false}, {0602, false, false}, {0644, false, false}};
    for (size_t i = 0; i < 2 * ARRAY_LEN(modes); i++) {
        bool root = i >= ARRAY_LEN(modes);
        mode_t mode = modes[i % ARRAY_LEN(modes)].mode;
        if (chown(in("secret"), root ? 0 : geteuid() ? geteuid() : 65534, (gid_t)-1) < 0)
            continue; /* only root gives files away */
        bool good = root ? modes[i % ARRAY_LEN(modes)].root : modes[i % ARRAY_LEN(modes)].other;
        print_message("%o\n", mode);
        err = (struct err){0};
        assert_int_equal(chmod(in("secret"), mode), 0);
        assert_int_equal(file_read_secret(in("secret"), &got, &err), good ? 0 : -EPERM);
        assert_int_equal(strstr(err.msg, "other users have access to it (mode 0") != NULL, !good);
        assert_string_equal(got.p ? got.p : "", good ? "open" : "");
        buf_fini(&got);
    }
    assert_int_equal(chmod(in("secret"), 0600), 0);
    assert_int_equal(symlink(in("secret"), in("link")), 0);
    buf_fini(&got);
    assert_int_equal(file_read_secret(in("link"), &got, &err), 0);
    buf_fini(&got);
    buf_fill(&big, 'x', 4097);
    assert_int_equal(file_write(in("secret"), 0600, big.p, big.len, &err), 0);
    assert_int_equal(file_read_secret(in("secret"), &got, &err), -EMSGSIZE);
    assert_int_equal(file_read_secret(top, &got, &err), -EINVAL);
    assert_int_equal(mkfifo(in("fifo"), 0600), 0);
    assert_int_equal(file_read_secret(in("fifo"), &got, &err), -EINVAL); /* and does not block */
}

static void lasting_state_has_one_folder(void **unused)
{
    char out[100], tiny[5] = "same";

    (void)unused;
    setenv("MUSTER_DATA", "/data/x", 1);
    assert_int_equal(file_state_dir("agent", out, sizeof(out)), 0);
    assert_string_equal(out, "/data/x/agent");
    assert_int_equal(file_state_dir(NULL, out, sizeof(out)), 0);
    assert_string_equal(out, "/data/x");
    assert_int_equal(file_state_dir("agent", tiny, sizeof(tiny)), -ENAMETOOLONG);
    assert_string_equal(tiny, "same");
    unsetenv("MUSTER_DATA");
    if (geteuid() == 0) {
        assert_int_equal(file_state_dir("hub", out, sizeof(out)), 0);
        assert_string_equal(out, "/var/lib/muster/hub");
        return;
    }
    setenv("XDG_STATE_HOME", "/xdg", 1);
    setenv("HOME", "/home/u", 1);
    assert_int_equal(file_state_dir("hub", out, sizeof(out)), 0);
    assert_string_equal(out, "/xdg/muster/hub");
    setenv("XDG_STATE_HOME", "relative", 1); /* its own specification says to ignore that */
    assert_int_equal(file_state_dir("hub", out, sizeof(out)), 0);
    assert_string_equal(out, "/home/u/.local/state/muster/hub");
    unsetenv("HOME");
    assert_int_equal(file_state_dir("hub", out, sizeof(out)), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_written_is_read, make_top, drop_top),
        cmocka_unit_test_setup_teardown(a_file_of_others_keeps_its_mode, make_top, drop_top),
        cmocka_unit_test_setup_teardown(only_a_regular_file_is_replaced_by_an_output, make_top, drop_top),
        cmocka_unit_test_setup_teardown(a_failed_output_leaves_the_old_file, make_top, drop_top),
        cmocka_unit_test_setup_teardown(failures_are_sentences_and_leave_the_output_alone, make_top, drop_top),
        cmocka_unit_test_setup_teardown(folders_are_made_with_their_parents, make_top, drop_top),
        cmocka_unit_test_setup_teardown(a_secret_is_the_first_line, make_top, drop_top),
        cmocka_unit_test(lasting_state_has_one_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
