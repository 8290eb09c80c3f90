#include "lockstep/protocol/sealed/invite.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define KEY_TEXT "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
#define SECRET_TEXT "8PHy8_T19vf4-fr7_P3-_w"

/* As KEY_TEXT and SECRET_TEXT have them. */
static ls_invite invite_to(const char *host, bool has_secret)
{
    ls_invite invite;
    memset(&invite, 0, sizeof invite);
    snprintf(invite.host, sizeof invite.host, "%s", host);
    invite.port = 7300;
    invite.has_secret = has_secret;
    for (uint32_t i = 0; i < LS_CIPHER_KEY_BYTES; i++) {
        invite.key[i] = (uint8_t)i;
    }
    for (uint32_t i = 0; has_secret && i < LS_INVITE_SECRET_BYTES; i++) {
        invite.secret[i] = (uint8_t)(0xf0 + i);
    }
    return invite;
}

static void assert_refused(const char *text, const char *reason)
{
    ls_invite invite;
    ls_text why = {{0}};
    memset(&invite, 0x5a, sizeof invite);
    cr_assert_eq(ls_invite_parse(text, &invite, &why), LS_BAD_ARGUMENT, "'%s'", text);
    cr_assert(strstr(why.bytes, reason), "'%s': %s", text, why.bytes);
    cr_assert_eq(invite.host[0], 0x5a);
    cr_assert_eq(ls_invite_parse(text, &invite, NULL), LS_BAD_ARGUMENT);
}

Test(invite, has_key_secret_and_check_behind_the_address)
{
    char text[LS_INVITE_TEXT_BYTES_MAX];
    const ls_invite open = invite_to("host.example", false);
    ls_invite_format(&open, text);
    cr_assert_str_eq(text, "lockstep://host.example:7300/#" KEY_TEXT ".85os");
    const ls_invite secret = invite_to("host.example", true);
    ls_invite_format(&secret, text);
    cr_assert_str_eq(text, "lockstep://host.example:7300/#" KEY_TEXT "." SECRET_TEXT ".gWVS");
}

Test(invite, is_read_as_it_was_written)
{
    char longest[LS_INVITE_HOST_BYTES_MAX];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    const char *const hosts[] = {"host.example", "192.0.2.7", "2001:db8::1",
                                 "fe80::1%eth0", "a",         longest};
    for (size_t i = 0; i < 2 * sizeof hosts / sizeof hosts[0]; i++) {
        char text[LS_INVITE_TEXT_BYTES_MAX];
        ls_invite read;
        ls_text why = {{0}};
        const ls_invite said = invite_to(hosts[i / 2], i % 2 == 1);
        ls_invite_format(&said, text);
        cr_assert(ls_invite_is_meant(text));
        cr_assert_eq(ls_invite_parse(text, &read, &why), LS_OK, "%s: %s", text, why.bytes);
        cr_assert_str_eq(read.host, said.host);
        cr_assert_eq(read.port, 7300);
        cr_assert_eq(read.has_secret, said.has_secret);
        cr_assert_arr_eq(read.key, said.key, sizeof said.key);
        cr_assert_arr_eq(read.secret, said.secret, sizeof said.secret);
    }
}

/* An operator who forwards a port knows the address by which others come. */
Test(invite, the_address_may_be_changed_by_hand)
{
    static const struct {
        const char *place, *host;
        uint16_t port;
    } places[] = {
        {"other.example:1/", "other.example", 1},
        {"other.example/", "other.example", 7300},
        {"other.example", "other.example", 7300},
        {"h:65535", "h", 65535},
        {"[::1]:7/", "::1", 7},
        {"[::1]/", "::1", 7300},
    };
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char text[LS_INVITE_TEXT_BYTES_MAX];
        ls_invite read;
        ls_text why = {{0}};
        snprintf(text, sizeof text, "lockstep://%s#" KEY_TEXT ".85os", places[i].place);
        cr_assert_eq(ls_invite_parse(text, &read, &why), LS_OK, "%s: %s", text, why.bytes);
        cr_assert_str_eq(read.host, places[i].host);
        cr_assert_eq(read.port, places[i].port);
    }
}

