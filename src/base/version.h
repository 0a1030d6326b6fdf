/*
 * version.h: the version of this build, and the versions that other builds report.
 *
 * The text is VERSION+COMMIT and one format: "0.1.0+13362185 format 9" of a hub, "0.1.0+13362185 wire 1" of an agent.
 * Builds before this text existed send "0.1.0". An unknown commit is omitted.
 */
#pragma once

#include <stdbool.h>

#define MUSTER_FORMAT 9 /* of muster.db, and of the tables on PostgreSQL */
#define MUSTER_WIRE   1 /* of what agents send */

extern const char muster_commit[];      /* 8 hex digits; "-dirty" follows if files were changed; "": unknown */
extern const char muster_build[];       /* "0.1.0+13362185" */
extern const char muster_hub_build[];   /* "0.1.0+13362185 format 9" */
extern const char muster_agent_build[]; /* "0.1.0+13362185 wire 1" */

struct build {
    char version[16], commit[24]; /* commit "": unknown */
    int format;                   /* or wire; 0: unknown */
};
/* False: the text names no build of muster, as "vesta" does. */
bool build_parse(const char *text, struct build *ret);
/* The version, the format or two known commits differ. */
bool build_differs(const struct build *a, const struct build *b);
