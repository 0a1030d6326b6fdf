/* What sources of names say: any bytes, through each reader. A list that came must settle, and hold what it promises.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "relay/consul.h"
#include "relay/found.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
    if (!ok)
        abort();
}

static void held(struct found_list *l, int r)
{
    check(l->n <= FOUND_MAX && (r == 0 || r == -EBADMSG));
    check(r < 0 || !l->full);
    found_list_settle(l);
    for (size_t i = 0; i < l->n; i++) {
        const struct found *f = &l->v[i];
        check(f->name[0] && f->name[0] != '-' && f->address[0] && f->address[0] != '-');
        check(f->port >= 0 && f->port < 65536);
        check(i == 0 || strcmp(l->v[i - 1].name, f->name) < 0);
        struct str rest = str_of(f->labels ? f->labels : ""), name, value;
        size_t labels = 0;
        for (; labels_next(&rest, &name, &value); labels++)
            check(label_name_ok(name) && label_value_ok(value));
        check(labels <= LABELS_MAX);
    }
    check(found_list_same(l, l));
    found_list_fini(l);
}

static void nothing(void *arg, struct str path)
{
    (void)arg, (void)path;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int (*const readers[])(struct found_list *, struct str, struct err *) = {found_consul, found_sd_json,
                                                                                    found_sd_yaml, found_sinfo};
    struct str text = str_n(data, size);
    for (size_t i = 0; i < ARRAY_LEN(readers); i++) {
        struct found_list l = {0};
        struct err err = {0};
        int r = readers[i](&l, text, &err);
        check((r < 0) == (err.msg[0] != 0));
        held(&l, r);
    }
    struct found_list l = {0};
    struct err err = {0};
    held(&l, found_srv(&l, data, size, &err));
    found_ssh_config(&l, text, nothing, NULL);
    l.full = false;
    held(&l, 0);
    AUTO_BUF uri = BUF_INIT(1024);
    check(consul_old_conf(text, &uri, &err) <= 0);
    return 0;
}
