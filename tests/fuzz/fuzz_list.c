/* Lists of machines and the old config.ini: any bytes. What is taken can be a node's name. */
#include <stdlib.h>

#include "relay/list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
    if (!ok)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = str_n(data, size);
    struct target_list l = {0};
    struct ini ini = {0};
    struct err err = {0};

    if (ini_parse(text, &ini, &err) == 0)
        text = str_of(ini.hosts);
    target_list_add(&l, text, ini.user, &err);
    check(l.n <= TARGETS_MAX);
    for (size_t i = 0; i < l.n; i++) {
        check(name_ok(str_of(l.v[i].name), ORIGIN_NAME_MAX) && l.v[i].host[0]);
        check(l.v[i].port >= 0 && l.v[i].port <= 65535);
    }
    target_list_fini(&l);
    ini_fini(&ini);
    return 0;
}
