#include "lockstep/server/control/tls_files.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/cipher.h"
#include "lockstep/common/system/file.h"
#include "lockstep/common/system/private_file.h"

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <inttypes.h>
#include <string.h>

enum {
    FILE_BYTES_MAX = 65536,
    CHAIN_MAX = 8,
    KEY_ID_BYTES_MAX = 64,
};

/* In PEM: each connection gets objects of its own, which GnuTLS gives back. */
typedef struct tls_pair {
    unsigned certificate_size, key_size;
    uint8_t certificate[FILE_BYTES_MAX];
    uint8_t key[FILE_BYTES_MAX];
} tls_pair;

struct ls_tls_files {
    ls_tls_files_config config;
    ls_file_facts seen[2];
    tls_pair pair;
    tls_pair next; /* working memory */
};

static ls_tls_files *open_files; /* GnuTLS hands its callback nothing of the caller's */

/* ---- what a connection gets ---- */

typedef struct tls_objects {
    gnutls_pcert_st *chain;
    unsigned count;
    gnutls_privkey_t key;
} tls_objects;

static void release_objects(tls_objects *objects)
{
    for (unsigned i = 0; i < objects->count; i++) {
        gnutls_pcert_deinit(&objects->chain[i]);
    }
    gnutls_free(objects->chain);
    gnutls_privkey_deinit(objects->key);
    *objects = (tls_objects){.count = 0};
}

/* An error of GnuTLS, or 0. */
static int make_objects(tls_pair *pair, tls_objects *out)
{
    tls_objects made = {.chain = gnutls_calloc(CHAIN_MAX, sizeof *made.chain)};
    const gnutls_datum_t certificate = {pair->certificate, pair->certificate_size};
    const gnutls_datum_t key = {pair->key, pair->key_size};
    unsigned count = CHAIN_MAX;
    int error = made.chain ? gnutls_pcert_list_import_x509_raw(made.chain, &count, &certificate,
                                                               GNUTLS_X509_FMT_PEM, 0)
                           : GNUTLS_E_MEMORY_ERROR;
    made.count = error == 0 ? count : 0;
    error = error == 0 ? gnutls_privkey_init(&made.key) : error;
    if (error == 0) {
        error = gnutls_privkey_import_x509_raw(made.key, &key, GNUTLS_X509_FMT_PEM, NULL, 0);
    }
    if (error != 0) {
        release_objects(&made);
        return error;
    }
    *out = made;
    return 0;
}

static int retrieve(gnutls_session_t session, const struct gnutls_cert_retr_st *info,
                    gnutls_pcert_st **chain, unsigned *count, gnutls_ocsp_data_st **ocsp,
                    unsigned *ocsp_count, gnutls_privkey_t *key, unsigned *flags)
{
    (void)session;
    (void)info;
    tls_objects objects;
    if (!open_files || make_objects(&open_files->pair, &objects) != 0) {
        return -1;
    }
    *chain = objects.chain;
    *count = objects.count;
    *key = objects.key;
    *ocsp = NULL;
    *ocsp_count = 0;
    *flags = GNUTLS_CERT_RETR_DEINIT_ALL;
    return 0;
}

void *ls_tls_files_retrieve(void)
{
    gnutls_certificate_retrieve_function3 *const function = retrieve;
    void *place = NULL;
    memcpy(&place, &function, sizeof place);
    return place;
}

