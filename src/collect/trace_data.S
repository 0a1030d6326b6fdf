/* The recorded H200 trace, inside the binary: the demo and libmuster need no file. */
        .section .rodata
        .global muster_trace_start
        .global muster_trace_end
        .balign 8
muster_trace_start:
        .incbin "data/h200-trace.csv"
muster_trace_end:
        .section .note.GNU-stack, "", %progbits
