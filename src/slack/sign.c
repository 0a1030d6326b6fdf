/* sign.c: checks HMAC-SHA256 over "v0:TIME:BODY", compared in constant time. */
#include "slack/sign.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>

#include "base/buf.h"

void slack_sign(struct str secret, struct str timestamp, struct str body, struct buf *ret)
{
    unsigned char mac[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    AUTO_BUF all = BUF_INIT(timestamp.len + body.len + 8);

    buf_addf(&all, "v0:%.*s:", STR_ARG(timestamp));
    buf_addstr(&all, body);
    if (!HMAC(EVP_sha256(), secret.p, (int)secret.len, (const unsigned char *)all.p, all.len, mac, &n))
        abort(); /* out of memory, as in base/mem.c */
    buf_adds(ret, "v0=");
    buf_addx(ret, mac, n);
}

int slack_sign_check(struct str secret, struct str timestamp, struct str signature, struct str body, int64_t now_ms,
                     struct err *err)
{
    uint64_t at_s;
    AUTO_BUF want = BUF_INIT(100);

    if (!timestamp.len || !signature.len)
        return err_set(err, -EACCES, "this is for Slack, which signs what it sends: there is no signature");
    if (timestamp.len > 12 || !str_uint(timestamp, &at_s))
        return err_set(err, -EACCES, "the signature's time is not a number of seconds");
    int64_t off_s = now_ms / 1000 - (int64_t)at_s;
    if (off_s > SLACK_WINDOW_S || off_s < -SLACK_WINDOW_S)
        return err_set(err, -EACCES, "the signature is not of the last five minutes: is the hub's clock right?");
    slack_sign(secret, timestamp, body, &want);
    if (signature.len != want.len || CRYPTO_memcmp(signature.p, want.p, want.len) != 0)
        return err_set(err, -EACCES, "the signature does not fit: is the signing secret the app's?");
    return 0;
}
