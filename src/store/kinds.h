/* kinds.h: the kinds of records in muster.db. */
#ifndef STORE_KINDS_H
#define STORE_KINDS_H

#include "model/event.h"
#include "model/record.h"
#include "store/store.h"

struct store_event { /* what happened, and to whom */
    const char *node, *device;
    struct node_event event;
};

extern const struct record_kind node_record, proc_record, event_record, token_record;
extern const struct record_kind *const main_records[]; /* all of them; NULL at the end */

#endif
