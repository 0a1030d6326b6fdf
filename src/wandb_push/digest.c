/* digest.c: OpenSSL's digests, spelt as W&B wants them. MD5 is its protocol's choice, not a matter of safety. */
#include "wandb_push/digest.h"

#include <openssl/evp.h>
#include <stdlib.h>

#include "base/rand.h"

static void digest(const char *how, struct str s, uint8_t *out)
{
    size_t n = 0;

    if (!EVP_Q_digest(NULL, how, NULL, s.len ? s.p : "", s.len, out, &n))
        abort(); /* a library without MD5 or SHA-256: nothing here can work */
}

const char *md5_base64(struct str s, char out[MD5_BASE64_SIZE])
{
    uint8_t sum[16];

    digest("MD5", s, sum);
    EVP_EncodeBlock((uint8_t *)out, sum, sizeof(sum));
    return out;
}

const char *md5_hex(struct str s, char out[MD5_HEX_SIZE])
{
    uint8_t sum[16];

    digest("MD5", s, sum);
    return hex_text(sum, sizeof(sum), out);
}

const char *sha256_hex(struct str s, char out[SHA256_HEX_SIZE])
{
    uint8_t sum[32];

    digest("SHA256", s, sum);
    return hex_text(sum, sizeof(sum), out);
}

const char *digest_name(struct str s, size_t n, char *out)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    uint8_t sum[32 + 1] = {0}; /* the sum so far, and how many there were */

    digest("SHA256", s, sum);
    for (size_t i = 0; i < n; i++) {
        if (i && i % 32 == 0) {
            sum[32]++;
            digest("SHA256", str_n(sum, sizeof(sum)), sum);
        }
        out[i] = letters[sum[i % 32] % 36];
    }
    out[n] = 0;
    return out;
}
