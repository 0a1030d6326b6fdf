/*
 * pg_server.h: a PostgreSQL server of a test's own, in a folder of its own, on a unix socket there and with a password.
 * It is not durable (fsync is off) and ends with the test. What cannot be started fails the test.
 */
#ifndef TESTS_KIT_PG_SERVER_H
#define TESTS_KIT_PG_SERVER_H

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/file.h"
#include "temp_store.h"

#define PG_BIN      "/usr/lib/postgresql/15/bin"
#define PG_USER     "muster"
#define PG_PASSWORD "se:cr@t"
#define PG_SECRET   "se%3Acr%40t" /* the same in a URL */

struct pg_server {
    char *dir;
    pid_t pid;
    int bases;
};

/* It refuses to run as root. */
static inline void pg_leave_root(void)
{
    const struct passwd *who = getpwnam("postgres");

    if (geteuid() != 0)
        return;
    if (!who || setgroups(0, NULL) < 0 || setgid(who->pw_gid) < 0 || setuid(who->pw_uid) < 0)
        _exit(126);
}

static inline pid_t pg_spawn(const struct pg_server *s, char *const argv[])
{
    AUTO_FREE char *log = mem_fmt("%s/log", s->dir);
    pid_t parent = getpid(), pid = fork();

    assert_true(pid >= 0);
    if (pid)
        return pid;
    pg_leave_root();
    prctl(PR_SET_PDEATHSIG, SIGQUIT);
    int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (getppid() != parent || fd < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0 || chdir(s->dir) < 0)
        _exit(126);
    execv(argv[0], argv);
    _exit(127);
}

/* To its end: its exit code. */
static inline int pg_run(const struct pg_server *s, char *const argv[])
{
    pid_t pid = pg_spawn(s, argv);
    int status = 0;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static inline int pg_sql(const struct pg_server *s, const char *base, const char *sql)
{
    char *argv[] = {PG_BIN "/psql", "-qX", "-h", s->dir, "-U", PG_USER, "-d", (char *)base, "-c", (char *)sql, NULL};

    setenv("PGPASSWORD", PG_PASSWORD, 1);
    int code = pg_run(s, argv);
    unsetenv("PGPASSWORD");
    return code;
}

static inline void pg_start(struct pg_server *s)
{
    AUTO_FREE char *data = mem_fmt("%s/data", s->dir);
    char *argv[] = {PG_BIN "/postgres",   "-D", data, "-k", s->dir, "-c", "listen_addresses=", "-c", "fsync=off", "-c",
                    "max_connections=30", NULL};
    int status;

    s->pid = pg_spawn(s, argv);
    while (pg_sql(s, "postgres", "SELECT 1") != 0) {
        if (waitpid(s->pid, &status, WNOHANG) != 0)
            fail_msg("PostgreSQL did not start: %s/log says why", s->dir);
        usleep(20000);
    }
}

/* signal: SIGINT ends it at once, SIGQUIT as if it had crashed. */
static inline void pg_stop(struct pg_server *s, int signal)
{
    kill(s->pid, signal);
    waitpid(s->pid, NULL, 0);
    s->pid = 0;
}

static inline void pg_new(struct pg_server *s)
{
    char *argv[] = {PG_BIN "/initdb", "-D",       NULL,   "-U",
                    PG_USER,          "--pwfile", NULL,   "-A",
                    "scram-sha-256",  "-E",       "UTF8", "--locale=C.UTF-8",
                    "--no-sync",      NULL};

    *s = (struct pg_server){.dir = dir_new()};
    AUTO_FREE char *data = mem_fmt("%s/data", s->dir), *pw = mem_fmt("%s/password", s->dir);
    argv[2] = data;
    argv[6] = pw;
    assert_int_equal(file_write(pw, 0644, PG_PASSWORD "\n", strlen(PG_PASSWORD) + 1, NULL), 0);
    if (geteuid() == 0) {
        const struct passwd *who = getpwnam("postgres");
        assert_non_null(who);
        assert_int_equal(chown(s->dir, who->pw_uid, who->pw_gid), 0);
    }
    if (pg_run(s, argv) != 0)
        fail_msg("initdb failed: %s/log says why", s->dir);
    pg_start(s);
}

static inline void pg_free(struct pg_server *s)
{
    char *argv[] = {"/bin/rm", "-rf", s->dir, NULL};

    if (s->pid)
        pg_stop(s, SIGINT);
    if (!s->dir)
        return;
    if (fork() == 0) {
        execv(argv[0], argv);
        _exit(127);
    }
    wait(NULL);
    free(s->dir);
}

/* The server of a whole group of tests, for its setup and teardown. */
static struct pg_server server __attribute__((unused));

static inline int start_server(void **unused)
{
    (void)unused;
    pg_new(&server);
    return 0;
}

static inline int end_server(void **unused)
{
    (void)unused;
    pg_free(&server);
    return 0;
}

/* Where a database is; secret: the password as a URL has it. */
static inline char *pg_url(const struct pg_server *s, const char *base, const char *secret)
{
    AUTO_BUF host = BUF_INIT(4096);

    for (const char *c = s->dir; *c; c++)
        if (*c == '/')
            buf_adds(&host, "%2F");
        else
            buf_addc(&host, *c);
    return mem_fmt("postgres://" PG_USER ":%s@%s/%s", secret, host.p, base);
}

/* A new and empty one. */
static inline char *pg_base(struct pg_server *s)
{
    char name[24];

    snprintf(name, sizeof(name), "base%d", ++s->bases);
    AUTO_FREE char *sql = mem_fmt("CREATE DATABASE %s", name);
    assert_int_equal(pg_sql(s, "postgres", sql), 0);
    return pg_url(s, name, PG_SECRET);
}

#endif
