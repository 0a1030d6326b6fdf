/* The section `follow` of muster.yaml: any bytes. */
#include <stdlib.h>

#include "base/mem.h"
#include "follow/conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_FREE char *text = mem_strn((const char *)data, size);
    char path[] = "m.yaml";
    struct follow_conf *c = follow_conf_new();
    struct err err = {0};

    follow_conf_read(c, &(struct opt_section){.text = text, .path = path}, &err);
    follow_conf_free(c);
    return 0;
}
