/* unit.c: every test file in one program, so that what a process costs (on arm64 the leak checker takes four seconds
 * for each) is paid once. The Makefile renames each file's main and lists them in unit.def; a file knows nothing of it.
 *
 *   unit/all              all of them
 *   unit/all test_str     one file's; MUSTER_TEST_ONLY=pattern picks among its tests
 *   unit/all --list       the names
 *   unit/all -            names from standard input, one a line, as tests/runner gives them; 0 but for leaks
 *
 * Says '# file NAME' before a file and '# end NAME STATUS' after it: a file without an end is where the program died.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifndef UNIT_LIST
#define UNIT_LIST "unit.def"
#endif

#define X(name) int unit_##name(void);
#include UNIT_LIST
#undef X

static const struct unit_file {
    const char *name;
    int (*run)(void);
} files[] = {
#define X(name) {#name, unit_##name},
#include UNIT_LIST
#undef X
};
#define N_FILES (sizeof(files) / sizeof(*files))

/* What a file may change of its process and the next one must not see. */
struct outside {
    char **env;
    int folder;
    mode_t mask;
    sigset_t blocked;
};

static struct outside outside; /* static: what it holds is no leak */

static void note_outside(struct outside *o)
{
    size_t n = 0;

    while (environ[n])
        n++;
    o->env = calloc(n + 1, sizeof(*o->env));
    for (size_t i = 0; o->env && i < n; i++)
        o->env[i] = strdup(environ[i]);
    o->folder = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    o->mask = umask(0);
    umask(o->mask);
    sigprocmask(SIG_SETMASK, NULL, &o->blocked);
}

static int restore_outside(const struct outside *o)
{
    clearenv();
    for (char **e = o->env; e && *e; e++)
        putenv(*e);
    tzset();
    umask(o->mask);
    sigprocmask(SIG_SETMASK, &o->blocked, NULL);
    return fchdir(o->folder);
}

static int run_file(const char *name)
{
    for (size_t i = 0; i < N_FILES; i++) {
        if (strcmp(files[i].name, name) != 0)
            continue;
        printf("# file %s\n", name);
        int status = files[i].run();
        if (restore_outside(&outside) < 0) {
            perror("cannot go back to the folder the tests began in");
            exit(2);
        }
        fflush(stderr);
        printf("# end %s %d\n", name, status);
        return status != 0;
    }
    fprintf(stderr, "unit/all: there is no '%s'; see --list\n", name);
    return 2;
}

/* Standard input, out of reach of the programs that tests start. */
static FILE *take_input(void)
{
    int fd = fcntl(0, F_DUPFD_CLOEXEC, 3), none = open("/dev/null", O_RDONLY | O_CLOEXEC);

    if (fd < 0 || none < 0 || dup2(none, 0) < 0)
        return NULL;
    close(none);
    return fdopen(fd, "r");
}

int main(int argc, char **argv)
{
    char line[256];
    int bad = 0;

    setvbuf(stdout, NULL, _IOLBF, 0); /* what was said must be out when a test takes the process with it */
    note_outside(&outside);
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (size_t i = 0; i < N_FILES; i++)
            puts(files[i].name);
    } else if (argc == 2 && strcmp(argv[1], "-") == 0) {
        FILE *names = take_input();
        while (names && fgets(line, sizeof(line), names)) {
            line[strcspn(line, "\n")] = 0;
            if (run_file(line) == 2)
                return 2;
        }
        if (!names || fclose(names) != 0)
            return 2;
    } else if (argc > 1) {
        for (int i = 1; i < argc; i++)
            bad |= run_file(argv[i]);
    } else {
        for (size_t i = 0; i < N_FILES; i++)
            bad |= run_file(files[i].name);
    }
    return bad;
}
