/* vesta's local_settings.yaml: any bytes. What `muster vesta settings` prints of it has no control character, and a
 * settings file that it makes is one that the hub's options understand. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/plain.h"
#include "compat/cmd_vesta.h"
#include "hub/conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
    if (!ok)
        abort();
}

static void check_plain(const char *text, size_t len)
{
    struct str rest = str_n(text, len), line, part;

    while (str_line(&rest, &line))
        while (str_cut(&line, '\t', &part)) /* tabs stay */
            check(plain_is(part));
}

static void check_yaml(const char *text, size_t len)
{
    struct hub_conf conf = {0};
    struct err err = {0};

    opt_defaults(hub_opts, &conf);
    if (opt_yaml(hub_opts, &conf, str_n(text, len), "muster.yaml", &err) < 0) {
        fprintf(stderr, "%s\n%.*s\n", err.msg, (int)len, text);
        abort();
    }
    opt_fini(hub_opts, &conf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64], *argv[] = {path, NULL}, *out = NULL, *said = NULL;
    size_t n_out, n_said;
    FILE *own_out = stdout, *own_err = stderr, *to, *words;
    struct {
        char *into;
    } conf = {0};
    struct cmd_call call = {.conf = &conf, .argc = 1, .argv = argv};
    int fd = memfd_create("settings", MFD_CLOEXEC);

    check(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    stdout = to = open_memstream(&out, &n_out);
    stderr = words = open_memstream(&said, &n_said);
    int r = cmd_vesta_settings(&call);
    stdout = own_out;
    stderr = own_err;
    fclose(to);
    fclose(words);
    close(fd);
    check_plain(out, n_out);
    check_plain(said, n_said);
    if (r == 0)
        check_yaml(out, n_out);
    free(out);
    free(said);
    return 0;
}
