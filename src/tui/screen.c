/* screen.c: all calls to ncurses. */
#include "tui/screen.h"

#include "base/clock.h"
#include "base/mem.h"
#include "tui/top.h" /* before term.h, which defines words such as `columns` */

#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

/* By style: 16 colours of the terminal, then 256 and true colours for a dark and a light background. */
static const struct {
    short ansi, dark256, light256;
    int dark, light;
} colours[STYLES] = {
    [DEV_FREE] = {COLOR_GREEN, 72, 29, 0x3fb97c, 0x187a48},
    [DEV_HELD] = {COLOR_YELLOW, 179, 94, 0xe3b341, 0x8a5c00},
    [DEV_BUSY] = {COLOR_CYAN, 111, 26, 0x7aa7f0, 0x2f5fb3}, /* the blue of 8 colours is hardly visible on black */
    [DEV_UNKNOWN] = {-1, 245, 242, 0x8b949e, 0x5f6871},
    [DEV_STARTING] = {-1, 245, 242, 0x8b949e, 0x5f6871},
    [DEV_STALE] = {-1, 245, 242, 0x8b949e, 0x5f6871},
    [DEV_HUNG] = {COLOR_MAGENTA, 219, 90, 0xf2a6e8, 0x8b1a89},
    [DEV_LOST] = {COLOR_MAGENTA, 219, 90, 0xf2a6e8, 0x8b1a89},
    [STYLE_PLAIN] = {-1, -1, -1, -1, -1},
    [STYLE_METER] = {COLOR_CYAN, 74, 25, 0x5fafd7, 0x005faf},
    [STYLE_LOW] = {COLOR_GREEN, 72, 29, 0x3fb97c, 0x187a48},  /* same as free: there is room */
    [STYLE_HIGH] = {COLOR_BLUE, 111, 26, 0x7aa7f0, 0x2f5fb3}, /* same as busy */
    [STYLE_WARN] = {COLOR_YELLOW, 179, 94, 0xe3b341, 0x8a5c00},
    [STYLE_HOT] = {COLOR_RED, 203, 124, 0xf8766d, 0xad0f2c},
    [STYLE_TITLE] = {COLOR_CYAN, 74, 25, 0x5fafd7, 0x005faf},
};

static struct {
    bool open, colour;
    bool grounds; /* enough colours for a background behind the selection that keeps the text's colour */
    struct termios before;
    char restore[512]; /* written by a signal handler */
    size_t restore_len;
    int pipe[2];
} me = {.pipe = {-1, -1}};

/* ---- signals ---- */

static const int wanted[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGWINCH};
static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

static void on_signal(int no)
{
    int keep = errno;
    char c = (char)no;

    if (write(me.pipe[1], &c, 1) < 0) {
        /* full: the loop has enough to read */
    }
    errno = keep;
}

/* Only async-signal-safe calls: write and tcsetattr. After it returns, the signal is raised again with the default
 * action. */
static void on_crash(int no)
{
    (void)no;
    if (me.open) {
        if (write(STDOUT_FILENO, me.restore, me.restore_len) < 0) {
            /* ignore the error */
        }
        tcsetattr(STDIN_FILENO, TCSANOW, &me.before);
    }
    raise(no);
}

static void handlers(bool on)
{
    static char stack[65536];
    struct sigaction a = {.sa_handler = on ? on_signal : SIG_DFL, .sa_flags = SA_RESTART};

    sigemptyset(&a.sa_mask);
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
        sigaction(wanted[i], &a, NULL);
    if (on)
        sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof(stack)}, NULL);
    a.sa_handler = on ? on_crash : SIG_DFL;
    a.sa_flags = (int)(SA_RESETHAND | SA_ONSTACK);
    for (size_t i = 0; i < ARRAY_LEN(crashes); i++)
        sigaction(crashes[i], &a, NULL);
}

static void keep_cap(const char *name)
{
    char cap[8];

    mem_copy_str(cap, sizeof(cap), name);
    const char *s = tigetstr(cap);
    if (!s || s == (const char *)-1)
        return;
    size_t n = strlen(s);
    if (me.restore_len + n < sizeof(me.restore)) {
        memcpy(me.restore + me.restore_len, s, n);
        me.restore_len += n;
    }
}

int screen_signal_fd(void)
{
    return me.pipe[0];
}

int screen_signal(void)
{
    char c;

    return read(me.pipe[0], &c, 1) == 1 ? c : 0;
}

/* ---- open and close ---- */

static void set_colours(bool light)
{
    start_color();
    if (use_default_colors() == ERR)
        assume_default_colors(light ? COLOR_BLACK : COLOR_WHITE, light ? COLOR_WHITE : COLOR_BLACK);
    for (int i = 0; i < STYLES; i++) {
        int c = COLORS >= 0x1000000 ? (light ? colours[i].light : colours[i].dark)
                : COLORS >= 256     ? (light ? colours[i].light256 : colours[i].dark256)
                                    : colours[i].ansi;
        if ((i == DEV_UNKNOWN || i == DEV_STARTING || i == DEV_STALE) && COLORS >= 16 && COLORS < 256)
            c = 8; /* bright black: grey */
        init_extended_pair(i + 1, c, -1);
        if (COLORS >= 0x1000000)
            init_extended_pair(STYLES + i + 1, c, light ? 0xdde4ec : 0x2d3640);
        else if (COLORS >= 256)
            init_extended_pair(STYLES + i + 1, c, light ? 254 : 237);
    }
    me.grounds = COLORS >= 256 && COLOR_PAIRS > 2 * STYLES;
}

