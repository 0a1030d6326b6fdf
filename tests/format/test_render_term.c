/* test_render_term.c: text for terminals against golden files; the first of them is vesta's README but for the name. */
#include "test.h"

#include "format/render.h"
#include "format/words.h"
#include "model/work.h"
#include "now/ls.h"
#include "view_fixture.h"

/* The host of vesta's README. */
static struct cluster *readme_cluster(void)
{
    struct cluster *c = mem_zero(1, sizeof(*c));
    struct node_now *n = add_host(c, "mau_local_19e5d26c", "127.0.0.1", 2);

    c->v.at_ms = NOW;
    n->at_ms = 1553459230000; /* 2019-03-24T20:27:10Z */
    for (int i = 0; i < 2; i++) {
        SET(n->devices[i].fact.name, "GeForce GTX 1080 Ti");
        n->devices[i].at_ms = 1553457600000;
    }
    set_values(&n->devices[0], 92, 8018, 11169, 80);
    n->devices[0].state = DEV_BUSY;
    set_values(&n->devices[1], 0, 2, 11172, 38);
    add_proc(&n->devices[0], 31415, "root", "train1", 6400 * MIB);
    add_proc(&n->devices[0], 27182, "user1", "train2", 1618 * MIB);
    return c;
}

typedef void draw_fn(struct buf *out, const struct view *v, const struct term *t);

static void frames_are_laid_out_as_the_golden_files(void **unused)
{
    static const struct {
        const char *golden;
        draw_fn *draw;
        struct term t;
        bool readme, demo;
    } cases[] = {
        {"vesta-summary.txt", render_term_summary, {.width = 80}, true, false},
        {"vesta-detail.txt", render_term_detail, {.width = 80}, true, false},
        {"vesta-table.txt", render_term_table, {.width = 80}, true, false},
        {"summary-80.txt", render_term_summary, {.width = 80}, false, false},
        {"summary-80-answer-demo.txt", render_term_summary, {.width = 80, .answer = true}, false, true},
        {"summary-100.txt", render_term_summary, {.width = 100}, false, false},
        {"summary-160-colour.txt", render_term_summary, {.width = 160, .colour = true}, false, true},
        {"summary-100-ascii.txt", render_term_summary, {.width = 100, .ascii = true}, false, false},
        {"detail-80.txt", render_term_detail, {.width = 80}, false, true},
        {"detail-120.txt", render_term_detail, {.width = 120}, false, false},
        {"detail-80-ascii.txt", render_term_detail, {.width = 80, .ascii = true}, false, false},
        {"table-80.txt", render_term_table, {.width = 80}, false, true},
        {"table-120-colour.txt", render_term_table, {.width = 120, .colour = true}, false, false},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct cluster *c = cases[i].readme ? readme_cluster() : cluster_new();
        AUTO_BUF b = BUF_INIT(1 << 20);

        print_message("%s\n", cases[i].golden);
        c->v.demo = cases[i].demo;
        cases[i].draw(&b, &c->v, &cases[i].t);
        assert_golden(cases[i].golden, &b);
        cluster_free(c);
    }
}

/* The columns of a line, without colours. */
static int columns_of(struct str line)
{
    AUTO_BUF b = BUF_INIT(65536);

    while (line.len) {
        if (line.p[0] == '\033') {
            while (line.len && line.p[0] != 'm')
                line = str_n(line.p + 1, line.len - 1);
            line = str_n(line.p + 1, line.len - 1);
            continue;
        }
        buf_addc(&b, line.p[0]);
        line = str_n(line.p + 1, line.len - 1);
    }
    return str_width(buf_str(&b));
}

static void every_line_of_a_frame_is_as_wide_as_the_first(void **unused)
{
    static draw_fn *const draw[] = {render_term_summary, render_term_table};
    struct cluster *c = cluster_new();

    (void)unused;
    SET(c->n[0].name, "a-host-name-that-is-much-too-long-for-any-column-of-any-frame");
    SET(c->n[3].address, "2001:0db8:85a3:0000:0000:8a2e:0370:7334%%eth0");
    SET(c->n[3].name, "日本語のホスト名日本語のホスト名日本語のホスト名");
    SET(c->n[0].devices[0].fact.name, "グラフィックスカード・とても長い名前");
    for (int width = 0; width < 200; width += 3)
        for (size_t k = 0; k < ARRAY_LEN(draw); k++)
            for (int mode = 0; mode < 4; mode++) {
                struct term t = {.width = width, .colour = mode & 1, .ascii = mode & 2};
                AUTO_BUF b = BUF_INIT(1 << 20);
                struct str rest, line;
                draw[k](&b, &c->v, &t);
                rest = buf_str(&b);
                int want = -1;
                while (str_line(&rest, &line)) {
                    want = want < 0 ? columns_of(line) : want;
                    assert_int_equal(columns_of(line), want);
                }
                assert_true(want >= 80 && want <= MAX(width, 80));
            }
    cluster_free(c);
}

