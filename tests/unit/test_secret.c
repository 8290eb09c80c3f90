#include "lockstep/common/base/hidden_secret.h"
#include "lockstep/common/base/secret.h"
#include "lockstep/common/base/text.h"

#include <criterion/criterion.h>
#include <string.h>

/* ---- secret ---- */

static ls_secret_key key_of(uint8_t byte)
{
    ls_secret_key key;
    memset(key.bytes, byte, sizeof key.bytes);
    return key;
}

Test(secret, same_seat_gives_same_secret)
{
    ls_secret_key key = key_of(7);
    uint8_t a[LS_SECRET_BYTES], b[LS_SECRET_BYTES];
    ls_secret_derive(&key, 99, 3, 1, a);
    ls_secret_derive(&key, 99, 3, 1, b);
    cr_assert(ls_secret_is_equal(a, b));
}

Test(secret, everything_it_is_made_of_counts)
{
    ls_secret_key keys[2] = {key_of(7), key_of(8)};
    const struct {
        uint32_t key;
        uint64_t match_id;
        uint32_t slot, turn;
    } others[] = {{1, 99, 3, 1}, {0, 98, 3, 1}, {0, 99, 2, 1}, {0, 99, 3, 2}};
    uint8_t usual[LS_SECRET_BYTES], other[LS_SECRET_BYTES];
    ls_secret_derive(&keys[0], 99, 3, 1, usual);
    for (size_t i = 0; i < 4; i++) {
        ls_secret_derive(&keys[others[i].key], others[i].match_id, others[i].slot, others[i].turn,
                         other);
        cr_assert_not(ls_secret_is_equal(usual, other), "%zu", i);
    }
}

Test(secret, a_seat_has_as_many_secrets_as_returns)
{
    ls_secret_key keys[2] = {key_of(7), key_of(8)};
    uint8_t first[LS_SECRET_BYTES], second[LS_SECRET_BYTES], other[LS_SECRET_BYTES];
    ls_secret_derive(&keys[0], 99, 3, 1, first);
    ls_secret_renew(&keys[0], first, 0, other);
    cr_assert(ls_secret_is_equal(first, other));
    ls_secret_renew(&keys[0], first, 1, second);
    cr_assert_not(ls_secret_is_equal(first, second));
    ls_secret_renew(&keys[0], first, 2, other);
    cr_assert_not(ls_secret_is_equal(second, other));
    ls_secret_renew(&keys[1], first, 1, other);
    cr_assert_not(ls_secret_is_equal(second, other), "who has one has not the next");
}

Test(secret, a_seal_is_of_one_key_match_tick_and_chain)
{
    ls_secret_key keys[2] = {key_of(7), key_of(8)};
    uint32_t usual = ls_secret_seal(&keys[0], 99, 500, 77);
    cr_assert_eq(usual, ls_secret_seal(&keys[0], 99, 500, 77));
    cr_assert_neq(usual, ls_secret_seal(&keys[1], 99, 500, 77));
    cr_assert_neq(usual, ls_secret_seal(&keys[0], 98, 500, 77));
    cr_assert_neq(usual, ls_secret_seal(&keys[0], 99, 501, 77));
    cr_assert_neq(usual, ls_secret_seal(&keys[0], 99, 500, 76));
}

Test(secret, one_bit_makes_two_of_them_unequal)
{
    uint8_t a[LS_SECRET_BYTES] = {0}, b[LS_SECRET_BYTES] = {0};
    for (size_t bit = 0; bit < 8 * LS_SECRET_BYTES; bit++) {
        b[bit / 8] ^= (uint8_t)(1u << bit % 8);
        cr_assert_not(ls_secret_is_equal(a, b), "bit %zu", bit);
        b[bit / 8] = 0;
    }
}

Test(secret, keys_and_matches_differ)
{
    ls_secret_key a, b;
    cr_assert_eq(ls_secret_key_random(&a), LS_OK);
    cr_assert_eq(ls_secret_key_random(&b), LS_OK);
    cr_assert_neq(memcmp(&a, &b, sizeof a), 0);
    cr_assert_neq(ls_secret_match_id(&a), ls_secret_match_id(&b));
    cr_assert_neq(ls_secret_match_id(&a), UINT64_C(0));
}

/* ---- hidden_secret ---- */

#define KEY_TEXT "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
#define SECRET_TEXT "8PHy8_T19vf4-fr7_P3-_w"

Test(hidden_secret, of_an_invite_is_all_that_goes)
{
    static const char *const texts[][2] = {
        {"'lockstep://a:1/#" KEY_TEXT "." SECRET_TEXT ".gWVS' is none",
         "'lockstep://a:1/#...' is none"},
        {"a#AAEC." SECRET_TEXT ".gWVS", "a#..."},
        {KEY_TEXT "." SECRET_TEXT ".gWVS, " KEY_TEXT "." SECRET_TEXT, "..., ..."},
        {"#7 of a.b, room #arena-1", "#7 of a.b, room #arena-1"},
        {"" KEY_TEXT "x." SECRET_TEXT, "" KEY_TEXT "x." SECRET_TEXT}, /* as a checksum may be */
        {"" KEY_TEXT ".journal", "" KEY_TEXT ".journal"},             /* a file may be called so */
        {"" KEY_TEXT ".journal: cannot be read at all",
         "" KEY_TEXT ".journal: cannot be read at all"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        ls_text text;
        ls_text_set(&text, "%s", texts[i][0]);
        ls_hidden_secret_apply(text.bytes);
        cr_assert_str_eq(text.bytes, texts[i][1]);
    }
}