Test(invite, blanks_around_it_and_other_cases_of_its_letters_do_not_count)
{
    static const char *const texts[] = {
        " lockstep://Host.Example:7300/#" KEY_TEXT "." SECRET_TEXT ".gWVS",
        "lockstep://Host.Example:7300/#" KEY_TEXT "." SECRET_TEXT ".gWVS \n",
        "\t LOCKSTEP://Host.Example:7300/#" KEY_TEXT "." SECRET_TEXT ".gWVS\r\n",
        "Lockstep://Host.Example:7300/#" KEY_TEXT "." SECRET_TEXT ".gWVS",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        ls_invite read;
        ls_text why = {{0}};
        cr_assert(ls_invite_is_meant(texts[i]));
        cr_assert_eq(ls_invite_parse(texts[i], &read, &why), LS_OK, "%s: %s", texts[i], why.bytes);
        cr_assert_str_eq(read.host, "Host.Example");
        cr_assert(read.has_secret);
    }
    assert_refused("lockstep://a/#" KEY_TEXT ".85os x", "its secret has 6 of 22");
    assert_refused("lockstep://a/#" KEY_TEXT " .85os", "key has 44 characters");
}

Test(invite, an_address_that_is_none_is_refused_by_what_is_wrong)
{
    assert_refused("host.example:7300", "begins with lockstep://");
    assert_refused("a:7300/#" KEY_TEXT ".85os", "begins with lockstep://");
    assert_refused("lockstep:a/#" KEY_TEXT ".85os", "begins with lockstep://");
    assert_refused("lockstep://", "key is missing");
    assert_refused("lockstep://host.example:7300/", "quotes");
    assert_refused("lockstep:///#" KEY_TEXT ".85os", "no host");
    assert_refused("lockstep://:7300/#" KEY_TEXT ".85os", "no host");
    assert_refused("lockstep://a b/#" KEY_TEXT ".85os", "no host");
    assert_refused("lockstep://user@a/#" KEY_TEXT ".85os", "no host");
    assert_refused("lockstep://a/b/#" KEY_TEXT ".85os", "no room");
    assert_refused("lockstep://a/b#" KEY_TEXT ".85os", "no room");
    assert_refused("lockstep://a/b@#" KEY_TEXT ".85os", "no room");
    assert_refused("lockstep://a/@1#" KEY_TEXT ".85os", "no room");
    assert_refused("lockstep://a/b@16#" KEY_TEXT ".85os", "no room");
    assert_refused("lockstep://a/b@1x#" KEY_TEXT ".85os", "no room");
    assert_refused("lockstep://a/b@001#" KEY_TEXT ".85os", "no room");
    assert_refused("lockstep://a/012345678901234567890123456789012345678901234567@1#" KEY_TEXT
                   ".85os",
                   "no room");
    assert_refused("lockstep://[::1/#" KEY_TEXT ".85os", "no ']'");
    assert_refused("lockstep://[::1]x/#" KEY_TEXT ".85os", "no host");
    assert_refused("lockstep://2001:db8::1:7300/#" KEY_TEXT ".85os", "brackets");
    assert_refused("lockstep://a:/#" KEY_TEXT ".85os", "1 to 65535");
    assert_refused("lockstep://a:0/#" KEY_TEXT ".85os", "1 to 65535");
    assert_refused("lockstep://a:65536/#" KEY_TEXT ".85os", "1 to 65535");
    assert_refused("lockstep://a:4294967297/#" KEY_TEXT ".85os", "1 to 65535");
    assert_refused("lockstep://a:7x/#" KEY_TEXT ".85os", "1 to 65535");
}

