/*
 * amd_json.h: reads the --json output of AMD's tools: rocm-smi of any version, and amd-smi's metric, static and list.
 * Pure: also for text of another machine. Values that are not numbers ("N/A") are absent.
 */
#pragma once

#include "collect/collect.h"

#define AMD_JSON_MAX (1u << 20) /* of text */

/*
 * Puts the GPUs of text into ret: into the device of the same index if it exists, else into a new one, so that several
 * texts add up. Skips text before the JSON. A device without a unique id gets no uuid. Returns 0, or -EINVAL with a
 * reason.
 */
int amd_json(struct str text, struct reading *ret, struct err *err);
