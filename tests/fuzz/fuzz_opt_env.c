/* An env file: any bytes; and the same text, a line an argument, as a command line. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "opt_table.h"

#define ARGS_MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int r, const struct err *err)
{
    if (r < 0 && (err->code != r || err->msg[0] == 0))
        abort();
}

static void as_arguments(struct str text)
{
    char *argv[ARGS_MAX + 2] = {(char *)"fuzz"};
    int argc = 1, argi = -1;
    struct str line;
    struct conf c;
    struct err err = {0};

    while (argc <= ARGS_MAX && str_line(&text, &line))
        argv[argc++] = mem_strn(line.p, line.len);
    AUTO_FREE char **own = mem_zero((size_t)argc, sizeof(*own));
    memcpy(own, argv, (size_t)argc * sizeof(*own));
    opt_defaults(table, &c);
    int r = opt_args(table, &c, argc, argv, &argi, &err);
    check(r, &err);
    opt_fini(table, &c);
    opt_defaults(table, &c);
    r = opt_args_mixed(table, &c, argc, argv, &argi, &err);
    check(r, &err);
    if (r == 0 && (argi < 1 || argi > argc))
        abort();
    opt_fini(table, &c);
    for (int i = 1; i < argc; i++)
        free(own[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct conf c;
    struct err err = {0};

    opt_defaults(table, &c);
    check(opt_env_text(table, &c, str_n(data, size), "fuzz", &err), &err);
    opt_fini(table, &c);
    as_arguments(str_n(data, size));
    return 0;
}