static void boxes_keep_their_width(void **unused)
{
    struct cluster *c = cluster_new();
    struct str rest, line;

    (void)unused;
    SET(c->n[0].devices[0].procs[0].fact->user, "a_user_with_a_name_that_goes_on_and_on_and_on_and_on_for_ever");
    SET(c->n[0].devices[0].fact.name, "%0120d", 7);
    for (int width = 80; width < 130; width += 7) {
        AUTO_BUF b = BUF_INIT(1 << 20);
        render_term_detail(&b, &c->v, &(struct term){.width = width});
        rest = buf_str(&b);
        str_line(&rest, &line);
        while (str_line(&rest, &line)) {
            int wide = columns_of(line);
            assert_true(wide == 0 || wide == width || wide == width - 2);
        }
    }
    cluster_free(c);
}

static void ascii_is_ascii(void **unused)
{
    static draw_fn *const draw[] = {render_term_summary, render_term_table, render_term_detail};
    struct cluster *c = cluster_new();

    (void)unused;
    for (size_t k = 0; k < ARRAY_LEN(draw); k++) {
        AUTO_BUF b = BUF_INIT(1 << 20);
        draw[k](&b, &c->v, &(struct term){.width = 120, .ascii = true, .answer = true});
        for (size_t i = 0; i < b.len; i++)
            assert_true((unsigned char)b.p[i] < 0x80);
    }
    cluster_free(c);
}

static void unknown_is_never_shown_as_zero(void **unused)
{
    struct cluster *c = mem_zero(1, sizeof(*c));
    AUTO_BUF b = BUF_INIT(1 << 20);

    (void)unused;
    add_host(c, "n", "ip", 1);
    c->v.at_ms = NOW;
    render_term_summary(&b, &c->v, &(struct term){.width = 80});
    assert_non_null(strstr(b.p, "|      - /      - |       -|      -|"));
    buf_reset(&b);
    render_term_detail(&b, &c->v, &(struct term){.width = 80});
    assert_non_null(strstr(b.p, "    - /     -MiB              -MiB            -%          -°C"));
    assert_non_null(strstr(b.p, "]   -%"));
    cluster_free(c);
}

static void an_empty_cluster_says_so(void **unused)
{
    struct view v = {.at_ms = NOW};
    AUTO_BUF b = BUF_INIT(1 << 20);

    (void)unused;
    render_term_summary(&b, &v, &(struct term){.width = 80, .answer = true});
    assert_true(str_starts(buf_str(&b), "no nodes yet\n+-"));
}

static void why_values_are_missing_is_said_in_whole(void **unused)
{
    struct cluster *c = readme_cluster();
    AUTO_BUF b = BUF_INIT(1 << 20);

    (void)unused;
    SET(c->n[0].devices[0].fact.note, "the driver does not tell the power limit; nvidia-smi as root says why it is so");
    SET(c->n[0].devices[1].fact.note, "fell off the bus");
    SET(c->n[0].devices[1].reason, "was there, is gone: fell off the bus"); /* said already */
    render_term_detail(&b, &c->v, &(struct term){.width = 80});
    assert_golden("detail-80-note.txt", &b);
    buf_reset(&b);
    SET(c->n[0].devices[0].fact.note, NO_WORK_RIGHTS);
    for (int width = 80; width <= 120; width += 40) { /* vesta has no efficiency: no line of it is in its boxes */
        render_term_detail(&b, &c->v, &(struct term){.width = width});
        assert_null(strstr(b.p, "efficiency"));
        buf_reset(&b);
    }
    ls_notes(&c->v, &b);
    assert_string_equal(b.p, "! mau_local_19e5d26c:0: " NO_WORK_RIGHTS "\n");
    buf_reset(&b);
    SET(c->n[0].devices[1].fact.note, NO_WORK_RIGHTS);
    ls_notes(&c->v, &b); /* once for all who say it */
    assert_string_equal(b.p, "! 2 GPUs: " NO_WORK_RIGHTS "\n");
    cluster_free(c);
}

