/* The samples of RFC 3174 and RFC 2202. */
#include "lockstep/server/door/sha1.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static void assert_hash(const uint8_t hash[LS_SHA1_BYTES], const char *expected)
{
    char text[2 * LS_SHA1_BYTES + 1];
    for (size_t i = 0; i < LS_SHA1_BYTES; i++) {
        snprintf(text + 2 * i, 3, "%02x", hash[i]);
    }
    cr_assert_str_eq(text, expected);
}

Test(sha1, samples_have_their_hashes)
{
    uint8_t hash[LS_SHA1_BYTES];
    ls_sha1 sha1;
    ls_sha1_begin(&sha1);
    ls_sha1_add(&sha1, "abc", 3);
    ls_sha1_end(&sha1, hash);
    assert_hash(hash, "a9993e364706816aba3e25717850c26c9cd0d89d");
    ls_sha1_begin(&sha1);
    for (int i = 0; i < 100000; i++) {
        ls_sha1_add(&sha1, "aaaaaaaaaa", 10);
    }
    ls_sha1_end(&sha1, hash);
    assert_hash(hash, "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

Test(sha1, proofs_are_those_of_the_samples)
{
    uint8_t key[80];
    uint8_t hash[LS_SHA1_BYTES];
    memset(key, 0x0b, 20);
    ls_sha1_hmac(key, 20, (const uint8_t *)"Hi There", 8, hash);
    assert_hash(hash, "b617318655057264e28bc0b6fb378c8ef146be00");
    static const char data[] = "Test Using Larger Than Block-Size Key - Hash Key First";
    memset(key, 0xaa, sizeof key);
    ls_sha1_hmac(key, sizeof key, (const uint8_t *)data, sizeof data - 1, hash);
    assert_hash(hash, "aa4ae5e15272d00e95705637ce8a3b55ed402112");
}