char *ls_tls_files_priorities(void)
{
    static char priorities[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";
    return priorities;
}

/* ---- the files ---- */

static bool is_pair(const tls_objects *objects)
{
    unsigned char of_chain[KEY_ID_BYTES_MAX];
    unsigned char of_key[KEY_ID_BYTES_MAX];
    size_t chain_size = sizeof of_chain;
    size_t key_size = sizeof of_key;
    gnutls_pubkey_t public_key;
    if (objects->count == 0 || gnutls_pubkey_init(&public_key) != 0) {
        return false;
    }
    bool is_right =
        gnutls_pubkey_import_privkey(public_key, objects->key, 0, 0) == 0 &&
        gnutls_pubkey_get_key_id(public_key, 0, of_key, &key_size) == 0 &&
        gnutls_pubkey_get_key_id(objects->chain[0].pubkey, 0, of_chain, &chain_size) == 0 &&
        chain_size == key_size && memcmp(of_chain, of_key, key_size) == 0;
    gnutls_pubkey_deinit(public_key);
    return is_right;
}

static ls_status check(const ls_tls_files_config *config, tls_pair *pair, ls_text *why)
{
    tls_objects objects;
    int error = make_objects(pair, &objects);
    if (error != 0) {
        return ls_fail(LS_BAD_ARGUMENT, why, "%s and %s are no certificate and key in PEM: %s",
                       config->certificate_path, config->key_path, gnutls_strerror(error));
    }
    bool is_right = is_pair(&objects);
    release_objects(&objects);
    return is_right
               ? LS_OK
               : ls_fail(LS_BAD_ARGUMENT, why, "the key in %s is not that of the certificate in %s",
                         config->key_path, config->certificate_path);
}

static ls_status read_certificate(const char *path, tls_pair *pair, ls_text *why)
{
    char whole[LS_PRIVATE_FILE_PATH_BYTES_MAX];
    const char *found = ls_private_file_path(path, whole);
    ls_mapped_file file;
    ls_status status = ls_mapped_file_open(found ? found : path, &file, why);
    if (status != LS_OK) {
        return status;
    }
    if (file.size > 0 && file.size <= sizeof pair->certificate) {
        memcpy(pair->certificate, file.bytes, file.size);
        pair->certificate_size = (unsigned)file.size;
    } else {
        status = ls_fail(LS_BAD_ARGUMENT, why, "%s is no certificate", path);
    }
    ls_mapped_file_close(&file);
    return status;
}

static void look(const ls_tls_files_config *config, ls_file_facts facts[2])
{
    memset(facts, 0, 2 * sizeof facts[0]);
    (void)ls_private_file_look(config->certificate_path, &facts[0]);
    (void)ls_private_file_look(config->key_path, &facts[1]);
}

/* Into `next`, and from there into `pair` when it is good. */
static ls_status read_pair(ls_tls_files *files, ls_text *why)
{
    tls_pair *next = &files->next;
    size_t size = 0;
    look(&files->config, files->seen);
    ls_status status = read_certificate(files->config.certificate_path, next, why);
    if (status == LS_OK) {
        status =
            ls_private_file_read(files->config.key_path, next->key, sizeof next->key, &size, why);
        next->key_size = (unsigned)size;
    }
    LS_THEN(status, check(&files->config, next, why));
    if (status == LS_OK) {
        files->pair = *next;
    }
    ls_cipher_wipe(next, sizeof *next);
    return status;
}

void ls_tls_files_watch(ls_tls_files *files, const ls_log *log)
{
    ls_file_facts now[2];
    ls_text why = {{0}};
    if (!files) {
        return;
    }
    look(&files->config, now);
    if (ls_file_is_unchanged(&now[0], &files->seen[0]) &&
        ls_file_is_unchanged(&now[1], &files->seen[1])) {
        return;
    }
    if (read_pair(files, &why) == LS_OK) {
        ls_log_line(log, LS_LOG_INFO, "%s was read anew: new connections get this certificate",
                    files->config.certificate_path);
    } else {
        ls_log_line(log, LS_LOG_WARNING, "%s: the certificate stays as it was", why.bytes);
    }
}

/* Read, and not yet open. */
static ls_status read_files(const ls_tls_files_config *config, ls_tls_files **out, ls_text *why)
{
    ls_tls_files *files = ls_allocate(ls_allocator_heap(), sizeof *files);
    if (!files) {
        return ls_fail(LS_NO_MEMORY, why, "%s", ls_status_text(LS_NO_MEMORY));
    }
    files->config = *config;
    ls_status status = read_pair(files, why);
    if (status != LS_OK) {
        ls_tls_files_close(files);
        return status;
    }
    *out = files;
    return LS_OK;
}

ls_status ls_tls_files_open(const ls_tls_files_config *config, ls_tls_files **out, ls_text *why)
{
    LS_ASSERT(!open_files);
    ls_status status = read_files(config, out, why);
    if (status == LS_OK) {
        open_files = *out;
    }
    return status;
}

ls_status ls_tls_files_check(const ls_tls_files_config *config, ls_text *why)
{
    ls_tls_files *files = NULL;
    ls_status status = read_files(config, &files, why);
    ls_tls_files_close(files);
    return status;
}

void ls_tls_files_close(ls_tls_files *files)
{
    if (files) {
        open_files = open_files == files ? NULL : open_files;
        ls_cipher_wipe(files, sizeof *files);
        ls_release(ls_allocator_heap(), files);
    }
}
