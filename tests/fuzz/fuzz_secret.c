/* Addresses and sentences with them: hidden twice is as hidden once, what is said to be untouched is, and behind the
 * name of a host nothing of the user and password before it is left. */
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/secret.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
    if (!ok)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str s = str_n(size ? (const char *)data : "", MIN(size, (size_t)65536));
    AUTO_BUF once = BUF_INIT(4 * s.len + 64), twice = BUF_INIT(16 * s.len + 256);
    AUTO_BUF text = BUF_INIT(4 * s.len + 64), again = BUF_INIT(16 * s.len + 256);

    bool hid = secret_url(&once, s);
    must(once.err == 0 && (hid || str_eq_str(s, buf_str(&once))));
    must((!secret_url(&twice, buf_str(&once)) || hid) && str_eq_str(buf_str(&once), buf_str(&twice)));
    must(secret_text(&text, s) == 0 && secret_text(&again, buf_str(&text)) == 0);
    must(str_eq_str(buf_str(&text), buf_str(&again)));

    AUTO_BUF whole = BUF_INIT(s.len + 64), shown = BUF_INIT(4 * s.len + 256);
    buf_adds(&whole, "https://kim:QQQQ@hub/");
    buf_addstr(&whole, s);
    must(secret_url(&shown, buf_str(&whole)) && str_starts(buf_str(&shown), "https://***@hub/"));
    return 0;
}
