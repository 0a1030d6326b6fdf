/* sign.c: checks HMAC-SHA256 over "v0:TIME:BODY", compared in constant time. */
#include "slack/sign.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/rand.h"

#define HEX_LEN 64

void slack_sign(struct str secret, struct str timestamp, struct str body, char ret[68])
{
    unsigned char mac[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    char *all = mem_alloc(timestamp.len + body.len + 4);
    size_t len = (size_t)snprintf(all, 4, "v0:");

    memcpy(all + len, timestamp.p, timestamp.len);
    len += timestamp.len;
    all[len++] = ':';
    if (body.len)
        memcpy(all + len, body.p, body.len);
    len += body.len;
    if (!HMAC(EVP_sha256(), secret.p, (int)secret.len, (const unsigned char *)all, len, mac, &n) || n != HEX_LEN / 2)
        abort(); /* out of memory, as in base/mem.c */
    free(all);
    memcpy(ret, "v0=", 3);
    hex_text(mac, HEX_LEN / 2, ret + 3);
}

int slack_sign_check(struct str secret, struct str timestamp, struct str signature, struct str body, int64_t now_ms,
                     struct err *err)
{
    uint64_t at_s;
    char want[68];

    if (!timestamp.len || !signature.len)
        return err_set(err, -EACCES, "this is for Slack, which signs what it sends: there is no signature");
    if (timestamp.len > 12 || !str_uint(timestamp, &at_s))
        return err_set(err, -EACCES, "the signature's time is not a number of seconds");
    int64_t off_s = now_ms / 1000 - (int64_t)at_s;
    if (off_s > SLACK_WINDOW_S || off_s < -SLACK_WINDOW_S)
        return err_set(err, -EACCES, "the signature is not of the last five minutes: is the hub's clock right?");
    slack_sign(secret, timestamp, body, want);
    if (signature.len != strlen(want) || CRYPTO_memcmp(signature.p, want, signature.len) != 0)
        return err_set(err, -EACCES, "the signature does not fit: is the signing secret the app's?");
    return 0;
}
