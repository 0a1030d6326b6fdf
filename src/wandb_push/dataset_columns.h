/* dataset_columns.h: the columns of a dataset by name, for reading and writing it. */
#ifndef WANDB_PUSH_DATASET_COLUMNS_H
#define WANDB_PUSH_DATASET_COLUMNS_H

#include <stdbool.h>

/* Every name that ever was; the sets of them are in dataset_write.c. */
#define DATASET_COLUMNS(X)                                                                                             \
    X(date)                                                                                                            \
    X(company_name)                                                                                                    \
    X(project)                                                                                                         \
    X(run_id)                                                                                                          \
    X(tags)                                                                                                            \
    X(created_at)                                                                                                      \
    X(updated_at)                                                                                                      \
    X(state)                                                                                                           \
    X(duration_hour)                                                                                                   \
    X(gpu_count)                                                                                                       \
    X(cpu_count)                                                                                                       \
    X(average_gpu_utilization)                                                                                         \
    X(average_gpu_memory)                                                                                              \
    X(max_gpu_utilization)                                                                                             \
    X(max_gpu_memory)                                                                                                  \
    X(host_name)                                                                                                       \
    X(logged_at)                                                                                                       \
    X(run_exists)                                                                                                      \
    X(assigned_gpu_node)                                                                                               \
    X(testmode)

enum dataset_column {
#define X(name) C_##name,
    DATASET_COLUMNS(X)
#undef X
        C_COUNT
};
extern const char *const dataset_column_words[C_COUNT];

/* Without these a table is no dataset. */
static inline bool dataset_column_needed(int c)
{
    return c == C_date || c == C_company_name || c == C_project || c == C_run_id || c == C_duration_hour;
}

#endif
