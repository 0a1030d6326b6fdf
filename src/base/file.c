/* file.c: whole files in and out. Nothing here keeps a descriptor open after it returns. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/rand.h"

#define FILE_SECRET_MAX 4096

/* Read what fd gives into *ret, which is untouched on failure. */
static int file_slurp(int fd, const char *path, size_t max, struct buf *ret, struct err *err)
{
    AUTO_BUF b = BUF_INIT(max);
    int r = buf_read_fd(&b, fd);

    if (r == -EMSGSIZE)
        return err_set(err, r, "cannot read '%s': it is larger than %zu bytes", path, max);
    if (r < 0)
        return err_set(err, r, "cannot read '%s': %s", path, strerror(-r));
    *ret = b;
    b = (struct buf){0}; /* now the caller's */
    return 0;
}

int file_read(const char *path, size_t max, struct buf *ret, struct err *err)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return err_set(err, -errno, "cannot open '%s': %s", path, strerror(errno));
    return file_slurp(fd, path, max, ret, err);
}

int file_read_small(const char *path, char *out, size_t size)
{
    size_t len = 0;
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    while (len + 1 < size) {
        ssize_t n = read(fd, out + len, size - 1 - len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        len += (size_t)n;
    }
    if (size)
        out[len] = 0;
    return (int)len;
}

int file_put(int fd, const void *p, size_t n)
{
    for (const char *at = p, *end = at + n; at < end;) {
        ssize_t w = write(fd, at, (size_t)(end - at));
        if (w < 0 && errno == EINTR)
            continue;
        if (w < 0)
            return -errno;
        at += w;
    }
    return 0;
}

ssize_t file_read_at(int fd, void *p, size_t n, int64_t at)
{
    size_t done = 0;

    while (done < n) {
        ssize_t r = pread(fd, (char *)p + done, n - done, at + (int64_t)done);
        if (r < 0 && errno == EINTR)
            continue;
        if (r < 0)
            return -errno;
        if (r == 0)
            break;
        done += (size_t)r;
    }
    return (ssize_t)done;
}

int file_write_at(int fd, const void *p, size_t n, int64_t at)
{
    for (size_t done = 0; done < n;) {
        ssize_t w = pwrite(fd, (const char *)p + done, n - done, at + (int64_t)done);
        if (w < 0 && errno == EINTR)
            continue;
        if (w <= 0)
            return w < 0 ? -errno : -ENOSPC;
        done += (size_t)w;
    }
    return 0;
}

/* The name of a temporary file in the folder of path; the caller frees it. */
static char *temp_name(const char *path)
{
    return mem_fmt("%s.tmp-%016llx", path, (unsigned long long)rand_u64());
}

/* Rename temp, which is complete, to path and sync the folder. */
static int move_over(int fd, const char *temp, const char *path, struct err *err)
{
    AUTO_FREE char *dir = mem_str(path);

    if (fsync(fd) < 0 || rename(temp, path) < 0)
        return err_set(err, -errno, "cannot write '%s': %s", path, strerror(errno));
    int r = file_sync_dir(dirname(dir));
    return r < 0 ? err_set(err, r, "cannot sync the folder of '%s': %s", path, strerror(-r)) : 0;
}

/* was: the file whose mode and owner the new file gets, as far as we may set them; NULL: mode, less the umask. */
static int replace_file(const char *path, mode_t mode, const struct stat *was, const void *p, size_t n,
                        struct stat *ret, struct err *err)
{
    struct stat st;
    if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
        return err_set(err, -EINVAL, "cannot write '%s': not a regular file", path);
    AUTO_FREE char *temp = temp_name(path);
    AUTO_CLOSE int fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0)
        return err_set(err, -errno, "cannot write '%s': %s", path, strerror(errno));
    int r = 0;
    if (was && fchown(fd, was->st_uid, was->st_gid) < 0)
        r = 0; /* we may not: the folder's group has to do */
    if (was && fchmod(fd, was->st_mode & 0777) < 0)
        r = -errno;
    if (r == 0)
        r = file_put(fd, p, n);
    if (r == 0 && fstat(fd, &st) < 0)
        r = -errno;
    r = r < 0 ? err_set(err, r, "cannot write '%s': %s", path, strerror(-r)) : move_over(fd, temp, path, err);
    if (r < 0)
        unlink(temp);
    else if (ret)
        *ret = st;
    return r;
}

