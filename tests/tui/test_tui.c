/* The screen of `muster top` without a terminal: sheets, plots, keys over a small cluster; and the stream's events. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <errno.h>

#include "model/work.h"
#include "stream/sse.h"
#include "tui/top.h"
#include "view_fixture.h"

/* Its lines, without blanks at their ends. */
static void sheet_text(const struct sheet *s, struct buf *out)
{
    for (int y = 0; y < s->h; y++) {
        size_t end = out->len;
        for (int x = 0; x < s->w; x++) {
            uint32_t c = s->v[y * s->w + x].c;
            if (c == 0)
                continue;
            buf_addutf8(out, c);
            if (c != ' ')
                end = out->len;
        }
        buf_cut(out, end);
        buf_addc(out, '\n');
    }
}

static void text_is_clipped_to_its_column(void **unused)
{
    static const struct {
        const char *text;
        int x, width;
        const char *want;
    } cases[] = {{"abc", 0, 5, "abc"},     {"abcdef", 0, 4, "abc…"}, {"abcdef", 0, 0, ""},
                 {"é日本", 0, 5, "é日本"}, {"é日本", 0, 4, "é日…"},  {"abcdef", 8, 9, "        a…"},
                 {"abc", 10, 3, ""},       {"\xff!", 0, 5, "�!"},    {"a\u202e\033b", 0, 5, "a��b"}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct sheet s = {0};
        AUTO_BUF out = BUF_INIT(4096);
        print_message("'%s'\n", cases[i].text);
        sheet_size(&s, 10, 1);
        sheet_put(&s, 0, cases[i].x, cases[i].width, STYLE_PLAIN, cases[i].text);
        sheet_text(&s, &out);
        buf_cut(&out, out.len - 1);
        assert_string_equal(out.p ? out.p : "", cases[i].want);
        sheet_fini(&s);
    }
}

static void meters_and_plots_are_exact(void **unused)
{
    static const uint8_t v[] = {0, 50, 100, 255, 100, 100};
    struct sheet s = {0};
    AUTO_BUF out = BUF_INIT(4096);

    (void)unused;
    sheet_size(&s, 8, 5);
    sheet_meter(&s, 0, 0, 4, 5000, STYLE_METER);
    sheet_meter(&s, 1, 0, 4, 1, STYLE_METER); /* a little is not nothing */
    sheet_meter(&s, 2, 0, 4, -1, STYLE_METER);
    sheet_plot(&s, 3, 0, 4, 1, v, sizeof(v), STYLE_METER);
    s.ascii = true;
    sheet_plot(&s, 4, 0, 8, 1, v, sizeof(v), STYLE_METER);
    sheet_text(&s, &out);
    assert_string_equal(out.p, "██░░\n█░░░\n░░░░\n ⣠⡇⣿\n  _=@ @@\n");
    sheet_fini(&s);
}

