/*
 * sandbox.h: keeps this process, its threads and every program that it starts from writing outside some folders, for
 * good (Landlock, Linux 5.19 and later). Reading is not limited. Before the first thread: threads that run already stay
 * free.
 */
#pragma once

#include "base/opt.h"

/*
 * Limits writes to: data (NULL: none), folders (more; absent ones are an error), /tmp, /var/tmp, $TMPDIR, /dev/null and
 * /dev/tty. -ENOSYS, -EOPNOTSUPP: not supported by the kernel; nothing is limited. All errors have a message in err.
 */
int sandbox_writes(const char *data, const struct opt_list *folders, struct err *err);

/* The same for a program: active, it is a line in the log; where the kernel cannot, a warning and 0. */
int sandbox_start(const char *area, const char *data, const struct opt_list *folders, struct err *err);