int file_write(const char *path, mode_t mode, const void *p, size_t n, struct err *err)
{
    return replace_file(path, mode, NULL, p, n, NULL, err);
}

int file_write_over(const char *path, mode_t mode, const void *p, size_t n, struct stat *ret, struct err *err)
{
    struct stat was;
    if (stat(path, &was) < 0)
        was = (struct stat){.st_mode = mode, .st_uid = (uid_t)-1, .st_gid = (gid_t)-1};
    return replace_file(path, mode, &was, p, n, ret, err);
}

/* The file that an output replaces: path, or the regular file that a link leads to. NULL: path is written to. */
static char *output_target(const char *path)
{
    struct stat st;

    if (lstat(path, &st) < 0 || S_ISREG(st.st_mode))
        return mem_str(path);
    char *target = S_ISLNK(st.st_mode) ? realpath(path, NULL) : NULL;
    if (target && lstat(target, &st) == 0 && S_ISREG(st.st_mode))
        return target;
    free(target);
    return NULL;
}

int file_output_open(const char *path, mode_t mode, struct file_output *ret, struct err *err)
{
    struct file_output o = {.path = output_target(path)};

    if (o.path)
        o.temp = temp_name(o.path);
    o.fd = open(o.temp ? o.temp : path, O_WRONLY | O_CREAT | O_CLOEXEC | (o.temp ? O_EXCL : O_TRUNC), mode);
    if (o.fd < 0) {
        int r = err_set(err, -errno, "cannot write '%s': %s", path, strerror(errno));
        free(o.temp);
        free(o.path);
        return r;
    }
    *ret = o;
    return 0;
}

int file_output_close(struct file_output *o, int r, struct err *err)
{
    if (r == 0 && o->temp)
        r = move_over(o->fd, o->temp, o->path, err);
    if (r < 0 && o->temp)
        unlink(o->temp); /* does not exist if only the sync of the folder failed */
    close(o->fd);
    free(o->temp);
    free(o->path);
    return r;
}

int file_output(const char *path, mode_t mode, const void *p, size_t n, struct err *err)
{
    struct file_output o;
    int r = file_output_open(path, mode, &o, err);

    if (r < 0)
        return r;
    r = file_put(o.fd, p, n);
    if (r < 0)
        err_set(err, r, "cannot write '%s': %s", path, strerror(-r));
    return file_output_close(&o, r, err);
}

int file_mkdirs(const char *path, mode_t mode, struct err *err)
{
    AUTO_FREE char *part = mem_str(path);
    struct stat st;

    for (char *at = part; *at;) {
        at += strspn(at, "/");
        at += strcspn(at, "/");
        char kept = *at;
        *at = 0;
        if (mkdir(part, mode) < 0 && errno != EEXIST) {
            int r = -errno;
            if (stat(part, &st) < 0 || !S_ISDIR(st.st_mode)) /* it exists, even if it is read-only or not ours:
                                                              * continue */
                return err_set(err, r, "cannot make folder '%s': %s", part, strerror(-r));
        }
        *at = kept;
    }
    if (stat(path, &st) < 0)
        return err_set(err, -errno, "cannot make folder '%s': %s", path, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return err_set(err, -ENOTDIR, "cannot make folder '%s': a file of that name is in the way", path);
    return 0;
}

int file_sync_dir(const char *path)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    if (fsync(fd) < 0 && errno != EINVAL) /* EINVAL: a file system that cannot sync folders */
        return -errno;
    return 0;
}

void file_leave_to_folder(int fd, const char *path)
{
    AUTO_FREE char *copy = mem_str(path);
    struct stat st;

    if (geteuid() == 0 && stat(dirname(copy), &st) == 0 && st.st_uid != 0 && fchown(fd, st.st_uid, st.st_gid) < 0)
        return; /* a file system without owners */
}