static void lanes_show_who_was_there_and_what_it_did(void **unused)
{
    struct lanes_query ask = {.from_ms = 1000000, .step_ms = 1000, .bins = 12, .n = 2, .devices = {"GPU-a", "GPU-b"}};
    struct lanes *l = lanes_new(&ask);
    struct sheet s = {0};
    AUTO_BUF out = BUF_INIT(4096);

    (void)unused;
    for (size_t i = 0; i < 12; i++)
        l->rows[0].util[i] = i == 11 ? LANE_UNKNOWN : (uint8_t)(i * 10);
    memset(l->rows[1].util, 0, 12);
    lanes_held(l, "GPU-a", "kim", 0, 1005999); /* began before it */
    lanes_held(l, "GPU-a", "lee", 1008000, 1009500);
    lanes_held(l, "GPU-b", "christine", 1003000, 9999999); /* and goes on */
    lanes_held(l, "GPU-b", "nobody", 0, 999999);           /* before */
    lanes_held(l, "GPU-b", "nobody", 1012000, 1013000);    /* after */
    lanes_held(l, "GPU-c", "nobody", 1000000, 1009000);    /* elsewhere */
    lanes_held(l, "GPU-b", "nobody", 1005000, 1004000);    /* backwards */
    sheet_size(&s, 14, 3);
    lane_draw(l, lanes_find(l, "GPU-a"), &s, 0, 1, 12);
    lane_draw(l, lanes_find(l, "GPU-b"), &s, 1, 1, 12);
    lane_draw(l, lanes_find(l, "GPU-b"), &s, 2, 1, 4); /* no room: the newest */
    sheet_text(&s, &out);
    assert_string_equal(out.p, " kim▃▄▅▅▆▇██\n ···christ…▁▁\n c…▁▁\n");
    assert_int_equal(s.v[1 * 14 + 12].style, STYLE_WARN); /* held without work */
    assert_null(lanes_find(l, "GPU-c"));
    for (int i = 0; i < 2 * LANE_USERS; i++) { /* more than can be told apart */
        char name[16];
        snprintf(name, sizeof(name), "u%d", i);
        lanes_held(l, "GPU-a", name, 1000000, 1000000);
    }
    assert_int_equal(l->n_users, LANE_USERS);
    assert_string_equal(l->users[LANE_USERS - 1], "?");
    sheet_fini(&s);
    lanes_free(l);
}

/* ---- a feed of the fixture ---- */

static const char *feed_status;
static int fd(void *arg)
{
    (void)arg;
    return -1;
}
static bool nothing_new(void *arg)
{
    (void)arg;
    return false;
}
static void view(void *arg, struct view *ret)
{
    *ret = ((struct cluster *)arg)->v;
}
static const char *status(void *arg)
{
    (void)arg;
    return feed_status;
}
static const struct feed_event *events(void *arg, size_t *ret_n)
{
    static const struct feed_event e[] = {{NOW - 1000, "dgx2", "", "hung", "the driver does not answer"},
                                          {NOW - 9000, "dgx1", "GPU-dgx1-3", "lost", "GPU 3 is gone"}};
    (void)arg;
    *ret_n = ARRAY_LEN(e);
    return e;
}

static struct cluster *cluster;
static struct feed feed;
static struct top top;

static int begin(void **unused)
{
    (void)unused;
    cluster = cluster_new();
    feed_status = NULL;
    feed = (struct feed){cluster, "this machine", true, fd,   nothing_new, view, status,
                         events,  NULL,           NULL, NULL, NULL,        NULL};
    top_init(&top, &feed, "lee", 1000);
    top_refresh(&top, true);
    return 0;
}

static int end(void **unused)
{
    (void)unused;
    top_fini(&top);
    cluster_free(cluster);
    return 0;
}

/* The sheet after these keys; the caller frees it. */
static char *after(const char *keys, int w, int h)
{
    struct sheet s = {0};
    AUTO_BUF out = BUF_INIT(1 << 20);

    for (; *keys; keys++)
        assert_true(top_key(&top, *keys == '\n' ? TOP_ENTER : *keys == '\033' ? TOP_ESC : *keys));
    sheet_size(&s, w, h);
    top_draw(&top, &s);
    sheet_text(&s, &out);
    sheet_fini(&s);
    return buf_take(&out);
}

static void has(const char *text, const char *what)
{
    if (!strstr(text, what))
        fail_msg("no '%s' in\n%s", what, text);
}
static void has_not(const char *text, const char *what)
{
    if (strstr(text, what))
        fail_msg("'%s' in\n%s", what, text);
}

static void a_gpu_says_why_values_are_missing(void **unused)
{
    (void)unused;
    SET(cluster->n[0].devices[0].fact.note, NO_WORK_RIGHTS);
    top_refresh(&top, true);
    char *wide = after("d\n", 120, 30);
    has(wide, NO_WORK_RIGHTS);
    free(wide);
    char *narrow = after("", 80, 24); /* not cut there */
    has(narrow, "utilisation\n   is not efficiency\n");
    has(narrow, "needs service: a memory row could not be\n   remapped\n");
    free(narrow);
}

