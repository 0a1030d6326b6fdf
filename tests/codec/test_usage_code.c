/* test_usage_code.c: spans of usage as bytes, also those that were written with fewer kinds of numbers, or with more.
 */
#include "test.h"

#include "base/buf.h"
#include "codec/usage_code.h"

static struct usage_held held = {"kim", {.held_ms = 7, .busy_ms = 6, .long_ms = 1, .mib_s = 300, .mj = 9}};
static struct usage_device device =
    {.device = "G", .model = "M", .free_ms = 1, .unused_ms = 2, .down_ms = 3, .mj = 4, .n = 1, .held = &held};

static void same_as(const uint8_t *bytes, size_t n, const struct usage_device *d)
{
    AUTO_ARENA mem = {0};
    struct usage_names names = usage_text_names(&mem);
    struct rd in = rd_of(bytes, n);
    struct usage_span s;

    assert_int_equal(usage_decode(&in, &names, &mem, &s), 0);
    assert_int_equal(s.n, 1);
    assert_string_equal(s.devices[0].device, d->device);
    assert_string_equal(s.devices[0].model, d->model);
#define WALL(field, ...) assert_int_equal(s.devices[0].field, d->field);
#define REST(field)      assert_int_equal(s.devices[0].field, d->field);
#include "model/usage.def"
    assert_int_equal(s.devices[0].n, 1);
    assert_string_equal(s.devices[0].held[0].login, d->held[0].login);
#define SUM(field, ...) assert_int_equal(s.devices[0].held[0].s.field, d->held[0].s.field);
#include "model/usage.def"
}

static void what_is_written_is_read(void **unused)
{
    struct usage_names names = usage_text_names(NULL);
    AUTO_BUF b = BUF_INIT(1000);

    (void)unused;
    struct usage_held more = held;
    struct usage_device d = device;
    d.held = &more;
    more.s.work_of_ms = 5;
    more.s.work_ms = 4;
    more.s.tensor_of_ms = 3;
    more.s.tensor_ms = 2;
    more.s.work_mj = 8;
    assert_int_equal(usage_encode(&(struct usage_span){.n = 1, .devices = &d}, &names, &b), 0);
    same_as((const uint8_t *)b.p, b.len, &d);
}

/* As hours were written before numbers were counted: 4 of a device, 5 of a login. */
static void old_hours_are_read(void **unused)
{
    static const uint8_t bytes[] = {1, 1, 1, 'G', 1, 'M', 1, 2, 3, 4, 1, 3, 'k', 'i', 'm', 7, 6, 1, 0xac, 2, 9};

    (void)unused;
    same_as(bytes, sizeof(bytes), &device);
}

static void numbers_that_are_not_there_are_0(void **unused)
{
    static const uint8_t bytes[] = {2, 2, 1, 1, 1, 'G', 1, 'M', 1, 2, 1, 3, 'k', 'i', 'm', 7};
    struct usage_held little = {"kim", {.held_ms = 7}};
    struct usage_device d = {.device = "G", .model = "M", .free_ms = 1, .unused_ms = 2, .n = 1, .held = &little};

    (void)unused;
    same_as(bytes, sizeof(bytes), &d);
}

/* A hub that is older than what wrote them. */
static void numbers_nobody_knows_are_passed_over(void **unused)
{
    static const uint8_t bytes[] =
        {2, 40, 41, 1, 1, 'G', 1, 'M', 1, 2, 3, 4, [48] = 1, 3, 'k', 'i', 'm', 7, 6, 1, 0xac, 2, 9, [95] = 0};

    (void)unused;
    same_as(bytes, sizeof(bytes), &device);
}

TESTS(cmocka_unit_test(what_is_written_is_read), cmocka_unit_test(old_hours_are_read),
      cmocka_unit_test(numbers_that_are_not_there_are_0), cmocka_unit_test(numbers_nobody_knows_are_passed_over))
