/* advice.c: the table of rules about how a GPU is used. */
#include "model/advice.h"

#include "base/order.h"

const struct advice_info advice_rules[ADVICE_COUNT] = {
#define ADVICE(id, name, title, remedy) [ADVICE_##id] = {name, title, remedy},
#include "model/advice.def"
};

int advice_by_name(struct str name)
{
    return WHICH(ADVICE_COUNT, i, str_eq(name, advice_rules[i].name));
}
