/* trace.c: finds the recording that trace_data.S put into the program. Not in the lean agent. */
#include "collect/trace.h"

extern const char trace_data[], trace_data_end[];

struct str trace_text(void)
{
    /* cppcheck-suppress comparePointers ; one asset, two labels */
    return str_n(trace_data, (size_t)(trace_data_end - trace_data));
}
