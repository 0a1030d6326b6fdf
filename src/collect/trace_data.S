/* The recorded H200 trace, inside the binary: the demo and libmuster need no file. */
        .section .rodata
        .global trace_data
        .global trace_data_end
        .balign 8
trace_data:
        .incbin "data/h200-trace.csv"
trace_data_end:
#include "base/asm_notes.inc"
