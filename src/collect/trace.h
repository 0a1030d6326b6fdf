/* trace.h: a recording of an H200 at work that is part of the program: for the demo, and for trying things out. */
#pragma once

#include "base/str.h"

struct str trace_text(void); /* as replay_load reads it; lives as long as the program */