static void each_key_shows_what_it_says(void **unused)
{
    static const struct {
        const char *keys, *want, *not_want;
    } cases[] = {
        {"o", ">dgx1", "LONGEST"},
        {"d", ">dgx1:0 ● kim", "PID USER"},
        {"p", ">  48121 kim", "lost"},
        {"ps", "by sm", "by memory"},
        {"u", " USER          GPUS", "PID USER"},
        {"e", "the driver does not answer", "PID USER"},
        {"a", "alerts need a hub", "PID USER"},
        {"o\n", ">dgx1:0", "dgx2"},
        {"o\n\n", "NVIDIA H200  GPU-dgx1-0", "dgx2"},
        {"o\n\n\033", ">dgx1:0", "GPU-dgx1-0"},
        {"o\n\n\033\033", ">dgx1 ", "GPU-dgx1-0"},
        {"d/user:lee\n", "matches 'user:lee'", "kim"},
        {"d/mem<", "column 5: ", NULL},
        {"?", " Keys", "by place"},
        {"?x", ">dgx1", " Keys"},
        {" ", "PAUSED", NULL},
        {"+", "500 ms", NULL},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("%s\n", cases[i].keys);
        end(NULL);
        begin(NULL);
        AUTO_FREE char *text = after(cases[i].keys, 80, 24);
        has(text, cases[i].want);
        if (cases[i].not_want)
            has_not(text, cases[i].not_want);
    }
    assert_false(top_key(&top, 'q'));
}

static void the_overview_has_processes_where_there_is_room(void **unused)
{
    (void)unused;
    AUTO_FREE char *wide = after("", 200, 60);
    const char *devices = strstr(wide, " dgx1:0 "), *title = strstr(wide, "PID USER"),
               *chosen = strstr(wide, " 48121 kim ");
    assert_true(devices && title && chosen && devices < title && title < chosen);
    AUTO_FREE char *low = after("", 80, 14);
    has_not(low, "PID USER");
    AUTO_FREE char *little = after("", 80, 19); /* some of them, and how many are left out */
    has(little, "PID USER");
    has(little, " more: p");
}

/* Of the first block behind this text in the devices' list. */
static int meter_style(const char *place)
{
    struct sheet s = {0};
    int style = -1;

    sheet_size(&s, 80, 24);
    s.ascii = true;
    top_draw(&top, &s);
    for (int y = 0; y < s.h && style < 0; y++) {
        size_t n = 0;
        while (place[n] && s.v[y * s.w + 1 + (int)n].c == (uint32_t)place[n])
            n++;
        for (int x = 16; !place[n] && x < s.w && style < 0; x++) /* behind mark and name */
            if (s.v[y * s.w + x].c == '#')
                style = s.v[y * s.w + x].style;
    }
    sheet_fini(&s);
    return style & ~STYLE_PICK;
}

static void meters_are_coloured_by_load(void **unused)
{
    struct sample *v = &((struct node_now *)cluster->v.nodes[0])->devices[0].now;
    static const struct {
        int64_t util;
        int style;
    } cases[] = {{500, STYLE_LOW}, {5000, STYLE_METER}, {9800, STYLE_HIGH}};

    (void)unused;
    assert_true(top_key(&top, 'd'));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        sample_set(v, M_util, cases[i].util);
        assert_int_equal(meter_style("dgx1:0"), cases[i].style);
    }
}

