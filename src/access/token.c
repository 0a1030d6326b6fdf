/*
 * token.c: makes and compares tokens and other secrets. They are random bytes of the kernel; only their SHA-256 is
 * kept.
 */
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <pthread.h>

#include "access/auth.h"
#include "base/order.h"
#include "base/rand.h"

#define ID_LEN     8
#define SECRET_LEN 43 /* 32 bytes in base64url */
#define TEXT_LEN   (4 + ID_LEN + 1 + SECRET_LEN)

static const char base64url[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* n bytes as base64url without padding; out has room for (n * 4 + 2) / 3 + 1. */
static void base64url_text(const uint8_t *p, size_t n, char *out)
{
    uint32_t acc = 0;
    int bits = 0;
    for (size_t i = 0; i < n; i++) {
        acc = acc << 8 | p[i];
        for (bits += 8; bits >= 6; bits -= 6)
            *out++ = base64url[acc >> (bits - 6) & 63];
    }
    if (bits > 0)
        *out++ = base64url[acc << (6 - bits) & 63];
    *out = 0;
}

static bool base64url_ok(struct str text)
{
    return !ANY(text.len, i, !text.p[i] || !strchr(base64url, text.p[i]));
}

/* OpenSSL 3 looks an algorithm up by name at each use, which costs more than the hash: look once. */
static EVP_MD *sha256_md;

static void find_sha256(void)
{
    sha256_md = EVP_MD_fetch(NULL, "SHA256", NULL);
}

void sha256(const void *p, size_t n, uint8_t out[32])
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_sha256);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    if (!sha256_md || !ctx || !EVP_DigestInit_ex2(ctx, sha256_md, NULL) || !EVP_DigestUpdate(ctx, p, n) ||
        !EVP_DigestFinal_ex(ctx, out, NULL))
        abort(); /* only without memory, or with an OpenSSL that lacks SHA-256 */
    EVP_MD_CTX_free(ctx);
}

void secret_new(char text[SECRET_MAX], uint8_t hash[32])
{
    uint8_t secret[32];
    rand_bytes(secret, sizeof(secret));
    base64url_text(secret, sizeof(secret), text);
    sha256(text, SECRET_LEN, hash);
    OPENSSL_cleanse(secret, sizeof(secret));
}

void token_new(char id[20], uint8_t hash[32], char text[64])
{
    static const char alphabet[] = "abcdefghjkmnpqrstuvwxyz23456789"; /* no 0 o 1 l i: ids are read aloud */
    char tail[SECRET_MAX];
    for (size_t i = 0; i < ID_LEN; i++)
        id[i] = alphabet[rand_u64() % (sizeof(alphabet) - 1)];
    id[ID_LEN] = 0;
    secret_new(tail, hash);
    snprintf(text, 64, "mst_%.8s_%s", id, tail);
}

bool token_split(struct str text, char id[20], uint8_t hash[32])
{
    if (text.len != TEXT_LEN || !str_skip(&text, "mst_") || text.p[ID_LEN] != '_' || !base64url_ok(text))
        return false;
    memcpy(id, text.p, ID_LEN);
    id[ID_LEN] = 0;
    sha256(text.p + ID_LEN + 1, SECRET_LEN, hash);
    return true;
}

bool token_match(const struct token *t, const uint8_t hash[32])
{
    return CRYPTO_memcmp(t->hash, hash, 32) == 0 && !t->revoked;
}

bool secret_equal(struct str a, struct str b)
{
    uint8_t ha[32], hb[32];
    sha256((a.len ? a.p : ""), a.len, ha);
    sha256((b.len ? b.p : ""), b.len, hb);
    return CRYPTO_memcmp(ha, hb, 32) == 0;
}

int64_t secret_id(const uint8_t hash[32])
{
    uint64_t id = 0;
    for (size_t i = 0; i < 8; i++)
        id = id << 8 | hash[i];
    return (int64_t)(id >> 2) + 1;
}

bool secret_hash(struct str text, uint8_t hash[32])
{
    if (text.len != SECRET_LEN || !base64url_ok(text))
        return false;
    sha256(text.p, SECRET_LEN, hash);
    return true;
}

struct str cookie_value(struct str header, const char *name)
{
    struct str part, key;
    while (str_cut(&header, ';', &part)) {
        part = str_trim(part);
        if (str_cut(&part, '=', &key) && str_eq(key, name))
            return part;
    }
    return (struct str){"", 0};
}

struct str cookie_session(struct str header, bool tls)
{
    struct str own = cookie_value(header, SESSION_COOKIE_TLS);
    return own.len || tls ? own : cookie_value(header, SESSION_COOKIE);
}
