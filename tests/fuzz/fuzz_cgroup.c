/* The text of /proc/PID/cgroup, and a mount table: whatever is in them, what comes out is clean and ends. */
#include <stdlib.h>

#include "base/mem.h"
#include "collect/host.h"
#include "collect/owner.h"
#include "collect/proc_info.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void clean(const char *text, size_t size)
{
    if (strnlen(text, size) == size || !str_utf8_ok(str_of(text)))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct host_disk disks[4];
    struct proc_fact p;

    memset(&p, 'x', sizeof(p));
    cgroup_parse(str_n(data, size), &p);
    clean(p.runtime, sizeof(p.runtime));
    clean(p.container, sizeof(p.container));
    clean(p.pod, sizeof(p.pod));
    if (p.slurm_job < 0)
        abort();
    struct owner who;
    struct owner_ask ask = {.uid = 0, .loginuid = -1, .cgroup = str_n(data, size), .environ = str_n(data, size)};
    owner_of(&ask, &p, &who);
    clean(who.user, sizeof(who.user));
    if (who.uid < -1)
        abort();
    if (host_mounts(str_n(data, size), disks, ARRAY_LEN(disks)) > ARRAY_LEN(disks))
        abort();
    return 0;
}