static void of_very_many_notes_the_first_are_told(void **unused)
{
    struct cluster *c = mem_zero(1, sizeof(*c));
    struct node_now *n = add_host(c, "n", "ip", LS_NOTES + 5);
    AUTO_BUF b = BUF_INIT(1 << 20);
    AUTO_BUF want = BUF_INIT(1 << 20);

    (void)unused;
    for (size_t i = 1; i < n->n_devices; i++) /* the first has none; the last two say what others said before */
        SET(n->devices[i].fact.note, "note %zu", i < LS_NOTES + 3 ? i : i - LS_NOTES);
    for (size_t i = 1; i <= LS_NOTES; i++)
        if (i == 3 || i == 4)
            buf_addf(&want, "! 2 GPUs: note %zu\n", i);
        else
            buf_addf(&want, "! n:%zu: note %zu\n", i, i);
    buf_adds(&want, "! 2 more GPUs: other notes, which `muster ls --wide` has\n");
    ls_notes(&c->v, &b);
    assert_string_equal(b.p, want.p);
    cluster_free(c);
}

static void a_word_is_put_on_a_line_of_its_own_where_it_is_too_long(void **unused)
{
    static const struct {
        const char *text;
        int width;
        const char *want; /* each line ended by | */
    } cases[] = {{"one two three", 8, "one two|three|"},
                 {"one", 8, "one|"},
                 {"", 8, ""},
                 {"incomprehensible words are here", 8, "incomprehensible|words|are here|"},
                 {"so incomprehensible", 8, "so|incomprehensible|"},
                 {"incomprehensible", 8, "incomprehensible|"},
                 {"a b", 0, "a|b|"},
                 {" incomprehensible words", 8, " incomprehensible|words|"}};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF b = BUF_INIT(4096);
        buf_adds(&b, "");
        for (struct str rest = str_of(cases[i].text), line; words_line(&rest, cases[i].width, &line);)
            buf_addf(&b, "%.*s|", STR_ARG(line));
        assert_string_equal(b.p, cases[i].want);
    }
}

/* ---- rows ---- */

static void ls_rows_are_as_the_golden_files(void **unused)
{
    static const struct {
        const char *golden;
        enum ls_columns columns;
        bool colour, cmd;
        int width;
        char form; /* t, c, j */
    } cases[] = {{"ls.txt", LS_PLAIN, false, false, 0, 't'},     {"ls-80-colour.txt", LS_PLAIN, true, false, 80, 't'},
                 {"ls-40.txt", LS_PLAIN, false, false, 40, 't'}, {"ls-detail.txt", LS_DETAIL, false, true, 0, 't'},
                 {"ls.csv", LS_PLAIN, false, false, 0, 'c'},     {"ls-detail.csv", LS_DETAIL, false, false, 0, 'c'},
                 {"ls.json", LS_PLAIN, false, false, 0, 'j'},    {"ls-detail.json", LS_DETAIL, false, false, 0, 'j'},
                 {"ls-wide.csv", LS_ALL, false, false, 0, 'c'}};
    struct cluster *c = cluster_new();

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct term t = {.width = cases[i].width, .colour = cases[i].colour};
        AUTO_BUF b = BUF_INIT(1 << 20);
        struct rows r;

        print_message("%s\n", cases[i].golden);
        c->v.show_cmd = cases[i].cmd;
        ls_rows(&c->v, cases[i].columns, &r);
        if (cases[i].form == 't')
            render_rows_text(&b, &r, &t);
        else if (cases[i].form == 'c')
            render_rows_csv(&b, &r);
        else
            render_rows_json(&b, &r);
        assert_golden(cases[i].golden, &b);
        rows_fini(&r);
    }
    cluster_free(c);
}

static void a_gpu_that_needs_service_has_a_line(void **unused)
{
    struct cluster *c = cluster_new();
    AUTO_BUF b = BUF_INIT(1 << 20);

    (void)unused;
    ls_services(&c->v, &b);
    assert_string_equal(b.p, "! dgx1:0 needs service: a memory row could not be remapped\n");
    cluster_free(c);
}

