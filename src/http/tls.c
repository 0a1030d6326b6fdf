/* tls.c: certificates by OpenSSL. TLS 1.2 and up; ciphers are the library's own choice. */
#include "http/tls.h"

#include <errno.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/mem.h"

#define TEN_YEARS_S (10L * 366 * 86400)

static int ssl_err(struct err *err, const char *what, const char *path)
{
    unsigned long e = ERR_peek_last_error();
    const char *why = e ? ERR_reason_error_string(e) : NULL;
    int r = err_set(err, -EINVAL, "%s '%s': %s", what, path, why ? why : "not understood");
    ERR_clear_error();
    return r;
}

int tls_load(const char *cert, const char *key, struct ssl_ctx_st **ret, struct err *err)
{
    int r = 0;
    SSL_CTX *tls = SSL_CTX_new(TLS_server_method());
    if (!tls)
        return err_set(err, -ENOMEM, "OpenSSL cannot be started");
    SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION);
    SSL_CTX_set_options(tls, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_session_id_context(tls, (const unsigned char *)"muster", 6);
    if (SSL_CTX_use_certificate_chain_file(tls, cert) != 1)
        r = ssl_err(err, "cannot read the certificate", cert);
    else if (SSL_CTX_use_PrivateKey_file(tls, key, SSL_FILETYPE_PEM) != 1)
        r = ssl_err(err, "cannot read the private key", key);
    else if (SSL_CTX_check_private_key(tls) != 1)
        r = ssl_err(err, "the key does not belong to the certificate", cert);
    if (r < 0)
        SSL_CTX_free(tls);
    else
        *ret = tls;
    return r;
}

static X509 *make_cert(EVP_PKEY *key)
{
    X509 *x = X509_new();
    unsigned char serial[16];
    char host[256] = "muster";
    gethostname(host, sizeof(host) - 1);
    RAND_bytes(serial, sizeof(serial));
    serial[0] &= 0x7f;
    BIGNUM *n = BN_bin2bn(serial, sizeof(serial), NULL);
    BN_to_ASN1_INTEGER(n, X509_get_serialNumber(x));
    BN_free(n);
    X509_set_version(x, 2);
    X509_gmtime_adj(X509_getm_notBefore(x), -86400);
    X509_gmtime_adj(X509_getm_notAfter(x), TEN_YEARS_S);
    X509_set_pubkey(x, key);
    X509_NAME *name = X509_get_subject_name(x);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)host, -1, -1, 0);
    X509_set_issuer_name(x, name);
    AUTO_FREE char *alt = mem_fmt("DNS:%s,DNS:localhost,IP:127.0.0.1,IP:::1", host);
    const struct {
        int nid;
        const char *value;
    } ext[] = {{NID_subject_alt_name, alt},
               {NID_basic_constraints, "critical,CA:FALSE"},
               {NID_key_usage, "critical,digitalSignature"},
               {NID_ext_key_usage, "serverAuth"}};
    for (size_t i = 0; i < ARRAY_LEN(ext); i++) {
        X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL, ext[i].nid, ext[i].value);
        if (e)
            X509_add_ext(x, e, -1);
        X509_EXTENSION_free(e);
    }
    if (X509_sign(x, key, EVP_sha256()) > 0)
        return x;
    X509_free(x);
    return NULL;
}

static int write_pem(const char *path, mode_t mode, BIO *pem, struct err *err)
{
    char *p;
    long n = BIO_get_mem_data(pem, &p);
    return file_write(path, mode, p, (size_t)n, err);
}

/* Reads the existing key or makes a new one: agents pin the key, so losing only the certificate does not matter. */
static EVP_PKEY *key_of(const char *key, bool there, struct err *err)
{
    FILE *f = there ? fopen(key, "re") : NULL;
    EVP_PKEY *pkey = f ? PEM_read_PrivateKey(f, NULL, NULL, NULL) : there ? NULL : EVP_EC_gen("P-256");
    if (f)
        fclose(f);
    if (there && !pkey)
        err_set(err, -EINVAL,
                "cannot read the key in '%s': put it back, or remove it: a new one is made then, and "
                "every agent needs its pin",
                key);
    return pkey;
}

static int make_files(const char *cert, const char *key, bool has_key, struct err *err)
{
    EVP_PKEY *pkey = key_of(key, has_key, err);
    if (has_key && !pkey)
        return -EINVAL;
    X509 *x = pkey ? make_cert(pkey) : NULL;
    BIO *key_pem = BIO_new(BIO_s_mem()), *cert_pem = BIO_new(BIO_s_mem());
    int r = -EIO;
    if (!x || !key_pem || !cert_pem || PEM_write_bio_PrivateKey(key_pem, pkey, NULL, NULL, 0, NULL, NULL) != 1 ||
        PEM_write_bio_X509(cert_pem, x) != 1)
        ssl_err(err, "cannot make a certificate for", cert);
    else if ((r = has_key ? 0 : write_pem(key, 0600, key_pem, err)) == 0) /* first: a certificate alone is of no use */
        r = write_pem(cert, 0644, cert_pem, err);
    BIO_free(key_pem);
    BIO_free(cert_pem);
    X509_free(x);
    EVP_PKEY_free(pkey);
    return r;
}

int tls_self_signed(const char *dir, struct ssl_ctx_st **ret, struct err *err)
{
    AUTO_FREE char *cert = mem_fmt("%s/tls.crt", dir);
    AUTO_FREE char *key = mem_fmt("%s/tls.key", dir);
    bool has_cert = access(cert, F_OK) == 0, has_key = access(key, F_OK) == 0;
    if (has_cert && !has_key)
        return err_set(err, -ENOENT,
                       "'%s' is missing, its certificate is there: put it back (a backup has it), or remove '%s' too: "
                       "new ones are made then, and every agent needs the new pin",
                       key, cert);
    int r = has_cert ? 0 : make_files(cert, key, has_key, err);
    if (r < 0)
        return r;
    return tls_load(cert, key, ret, err);
}

int tls_pin(struct ssl_ctx_st *tls, char out[64])
{
    X509 *x = SSL_CTX_get0_certificate(tls);
    unsigned char *der = NULL, hash[SHA256_DIGEST_LENGTH], text[48];
    int n = x ? i2d_X509_PUBKEY(X509_get_X509_PUBKEY(x), &der) : -1;
    if (n <= 0)
        return -EINVAL;
    SHA256(der, (size_t)n, hash);
    OPENSSL_free(der);
    EVP_EncodeBlock(text, hash, sizeof(hash));
    snprintf(out, 64, "sha256//%s", (const char *)text);
    return 0;
}