static void plots_begin_with_what_is_stored(void **unused)
{
    struct lanes_query ask = {.from_ms = NOW - TRAIL_LEN * 1000ll, .step_ms = 1000, .bins = TRAIL_LEN, .n = 1};
    size_t n;

    (void)unused;
    mem_copy_str(ask.devices[0], UUID_MAX, "GPU-dgx1-0");
    struct lanes *p = lanes_new(&ask);
    p->rows[0].util[100] = 40; /* one a minute, as history keeps it */
    p->rows[0].util[160] = 50;
    trails_seed(top.trails, &cluster->v, p);
    const uint8_t *v = trails_of(top.trails, "GPU-dgx1-0", &n);
    assert_int_equal(n, TRAIL_LEN);
    assert_int_equal(v[n - 1], 98); /* seen */
    assert_int_equal(v[98], 255);   /* bin 99: the first has made room for it */
    assert_int_equal(v[99], 40);
    assert_int_equal(v[158], 40);
    assert_int_equal(v[159], 50);
    assert_int_equal(v[238], 255); /* too long ago */
    v = trails_of(top.trails, cluster->v.nodes[0]->key, &n);
    assert_int_equal(n, TRAIL_LEN);
    assert_int_equal(v[160 - 1], 50);
    v = trails_of(top.trails, "GPU-dgx1-1", &n); /* nothing is stored of it */
    assert_int_equal(n, 1);
    lanes_free(p);
}

static size_t n_wrong;
static const struct feed_alert *alerts(void *arg, size_t *ret_n)
{
    static const struct feed_alert a[] =
        {{NOW - 7200000, true, false, false, "key-dgx2", "", "dgx2", "critical", "driver-hung", "dgx2 does not answer"},
         {NOW - 60000, false, true, false, "key-dgx1", "GPU-dgx1-3", "dgx1:3", "warning", "gpu-hot",
          "dgx1:3 is at 91 °C"},
         {NOW - 60000, false, false, true, "key-dgx1", "", "dgx1", "info", "own", "dgx1 is idle"},
         {NOW - 60000, true, false, false, "", "", "", "critical", "store", "the disk is full"}};
    (void)arg;
    *ret_n = n_wrong;
    return n_wrong <= ARRAY_LEN(a) ? a : NULL;
}

static void alerts_come_as_the_hub_orders_them_and_lead_to_their_place(void **unused)
{
    (void)unused;
    feed.alerts = alerts;
    n_wrong = 0;
    AUTO_FREE char *none = after("a", 80, 24);
    has(none, "no alerts");
    n_wrong = 4;
    AUTO_FREE char *all = after("a", 80, 24);
    has(all, " SEVERITY    WHERE       DURATION WHAT\n>!! critical dgx2");
    has(all, " 2 h dgx2 does not answer\n !  warning  dgx1:3");
    has(all, "silenced: dgx1 is idle");
    has(all, "!! critical hub ");
    AUTO_FREE char *nearer = after("j\n", 80, 24);
    has(nearer, "GPU-dgx1-3");
    AUTO_FREE char *node = after("\033k\n", 80, 24);
    has(node, ">dgx2:0");
    has_not(node, "dgx1:");
    AUTO_FREE char *chosen = after("\033/host:dgx1\n", 80, 24); /* the hub's own and dgx2's are not of dgx1 */
    has(chosen, "dgx1:3 is at 91");
    has_not(chosen, "does not answer");
    has_not(chosen, "the disk is full");
}

static void what_is_chosen_stays_chosen(void **unused)
{
    (void)unused;
    free(after("pG", 80, 24));
    AUTO_FREE char *last = after("", 80, 24);
    has(last, ">    500 lee"); /* its memory is not known: last */
    AUTO_FREE char *turned = after("r", 80, 24);
    has(turned, "COMMAND\n>    500 lee");
}

