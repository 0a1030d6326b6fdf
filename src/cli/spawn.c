/* spawn.c: fork and exec, with the reason of a failure. */
#include "cli/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

pid_t spawn_start(char **argv, int *ret_errno)
{
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) < 0) {
        *ret_errno = errno;
        return -1;
    }
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGPIPE, SIG_DFL);
        execvp(argv[0], argv);
        int why = errno;
        if (write(fds[1], &why, sizeof(why)) < 0)
            _exit(126);
        _exit(127);
    }
    *ret_errno = pid < 0 ? errno : 0;
    close(fds[1]);
    if (pid > 0 && read(fds[0], ret_errno, sizeof(*ret_errno)) == sizeof(*ret_errno)) {
        waitpid(pid, NULL, 0);
        pid = -1;
    }
    close(fds[0]);
    if (pid > 0) {
        signal(SIGINT, SIG_IGN); /* meant for the command; we follow it */
        signal(SIGQUIT, SIG_IGN);
    }
    return pid;
}

int spawn_code(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
