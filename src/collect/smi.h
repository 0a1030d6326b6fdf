/*
 * smi.h: parses the CSV of nvidia-smi, of any driver and with any columns. They are found by name, in any order, with
 * or without units. Pure: also for text of another machine. Values that are not numbers ([N/A], [Not Supported], ERR!,
 * ...) are absent.
 */
#pragma once

#include "collect/collect.h"

#define SMI_COLUMNS_MAX 128

/* The known columns. muster requests the first SMI_ASKED of them from nvidia-smi. */
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
        char unit[8]; /* from the header; empty if it has none */
    } columns[SMI_COLUMNS_MAX];
};
/* Returns 0, or -EINVAL if none of the columns is known. */
int smi_header(struct smi_table *ret, struct str line);
/*
 * Parses the row of one GPU. ret is as after reading_add; sets *ret_count to the number of GPUs if a column has it.
 * Returns 0 or -EINVAL.
 */
int smi_row(const struct smi_table *t, struct str line, struct device_reading *ret, int64_t *ret_count,
            char driver[32]);

struct smi_app { /* one row of --query-compute-apps */
    char uuid[UUID_MAX], pci[20], name[64];
    int32_t pid;
    int64_t mem; /* -1 unknown */
};
int smi_app(const struct smi_table *t, struct str line, struct smi_app *ret); /* 0, -EINVAL */

/* Returns -ENODEV if the line is a failure message of nvidia-smi, else 0. */
int smi_failure(struct str line);
/* A field its version does not know: 'Field "x" is not a valid field to query.' -> x. */
bool smi_unknown_field(struct str line, struct str *ret);

/*
 * Parses "27 %", "5169 MiB", "0x4", "P0", "16x", "Yes" as a value of m. unit is that of the header, used if the text
 * has none. Returns false if the value is absent.
 */
bool smi_value(struct str text, struct str unit, enum metric m, int64_t *ret);
/* Sets facts from texts that mean more than an absent value: the GPU is lost, needs a reset, or denies access. */
void smi_remark(struct str text, struct device_fact *fact);