int64_t file_size(const char *path)
{
    struct stat st;

    return stat(path, &st) < 0 ? -errno : (int64_t)st.st_size;
}

bool file_in_path(const char *program)
{
    const char *path = getenv("PATH");
    struct str rest = str_of(path ? path : "/usr/bin:/bin"), dir;

    while (str_cut(&rest, ':', &dir)) {
        AUTO_FREE char *full = mem_fmt("%.*s/%s", STR_ARG(dir), program);
        if (dir.len && access(full, X_OK) == 0)
            return true;
    }
    return false;
}

int file_read_secret(const char *path, struct buf *ret, struct err *err)
{
    struct stat st;
    struct str rest, line = STR("");
    AUTO_BUF text = {0}, secret = BUF_INIT(FILE_SECRET_MAX);
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not block us */

    if (fd < 0)
        return err_set(err, -errno, "cannot open '%s': %s", path, strerror(errno));
    if (fstat(fd, &st) < 0)
        return err_set(err, -errno, "cannot read '%s': %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return err_set(err, -EINVAL, "cannot read a secret from '%s': not a regular file", path);
    if (st.st_mode & (S_IRWXO | (st.st_uid == 0 ? S_IWGRP | S_IXGRP : S_IRWXG)))
        return err_set(err, -EPERM,
                       "cannot read a secret from '%s': other users have access to it (mode %04o); chmod 600 it", path,
                       st.st_mode & 07777);
    int r = file_slurp(fd, path, FILE_SECRET_MAX, &text, err);
    if (r < 0)
        return r;
    rest = buf_str(&text);
    str_line(&rest, &line);
    line = str_trim(line);
    if (line.len == 0)
        return err_set(err, -EINVAL, "cannot read a secret from '%s': its first line is empty", path);
    if (!str_utf8_ok(line))
        return err_set(err, -EINVAL, "cannot read a secret from '%s': it is not plain text", path);
    buf_addstr(&secret, line);
    *ret = secret;
    secret = (struct buf){0}; /* now the caller's */
    return 0;
}

int file_or_env_secret(const char *file, const char *env, struct buf *ret, struct err *err)
{
    AUTO_BUF b = BUF_INIT(FILE_SECRET_MAX);

    if (file)
        return file_read_secret(file, ret, err);
    const char *v = getenv(env);
    if (!v || !str_trim(str_of(v)).len)
        return err_set(err, -ENOENT, "the variable %s is not set", env);
    if (buf_addstr(&b, str_trim(str_of(v))) < 0)
        return err_set(err, -EMSGSIZE, "the variable %s is too long", env);
    *ret = b;
    b = (struct buf){0};
    return 0;
}

int file_state_dir(const char *leaf, char *out, size_t size)
{
    const char *base = getenv("MUSTER_DATA"), *tail = "";

    if (!base || !*base) {
        const char *xdg = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
        if (geteuid() == 0) {
            base = "/var/lib/muster";
        } else if (xdg && xdg[0] == '/') {
            base = xdg;
            tail = "/muster";
        } else if (home && home[0] == '/') {
            base = home;
            tail = "/.local/state/muster";
        } else {
            return -ENOENT;
        }
    }
    bool more = leaf && *leaf;
    char path[4096];
    int n = snprintf(path, sizeof(path), "%s%s%s%s", base, tail, more ? "/" : "", more ? leaf : "");
    if (n < 0 || (size_t)n >= sizeof(path) || (size_t)n >= size)
        return -ENAMETOOLONG;
    memcpy(out, path, (size_t)n + 1);
    return 0;
}

const char *file_self(char *out, size_t size)
{
    static const char always[] = "/proc/self/exe";
    ssize_t n = readlink(always, out, size - 1);

    out[n > 0 ? n : 0] = 0;
    return n > 0 && (size_t)n < size - 1 && access(out, X_OK) == 0 ? out : always;
}
