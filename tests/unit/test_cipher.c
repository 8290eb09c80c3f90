/* The ciphers of packets, held to answers that others have published. */
#include "lockstep/common/base/cipher.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum {
    TEXT_BYTES_MAX = 128,
};

typedef struct known_answer {
    const char *key, *nonce, *header, *text, *sealed; /* in hexadecimal digits; with the tag */
} known_answer;

/* RFC 8439, 2.8.2. */
static const known_answer chacha = {
    .key = "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f",
    .nonce = "070000004041424344454647",
    .header = "50515253c0c1c2c3c4c5c6c7",
    .text = "4c616469657320616e642047656e746c656d656e206f662074686520636c6173"
            "73206f66202739393a204966204920636f756c64206f6666657220796f75206f"
            "6e6c79206f6e652074697020666f7220746865206675747572652c2073756e73"
            "637265656e20776f756c642062652069742e",
    .sealed = "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d6"
              "3dbea45e8ca9671282fafb69da92728b1a71de0a9e060b2905d6a5b67ecd3b36"
              "92ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc"
              "3ff4def08e4b7a9de576d26586cec64b6116"
              "1ae10b594f09e26a7e902ecbd0600691",
};

/* McGrew and Viega, The Galois/Counter Mode of Operation, test case 16. */
static const known_answer aes = {
    .key = "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
    .nonce = "cafebabefacedbaddecaf888",
    .header = "feedfacedeadbeeffeedfacedeadbeefabaddad2",
    .text = "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
            "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
    .sealed = "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
              "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662"
              "76fc6ece0f4e1768cddf8853bb2d551b",
};

static size_t bytes_of(const char *digits, uint8_t *bytes)
{
    size_t size = strlen(digits) / 2;
    for (size_t i = 0; i < size; i++) {
        unsigned byte = 0;
        cr_assert_eq(sscanf(digits + 2 * i, "%2x", &byte), 1);
        bytes[i] = (uint8_t)byte;
    }
    return size;
}

static void expect_known_answer(ls_cipher_suite suite, const known_answer *known)
{
    uint8_t key[LS_CIPHER_KEY_BYTES], nonce[LS_CIPHER_NONCE_BYTES], header[TEXT_BYTES_MAX];
    uint8_t text[TEXT_BYTES_MAX], sealed[TEXT_BYTES_MAX + LS_CIPHER_TAG_BYTES];
    uint8_t bytes[TEXT_BYTES_MAX + LS_CIPHER_TAG_BYTES];
    bytes_of(known->key, key);
    bytes_of(known->nonce, nonce);
    size_t header_bytes = bytes_of(known->header, header);
    size_t size = bytes_of(known->text, text);
    cr_assert_eq(bytes_of(known->sealed, sealed), size + LS_CIPHER_TAG_BYTES);
    memcpy(bytes, text, size);
    ls_cipher_seal(suite, key, nonce, header, header_bytes, bytes, size);
    cr_assert_arr_eq(bytes, sealed, size + LS_CIPHER_TAG_BYTES);
    cr_assert(ls_cipher_open(suite, key, nonce, header, header_bytes, bytes, size));
    cr_assert_arr_eq(bytes, text, size);
    memcpy(bytes, sealed, sizeof bytes);
    header[0] ^= 1;
    cr_assert_not(ls_cipher_open(suite, key, nonce, header, header_bytes, bytes, size));
}

Test(cipher, chacha20_poly1305_gives_the_published_answer)
{
    cr_assert_eq(ls_cipher_init(), LS_OK);
    expect_known_answer(LS_CIPHER_CHACHA20_POLY1305, &chacha);
}

Test(cipher, aes_256_gcm_gives_the_published_answer)
{
    cr_assert_eq(ls_cipher_init(), LS_OK);
    if (!ls_cipher_has_aes()) {
        cr_skip_test("this processor has no instructions for AES");
    }
    expect_known_answer(LS_CIPHER_AES_256_GCM, &aes);
}
