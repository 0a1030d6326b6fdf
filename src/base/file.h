/* file.h: whole files in, whole files out, folders made. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"

struct buf;

/* Read a whole file of at most max bytes; ret is overwritten, the caller owns it; untouched on failure. */
int file_read(const char *path, size_t max, struct buf *ret, struct err *err);
/* The same for small files that are read often (/proc, /sys): no allocation; cut at size - 1; length or -errno. */
int file_read_small(const char *path, char *out, size_t size);
static inline struct str file_small(const char *path, char *out, size_t size) /* as text; empty if it cannot be read */
{
    int n = file_read_small(path, out, size);

    return str_n(out, n < 0 ? 0 : (size_t)n);
}
/* Writes a temporary file next to it, fsyncs, renames and fsyncs the folder: the old file or the new one, never half. A
 * link is replaced; a device, a pipe or a folder is an error. */
int file_write(const char *path, mode_t mode, const void *p, size_t n, struct err *err);
struct stat;
/* The same for a file that other programs write, too: mode and owner stay as they are; a new one has mode, whatever the
 * umask. ret: the file that was written, even if another has replaced it since; may be NULL. */
int file_write_over(const char *path, mode_t mode, const void *p, size_t n, struct stat *ret, struct err *err);
/*
 * The output that a user names (-o FILE). A regular file, also one behind a link, is replaced whole or not at all, as
 * by file_write; a device, a pipe or any other file is written to.
 */
struct file_output {
    int fd;
    char *path, *temp; /* the replaced file and its replacement; NULL: fd is the output itself */
};
int file_output_open(const char *path, mode_t mode, struct file_output *ret, struct err *err);
/* r: 0, or the -errno of the writer, which leaves the old file. Returns r, or its own -errno. */
int file_output_close(struct file_output *o, int r, struct err *err);
int file_output(const char *path, mode_t mode, const void *p, size_t n, struct err *err); /* the whole output in one
                                                                                           * call */
int file_put(int fd, const void *p, size_t n);                                            /* all of it: 0 or -errno */
/* Reads n bytes at an offset, fewer only at the end of the file. Returns their number or -errno. */
ssize_t file_read_at(int fd, void *p, size_t n, int64_t at);
int file_write_at(int fd, const void *p, size_t n, int64_t at);  /* all of it: 0 or -errno */
int file_mkdirs(const char *path, mode_t mode, struct err *err); /* like mkdir -p */
int file_sync_dir(const char *path);                             /* 0 or -errno */
/* Gives a file that root has just made to the owner of its folder, so that the owner's programs can use it. */
void file_leave_to_folder(int fd, const char *path);
int64_t file_size(const char *path);    /* -errno if it cannot be known */
bool file_in_path(const char *program); /* is it in a folder of $PATH and executable for us? */
/*
 * A secret: a regular file of at most 4 KiB, its first line, trimmed, not empty. -EPERM: other users have access to the
 * file. The rule is libpq's for keys: mode 0600 or less, and 0640 or less if root owns the file.
 */
int file_read_secret(const char *path, struct buf *ret, struct err *err);
/* The same from a file or, if that is NULL, from a variable of the environment. */
int file_or_env_secret(const char *file, const char *env, struct buf *ret, struct err *err);
/* The folder for lasting state: $MUSTER_DATA, else /var/lib/muster for root, else $XDG_STATE_HOME/muster or
 * ~/.local/state/muster. With leaf (may be NULL) below it. 0, -ENOENT without a home, -ENAMETOOLONG. */
int file_state_dir(const char *leaf, char *out, size_t size);
/* The path to start our own program again. If a newer program has replaced the file, a path that still leads to
 * ours. */
const char *file_self(char *out, size_t size);
