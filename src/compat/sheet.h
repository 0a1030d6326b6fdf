/*
 * sheet.h: one host's rows of Web-GPU-Monitor's load_data.csv: which commands to run there, what their lines mean, and
 * the rows, to the byte as the old script wrote them. Pure.
 */
#pragma once

#include "base/str.h"

struct buf;

#define SHEET_HEADER ",load,load_mem,gpu_idx,gpu_name,gpu_uuid,hostname,username\n"
#define SHEET_UNREAD ".unread" /* behind load_data.csv's name: hosts that have no rows, "hostname,reason" each */
#define SHEET_ROWS   256
#define SHEET_APPS   4096

struct sheet;
struct sheet *sheet_new(void);
void sheet_free(struct sheet *s);
const char *sheet_script(void); /* for /bin/sh on the far side */
void sheet_line(struct sheet *s, struct str line);
bool sheet_ended(const struct sheet *s);         /* nothing more will come: the connection can be ended */
bool sheet_whole(const struct sheet *s);         /* everything was said */
const char *sheet_reason(const struct sheet *s); /* why there are no rows; empty: there are, or nothing was said */
void sheet_rows(const struct sheet *s, const char *host, struct buf *out);
