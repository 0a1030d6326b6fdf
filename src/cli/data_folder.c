/* data_folder.c: finds a hub's data folder. A hub reports its folder to clients on its machine. */
#include "cli/data_folder.h"

#include <errno.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/client.h"
#include "cli/local_hub.h"

/* The lock remains if muster.db is lost; the store has the better error. */
static bool is_a_hubs(const char *dir)
{
    AUTO_FREE char *db = mem_fmt("%s/muster.db", dir), *lock = mem_fmt("%s/lock", dir);

    return access(db, F_OK) == 0 || access(lock, F_OK) == 0;
}

int data_folder(const char *data, char *hub, char out[DATA_FOLDER_MAX], struct err *err)
{
    struct client_conf conf = {.hub = hub};

    if (data && !mem_copy_str(out, DATA_FOLDER_MAX, data))
        return err_set(err, -EINVAL, "--data: the path is too long");
    if (!data && file_state_dir(NULL, out, DATA_FOLDER_MAX) < 0)
        out[0] = 0;
    if (!data && !(out[0] && local_hub_runs(out)))
        client_folder(&conf, out);
    if (!out[0] || !is_a_hubs(out))
        return err_set(err, -ENOENT, "no data of a hub in '%s': name the folder with --data", out);
    return 0;
}
