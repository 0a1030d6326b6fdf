/* test_board.c: the static page: who is red and who is green, out of a file and out of a view, and the page itself. */
#include <errno.h>
#include <openssl/evp.h>

#include "compat/board.h"
#include "compat/board_style.h"
#include "draw/html.h"

#include "test.h"
#include "view_fixture.h"

#define HEAD ",load,load_mem,gpu_idx,gpu_name,gpu_uuid,hostname,username\n"

/* "host: 0+ 1- 2?" per host: + free, - taken, ? not known. */
static void told(const struct board *b, struct buf *out)
{
    for (size_t i = 0; i < b->n; i++) {
        buf_addf(out, "%s:", b->v[i].name);
        for (size_t k = 0; k < b->v[i].n; k++) {
            const struct board_gpu *g = &b->v[i].v[k];
            buf_addf(out, " %s%c", g->label, "+-?"[g->mark]);
            if (g->users[0])
                buf_addf(out, "(%s)", g->users);
        }
        buf_addf(out, "%s%s\n", b->v[i].why[0] ? " ! " : "", b->v[i].why);
    }
}

static void rows_of_the_file_are_judged_by_the_old_rule(void **unused)
{
    static const struct {
        const char *csv, *want;
    } cases[] = {
        {HEAD, ""},
        {"\xef\xbb\xbf" HEAD, ""},
        {HEAD "0,91,38,0, GeForce GTX 1080 Ti, GPU-fa,host6.domain.tld,\"user5, user5\"\n",
         "host6.domain.tld: 0-(user5)\n"},
        /* the edges: load 4 and 5, controller 2 and 3, a user alone */
        {HEAD "0,4,2,0, A, U,h,\n1,5,2,1, A, U,h,\n2,4,3,2, A, U,h,\n3,0,0,3, A, U,h,kim\n", "h: 0+ 1- 2- 3-(kim)\n"},
        /* what is not known is neither, unless the rest decides */
        {HEAD "0,,0,0, A, U,h,\n1,0,,1, A, U,h,\n2,,,2, A, U,h,kim\n3,,3,3, A, U,h,\n", "h: 0? 1? 2-(kim) 3-\n"},
        {HEAD "0,0.0,2.4,0, A, U,h,\n", "h: 0+\n"},
        /* hosts in the order people count, their rows as they came, even if scattered */
        {HEAD "0,0,0,0,A,U,gpu10,\r\n0,0,0,1,A,U,gpu2,\r\n1,0,0,0,A,U,gpu2,\r\n1,9,0,1,A,U,gpu10,\r\n",
         "gpu2: 1+ 0+\ngpu10: 0+ 1-\n"},
        {HEAD "0,9,9,0,A,U,h,\"a, b, a, , b,c\"\n", "h: 0-(a, b, c)\n"},
        {HEAD "0,9,9,0,A,U,h,\"a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r\"\n",
         "h: 0-(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, …)\n"},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct board b = {0};
        struct err err = {0};
        AUTO_BUF got = BUF_INIT(4096);
        print_message("'%s'\n", cases[i].csv);
        assert_int_equal(board_csv(str_of(cases[i].csv), NOW, &b, &err), 0);
        told(&b, &got);
        assert_string_equal(buf_str(&got).p, cases[i].want);
        board_fini(&b);
    }
}

static void hosts_that_were_not_read_stay_on_the_page(void **unused)
{
    static const struct {
        const char *unread, *want; /* NULL: refused */
    } cases[] = {
        {"", "gpu2: 0+\n"},
        {"gpu10,ssh: gpu10 does not answer\r\ngpu1,\"a, b\"\n",
         "gpu1: ! a, b\ngpu2: 0+\ngpu10: ! ssh: gpu10 does not answer\n"},
        {"gpu2,down\n", "gpu2: ! down\n"}, /* its rows are of an earlier time */
        {"gpu3,\ngpu3,x\n", "gpu2: 0+\ngpu3: ! not read\n"},
        {"gpu3\n", NULL},
        {"gpu3,a,b\n", NULL},
        {"gpu3,\x01\n", NULL},
        {"gpu3,\"\n", NULL},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct board b = {0};
        struct err err = {0};
        AUTO_BUF got = BUF_INIT(4096);
        print_message("'%s'\n", cases[i].unread);
        assert_int_equal(board_csv(STR(HEAD "0,0,0,0,A,U,gpu2,\n"), NOW, &b, &err), 0);
        assert_int_equal(board_unread(str_of(cases[i].unread), &b, &err), cases[i].want ? 0 : -EINVAL);
        told(&b, &got);
        assert_string_equal(buf_str(&got).p, cases[i].want ? cases[i].want : "gpu2: 0+\n");
        board_fini(&b);
    }
}

