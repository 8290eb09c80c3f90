#include "lockstep/server/door/rtc_seal.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/cipher.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <string.h>

enum {
    DATAGRAM_BYTES_MAX = 2048,
    MTU = 1200, /* of a handshake */
    YEAR_S = 365 * 24 * 3600,
    DAY_S = 24 * 3600,
};

struct ls_rtc_identity {
    SSL_CTX *context;
    BIO_METHOD *method;
    uint8_t fingerprint[LS_SDP_FINGERPRINT_BYTES];
};

struct ls_rtc_seal {
    SSL *ssl;
    ls_rtc_seal_config config;
    uint8_t fingerprint[LS_SDP_FINGERPRINT_BYTES];
    const uint8_t *in; /* the datagram that is read; NULL: none */
    size_t in_size;
    ls_rtc_seal_state state;
};

/* ---- a BIO of datagrams ---- */

static int write_datagram(BIO *bio, const char *bytes, int size)
{
    ls_rtc_seal *seal = BIO_get_data(bio);
    seal->config.send(seal->config.user, (const uint8_t *)bytes, (size_t)size);
    return size;
}

static int read_datagram(BIO *bio, char *bytes, int capacity)
{
    ls_rtc_seal *seal = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (!seal->in || capacity < 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    size_t size = seal->in_size < (size_t)capacity ? seal->in_size : (size_t)capacity;
    memcpy(bytes, seal->in, size);
    seal->in = NULL;
    return (int)size;
}

static long control(BIO *bio, int command, long number, void *place)
{
    (void)bio;
    (void)number;
    (void)place;
    return command == BIO_CTRL_FLUSH ? 1 : command == BIO_CTRL_DGRAM_QUERY_MTU ? MTU : 0;
}

/* ---- the identity ---- */

static bool fingerprint_of(const X509 *certificate, uint8_t out[LS_SDP_FINGERPRINT_BYTES])
{
    unsigned size = 0;
    return certificate && X509_digest(certificate, EVP_sha256(), out, &size) == 1 &&
           size == LS_SDP_FINGERPRINT_BYTES;
}

static bool fill_certificate(X509 *certificate, EVP_PKEY *key)
{
    X509_NAME *name = X509_get_subject_name(certificate);
    return X509_set_version(certificate, 2) == 1 &&
           ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1) == 1 &&
           X509_gmtime_adj(X509_getm_notBefore(certificate), -DAY_S) &&
           X509_gmtime_adj(X509_getm_notAfter(certificate), YEAR_S) &&
           X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"lockstep",
                                      -1, -1, 0) == 1 &&
           X509_set_issuer_name(certificate, name) == 1 && X509_set_pubkey(certificate, key) == 1 &&
           X509_sign(certificate, key, EVP_sha256()) > 0;
}

static bool use_certificate(ls_rtc_identity *identity)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = X509_new();
    bool is_good = key && certificate && fill_certificate(certificate, key) &&
                   fingerprint_of(certificate, identity->fingerprint) &&
                   SSL_CTX_use_certificate(identity->context, certificate) == 1 &&
                   SSL_CTX_use_PrivateKey(identity->context, key) == 1;
    X509_free(certificate);
    EVP_PKEY_free(key);
    return is_good;
}

/* Any certificate, whose fingerprint is compared behind the handshake. */
static int accept_any(int is_good, X509_STORE_CTX *store)
{
    (void)is_good;
    (void)store;
    return 1;
}

