/* ~/.ssh/config with its Include lines, read from a file as a relay does: any bytes. Slashes are taken out, so that a
 * pattern finds nothing but this file, which includes itself. The list that comes is settled and within bounds. */
#include <stdlib.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/file.h"
#include "base/mem.h"
#include "relay/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *file;
static struct event_base *loop;
static bool came;

static void check(bool ok)
{
    if (!ok)
        abort();
}

static void on_list(void *arg, struct source *s, const struct found *v, size_t n, const char *error)
{
    (void)arg, (void)s;
    came = true;
    check(n <= FOUND_MAX && (!error || error[0]));
    for (size_t i = 0; i < n; i++) {
        check(v[i].name[0] && v[i].name[0] != '-' && !strpbrk(v[i].name, "*?! \n"));
        check(str_utf8_ok(str_of(v[i].name)) && str_utf8_ok(str_of(v[i].address)));
        check(i == 0 || strcmp(v[i - 1].name, v[i].name) < 0);
    }
}

static void remove_file(void)
{
    unlink(file);
    *strrchr(file, '/') = 0;
    rmdir(file);
    free(file);
    event_base_free(loop);
}

static void make_file(void)
{
    AUTO_FREE char *dir = mem_str("/tmp/muster-fuzz-XXXXXX");

    check(mkdtemp(dir));
    setenv("HOME", dir, 1);
    file = mem_fmt("%s/config", dir);
    loop = event_base_new();
    atexit(remove_file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_FREE char *text = mem_strn((const char *)data, size);
    struct source *s = NULL;
    struct err err = {0};

    if (!file)
        make_file();
    for (size_t i = 0; i < size; i++)
        text[i] = text[i] == '/' ? 'x' : text[i];
    check(file_write(file, 0600, text, size, &err) == 0);
    came = false;
    check(source_open(&s, &source_ssh_config, loop, NULL, &(struct source_conf){.what = "~/config"}, on_list, NULL,
                      &err) == 0);
    for (int i = 0; i < 4 && !came; i++)
        event_base_loop(loop, EVLOOP_ONCE | EVLOOP_NONBLOCK);
    check(came);
    source_close(s);
    return 0;
}