/* MIG and old cards tell no use: such a host was read. */
static void a_host_without_use_was_read(void **unused)
{
    static const struct board_page page = {"Cluster Overview", 60, 900};
    struct board b = {0};
    struct err err = {0};
    AUTO_BUF out = BUF_INIT(1 << 20);
    (void)unused;
    assert_int_equal(board_csv(STR(HEAD "0,,,0,A,U,gpu2,\n"), NOW, &b, &err), 0);
    board_html(&out, &b, &page);
    assert_true(str_find(buf_str(&out), "<b>0 of 1</b> GPUs on 1 host are free.</p>") > 0);
    assert_true(str_find(buf_str(&out), "<tr class=\"unknown\"") > 0);
    assert_int_equal(board_unread(STR("gpu3,down\n"), &b, &err), 0);
    board_html(&out, &b, &page);
    assert_true(str_find(buf_str(&out), "<b>0 of 1</b> GPUs on 1 host are free. 1 host cannot be read.</p>") > 0);
    assert_true(str_find(buf_str(&out), "<h2>gpu3</h2><p class=\"why\">down</p>") > 0);
    board_fini(&b);
}

static void a_file_that_makes_no_sense_gets_one_clear_error(void **unused)
{
    static const struct {
        const char *csv, *want;
    } cases[] = {
        {"", "line 1: expected the header ,load,load_mem,gpu_idx,gpu_name,gpu_uuid,hostname,username"},
        {"load,load_mem\n", "line 1: expected the header"},
        {HEAD "0,91,38\n", "line 2: 3 columns where there must be 8"},
        {HEAD "0,0,0,0,A,U,h,\n1,2,3,4,5,6,7,8,9\n", "line 3: 9 columns where there must be 8"},
        {HEAD "0,x,0,0,A,U,h,\n", "line 2: load: expected a number from 0 to 100, or nothing"},
        {HEAD "0,0,101,0,A,U,h,\n", "line 2: load_mem: expected a number from 0 to 100"},
        {HEAD "0,-1,0,0,A,U,h,\n", "line 2: load: expected"},
        {HEAD "0,0,0,,A,U,h,\n", "line 2: gpu_idx: expected a number"},
        {HEAD "0,0,0,0,A,U,,\n", "line 2: hostname: it is empty"},
        {HEAD "0,0,0,0,A,U,h\x01,\n", "line 2: hostname: expected text of less than 128 bytes, without control"},
        {HEAD "0,0,0,0,\xff,U,h,\n", "line 2: gpu_name: expected text"},
        {HEAD "0,0,0,0,A,U,h,\"kim\n", "line 2: a quote is never closed"},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct board b = {0};
        struct err err = {0};
        print_message("'%s'\n", cases[i].csv);
        assert_int_equal(board_csv(str_of(cases[i].csv), NOW, &b, &err), -EINVAL);
        assert_true(str_starts(str_of(err.msg), cases[i].want));
        assert_null(b.v);
    }
}

static void a_file_without_end_is_refused(void **unused)
{
    AUTO_BUF csv = BUF_INIT(BOARD_CSV_MAX * 2);
    struct board b = {0};
    struct err err = {0};
    (void)unused;
    buf_adds(&csv, HEAD);
    for (int i = 0; i <= BOARD_GPUS_MAX; i++)
        buf_adds(&csv, "0,0,0,0,A,U,h,\n");
    assert_int_equal(board_csv(buf_str(&csv), NOW, &b, &err), -EINVAL);
    assert_string_equal(err.msg, "line 65538: more than 65536 GPUs");
    buf_fill(&csv, 'x', BOARD_CSV_MAX);
    assert_int_equal(board_csv(buf_str(&csv), NOW, &b, &err), -EMSGSIZE);
}