static void what_there_is_no_room_for_is_told(void **unused)
{
    struct cluster *c = cluster_new();
    char *const picked[] = {"node", "note"};
    static const struct {
        int width;
        bool note;
    } want[] = {{0, true}, {120, true}, {8, false}};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        AUTO_BUF b = BUF_INIT(1 << 20);
        AUTO_ROWS r = {0};
        bool kept[2] = {false, false};
        ls_rows(&c->v, LS_ALL, &r);
        assert_int_equal(rows_pick(&r, picked, 2, NULL), 0);
        assert_false(ls_shows(&r, kept, "NODE"));
        render_rows_fit(&b, &r, &(struct term){.width = want[i].width}, kept);
        assert_true(ls_shows(&r, kept, "NODE"));
        assert_int_equal(ls_shows(&r, kept, "NOTE"), want[i].note);
        assert_false(ls_shows(&r, kept, "NOT"));
    }
    cluster_free(c);
}

static void narrow_screens_lose_the_lightest_columns(void **unused)
{
    struct cluster *c = cluster_new();
    struct rows r;

    (void)unused;
    ls_rows(&c->v, LS_ALL, &r);
    for (int width = 1; width < 300; width++) {
        AUTO_BUF b = BUF_INIT(1 << 20);
        struct str rest, line;
        render_rows_text(&b, &r, &(struct term){.width = width});
        rest = buf_str(&b);
        while (str_line(&rest, &line))
            assert_true(str_width(line) <= width);
        assert_true(width < 4 || str_starts(buf_str(&b), "NODE")); /* the heaviest stays */
    }
    rows_fini(&r);
    cluster_free(c);
}

static void csv_cells_are_quoted_and_never_run(void **unused)
{
    static const struct column_spec cols[] = {{.name = "a", .title = "A", .type = CELL_TEXT},
                                              {.name = "b", .title = "B", .type = CELL_INT},
                                              {.name = "c", .title = "C", .type = CELL_FIXED, .per = 1000},
                                              {.name = "d", .title = "D", .type = CELL_BOOL}};
    static const struct {
        const char *text, *want;
    } cases[] = {{"plain", "plain"},
                 {"", ""},
                 {"a,b", "\"a,b\""},
                 {"say \"hi\"", "\"say \"\"hi\"\"\""},
                 {"=1+1", "'=1+1"},
                 {"+1", "'+1"},
                 {"-1", "'-1"},
                 {"@x", "'@x"},
                 {"\tx", "\"'\tx\""},
                 {"a;=1+1", "\"a;=1+1\""},
                 {"=1;2", "\"'=1;2\""},
                 {"a\tb", "\"a\tb\""},
                 {"=\"a\",b", "\"'=\"\"a\"\",b\""},
                 {"two\nlines", "\"two\nlines\""}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF b = BUF_INIT(4096);
        AUTO_BUF want = BUF_INIT(4096);
        struct rows r;
        rows_init(&r, cols, ARRAY_LEN(cols));
        struct cell *row = rows_add(&r);
        cell_text(&row[0], str_of(cases[i].text));
        cell_int(&row[1], -5);
        cell_int(&row[2], -1250);
        render_rows_csv(&b, &r);
        buf_addf(&want, "a,b,c,d\r\n%s,-5,-1.25,\r\n", cases[i].want);
        assert_string_equal(b.p, want.p);
        rows_fini(&r);
    }
}

TESTS(cmocka_unit_test_setup(frames_are_laid_out_as_the_golden_files, in_utc),
      cmocka_unit_test_setup(every_line_of_a_frame_is_as_wide_as_the_first, in_utc),
      cmocka_unit_test_setup(boxes_keep_their_width, in_utc), cmocka_unit_test_setup(ascii_is_ascii, in_utc),
      cmocka_unit_test_setup(unknown_is_never_shown_as_zero, in_utc),
      cmocka_unit_test_setup(an_empty_cluster_says_so, in_utc),
      cmocka_unit_test_setup(why_values_are_missing_is_said_in_whole, in_utc),
      cmocka_unit_test(of_very_many_notes_the_first_are_told),
      cmocka_unit_test(a_word_is_put_on_a_line_of_its_own_where_it_is_too_long),
      cmocka_unit_test_setup(ls_rows_are_as_the_golden_files, in_utc),
      cmocka_unit_test(a_gpu_that_needs_service_has_a_line), cmocka_unit_test(what_there_is_no_room_for_is_told),
      cmocka_unit_test(narrow_screens_lose_the_lightest_columns), cmocka_unit_test(csv_cells_are_quoted_and_never_run))
