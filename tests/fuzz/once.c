/* once.c: main for a fuzz target outside libFuzzer: every file named, and every file in a folder named, goes through it
 * once. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/mem.h"

#define ONCE_MAX (64u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int once_file(const char *path, unsigned *count)
{
    struct err err = {0};
    AUTO_BUF text = {0};

    if (file_read(path, ONCE_MAX, &text, &err) < 0) {
        fprintf(stderr, "%s\n", err.msg);
        return 1;
    }
    /* A copy of its very size, so that the sanitizer sees a read past the end. */
    AUTO_FREE uint8_t *exact = mem_alloc(text.len);
    if (text.len)
        memcpy(exact, text.p, text.len);
    LLVMFuzzerTestOneInput(exact, text.len);
    (*count)++;
    return 0;
}

static int once_folder(const char *path, unsigned *count)
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
            bad |= once_file(inside, count);
        free(names[i]);
    }
    free(names);
    return bad;
}

int main(int argc, char **argv)
{
    unsigned count = 0;
    int bad = 0;

    for (int i = 1; i < argc; i++) {
        struct stat st;
        if (stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode))
            bad |= once_folder(argv[i], &count);
        else
            bad |= once_file(argv[i], &count);
    }
    printf("%u inputs\n", count);
    return bad || count == 0;
}