Test(invite, one_that_is_cut_short_says_where)
{
    char text[LS_INVITE_TEXT_BYTES_MAX];
    const ls_invite whole = invite_to("a", true);
    ls_invite_format(&whole, text);
    size_t key = strlen("lockstep://a:7300/#");
    for (size_t size = strlen(text) - 1; size > key; size--) {
        ls_text why = {{0}};
        ls_invite read;
        size_t at = size - key;
        text[size] = '\0';
        cr_assert_eq(ls_invite_parse(text, &read, &why), LS_BAD_ARGUMENT);
        cr_assert(strstr(why.bytes, "cut short") || strstr(why.bytes, "typing"), "%s", why.bytes);
        uint32_t part = at < 43 ? 0 : at < 44 + 22 ? 1 : 2;
        size_t had = part == 0 ? at : part == 1 ? at - 44 : at - 67;
        char expected[64];
        snprintf(expected, sizeof expected, "its %s has %zu of %u",
                 part == 0   ? "key"
                 : part == 1 ? "secret"
                             : "end",
                 had,
                 part == 0   ? 43u
                 : part == 1 ? 22u
                             : 4u);
        bool is_between = at == 43 || at == 66;
        cr_assert(is_between || (part == 1 && had <= 4) || strstr(why.bytes, expected), "%s: %s",
                  text, why.bytes);
    }
    assert_refused("lockstep://a/#" KEY_TEXT, "ends behind its key");
    assert_refused("lockstep://a/#" KEY_TEXT "." SECRET_TEXT, "ends behind its secret");
    assert_refused("lockstep://a/#", "its key has 0 of 43");
}

Test(invite, something_too_much_is_refused)
{
    assert_refused("lockstep://a/#x" KEY_TEXT ".85os", "its key has 44 characters");
    assert_refused("lockstep://a/#" KEY_TEXT "." SECRET_TEXT "x.gWVS", "secret has 23 characters");
    assert_refused("lockstep://a/#" KEY_TEXT "." SECRET_TEXT ".gWVSx", "end has 5 characters");
    assert_refused("lockstep://a/#" KEY_TEXT "." SECRET_TEXT ".gWVS.x", "too much");
}

/* Every character replaced by every other one. */
Test(invite, a_typing_error_is_told_as_such)
{
    static const char characters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/= ";
    char text[LS_INVITE_TEXT_BYTES_MAX];
    uint32_t wrong = 0;
    const ls_invite whole = invite_to("a", true);
    ls_invite_format(&whole, text);
    for (char *at = strchr(text, '#') + 1; *at != '\0'; at++) {
        const char was = *at;
        for (const char *other = characters; was != '.' && *other != '\0'; other++) {
            if (*other != was) {
                *at = *other;
                bool is_cut = *other == ' ' && at[1] == '\0'; /* a blank behind the invite */
                assert_refused(text, is_cut ? "its end has 3 of 4" : "typing error");
                wrong++;
            }
        }
        *at = was;
    }
    cr_assert_eq(wrong, (43 + 22 + 4) * (sizeof characters - 2));
    assert_refused("lockstep://a/#" KEY_TEXT ".gWVS", "typing error"); /* of another invite */
}

Test(invite, host_and_port_are_not_meant_as_one)
{
    cr_assert_not(ls_invite_is_meant("host.example:7300"));
    cr_assert_not(ls_invite_is_meant(""));
    cr_assert(ls_invite_is_meant("lockstep://host.example:7300"));
    cr_assert(ls_invite_is_meant("host.example:7300/#" KEY_TEXT ".85os"));
}

Test(invite, may_be_to_a_server_that_is_reached_by_a_code)
{
    static const char *const hosts[] = {"K7QM-29F@play.example", "K7QM-29F@2001:db8::1"};
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        char text[LS_INVITE_TEXT_BYTES_MAX];
        ls_invite to = invite_to(hosts[i], false), read;
        ls_invite_format(&to, text);
        cr_assert_eq(ls_invite_parse(text, &read, NULL), LS_OK, "%s", text);
        cr_assert_str_eq(read.host, hosts[i]);
        cr_assert_eq(read.port, 7300);
    }
    assert_refused("lockstep://K7QM-29F@/#" KEY_TEXT ".85os", "no host");
    assert_refused("lockstep://K7QM-29F@b@c/#" KEY_TEXT ".85os", "no host");
}

Test(invite, may_be_to_one_room_of_a_server_with_many)
{
    char text[LS_INVITE_TEXT_BYTES_MAX];
    ls_invite to = invite_to("host.example", false);
    snprintf(to.room, sizeof to.room, "arena-1");
    to.worker = 15;
    ls_invite_format(&to, text);
    cr_assert_str_eq(text, "lockstep://host.example:7300/arena-1@15#" KEY_TEXT ".85os");
    ls_invite read;
    cr_assert_eq(ls_invite_parse(text, &read, NULL), LS_OK);
    cr_assert_str_eq(read.room, "arena-1");
    cr_assert_eq(read.worker, 15);
    cr_assert_eq(read.port, 7300);
}
