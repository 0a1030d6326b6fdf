/* Both ways to a CRC-32C, whichever this processor would take: the file itself is included, for its inner functions. */
#include "../../src/base/rand.c"

#include "test.h"

static void tables_and_instruction_agree(void **unused)
{
    uint8_t text[2400]; /* the instruction takes 768 bytes at a time where there are so many */
    struct prng g = {7};

    (void)unused;
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (uint8_t)prng_next(&g);
    assert_int_equal(~crc_soft(~0u, (const uint8_t *)"123456789", 9), 0xe3069283);
    for (size_t from = 0; from < 9; from++)
        for (size_t n = 0; n + from <= sizeof(text); n += 7 + n / 50)
            assert_int_equal(~crc_soft(~0u, text + from, n), crc32c(0, text + from, n));
}

TESTS(cmocka_unit_test(tables_and_instruction_agree))
