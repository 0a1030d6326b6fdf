/* settings.h: settings for machines without an agent: of `muster hub`, which starts the relay, and of `muster relay`.
 */
#ifndef RELAY_SETTINGS_H
#define RELAY_SETTINGS_H

#define SETTINGS relay
#include "base/opt_def.h"

#endif
