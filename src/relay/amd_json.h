/*
 * amd_json.h: what AMD's tools print with --json: rocm-smi of any version, and amd-smi's metric, static and list. Pure:
 * also for text that came from another machine. Whatever is no number ("N/A") is absent.
 */
#pragma once

#include "collect/collect.h"

#define AMD_JSON_MAX (1u << 20) /* of text */

/*
 * Put what text says of GPUs into ret: into the device of the same index where there is one already, else into a new
 * one, so that several texts add up. Words before the JSON are passed over. A device whose unique id is not told has no
 * uuid. 0, or -EINVAL with a reason.
 */
int amd_json(struct str text, struct reading *ret, struct err *err);
