/* settings.h: settings for machines without an agent: of `muster hub`, which starts the relay, and of `muster relay`.
 */
#pragma once

#define SETTINGS relay
#include "base/opt_def.h"
