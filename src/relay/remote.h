/*
 * remote.h: a machine without an agent, read through a shell on it: the script that runs there, and the parser of its
 * lines. Pure: the caller runs the shell over ssh, so the parser is tested and fuzzed without one.
 *
 * The script writes no file, needs no root, and starts nothing per sample except nvidia-smi, which loops. The first
 * letter of a line is its kind. Lines of the three writers are interleaved, but each line is complete.
 */
#pragma once

#include "collect/collect.h"

struct remote;
struct remote *remote_new(int64_t every_ms);
void remote_free(struct remote *r);

/*
 * For /bin/sh on the remote machine; ends when its standard input does. agent: if muster-agent is on the PATH, it is
 * started instead, and after REMOTE_AGENT comes its wire stream. When it ends, the shell's status is
 * REMOTE_AGENT_ENDED.
 */
#define REMOTE_AGENT_ENDED 97
void remote_script(const struct remote *r, bool agent, struct buf *out);
/* A new connection: keeps the known devices and processes; the lines start again. */
void remote_begin(struct remote *r, int64_t mono_ms);

enum remote_event {
    REMOTE_NONE,
    REMOTE_TICK,   /* a sample is whole: remote_read */
    REMOTE_AGAIN,  /* this driver does not know a field: end the connection and start again without it */
    REMOTE_FAILED, /* there is nothing to read: remote_error has the reason */
    REMOTE_AGENT,  /* this was the last line: the rest is an agent's stream */
};
/* Parses one line without its end. Counts and skips malformed lines. */
enum remote_event remote_line(struct remote *r, struct str line, int64_t mono_ms);
/* Call when time has passed: REMOTE_FAILED if nvidia-smi has not responded for too long. */
enum remote_event remote_wait(struct remote *r, int64_t mono_ms);
const char *remote_error(const struct remote *r); /* a message; empty if all is well */
bool remote_hung(const struct remote *r);         /* the reason is that nvidia-smi does not respond */
bool remote_bare(const struct remote *r);         /* there is no nvidia-smi: only the machine's own metrics are read */
uint64_t remote_skipped(const struct remote *r);

/*
 * Reads devices and their processes of the last complete table, and node metrics into ret->node. Returns false if there
 * is nothing yet.
 */
bool remote_read(struct remote *r, int64_t wall_ms, int64_t mono_ms, struct reading *ret);
void remote_fact(const struct remote *r, struct node_fact *ret); /* name, os, kernel, arch, cpu, cpus, boot_id */
