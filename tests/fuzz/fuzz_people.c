/* Everything that says who is who (sections, files, groups): the first byte says which of these the rest is. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "people/people_build.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > 1 << 16)
        return 0;
    AUTO_FREE char *text = mem_strn((const char *)data + 1, size - 1);
    struct opt_section section = {text, (char *)"fuzz", 0};
    struct unix_groups groups = {0};
    char *patterns[] = {(char *)"*"};
    struct opt_list all = {patterns, 1};
    struct people_src src = {.groups = &groups, .unix_groups = &all};
    struct people *c = NULL;
    struct err err = {0};
    const char *names[4];
    size_t n;

    switch (data[0]) {
    case 'p':
        src.people = &section;
        break;
    case 't':
        src.teams = &section;
        break;
    case 'c':
        src.companies = &section;
        break;
    case 'a':
        src.aliases = str_of(text);
        src.aliases_path = "fuzz";
        break;
    case 'w':
        src.wandb = str_of(text);
        src.wandb_path = "fuzz";
        break;
    default:
        unix_groups_add(&groups, str_of(text), NULL);
        unix_groups_primary(&groups, str_of(text));
        break;
    }
    if (people_new(&src, &c, &err) < 0) {
        if (strncmp(err.msg, "fuzz", 4) != 0)
            abort();
    } else {
        people_person(c, "dgx1", "kim", 7);
        const struct person *p = people_persons(c, &n);
        for (size_t i = 0; i < n; i++)
            for (int kind = 0; kind < GROUP_KINDS; kind++)
                people_groups(c, (enum group_kind)kind, p[i].name, 1, names, 4);
        people_company_of_node(c, "dgx1", 1);
        people_next_change(c, 0);
        people_unref(c);
    }
    unix_groups_fini(&groups);
    return 0;
}
