/* screen.h: the terminal: colours and keys. Restores the terminal however the program ends (except SIGKILL). */
#pragma once

#include "base/err.h"
#include "tui/sheet.h"

/* Opens the terminal. light: light background. Sets *ascii if the locale is not UTF-8. Returns -EINVAL (unknown TERM)
 * with a message in err. */
int screen_open(bool colour, bool light, bool *ascii, struct err *err);
void screen_close(void);
void screen_show(const struct sheet *s);
void screen_redraw(void); /* the next show redraws everything */
void screen_measure(int *ret_w, int *ret_h);
/* The next key (enum key in top.h), KEY__NONE if none. A click is KEY__CLICK with line and column. */
#define KEY__CLICK 0x120000
int screen_key(int *ret_y, int *ret_x, bool *ret_twice);
int screen_signal_fd(void); /* readable on a signal */
int screen_signal(void);    /* its number; 0: none */