static bool prepare(ls_rtc_identity *identity)
{
    identity->context = SSL_CTX_new(DTLS_server_method());
    identity->method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "datagrams");
    if (!identity->context || !identity->method) {
        return false;
    }
    SSL_CTX_set_verify(identity->context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                       accept_any);
    (void)SSL_CTX_set_options(identity->context,
                              SSL_OP_NO_QUERY_MTU | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
    (void)SSL_CTX_set_session_cache_mode(identity->context, SSL_SESS_CACHE_OFF);
    return SSL_CTX_set_min_proto_version(identity->context, DTLS1_2_VERSION) == 1 &&
           SSL_CTX_set_cipher_list(identity->context, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1 &&
           BIO_meth_set_write(identity->method, write_datagram) == 1 &&
           BIO_meth_set_read(identity->method, read_datagram) == 1 &&
           BIO_meth_set_ctrl(identity->method, control) == 1 && use_certificate(identity);
}

ls_status ls_rtc_identity_create(ls_rtc_identity **out)
{
    ls_rtc_identity *made = ls_allocate(ls_allocator_heap(), sizeof *made);
    if (!made) {
        return LS_NO_MEMORY;
    }
    if (!prepare(made)) {
        ls_rtc_identity_destroy(made);
        return LS_IO;
    }
    *out = made;
    return LS_OK;
}

void ls_rtc_identity_destroy(ls_rtc_identity *identity)
{
    if (identity) {
        SSL_CTX_free(identity->context);
        BIO_meth_free(identity->method);
        ls_release(ls_allocator_heap(), identity);
    }
}

const uint8_t *ls_rtc_identity_fingerprint(const ls_rtc_identity *identity)
{
    return identity->fingerprint;
}

/* ---- a seal ---- */

ls_rtc_seal *ls_rtc_seal_create(const ls_rtc_identity *identity, const ls_rtc_seal_config *config)
{
    ls_rtc_seal *made = ls_allocate(ls_allocator_heap(), sizeof *made);
    BIO *bio = BIO_new(identity->method);
    SSL *ssl = SSL_new(identity->context);
    if (!made || !bio || !ssl) {
        BIO_free(bio);
        SSL_free(ssl);
        ls_release(ls_allocator_heap(), made);
        return NULL;
    }
    made->ssl = ssl;
    made->config = *config;
    memcpy(made->fingerprint, config->fingerprint, sizeof made->fingerprint);
    BIO_set_data(bio, made);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    SSL_set_accept_state(ssl);
    (void)SSL_set_mtu(ssl, MTU);
    return made;
}

void ls_rtc_seal_destroy(ls_rtc_seal *seal)
{
    if (seal) {
        if (seal->state == LS_RTC_SEAL_OPEN) {
            (void)SSL_shutdown(seal->ssl);
        }
        SSL_free(seal->ssl);
        ERR_clear_error();
        ls_release(ls_allocator_heap(), seal);
    }
}

/* Whether what went wrong is only that more has to come. */
static bool is_waiting(const ls_rtc_seal *seal, int result)
{
    int error = SSL_get_error(seal->ssl, result);
    ERR_clear_error();
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
}

static void open_seal(ls_rtc_seal *seal)
{
    uint8_t fingerprint[LS_SDP_FINGERPRINT_BYTES];
    int result = SSL_do_handshake(seal->ssl);
    if (result != 1) {
        seal->state = is_waiting(seal, result) ? LS_RTC_SEAL_OPENING : LS_RTC_SEAL_OVER;
        return;
    }
    X509 *certificate = SSL_get1_peer_certificate(seal->ssl);
    bool is_peer = fingerprint_of(certificate, fingerprint) &&
                   ls_cipher_is_equal(fingerprint, seal->fingerprint, sizeof fingerprint);
    X509_free(certificate);
    seal->state = is_peer ? LS_RTC_SEAL_OPEN : LS_RTC_SEAL_OVER;
}

ls_rtc_seal_state ls_rtc_seal_receive(ls_rtc_seal *seal, const uint8_t *bytes, size_t size)
{
    uint8_t plain[DATAGRAM_BYTES_MAX];
    seal->in = bytes;
    seal->in_size = size;
    if (seal->state == LS_RTC_SEAL_OPENING) {
        open_seal(seal);
    }
    while (seal->state == LS_RTC_SEAL_OPEN) {
        int read = SSL_read(seal->ssl, plain, sizeof plain);
        if (read <= 0) {
            seal->state = is_waiting(seal, read) ? LS_RTC_SEAL_OPEN : LS_RTC_SEAL_OVER;
            break;
        }
        seal->config.receive(seal->config.user, plain, (size_t)read);
    }
    seal->in = NULL;
    return seal->state;
}

void ls_rtc_seal_send(ls_rtc_seal *seal, const uint8_t *bytes, size_t size)
{
    if (seal->state == LS_RTC_SEAL_OPEN) {
        (void)SSL_write(seal->ssl, bytes, (int)size);
        ERR_clear_error();
    }
}

void ls_rtc_seal_tend(ls_rtc_seal *seal)
{
    if (seal->state == LS_RTC_SEAL_OPENING) {
        (void)DTLSv1_handle_timeout(seal->ssl);
        ERR_clear_error();
    }
}