static void a_view_is_judged_by_the_hub_too(void **unused)
{
    struct cluster *c = cluster_new();
    struct board b = {0};
    AUTO_BUF got = BUF_INIT(4096);
    (void)unused;
    board_view(&c->v, &b);
    told(&b, &got);
    print_message("%s", buf_str(&got).p);
    assert_true(str_starts(buf_str(&got), "dgx1: 0-(kim, ana) 1-(lee) 2+ 3?\n"
                                          "dgx2: 0? ! driver not responding for "));
    assert_true(str_find(buf_str(&got), "\nzoo: ! ") > 0);
    const struct board_gpu *busy = &b.v[0].v[0];
    assert_int_equal(busy->load, 98);
    assert_int_equal(busy->mem_used, 131072 * MIB);
    assert_int_equal(busy->mem_total, 143771 * MIB);
    assert_int_equal(b.v[0].v[3].mem_used, -1); /* lost: what it last said is not now */
    assert_string_equal(b.v[0].v[3].why, "missing: fell off the bus");
    board_fini(&b);
    cluster_free(c);
}

/* Memory in use, nobody seen, no work: the old rule alone would say free. */
static void memory_that_is_held_by_nobody_known_is_red(void **unused)
{
    struct cluster *c = mem_zero(1, sizeof(*c));
    struct node_now *n = add_host(c, "a", "", 1);
    struct board b = {0};
    (void)unused;
    set_values(&n->devices[0], 0, 70000, 81920, 30);
    sample_set(&n->devices[0].now, M_mem_util, 0);
    set_state(&n->devices[0], DEV_HELD, "68.4 GiB in use");
    board_view(&c->v, &b);
    assert_int_equal(b.v[0].v[0].mark, BOARD_TAKEN);
    assert_string_equal(b.v[0].v[0].why, "68.4 GiB in use");
    board_fini(&b);
    cluster_free(c);
}

/* As the old page called it, and what that means. */
static void a_process_that_is_gone_is_a_zombie(void **unused)
{
    struct cluster *c = mem_zero(1, sizeof(*c));
    struct node_now *n = add_host(c, "a", "", 1);
    struct board b = {0}, file = {0};
    struct err err = {0};
    (void)unused;
    set_values(&n->devices[0], 0, 70000, 81920, 30);
    set_state(&n->devices[0], DEV_HELD, "1 process, no work");
    add_proc(&n->devices[0], 77, "Zombie", "", 1);
    board_view(&c->v, &b);
    assert_string_equal(b.v[0].v[0].users, "Zombie");
    assert_string_equal(b.v[0].v[0].why, "a process that is gone still holds memory");
    assert_int_equal(board_csv(STR(HEAD "0,0,0,0,A,U,h,\"kim, Zombie\"\n"), NOW, &file, &err), 0);
    assert_string_equal(file.v[0].v[0].users, "kim, Zombie");
    assert_string_equal(file.v[0].v[0].why, "a process that is gone still holds memory");
    board_fini(&file);
    board_fini(&b);
    cluster_free(c);
}

/* Neither use nor memory is told: nobody knows whether it is free. */
static void what_the_hub_does_not_know_is_not_free(void **unused)
{
    static const struct board_page page = {"Cluster Overview", 60, 900};
    struct cluster *c = mem_zero(1, sizeof(*c));
    struct node_now *n = add_host(c, "a", "", 1);
    struct board b = {0};
    AUTO_BUF out = BUF_INIT(1 << 20);
    (void)unused;
    set_state(&n->devices[0], DEV_UNKNOWN, "its driver reports neither use nor memory");
    board_view(&c->v, &b);
    assert_int_equal(b.v[0].v[0].mark, BOARD_UNKNOWN);
    assert_string_equal(b.v[0].v[0].why, "unknown: its driver reports neither use nor memory");
    board_html(&out, &b, &page);
    assert_true(str_find(buf_str(&out), "<b>0 of 1</b> GPUs on 1 host are free.</p>") > 0);
    board_fini(&b);
    cluster_free(c);
}

