/* all.c: every fuzz target in one program, outside libFuzzer: what is named goes through a target once. The Makefile
 * renames each target's function and lists them in fuzz.def.
 *
 *   fuzz/all fuzz_wire FILE...   files, and every file of a folder, through one target
 *   fuzz/all --list              the names
 *   fuzz/all -                   'NAME FOLDER' from standard input, one a line, as tests/runner gives them
 *
 * Says '# file NAME' before a target and '# end NAME STATUS' after it, as tests/kit/unit.c does. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"

#define FUZZ_MAX (64u << 20)

typedef int fuzz_target(const uint8_t *data, size_t size);

#define X(name) fuzz_target run_##name;
#include "fuzz.def"
#undef X

static const struct fuzz_entry {
    const char *name;
    fuzz_target *run;
} targets[] = {
#define X(name) {#name, run_##name},
#include "fuzz.def"
#undef X
};
#define N_TARGETS (sizeof(targets) / sizeof(*targets))

static int run_file(fuzz_target *target, const char *path, unsigned *count)
{
    struct err err = {0};
    AUTO_BUF text = {0};

    if (file_read(path, FUZZ_MAX, &text, &err) < 0) {
        fprintf(stderr, "%s\n", err.msg);
        return 1;
    }
    /* A copy of its very size, so that the sanitizer sees a read past the end. */
    AUTO_FREE uint8_t *exact = mem_alloc(text.len);
    if (text.len)
        memcpy(exact, text.p, text.len);
    target(exact, text.len);
    (*count)++;
    return 0;
}

static int run_folder(fuzz_target *target, const char *path, unsigned *count)
{
    struct dirent **names = NULL;
    int n = scandir(path, &names, NULL, alphasort), bad = 0;

    if (n < 0) {
        fprintf(stderr, "cannot open '%s': %s\n", path, strerror(errno));
        return 1;
    }
    for (int i = 0; i < n; i++) {
        AUTO_FREE char *inside = mem_fmt("%s/%s", path, names[i]->d_name);
        struct stat st;
        if (names[i]->d_name[0] != '.' && stat(inside, &st) == 0 && S_ISREG(st.st_mode))
            bad |= run_file(target, inside, count);
        free(names[i]);
    }
    free(names);
    return bad;
}

static int run_target(const char *name, int n, char *const paths[])
{
    unsigned count = 0;
    int bad = 0;

    for (size_t i = 0; i < N_TARGETS; i++) {
        if (strcmp(targets[i].name, name) != 0)
            continue;
        printf("# file %s\n", name);
        for (int k = 0; k < n; k++) {
            struct stat st;
            if (stat(paths[k], &st) == 0 && S_ISDIR(st.st_mode))
                bad |= run_folder(targets[i].run, paths[k], &count);
            else
                bad |= run_file(targets[i].run, paths[k], &count);
        }
        bad |= count == 0;
        printf("%u inputs\n# end %s %d\n", count, name, bad);
        return bad;
    }
    fprintf(stderr, "fuzz/all: there is no '%s'; see --list\n", name);
    return 2;
}

int main(int argc, char **argv)
{
    char line[4096];
    int bad = 0;

    setvbuf(stdout, NULL, _IOLBF, 0); /* what was said must be out when a target takes the process with it */
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (size_t i = 0; i < N_TARGETS; i++)
            puts(targets[i].name);
    } else if (argc == 2 && strcmp(argv[1], "-") == 0) {
        while (fgets(line, sizeof(line), stdin)) {
            line[strcspn(line, "\n")] = 0;
            char *folder = strchr(line, ' ');
            if (folder)
                *folder++ = 0;
            if (run_target(line, folder ? 1 : 0, &folder) == 2)
                return 2;
        }
    } else if (argc > 2) {
        bad = run_target(argv[1], argc - 2, argv + 2);
    } else {
        fprintf(stderr, "usage: fuzz/all NAME FILE...\n");
        bad = 2;
    }
    return bad;
}
