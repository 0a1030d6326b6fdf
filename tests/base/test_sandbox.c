/* test_sandbox.c: what a process in the sandbox can write; without Landlock in the kernel, that nothing is limited. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/sandbox.h"

static bool writes(const char *dir)
{
    AUTO_FREE char *path = mem_fmt("%s/new", dir), *sub = mem_fmt("%s/sub", dir), *moved = mem_fmt("%s/sub/new", dir);
    return file_write(path, 0600, "x", 1, NULL) == 0 && mkdir(sub, 0700) == 0 && rename(path, moved) == 0 &&
           truncate(moved, 0) == 0 && unlink(moved) == 0 && rmdir(sub) == 0;
}

static bool opens(const char *path, int flags)
{
    AUTO_CLOSE int fd = open(path, flags | O_CLOEXEC);
    return fd >= 0;
}

/* In a child process, since there is no way back. The line where it failed, or 0. */
static int in_sandbox(const char *data, const char *more, const char *tmp, const char *outside)
{
    AUTO_FREE char *kept = mem_fmt("%s/kept", outside), *other = mem_fmt("%s/other", outside);
    char *list[] = {(char *)more};
    struct opt_list folders = {.v = list, .n = 1};
    struct err err = {0};
    int r = sandbox_writes(data, &folders, &err);
    bool limited = r == 0;
#define SO(what)                                                                                                       \
    if (!(what))                                                                                                       \
    return __LINE__
    SO(limited || r == -ENOSYS || r == -EOPNOTSUPP);
    SO(limited || strstr(err.msg, "nothing is limited"));
    SO(writes(data) && writes(more) && writes(tmp));
    SO(opens(kept, O_RDONLY) && opens("/dev/null", O_WRONLY));
    SO(writes(outside) != limited);
    SO(opens(kept, O_WRONLY) != limited);
    SO((rename(kept, other) == 0) != limited);
    SO((system("exec 2>/dev/null; sh -c \"echo x > '$OUTSIDE/by-a-program'\"") == 0) != limited);
    return 0;
#undef SO
}

static void only_some_folders_can_be_written(void **unused)
{
    char outside[] = "build/sandbox-XXXXXX", tmp[] = "/tmp/sandbox-XXXXXX";
    int status;

    (void)unused;
    assert_true(mkdtemp(outside) && mkdtemp(tmp));
    AUTO_FREE char *data = mem_fmt("%s/data", outside), *more = mem_fmt("%s/more", outside),
                   *kept = mem_fmt("%s/kept", outside);
    assert_true(mkdir(data, 0700) == 0 && mkdir(more, 0700) == 0);
    assert_int_equal(file_write(kept, 0600, "x", 1, NULL), 0);
    setenv("OUTSIDE", outside, 1);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int line = in_sandbox(data, more, tmp, outside);
        if (line)
            fprintf(stderr, "test_sandbox.c:%d\n", line);
        _exit(line != 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    AUTO_FREE char *command = mem_fmt("rm -r %s %s", outside, tmp);
    assert_int_equal(system(command), 0);
}

static void a_folder_that_is_not_there_is_an_error(void **unused)
{
    char *list[] = {"/nonexistent/folder"};
    struct opt_list folders = {.v = list, .n = 1};
    struct err err = {0};

    (void)unused;
    int r = sandbox_writes("/tmp", &folders, &err); /* nothing is active then */
    assert_true(r == -ENOENT || r == -ENOSYS || r == -EOPNOTSUPP);
    assert_true(r != -ENOENT || strstr(err.msg, "cannot open '/nonexistent/folder'"));
}

TESTS(cmocka_unit_test(only_some_folders_can_be_written), cmocka_unit_test(a_folder_that_is_not_there_is_an_error))