int screen_open(bool colour, bool light, bool *ascii, struct err *err)
{
    setlocale(LC_CTYPE, "");
    if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
        *ascii = true;
    tcgetattr(STDIN_FILENO, &me.before);
    if (pipe2(me.pipe, O_CLOEXEC | O_NONBLOCK) < 0)
        return err_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
    const char *term = getenv("TERM");
    if (!newterm(NULL, stdout, stdin))
        return err_set(err, -EINVAL, "unknown terminal type '%s' (TERM)", term ? term : "");
    static const char *const caps[] = {"rmkx", "sgr0", "cnorm", "rmcup"};
    static const char mouse_off[] = "\033[?1000l\033[?1002l\033[?1006l";
    memcpy(me.restore, mouse_off, sizeof(mouse_off) - 1);
    me.restore_len = sizeof(mouse_off) - 1;
    for (size_t i = 0; i < ARRAY_LEN(caps); i++)
        keep_cap(caps[i]);
    me.open = true;
    cbreak();
    noecho();
    nonl();
    curs_set(0);
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    set_escdelay(25);
    mouseinterval(0);
    /* Releases are unused, but ncurses waits for events that are masked out, and the screen would freeze. */
    mousemask(BUTTON1_PRESSED | BUTTON1_RELEASED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
    me.colour = colour && has_colors();
    if (me.colour)
        set_colours(light);
    handlers(true);
    return 0;
}

void screen_close(void)
{
    if (me.open) {
        endwin();
        tcsetattr(STDIN_FILENO, TCSANOW, &me.before);
        me.open = false;
        handlers(false);
    }
    for (int i = 0; i < 2; i++)
        if (me.pipe[i] >= 0)
            close(me.pipe[i]);
    me.pipe[0] = me.pipe[1] = -1;
}

void screen_measure(int *ret_w, int *ret_h)
{
    struct winsize ws;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) == 0 && ws.ws_col && ws.ws_row &&
        (ws.ws_col != COLS || ws.ws_row != LINES))
        resizeterm(ws.ws_row, ws.ws_col);
    *ret_w = COLS;
    *ret_h = LINES;
}

void screen_redraw(void)
{
    clearok(curscr, TRUE);
}

static attr_t attr_of(uint8_t style)
{
    attr_t bold = style & STYLE_BOLD ? A_BOLD : 0;

    return bold | (style & STYLE_PICK && !me.grounds ? A_REVERSE : style & STYLE_DIM ? A_DIM : 0);
}

void screen_show(const struct sheet *s)
{
    AUTO_FREE cchar_t *line = mem_zero((size_t)s->w + 1, sizeof(*line));

    for (int y = 0; y < s->h; y++) {
        int n = 0;
        for (int x = 0; x < s->w; x++) {
            const struct glyph *g = &s->v[y * s->w + x];
            wchar_t text[2] = {(wchar_t)g->c, 0};
            int style = (g->style & 0x1f) + (me.grounds && g->style & STYLE_PICK ? STYLES : 0);
            if (g->c == 0)
                continue;
            setcchar(&line[n++], text, attr_of(g->style), me.colour ? (short)(style + 1) : 0, NULL);
        }
        mvadd_wchnstr(y, 0, line, n);
    }
    refresh();
}

/* ---- keys ---- */

/* ncurses would wait for a second click before it reports the first. */
static bool clicked_twice(int y, int x)
{
    enum { TWICE_MS = 400 };
    static int64_t at_ms;
    static int last_y = -1, last_x = -1;
    int64_t now = clock_mono_ms();
    bool twice = now - at_ms < TWICE_MS && y == last_y && abs(x - last_x) < 2;

    at_ms = twice ? 0 : now; /* a third click starts again */
    last_y = y;
    last_x = x;
    return twice;
}

/* All pending events, newest first as in ncurses: a press and its release, or turns of the wheel. */
static int mouse_key(int *ret_y, int *ret_x, bool *ret_twice)
{
    MEVENT m;
    int key = TOP_NOTHING;

    while (getmouse(&m) == OK) {
        if (m.bstate & BUTTON4_PRESSED)
            key = TOP_UP;
        else if (m.bstate & BUTTON5_PRESSED)
            key = TOP_DOWN;
        if (!(m.bstate & BUTTON1_PRESSED))
            continue;
        *ret_y = m.y;
        *ret_x = m.x;
        *ret_twice = clicked_twice(m.y, m.x);
        key = KEY__CLICK;
    }
    return key;
}

int screen_key(int *ret_y, int *ret_x, bool *ret_twice)
{
    static const struct {
        wint_t from;
        int to;
    } named[] = {{KEY_UP, TOP_UP},         {KEY_DOWN, TOP_DOWN},
                 {KEY_LEFT, TOP_LEFT},     {KEY_RIGHT, TOP_RIGHT},
                 {KEY_PPAGE, TOP_PAGE_UP}, {KEY_NPAGE, TOP_PAGE_DOWN},
                 {KEY_HOME, TOP_HOME},     {KEY_END, TOP_END},
                 {KEY_ENTER, TOP_ENTER},   {KEY_BACKSPACE, TOP_BACKSPACE},
                 {KEY_RESIZE, TOP_REDRAW}};
    wint_t c;
    int r = get_wch(&c);

    if (r == ERR)
        return KEY__NONE;
    if (r == KEY_CODE_YES) {
        if (c == KEY_MOUSE)
            return mouse_key(ret_y, ret_x, ret_twice);
        for (size_t i = 0; i < ARRAY_LEN(named); i++)
            if (c == named[i].from)
                return named[i].to;
        return TOP_REDRAW;
    }
    return c == '\r' || c == '\n' ? TOP_ENTER
           : c == 27              ? TOP_ESC
           : c == 127 || c == 8   ? TOP_BACKSPACE
           : c == 12              ? TOP_REDRAW
                                  : (int)c;
}
