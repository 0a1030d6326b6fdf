/*
 * remote.h: a machine without an agent, read through a shell on it: the script that is sent there, and what its lines
 * mean. Pure: the shell is somebody else's business (ssh), so the parser is tested and fuzzed without one.
 *
 * The script writes no file, needs no root, and starts nothing per sample but nvidia-smi, which loops by itself. Each
 * line begins with a letter that says what it is; lines of the three writers come in any order, each whole.
 */
#pragma once

#include "collect/collect.h"

struct remote;
struct remote *remote_new(int64_t every_ms);
void remote_free(struct remote *r);

/* For /bin/sh on the far side; ends when its standard input does. agent: where muster-agent is on the PATH it is
 * started instead of all else, and what follows REMOTE_AGENT is its wire stream; when it ends the shell's status is
 * REMOTE_AGENT_ENDED. */
#define REMOTE_AGENT_ENDED 97
void remote_script(const struct remote *r, bool agent, struct buf *out);
/* A new connection: what was known of devices and processes stays, what comes next begins anew. */
void remote_begin(struct remote *r, int64_t mono_ms);

enum remote_news {
    REMOTE_NONE,
    REMOTE_TICK,   /* a sample is whole: remote_read */
    REMOTE_AGAIN,  /* this driver does not know a field: end the connection and begin again without it */
    REMOTE_FAILED, /* there is nothing to read: remote_why says what it said */
    REMOTE_AGENT,  /* the line was the last one: what comes now is an agent's */
};
/* One line without its end. What makes no sense is counted and passed over. */
enum remote_news remote_line(struct remote *r, struct str line, int64_t mono_ms);
/* Time passed: REMOTE_FAILED when nvidia-smi has not answered for too long. */
enum remote_news remote_wait(struct remote *r, int64_t mono_ms);
const char *remote_why(const struct remote *r); /* in words; empty: nothing is wrong */
bool remote_hung(const struct remote *r);       /* what is wrong is that nvidia-smi does not answer */
bool remote_bare(const struct remote *r);       /* there is no nvidia-smi: the machine tells of itself alone */
uint64_t remote_skipped(const struct remote *r);

/* The devices and who is on them, as of the last whole table; node metrics into ret->node. False: nothing yet. */
bool remote_read(struct remote *r, int64_t wall_ms, int64_t mono_ms, struct reading *ret);
void remote_fact(const struct remote *r, struct node_fact *ret); /* name, os, kernel, arch, cpu, cpus, boot_id */
