/* assets.S: files embedded in the binary. */
    .section .rodata
    .global asset_install
    .global asset_install_end
    .balign 16
asset_install:
    .incbin "src/nodes/install.sh"
asset_install_end:
    .byte 0
    .global asset_agent_unit
    .global asset_agent_unit_end
    .balign 16
asset_agent_unit:
    .incbin "packaging/systemd/muster-agent.service"
asset_agent_unit_end:
    .byte 0
#include "base/asm_notes.inc"
