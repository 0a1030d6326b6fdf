/* vesta_asset.S: the converter, inside the binary, so that whoever has that has both. */
    .section .rodata
    .global asset_vesta_history
    .global asset_vesta_history_end
    .balign 16
asset_vesta_history:
    .incbin "src/compat/vesta_history.py"
asset_vesta_history_end:
    .byte 0
#include "base/asm_notes.inc"
