/* localshow.c: what local_snapshot gives, a line per thing, for integration tests. Its own collector, as `muster` is.
 */
#include <stdio.h>
#include <string.h>

#include "agent/local.h"
#include "cli/cmd.h"

static void show_hello(void *arg, const struct hello *h)
{
    (void)arg;
    printf("hello %s %s %s\n", h->name, collect_words[h->collect], h->why);
}

static void show_facts(void *arg, uint64_t id, const struct node_fact *f)
{
    (void)arg;
    printf("facts %d devices %zu\n", id != 0, f->n_devices);
}

static void show_procs(void *arg, uint64_t id, const struct proc_list *l)
{
    (void)arg;
    printf("procs %d processes %zu\n", id != 0, l->n);
}

static void show_batch(void *arg, const struct batch *b)
{
    (void)arg;
    printf("batch %llu ticks %zu columns %zu uses %zu\n", (unsigned long long)b->key.number, b->n_ticks, b->n_columns,
           b->n_uses);
}

int main(int argc, char **argv)
{
    const struct local_sink sink = {NULL, show_hello, show_facts, show_procs, show_batch};
    struct agent_conf conf = {0};
    struct err err = {0};
    int argi;

    if (argc > 1 && strcmp(argv[1], "agent") == 0)
        return cmd_agent(argc - 1, argv + 1);
    if (conf_load(&conf, argc, argv, &argi, &err) != 0) {
        fprintf(stderr, "localshow: %s\n", err.msg);
        return 2;
    }
    int r = local_snapshot(&conf, 3000, &sink, &err);
    printf("result %d %s\n", r, err.msg);
    conf_fini(&conf);
    return 0;
}
