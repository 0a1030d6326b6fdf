/* export_read.h: what the readers of the three formats share. */
#pragma once

#include "base/buf.h"
#include "format/export.h"

enum { FIELDS_MAX = 40, CSV_COLUMNS = 7, LABELS_MAX = 24, NAMES_MAX = 1 << 20 };
#define TIME_END_MS (1ll << 43)

enum shape { SHAPE_UNKNOWN, SHAPE_JSONL, SHAPE_CSV, SHAPE_OM };

struct field {
    struct str key, v;
    char type; /* 's' text, 'n' number, 'b' true or false, 'a' array of numbers, 'z' null */
    size_t column;
};

struct om_node { /* what a label node="…" means */
    char name[NAME_MAX_LEN + NODE_KEY_MAX + 2], key[NODE_KEY_MAX];
};

struct om_custom {
    char node[NODE_KEY_MAX], family[160], metric[64];
    int64_t per;
};

struct export_reader {
    enum shape shape;
    int64_t (*per)(void *arg, const char *node, const char *metric);
    void *arg;
    bool complete;
    struct buf scratch; /* text without its escapes */
    struct field f[FIELDS_MAX];
    size_t n;
    /* the record */
    char node[NODE_KEY_MAX], name[NAME_MAX_LEN + NODE_KEY_MAX + 2], device[UUID_MAX], metric[64], address[64];
    struct node_fact fact;
    struct device_fact dev;
    struct custom_fact custom;
    struct proc_span proc;
    struct node_event event;
    struct job_fact job;
    int64_t *at_ms, *v;
    size_t cap;
    /* OpenMetrics */
    struct om_node *nodes;
    size_t n_nodes, cap_nodes;
    struct om_custom *customs;
    size_t n_customs, cap_customs;
    struct buf head; /* the last sample's name and labels, and what they meant: */
    int64_t head_per;
};

struct cursor {
    struct export_reader *r;
    struct str all;
    size_t at;
    struct err *err;
};

int export_fail(struct cursor *c, size_t at, const char *what); /* -EINVAL; at is where the column will be */
static inline char peek(const struct cursor *c)
{
    return c->at < c->all.len ? c->all.p[c->at] : 0;
}
void export_room(struct export_reader *r, size_t n); /* for so many samples */
/* How many units of it make one; 0: not known. */
int64_t export_per(const struct export_reader *r, const char *node, const char *metric);
int export_sample(const struct export_reader *r, int64_t per, struct export_record *ret); /* the one at hand; 1 */
int export_unit(const char *word);                                                        /* enum unit, or -1 */

/* One line each. As export_line. */
int read_json(struct cursor *c, struct export_record *ret);
int read_csv(struct cursor *c, struct export_record *ret);
int read_om(struct cursor *c, struct export_record *ret);
/* An object of the JSON lines, also in CSV's last column. */
int export_object(struct cursor *c, struct export_record *ret);