static void a_tree_has_children_below_their_parents(void **unused)
{
    static const struct { /* in the order of memory */
        int pid, ppid, root;
    } procs[] = {{30, 20, 10}, {20, 10, 10}, {40, 99, 10}, {10, 1, 10}, {50, 60, 50}, {60, 50, 60}, {70, 70, 70}};
    struct device_now *d = cluster->v.nodes[0]->devices;
    static const char *const want[] = {"    10 kim", "    20 kim", "    30 kim", "    40 kim",
                                       "    60 kim", "    50 kim", "    70 kim"};
    (void)unused;
    for (size_t i = 0; i < cluster->v.n; i++)
        for (size_t k = 0; k < cluster->v.nodes[i]->n_devices; k++)
            cluster->v.nodes[i]->devices[k].n_procs = 0;
    for (size_t i = 0; i < ARRAY_LEN(procs); i++) {
        struct proc_now *p = add_proc(d, procs[i].pid, "kim", "python", (int64_t)(100 - i) << 20);
        p->fact->ppid = procs[i].ppid;
        p->fact->root_pid = procs[i].root;
    }
    top_refresh(&top, false);
    AUTO_FREE char *flat = after("p", 100, 24), *tree = after("t", 100, 24);
    assert_true(strstr(flat, "    30 kim") < strstr(flat, "    20 kim"));
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        has(tree, want[i]);
        assert_true(i == 0 || strstr(tree, want[i - 1]) < strstr(tree, want[i]));
    }
    has(tree, "3 h 20 m /usr/bin/python --secret 10\n");
    has(tree, "3 h 20 m └─ /usr/bin/python --secret 20\n");
    has(tree, "3 h 20 m   └─ /usr/bin/python --secret 30\n");
    has(tree, "3 h 20 m └─ /usr/bin/python --secret 40\n"); /* its parent is not listed: below its root */
    assert_int_equal(top.n_items, ARRAY_LEN(procs));        /* a loop of parents loses nothing */
}

/* ---- signals ---- */

static int aimed_fds[8], n_aimed, fired[8], n_fired;

static int fake_aim(void *arg, int32_t pid, int64_t start_ms)
{
    (void)arg, (void)start_ms;
    if (pid == 48122)
        return -EPERM;
    return aimed_fds[n_aimed++] = dup(0);
}

static int fake_fire(void *arg, int fd, int sig)
{
    (void)arg;
    for (int i = n_aimed - 1; i >= 0; i--)
        if (aimed_fds[i] == fd) {
            fired[n_fired++] = sig;
            break;
        }
    return n_fired == 2 ? -ESRCH : 0;
}

static void a_signal_goes_to_what_was_aimed_at_after_a_yes(void **unused)
{
    (void)unused;
    n_aimed = n_fired = 0;
    AUTO_FREE char *none = after("pK", 80, 24);
    has(none, "signals need muster top on the machine of the process");
    feed.aim = fake_aim;
    feed.fire = fake_fire;
    AUTO_FREE char *asked = after("K", 80, 24);
    has(asked, "send TERM to python (48121)? y yes  Esc no  or i INT");
    AUTO_FREE char *no = after("\033", 80, 24);
    has(no, "nothing was sent");
    assert_int_equal(n_fired, 0);
    assert_int_equal(fcntl(aimed_fds[0], F_GETFD), -1); /* let go */
    AUTO_FREE char *theirs = after("jK", 80, 24);
    has(theirs, "process 48122 belongs to another user");
    AUTO_FREE char *tags = after("gxGxK", 80, 24);
    has(tags, "send TERM to python (48121) and 1 more?");
    AUTO_FREE char *sent = after("ky", 80, 24);
    has(sent, "sent KILL to 1; 1 had already ended");
    assert_true(n_fired == 2 && fired[0] == SIGKILL && fired[1] == SIGKILL);
    assert_int_equal(top.aim.n_tags, 0);
    AUTO_FREE char *device = after("oK", 80, 24);
    has(device, "no process is selected");
}

static void any_size_is_drawn_within_itself(void **unused)
{
    static const char looks[] = "odpuecodt?";
    (void)unused;
    for (const char *k = looks; *k; k++)
        for (int w = 1; w <= 240; w = w < 30 ? w + 1 : w + 35)
            for (int h = 1; h <= 70; h = h < 12 ? h + 1 : h + 29) {
                char keys[2] = {*k, 0};
                top.help = false;
                AUTO_FREE char *text = after(keys, w, h);
                int lines = 0;
                for (struct str rest = str_of(text), line; str_line(&rest, &line); lines++)
                    assert_true(str_width(line) <= w);
                assert_int_equal(lines, h);
            }
}

