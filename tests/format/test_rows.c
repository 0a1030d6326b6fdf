/* test_rows.c: columns picked out of a table of cells. */
#include "base/buf.h"
#include "model/rows.h"

#include <errno.h>

#include "format/render.h"
#include "test.h"

static const struct column_spec columns[] = {
    {.name = "node", .title = "NODE", .type = CELL_TEXT},
    {.name = "gpu", .title = "GPU", .type = CELL_INT},
    {.name = "user", .title = "USER", .type = CELL_TEXT},
};

static void fill(struct rows *r)
{
    rows_init(r, columns, ARRAY_LEN(columns));
    for (int i = 0; i < 20; i++) {
        struct cell *row = rows_add(r);
        cell_text(&row[0], STR("dgx2"));
        cell_int(&row[1], i);
        cell_screen(&row[1], "#%d", i);
        if (i % 2)
            cell_text(&row[2], STR("kim"));
    }
}

static void picks_columns_in_the_order_told(void **state)
{
    (void)state;
    struct rows r;
    struct err err = {0};
    char *names[] = {"user", "gpu"};
    AUTO_BUF out = BUF_INIT(4096);
    fill(&r);
    assert_int_equal(rows_pick(&r, names, 2, &err), 0);
    assert_int_equal(r.n, 20);
    assert_int_equal(r.n_cols, 2);
    render_rows_csv(&out, &r);
    assert_memory_equal(out.p, "user,gpu\r\n,0\r\nkim,1\r\n,2\r\n", 25);
    struct cell *row = rows_add(&r); /* it goes on growing with the columns it has now */
    cell_int(&row[1], 20);
    assert_int_equal(r.n, 21);
    assert_true(row[0].absent);
    names[0] = "gpu";
    assert_int_equal(rows_pick(&r, names, 1, &err), 0); /* and once more */
    assert_int_equal(r.cells[20].i, 20);
    rows_fini(&r);
}

static void says_which_columns_there_are(void **state)
{
    (void)state;
    struct rows r;
    struct err err = {0};
    char *names[] = {"gpu", "users"}, *twice[] = {"gpu", "gpu"};
    fill(&r);
    assert_int_equal(rows_pick(&r, names, 2, &err), -ENOENT);
    assert_string_equal(err.msg, "there is no column 'users'; there are node, gpu, user");
    assert_int_equal(rows_pick(&r, twice, 2, &err), -EEXIST);
    assert_int_equal(r.n_cols, 3);
    assert_string_equal(r.cells[3 * 19 + 2].json_text, "kim");
    rows_fini(&r);
}

TESTS(cmocka_unit_test(picks_columns_in_the_order_told), cmocka_unit_test(says_which_columns_there_are))
