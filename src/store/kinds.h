/* kinds.h: the kinds of records in muster.db. */
#pragma once

#include "model/record.h"
#include "store/records.h"

union any_record { /* room for one */
    struct store_node node;
    struct proc_span proc;
    struct store_event event;
    struct job_fact job;
    struct booking booking;
    struct note note;
    struct store_token token;
    struct store_setting setting;
    struct usage_mark mark;
};
extern const struct record_kind *const main_records[]; /* by enum store_kind; NULL at the end */
