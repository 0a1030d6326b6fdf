/* source_ssh_config.c: the hosts in an ssh configuration. ssh itself applies their addresses and users. */
#include <glob.h>

#include "base/buf.h"
#include "base/file.h"
#include "relay/source.h"

#define CONFIG_MAX (1u << 20)
#define FILES_MAX  64
#define DEPTH_MAX  4

struct reading {
    struct found_list *list;
    const char *home;
    char *folder; /* of the first file: Include is relative to it */
    int depth, files;
};

/* Missing or unreadable files are ignored, as in ssh. */
static void include(void *arg, struct str path)
{
    struct reading *in = arg;
    AUTO_FREE char *pattern = str_starts(path, "~/") && in->home
                                  ? mem_fmt("%s/%.*s", in->home, (int)path.len - 2, path.p + 2)
                              : path.len && path.p[0] == '/' ? mem_strn(path.p, path.len)
                                                             : mem_fmt("%s/%.*s", in->folder, STR_ARG(path));
    glob_t g = {0};
    if (in->depth == DEPTH_MAX || glob(pattern, 0, NULL, &g) != 0)
        return;
    in->depth++;
    for (size_t i = 0; i < g.gl_pathc && in->files < FILES_MAX; i++) {
        AUTO_BUF text = {0};
        in->files++;
        if (file_read(g.gl_pathv[i], CONFIG_MAX, &text, NULL) == 0)
            found_ssh_config(in->list, buf_str(&text), include, in);
    }
    in->depth--;
    globfree(&g);
}

static void config_look(struct source *s)
{
    AUTO_FOUND l = {0};
    AUTO_BUF text = {0};
    struct err err = {0};
    const char *home = getenv("HOME");
    bool tilde = str_starts(str_of(s->what), "~/") && home;
    AUTO_FREE char *path = tilde ? mem_fmt("%s/%s", home, s->what + 2) : mem_str(s->what);
    int slash = str_rfind(str_of(path), "/");
    AUTO_FREE char *folder = slash < 0 ? mem_str(".") : mem_strn(path, (size_t)slash);
    struct reading in = {.list = &l, .home = home, .folder = folder};

    if (file_read(path, CONFIG_MAX, &text, &err) < 0) {
        source_fail(s, err.msg);
        return;
    }
    found_ssh_config(&l, buf_str(&text), include, &in);
    if (l.full)
        source_fail(s, "more hosts than can be taken");
    else
        source_give(s, &l, NULL);
}

const struct source_ops source_ssh_config = {
    .name = "ssh_config",
    .every_ms = 10000,
    .look = config_look,
};
