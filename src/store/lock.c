/* lock.c: locks the file `lock` of a data folder, or another file that names the process at work. */
#include "store/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"

/* The number inside is only for the error message of a second process. */
int store_lock_file(const char *path, int *ret, char pid[24], struct err *err)
{
    AUTO_CLOSE int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd >= 0)
        file_leave_to_folder(fd, path);
    else if (errno == EEXIST)
        fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return err_set(err, -errno, "cannot open '%s': %s", path, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK)
            return err_set(err, -errno, "cannot lock '%s': %s", path, strerror(errno));
        file_read_small(path, pid, 24);
        pid[str_trim(str_of(pid)).len] = 0;
        return -EBUSY;
    }
    int n = snprintf(pid, 24, "%ld\n", (long)getpid());
    if (ftruncate(fd, 0) < 0 || pwrite(fd, pid, (size_t)n, 0) < 0) {
        /* a full disk: the lock still holds */
    }
    *ret = mem_take_fd(&fd);
    return 0;
}

int store_lock(const char *dir, int *ret, struct err *err)
{
    AUTO_FREE char *path = mem_fmt("%s/lock", dir);
    char pid[24] = "";
    int r = store_lock_file(path, ret, pid, err);

    if (r == -EBUSY)
        return err_set(err, r,
                       "cannot open the store in '%s': another hub is using it (process %s); stop that one first, or "
                       "give this one another folder with --data",
                       dir, pid);
    return r;
}
