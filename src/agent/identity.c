/* identity.c: DIR/node-id holds 32 hex digits, written atomically; DIR/lock is locked while an agent runs. */
#include "agent/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/rand.h"

/* 1 read, 0 not there, or -errno. */
static int identity_read(const char *path, struct node_id *ret, struct err *err)
{
    char text[80];
    int n = file_read_small(path, text, sizeof(text));

    if (n == -ENOENT)
        return 0;
    if (n < 0)
        return err_set(err, n, "cannot read '%s': %s", path, strerror(-n));
    if (!node_id_parse(str_trim(str_n(text, (size_t)n)), ret))
        return err_set(err, -EINVAL, "'%s' does not hold 32 hex digits; remove it, and this node gets a new id", path);
    return 1;
}

int identity_open(struct node_identity *ret, const char *dir, struct err *err)
{
    struct node_identity id = {.run = rand_u64() ?: 1, .lock_fd = -1};
    AUTO_FREE char *path = mem_fmt("%s/node-id", dir), *lock = mem_fmt("%s/lock", dir);
    int r = file_mkdirs(dir, 0700, err);

    if (r < 0)
        return r;
    AUTO_CLOSE int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_set(err, -errno, "cannot open '%s': %s", lock, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return err_set(err, -EBUSY, "another agent runs with the state folder '%s'", dir);
    r = identity_read(path, &id.node, err);
    if (r < 0)
        return r;
    if (r == 0) {
        char text[34];
        rand_bytes(id.node.b, sizeof(id.node.b));
        node_id_text(&id.node, text);
        text[32] = '\n';
        if ((r = file_write(path, 0600, text, 33, err)) < 0)
            return r;
        id.fresh = true;
    }
    id.lock_fd = mem_take_fd(&fd);
    *ret = id;
    return 0;
}

void identity_peek(struct node_identity *ret, const char *dir)
{
    *ret = (struct node_identity){.run = rand_u64() ?: 1, .lock_fd = -1};
    if (!dir || !*dir)
        return;
    AUTO_FREE char *path = mem_fmt("%s/node-id", dir);
    if (identity_read(path, &ret->node, NULL) != 1)
        ret->node = (struct node_id){0};
}

void identity_close(struct node_identity *id)
{
    if (id && id->lock_fd >= 0) {
        close(id->lock_fd);
        id->lock_fd = -1;
    }
}
