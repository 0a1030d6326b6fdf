/*
 * smi.h: what nvidia-smi prints as CSV, from any driver and with any columns: they are found by their names, in any
 * order, with or without units. Pure: also for text that came from another machine. Whatever is no number ([N/A],
 * [Not Supported], ERR!, ...) is absent.
 */
#pragma once

#include "collect/collect.h"

#define SMI_COLUMNS_MAX 128

/* The columns we know. nvidia-smi is asked for the first SMI_ASKED of them. */
#define SMI_ASKED 36
extern const struct smi_name {
    const char *name;
    int16_t what; /* see smi.c */
} smi_names[];

/* The columns of one table, as its header line names them. */
struct smi_table {
    size_t n;
    struct smi_column {
        int16_t what; /* see smi.c */
        char unit[8]; /* of the header, empty when it names none */
    } columns[SMI_COLUMNS_MAX];
};
/* 0, or -EINVAL when none of it is a column we know. */
int smi_header(struct smi_table *ret, struct str line);
/* One GPU's row. ret is as of reading_add; *ret_count is how many GPUs there are, when a column says so. 0, -EINVAL. */
int smi_row(const struct smi_table *t, struct str line, struct device_reading *ret, int64_t *ret_count,
            char driver[32]);

struct smi_app { /* one row of --query-compute-apps */
    char uuid[UUID_MAX], pci[20], name[64];
    int32_t pid;
    int64_t mem; /* -1 unknown */
};
int smi_app(const struct smi_table *t, struct str line, struct smi_app *ret); /* 0, -EINVAL */

/* The words nvidia-smi fails with: -ENODEV, or 0 when it is none of them. */
int smi_failure(struct str line);
/* A field its version does not know: 'Field "x" is not a valid field to query.' -> x. */
bool smi_unknown_field(struct str line, struct str *ret);

/* "27 %", "5169 MiB", "0x4", "P0", "16x", "Yes" as a value of m. unit: what the header says, used when the text names
 * none. False: absent. */
bool smi_value(struct str text, struct str unit, enum metric m, int64_t *ret);
/* Words that tell more than that a value is absent: the GPU is lost, needs a reset, may not be asked. */
void smi_remark(struct str text, struct device_fact *fact);
