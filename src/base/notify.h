/*
 * notify.h: notifies the supervisor that the program is ready, reloads or ends (systemd's sd_notify protocol). Without
 * a supervisor nothing happens.
 */
#pragma once

#include <stdint.h>

void notify(const char *state);   /* "READY=1", "STOPPING=1", "WATCHDOG=1", "RELOADING=1\nMONOTONIC_USEC=…" */
int64_t notify_watchdog_ms(void); /* interval for "WATCHDOG=1", half of the requested one; 0: none */
