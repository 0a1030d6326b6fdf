/* sandbox.c: one ruleset of Landlock. Its interface is defined here: the system's headers may be older than the kernel.
 */
#include "base/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"

/* The numbers are the same on all architectures. */
#define CREATE_RULESET 444
#define ADD_RULE       445
#define RESTRICT_SELF  446
#define ASK_VERSION    1
#define PATH_BENEATH   1

/* linux/landlock.h */
#define WRITE_FILE  (1ull << 1)
#define REMOVE_DIR  (1ull << 4)
#define MAKE_SYM    (1ull << 12) /* and all kinds of files between these two */
#define REFER       (1ull << 13) /* to rename and link from one folder to another; version 2 */
#define TRUNCATE    (1ull << 14) /* version 3 */
#define VERSION_MIN 2            /* before it, no file can move between folders */

struct ruleset_attr {
    uint64_t handled_access_fs;
};
struct path_beneath_attr {
    uint64_t allowed_access;
    int32_t parent_fd;
} __attribute__((packed));

static int allow(int ruleset, const char *path, uint64_t access, struct err *err)
{
    AUTO_CLOSE int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return err_set(err, -errno, "sandbox: cannot open '%s': %s", path, strerror(errno));
    struct path_beneath_attr attr = {.allowed_access = access, .parent_fd = fd};
    if (syscall(ADD_RULE, ruleset, PATH_BENEATH, &attr, 0) < 0)
        return err_set(err, -errno, "sandbox: cannot add '%s': %s", path, strerror(errno));
    return 0;
}

int sandbox_writes(const char *data, const struct opt_list *folders, struct err *err)
{
    const char *const temporary[] = {"/tmp", "/var/tmp", getenv("TMPDIR")}, *const devices[] = {"/dev/null",
                                                                                                "/dev/tty"};
    long version = syscall(CREATE_RULESET, NULL, 0, ASK_VERSION);
    int r = version < 0 ? -errno : version < VERSION_MIN ? -EOPNOTSUPP : 0;
    if (r < 0)
        return err_set(err, r == -EPERM ? -EOPNOTSUPP : r,
                       "sandbox: this kernel has no Landlock (Linux 5.19): nothing is limited");
    uint64_t file = WRITE_FILE | (version >= 3 ? TRUNCATE : 0), all = file | (MAKE_SYM * 2 - REMOVE_DIR) | REFER;
    struct ruleset_attr attr = {.handled_access_fs = all};
    AUTO_CLOSE int ruleset = (int)syscall(CREATE_RULESET, &attr, sizeof(attr), 0);
    if (ruleset < 0)
        return err_set(err, -errno, "sandbox: cannot make it: %s", strerror(errno));
    if (data)
        r = allow(ruleset, data, all, err);
    for (size_t i = 0; i < folders->n && r == 0; i++)
        r = allow(ruleset, folders->v[i], all, err);
    for (size_t i = 0; i < ARRAY_LEN(temporary); i++)
        if (temporary[i] && r == 0)
            allow(ruleset, temporary[i], all, NULL); /* not every container has them */
    for (size_t i = 0; i < ARRAY_LEN(devices) && r == 0; i++)
        allow(ruleset, devices[i], file, NULL);
    if (r == 0 && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || syscall(RESTRICT_SELF, ruleset, 0) < 0))
        r = err_set(err, -errno, "sandbox: cannot start it: %s", strerror(errno));
    return r;
}

int sandbox_start(const char *area, const char *data, const struct opt_list *folders, struct err *err)
{
    struct err why = {0};
    int r = sandbox_writes(data, folders, &why);
    if (r == -ENOSYS || r == -EOPNOTSUPP)
        log_warn(area, "%s", why.msg);
    else if (r < 0)
        return err_set(err, r, "%s", why.msg);
    else
        log_info(area, "sandbox: writes are limited to the data folder, sandbox_folders and temporary folders");
    return 0;
}
