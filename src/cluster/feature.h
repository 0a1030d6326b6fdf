/* feature.h: other hubs on the same PostgreSQL server; hub/others.h is what features ask. */
#pragma once

#include "hub/hub.h"

struct member;
struct member *cluster_member(struct hub *h); /* NULL: this hub is alone */