static void pages_are_as_the_golden_files(void **unused)
{
    static const struct board_page page = {"Cluster Overview", 60, 900};
    struct cluster *c = cluster_new();
    struct board b = {0};
    AUTO_BUF view = BUF_INIT(1 << 20), file = BUF_INIT(1 << 20), none = BUF_INIT(1 << 20);
    struct err err = {0};
    (void)unused;
    board_view(&c->v, &b);
    board_html(&view, &b, &page);
    assert_golden("board-hub.html", &view);
    board_fini(&b);
    assert_int_equal(board_csv(STR(HEAD
                                   "0,91,38,0, GeForce GTX 1080 Ti, GPU-fa,host6,\"user5, <img src=x onerror=a>\"\n"
                                   "1,0,0,1, GeForce GTX 1080 Ti, GPU-fb,host6,\n"),
                               NOW, &b, &err),
                     0);
    board_html(&file, &b, &page);
    assert_golden("board-csv.html", &file);
    board_fini(&b);
    assert_int_equal(board_csv(STR(HEAD), NOW, &b, &err), 0);
    board_html(&none, &b, &page);
    assert_true(str_find(buf_str(&none), "There are no hosts here yet.") > 0);
    board_fini(&b);
    cluster_free(c);
}

static void markup_in_names_stays_text(void **unused)
{
    static const struct board_page page = {"</title><script>", 60, 900};
    struct cluster *c = mem_zero(1, sizeof(*c));
    struct node_now *n = add_host(c, "<b>&\"'", "", 1);
    struct board b = {0};
    AUTO_BUF out = BUF_INIT(1 << 20);
    (void)unused;
    set_state(&n->devices[0], DEV_BUSY, "working");
    SET(n->devices[0].fact.name, "\"><script>alert(1)</script>");
    add_proc(&n->devices[0], 1, "<img onerror>", "x", 1);
    SET(n->reason, "<i>why</i>");
    c->v.notice = "<u>";
    board_view(&c->v, &b);
    board_html(&out, &b, &page);
    struct str rest = buf_str(&out);
    size_t scripts = 0;
    for (int at; (at = str_find(rest, "<script")) >= 0; scripts++)
        rest = str_n(rest.p + at + 1, rest.len - (size_t)at - 1);
    assert_int_equal(scripts, 1);
    static const char *const never[] = {"<b>&\"", "<img", "<i>", "<u>", "\"><script"};
    for (size_t i = 0; i < ARRAY_LEN(never); i++)
        assert_int_equal(str_find(buf_str(&out), never[i]), -1);
    assert_true(str_find(buf_str(&out), "&lt;img onerror&gt;") > 0);
    board_fini(&b);
    cluster_free(c);
}

static void hash_is(const char *text, const char *want)
{
    unsigned char sum[32];
    char got[64] = "sha256-";
    assert_int_equal(EVP_Digest(text, strlen(text), sum, NULL, EVP_sha256(), NULL), 1);
    EVP_EncodeBlock((unsigned char *)got + 7, sum, 32);
    assert_string_equal(got, want);
}

static void the_policy_allows_the_style_and_the_script(void **unused)
{
    (void)unused;
    hash_is(BOARD_STYLE, BOARD_STYLE_HASH);
    hash_is(BOARD_SCRIPT, BOARD_SCRIPT_HASH);
}

static void text_is_escaped(void **unused)
{
    AUTO_BUF out = BUF_INIT(256);
    (void)unused;
    html_text(&out, STR("a<b>&\"'\x01\xff\xe6\xbc\xa2\xc2\x85\tz"));
    assert_string_equal(out.p, "a&lt;b&gt;&amp;&quot;&#39;\xef\xbf\xbd\xef\xbf\xbd\xe6\xbc\xa2\xef\xbf\xbd\tz");
}

TESTS(cmocka_unit_test(rows_of_the_file_are_judged_by_the_old_rule),
      cmocka_unit_test(hosts_that_were_not_read_stay_on_the_page), cmocka_unit_test(a_host_without_use_was_read),
      cmocka_unit_test(a_file_that_makes_no_sense_gets_one_clear_error),
      cmocka_unit_test(a_file_without_end_is_refused), cmocka_unit_test(a_view_is_judged_by_the_hub_too),
      cmocka_unit_test(memory_that_is_held_by_nobody_known_is_red),
      cmocka_unit_test(a_process_that_is_gone_is_a_zombie), cmocka_unit_test(what_the_hub_does_not_know_is_not_free),
      cmocka_unit_test_setup(pages_are_as_the_golden_files, in_utc), cmocka_unit_test(markup_in_names_stays_text),
      cmocka_unit_test(the_policy_allows_the_style_and_the_script), cmocka_unit_test(text_is_escaped))
