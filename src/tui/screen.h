/* screen.h: the terminal: colours, keys, and that it is as before whatever ends the program (but SIGKILL). */
#pragma once

#include "base/err.h"
#include "tui/sheet.h"

/* On a terminal. light: a light background. *ascii becomes true where the locale is not UTF-8. -EINVAL (TERM is not
 * known) with a sentence. */
int screen_open(bool colour, bool light, bool *ascii, struct err *err);
void screen_close(void);
void screen_show(const struct sheet *s);
void screen_redraw(void); /* everything anew at the next show */
void screen_measure(int *ret_w, int *ret_h);
/* The next key as top.h has it, KEY__NONE when there is none. A click: KEY__CLICK with its line and column. */
#define KEY__CLICK 0x120000
int screen_key(int *ret_y, int *ret_x, bool *ret_twice);
int screen_signal_fd(void); /* readable when a signal came */
int screen_signal(void);    /* its number; 0: none */
