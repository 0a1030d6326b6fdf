/* muster.yaml: any bytes. What is taken must show and read back as the same. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "opt_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_BUF one = BUF_INIT(16 << 20), two = BUF_INIT(16 << 20);
    struct conf a, b;
    struct err err = {0};

    opt_defaults(table, &a);
    opt_defaults(table, &b);
    if (opt_yaml(table, &a, str_n(data, size), "fuzz", &err) < 0) {
        if (err.code >= 0 || strncmp(err.msg, "fuzz:", 5) != 0)
            abort();
    }
    opt_clear(opt_find(table, STR("token")), &a); /* a secret is not shown, so it does not come back */
    if (err.code == 0 && opt_show(table, &a, &one) == 0 && one.len <= 1 << 20) {
        if (opt_yaml(table, &b, buf_str(&one), "show", &err) < 0 || opt_show(table, &b, &two) < 0 ||
            strcmp(one.p, two.p) != 0)
            abort();
    }
    opt_fini(table, &a);
    opt_fini(table, &b);
    return 0;
}
