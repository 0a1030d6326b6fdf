/*
 * remote_script.h: the script that /bin/sh runs on the other machine, behind a line of settings (remote.c): agent,
 * ended, every, apps, lines, fields. It uses shell builtins wherever they will do; what each line it prints means is in
 * remote.c and sysfs_gpu.h.
 */
#pragma once

extern const char remote_script_text[];
