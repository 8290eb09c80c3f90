#include "lockstep/protocol/relay/relay_code.h"

#include <criterion/criterion.h>
#include <string.h>

static const char *parse(const char *text, ls_relay_code *code)
{
    const char *place = NULL;
    ls_text why = {{0}};
    ls_status status = ls_relay_code_parse(text, code, &place, &why);
    cr_assert_eq(status == LS_OK, why.bytes[0] == '\0', "%s", text);
    return status == LS_OK ? place : NULL;
}

Test(relay_code, no_character_looks_like_another_one)
{
    uint32_t count = 0;
    for (int character = 0; character < 128; character++) {
        count += ls_relay_code_has((char)character) ? 1 : 0;
    }
    cr_assert_eq(count, 32);
    for (const char *at = "01IO-@ kq"; *at != '\0'; at++) {
        cr_assert_not(ls_relay_code_has(*at), "%c", *at);
    }
}

Test(relay_code, a_code_is_read_in_any_case_and_without_its_dash)
{
    static const char *const texts[] = {"K7QM-29F@play.example:99", "k7qm29f@play.example:99",
                                        "K7qM-29f@play.example:99"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        ls_relay_code code;
        char text[LS_RELAY_CODE_BYTES];
        cr_assert_str_eq(parse(texts[i], &code), "play.example:99");
        ls_relay_code_format(&code, text);
        cr_assert_str_eq(text, "K7QM-29F");
    }
}

Test(relay_code, what_is_no_code_is_refused_with_a_reason)
{
    static const char *const texts[] = {"K7QM-29@a",
                                        "K7QM-29FF@a",
                                        "K7QM29F",
                                        "K7QM-29F@",
                                        "K7QM--29F@a",
                                        "K7Q-M29F@a",
                                        "KOQM-29F@a",
                                        "@a",
                                        "-K7QM29F@a",
                                        "K7QM-2 F@a",
                                        ""};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        ls_relay_code code = {.name = "zzzz"};
        cr_assert_null(parse(texts[i], &code), "%s", texts[i]);
        cr_assert_eq(code.name[0], 'z');
    }
}

Test(relay_code, an_address_is_no_code)
{
    cr_assert(ls_relay_code_is_meant("K7QM-29F@play.example"));
    cr_assert_not(ls_relay_code_is_meant("play.example:7300"));
}

Test(relay_code, a_server_has_the_same_code_each_time_and_another_one_has_another)
{
    uint8_t key[LS_CIPHER_KEY_BYTES] = {1};
    char first[LS_RELAY_NAME_CHARACTERS], again[LS_RELAY_NAME_CHARACTERS];
    char second[LS_RELAY_NAME_CHARACTERS], other[LS_RELAY_NAME_CHARACTERS];
    ls_relay_code_name(key, 0, first);
    ls_relay_code_name(key, 0, again);
    ls_relay_code_name(key, 1, second);
    key[0] = 2;
    ls_relay_code_name(key, 0, other);
    cr_assert_arr_eq(first, again, sizeof first);
    cr_assert_neq(memcmp(first, second, sizeof first), 0);
    cr_assert_neq(memcmp(first, other, sizeof first), 0);
    for (size_t i = 0; i < sizeof first; i++) {
        cr_assert(ls_relay_code_has(first[i]));
    }
}

/* Else codes would be guessed in fewer attempts. */
Test(relay_code, every_character_comes_about_as_often)
{
    uint32_t counts[128] = {0};
    for (uint32_t i = 0; i < 4096; i++) {
        uint8_t key[LS_CIPHER_KEY_BYTES] = {(uint8_t)i, (uint8_t)(i >> 8)};
        char secret[LS_RELAY_SECRET_CHARACTERS];
        ls_relay_code_secret(key, secret);
        for (size_t c = 0; c < sizeof secret; c++) {
            counts[(uint8_t)secret[c]]++;
        }
    }
    for (int character = 0; character < 128; character++) {
        if (ls_relay_code_has((char)character)) {
            cr_assert(counts[character] > 280 && counts[character] < 490, "%c: %u", character,
                      counts[character]);
        }
    }
}

Test(relay_code, a_relay_is_found_at_its_own_port_unless_another_one_is_named)
{
    static const struct {
        const char *place;
        uint16_t port;
    } places[] = {{"127.0.0.1", 7310}, {"127.0.0.1:99", 99}, {"[::1]", 7310}, {"[::1]:99", 99}};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        ls_endpoint relay;
        ls_text why = {{0}};
        cr_assert_eq(ls_relay_find(places[i].place, &relay, &why), LS_OK, "%s", why.bytes);
        cr_assert_eq(relay.port, places[i].port);
        cr_assert(ls_endpoint_is_loopback(&relay));
    }
    ls_endpoint relay;
    ls_text why = {{0}};
    cr_assert_neq(ls_relay_find("127.0.0.1:0", &relay, &why), LS_OK);
}
