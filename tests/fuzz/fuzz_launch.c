/* Command lines, environments and names of pods, as launchers write them: what comes out is short and plain. */
#include <stdlib.h>

#include "base/mem.h"
#include "base/order.h"
#include "jobs/auto.h"
#include "model/launch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool found, const char *text, bool pod)
{
    if (found && (strnlen(text, LAUNCH_MAX) == LAUNCH_MAX || !text[0]))
        abort();
    if (found && !pod && ANY(strlen(text), i, (uint8_t)text[i] <= ' ' || (uint8_t)text[i] >= 127))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[LAUNCH_MAX];
    memset(text, 'x', sizeof(text));
    check(launch_of_command(str_n(data, size), text), text, false);
    check(launch_of_environ(str_n(data, size), text), text, false);
    check(launch_of_pod(str_n(data, size), text), text, true);
    AUTO_FREE char *attrs = mem_strn((const char *)data, size);
    if (auto_joined(&(struct job_fact){.kind = AUTO_KIND, .attrs = attrs}) < 0)
        abort();
    return 0;
}
