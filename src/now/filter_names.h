/* filter_names.h: all names of the filter language: fields, words, metrics. */
#pragma once

#include "now/filter_prog.h"

/* How a value is parsed; from TAKE_STATE on it is text. */
enum take { TAKE_UNIT, TAKE_COUNT, TAKE_SPAN, TAKE_STATE, TAKE_THROTTLE, TAKE_ADVICE, TAKE_NAME, TAKE_PART };

struct filter_field {
    const char *name, *alias;
    enum take take;
    enum get get;
    size_t which;
};

struct filter_word {
    const char *name;
    enum get get;
    int64_t bits;
};

const struct filter_word *filter_word(struct str name); /* NULL if not found */
/* A field of the table, or a metric as a field, written to scratch. */
const struct filter_field *filter_field(struct str name, struct filter_field *scratch);
const char *filter_near(struct str name); /* a similar name, for suggestions; NULL if none */
