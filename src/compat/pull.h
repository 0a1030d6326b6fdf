/*
 * pull.h: GPU Monitor's files out of the folders that its nodes show over HTTP, port 8114.
 * U1 At most at_once machines are asked at the same time, each one request after the other. U2 A file that has not
 * changed is not sent again where the server can tell. U3 A machine that does not answer is asked again after a while
 * that doubles up to a minute; the others do not notice.
 */
#pragma once

#include "compat/filehost.h"
#include "relay/list.h"

struct pull;
int pull_new(struct pull **ret, struct event_base *loop, struct filehosts *all, struct err *err);
void pull_free(struct pull *p); /* before the filehosts */
/* Whom to ask, and how: those that are new are asked at once, those that are gone are left. port: of those that name
 * none. */
void pull_set(struct pull *p, const struct target_list *l, int port, int64_t every_ms, size_t at_once);