static void what_keeps_data_from_coming_is_said(void **unused)
{
    (void)unused;
    feed_status = "cannot reach the hub";
    AUTO_FREE char *text = after("", 80, 24);
    has(text, "\ncannot reach the hub\n");
}

static void plots_hold_what_was_seen(void **unused)
{
    size_t n;
    (void)unused;
    for (int i = 0; i < TRAIL_LEN + 5; i++)
        trails_tick(top.trails, &cluster->v);
    const uint8_t *v = trails_of(top.trails, "GPU-dgx1-0", &n);
    assert_int_equal(n, TRAIL_LEN);
    assert_int_equal(v[n - 1], 98);
    v = trails_of(top.trails, "GPU-dgx1-3", &n); /* lost */
    assert_int_equal(v[n - 1], 255);
    assert_null(trails_of(top.trails, "GPU-none", &n));
    struct view none = {0};
    trails_tick(top.trails, &none);
    assert_null(trails_of(top.trails, "GPU-dgx1-0", &n));
}

/* ---- server-sent events ---- */

static int note(void *arg, struct str name, struct str data)
{
    buf_addf(arg, "%.*s=%.*s;", STR_ARG(name), STR_ARG(data));
    return str_eq(name, "bad") ? -EBADMSG : 0;
}

static void events_come_whole_whatever_the_pieces(void **unused)
{
    static const char text[] =
        "retry: 5\nevent: a\ndata: 1\n\n: hi\n\ndata: x\ndata: y\n\nevent:b\ndata:2\n\nevent: c\n";
    (void)unused;
    for (size_t step = 1; step < sizeof(text); step++) {
        struct sse s = SSE_INIT;
        AUTO_BUF out = BUF_INIT(4096);
        for (size_t i = 0; i < sizeof(text) - 1; i += step)
            assert_int_equal(sse_take(&s, str_n(text + i, MIN(step, sizeof(text) - 1 - i)), note, &out), 0);
        assert_string_equal(out.p, "a=1;=x\ny;b=2;");
        assert_int_equal(sse_take(&s, STR("\nevent: bad\ndata: 3\n\n"), note, &out), -EBADMSG);
        sse_fini(&s);
    }
}

TESTS(cmocka_unit_test(text_is_clipped_to_its_column), cmocka_unit_test(meters_and_plots_are_exact),
      cmocka_unit_test(lanes_show_who_was_there_and_what_it_did),
      cmocka_unit_test_setup_teardown(the_overview_has_processes_where_there_is_room, begin, end),
      cmocka_unit_test_setup_teardown(meters_are_coloured_by_load, begin, end),
      cmocka_unit_test_setup_teardown(plots_begin_with_what_is_stored, begin, end),
      cmocka_unit_test_setup_teardown(each_key_shows_what_it_says, begin, end),
      cmocka_unit_test_setup_teardown(a_gpu_says_why_values_are_missing, begin, end),
      cmocka_unit_test_setup_teardown(alerts_come_as_the_hub_orders_them_and_lead_to_their_place, begin, end),
      cmocka_unit_test_setup_teardown(what_is_chosen_stays_chosen, begin, end),
      cmocka_unit_test_setup_teardown(a_tree_has_children_below_their_parents, begin, end),
      cmocka_unit_test_setup_teardown(a_signal_goes_to_what_was_aimed_at_after_a_yes, begin, end),
      cmocka_unit_test_setup_teardown(any_size_is_drawn_within_itself, begin, end),
      cmocka_unit_test_setup_teardown(what_keeps_data_from_coming_is_said, begin, end),
      cmocka_unit_test_setup_teardown(plots_hold_what_was_seen, begin, end),
      cmocka_unit_test(events_come_whole_whatever_the_pieces))
