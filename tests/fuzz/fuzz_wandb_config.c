/* config.yaml of the dashboard, with keys of ours: any bytes. */
#include <assert.h>

#include "wandb_pull/config.h"
#include "wandb_pull/rule.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wandb_config *c = NULL;
    struct err err = {0};
    if (wandb_config_read(str_n(data, size), "c", &c, &err) < 0) {
        assert(!c && err.msg[0]);
        return 0;
    }
    assert(c->zone && c->people && c->rules && c->base_url && c->samples > 0 && c->in_flight > 0);
    rules_fields(c->rules);
    wandb_config_company(c, "a");
    wandb_config_free(c);
    return 0;
}
