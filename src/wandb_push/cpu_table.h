/*
 * cpu_table.h: CPU hours of a company by the week, for companies that are lent CPUs as well (`cpu_tables:` of the
 * config). The old tool had these tables for one company.
 */
#pragma once

#include "wandb_push/tables.h"

/*
 * company_weekly_cpu_usage and company_weekly_cpu_usage_within_4weeks into ret[2]: a row for each week of `weekly` that
 * is of this company, newest first. Hours are at most those of `cpus` CPUs for a week.
 */
int cpu_tables_make(const struct tables_params *ask, const struct company *co, int32_t cpus,
                    const struct report *weekly, struct table ret[2], struct err *err);
