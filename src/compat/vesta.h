/* vesta.h: what vesta's senders ask of the hub: to be registered, to take a sample in, to send a message. */
#pragma once

#include "hub/api.h"

int vesta_register(struct hub *h, struct request *rq, struct str host_name, char id[40], char name[NAME_MAX_LEN],
                   struct err *err);
/* The usual time between two posts of a sender, called for each post. The limits of silence depend on it. An outage is
 * not part of the mean: of two consecutive gaps the shorter one counts. */
struct vesta_pace;
int32_t vesta_pace_ms(struct vesta_pace *p, int64_t now_ms);
/* 0: answers later, once it is stored; -ENOENT: unknown id. */
int vesta_update(struct hub *h, struct request *rq, struct str id, struct err *err);
/* {"text", "to"}: said to somebody by the Slack bot. 0 (it answers later), -EINVAL, -ENOENT (nobody), -ENOTSUP. */
int vesta_notify(struct hub *h, struct request *rq, struct err *err);
