/* Any bytes as W&B's answer: data or one sentence, and never both. */
#include <stdlib.h>

#include "base/mem.h"
#include "wandb_pull/web_answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static const int statuses[] = {200, 400, 401, 429, 500};

    for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
        json_t *data = NULL;
        struct err err = {0};
        int r = wandb_answer_data("Ask", statuses[i], str_n(p, n), &data, &err);
        if ((r == 0) != (data != NULL) || (r == 0) != (err.msg[0] == 0) || r > 0)
            abort();
        json_decref(data);
    }
    return 0;
}
