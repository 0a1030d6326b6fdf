/* all.c: every fuzz target in one program, outside libFuzzer: what is named goes through a target once. The Makefile
 * renames each target's function and lists them in fuzz.def.
 *
 *   fuzz/all fuzz_wire FILE...   files, and every file of a folder, through one target
 *   fuzz/all --list              the names
 *   fuzz/all -                   'NAME FOLDER' from standard input, one a line, as tests/runner gives them
 *   fuzz/all --mutate SECONDS    the same lines; random changes to the files of each folder, for so long each. The
 * input that a target is at stays in build/NAME-input when it takes the process with it
 *
 * Says '# file NAME' before a target and '# end NAME STATUS' after it, as tests/kit/unit.c does. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/rand.h"

#define FUZZ_MAX   (64u << 20)
#define MUTANT_MAX (64u << 10) /* bytes of an input that was changed */

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

/* ---- random changes ---- */

struct seeds {
    size_t n, cap;
    struct buf *v;
};

static void seeds_fini(struct seeds *s)
{
    for (size_t i = 0; i < s->n; i++)
        buf_fini(&s->v[i]);
    free(s->v);
}

static int seeds_read(struct seeds *s, const char *folder)
{
    struct dirent **names = NULL;
    int n = scandir(folder, &names, NULL, alphasort);

    for (int i = 0; i < n; i++) {
        AUTO_FREE char *path = mem_fmt("%s/%s", folder, names[i]->d_name);
        AUTO_BUF text = {0};
        if (names[i]->d_name[0] != '.' && file_read(path, MUTANT_MAX, &text, NULL) == 0) {
            VEC_ADD(s->v, s->n, s->cap, text);
            text = (struct buf){0};
        }
        free(names[i]);
    }
    free(names);
    return s->n ? 0 : -ENOENT;
}

static size_t below(size_t n)
{
    return n ? (size_t)(rand_u64() % n) : 0;
}

/* A few changes: bits, bytes, pieces that go, come twice, or come from another seed. */
static size_t mutate(const struct seeds *seeds, uint8_t *p)
{
    static const uint8_t odd[] = {0, 0x1b, '"', ',', ':', '\n', '\\', '/', '{', '[', 0x7f, 0x80, 0x9b, 0xe2, 0xff};
    const struct buf *from = &seeds->v[below(seeds->n)];
    size_t len = from->len;

    if (len)
        memcpy(p, from->p, len);
    for (size_t left = 1 + below(8); left > 0; left--) {
        const struct buf *other = &seeds->v[below(seeds->n)];
        size_t at = below(len + 1), n = below(32), src;
        switch (below(6)) {
        case 0:
            if (at < len)
                p[at] ^= (uint8_t)(1u << below(8));
            break;
        case 1:
            if (at < len)
                p[at] = odd[below(sizeof(odd))];
            break;
        case 2: /* goes */
            n = MIN(n, len - at);
            memmove(p + at, p + at + n, len - at - n);
            len -= n;
            break;
        case 3: /* comes twice */
            n = MIN(MIN(n, len - at), MUTANT_MAX - len);
            memmove(p + at + n, p + at, len - at);
            len += n;
            break;
        case 4: /* the end is another's */
            src = below(other->len + 1);
            n = MIN(other->len - src, MUTANT_MAX - at);
            if (n)
                memcpy(p + at, other->p + src, n);
            len = at + n;
            break;
        default:
            len = at;
        }
    }
    return len;
}

static struct {
    const uint8_t *p; /* what the target is at */
    size_t len;
    char path[256];
} last;

/* In a dying process: only system calls. */
static void keep_last(void)
{
    int fd = last.p ? open(last.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644) : -1;

    if (fd >= 0 && write(fd, last.p, last.len) == (ssize_t)last.len)
        fprintf(stderr, "the input is in %s\n", last.path);
    last.p = NULL;
}

static void on_abort(int sig)
{
    keep_last();
    signal(sig, SIG_DFL);
    raise(sig);
}

extern void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static int mutate_target(const char *name, const char *folder, double seconds)
{
    struct seeds seeds = {0};
    fuzz_target *target = NULL;
    AUTO_FREE uint8_t *input = mem_alloc(MUTANT_MAX);
    uint64_t n = 0;
    int64_t end_ms = clock_mono_ms() + (int64_t)(seconds * 1000);

    for (size_t i = 0; i < N_TARGETS; i++)
        target = strcmp(targets[i].name, name) == 0 ? targets[i].run : target;
    bool bad = !target || seeds_read(&seeds, folder) < 0;
    signal(SIGABRT, on_abort);
    if (__sanitizer_set_death_callback)
        __sanitizer_set_death_callback(keep_last);
    snprintf(last.path, sizeof(last.path), "build/%.200s-input", name);
    printf("# file %s\n", name);
    for (; !bad && clock_mono_ms() < end_ms; n++) {
        size_t len = mutate(&seeds, input);
        AUTO_FREE uint8_t *exact = mem_alloc(len);
        memcpy(exact, input, len);
        last.len = len;
        last.p = exact;
        target(exact, len);
        last.p = NULL;
    }
    seeds_fini(&seeds);
    printf("%llu inputs\n# end %s %d\n", (unsigned long long)n, name, bad);
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
    double seconds = argc == 3 && strcmp(argv[1], "--mutate") == 0 ? strtod(argv[2], NULL) : 0;

    setvbuf(stdout, NULL, _IOLBF, 0); /* what was said must be out when a target takes the process with it */
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (size_t i = 0; i < N_TARGETS; i++)
            puts(targets[i].name);
    } else if ((argc == 2 && strcmp(argv[1], "-") == 0) || seconds > 0) {
        while (fgets(line, sizeof(line), stdin)) {
            line[strcspn(line, "\n")] = 0;
            char *folder = strchr(line, ' ');
            if (folder)
                *folder++ = 0;
            if (seconds > 0)
                mutate_target(line, folder ? folder : "", seconds);
            else if (run_target(line, folder ? 1 : 0, &folder) == 2)
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
