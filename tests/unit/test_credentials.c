#define _XOPEN_SOURCE 700
#include "lockstep/client/link/seat_file.h"
#include "lockstep/common/program/key_file.h"
#include "lockstep/common/system/private_file.h"
#include "lockstep/protocol/sealed/invite.h"

#include "lockstep/tests/support/rights.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ==== invite ==== */

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

/* ---- key_file ---- */

static char folder[] = "/tmp/lockstep-key-XXXXXX";
static char path[sizeof folder + 16];

static void make_folder(void)
{
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/key", folder);
}

static void remove_folder(void)
{
    remove(path);
    cr_expect_eq(rmdir(folder), 0, "something was left in %s", folder);
}

TestSuite(key_file, .init = make_folder, .fini = remove_folder);

#define HEAD "a key for tests 1\n# Keep it.\n"
#define LONG "long 000102030405060708090a0b0c0d0e0f\n"

static uint8_t long_bytes[16], short_bytes[2];
static ls_key_file_secret secrets[] = {
    {.name = "long", .bytes = long_bytes, .size = sizeof long_bytes},
    {.name = "short", .bytes = short_bytes, .size = sizeof short_bytes, .is_optional = true},
};
static const ls_key_file file = {"a key for tests", "Keep it.", secrets, 2};

static void fill(void)
{
    for (uint32_t i = 0; i < sizeof long_bytes; i++) {
        long_bytes[i] = (uint8_t)i;
    }
    short_bytes[0] = 0xab;
    short_bytes[1] = 0xcd;
}

static void write_text(const char *text)
{
    remove(path);
    cr_assert_eq(ls_private_file_make(path, "text", (const uint8_t *)text, strlen(text), NULL),
                 LS_OK);
}

static void expect_malformed(const char *text, const char *words)
{
    ls_text why = {{0}};
    write_text(text);
    cr_expect_eq(ls_key_file_read(path, &file, &why), LS_MALFORMED, "%s", text);
    cr_expect(strstr(why.bytes, words) && strstr(why.bytes, path), "%s: %s", text, why.bytes);
}

Test(key_file, says_what_it_is_and_has_a_line_for_each_secret)
{
    char text[256] = {0};
    size_t size = 0;
    fill();
    secrets[1].is_there = true;
    cr_assert_eq(ls_key_file_make(path, &file, NULL), LS_OK);
    cr_assert_eq(ls_private_file_read(path, (uint8_t *)text, sizeof text - 1, &size, NULL), LS_OK);
    cr_assert_str_eq(text, HEAD LONG "short abcd\n");
    memset(long_bytes, 0, sizeof long_bytes);
    memset(short_bytes, 0, sizeof short_bytes);
    cr_assert_eq(ls_key_file_read(path, &file, NULL), LS_OK);
    cr_assert_eq(long_bytes[15], 15);
    cr_assert_eq(short_bytes[0], 0xab);
    cr_assert(secrets[1].is_there);
}

Test(key_file, an_optional_secret_may_be_missing)
{
    fill();
    secrets[1].is_there = false;
    cr_assert_eq(ls_key_file_make(path, &file, NULL), LS_OK);
    secrets[1].is_there = true;
    cr_assert_eq(ls_key_file_read(path, &file, NULL), LS_OK);
    cr_assert_not(secrets[1].is_there);
}

Test(key_file, written_by_hand_is_read)
{
    write_text("a key for tests 1\n\nshort ABcd\n# a note\nlong 000102030405060708090A0B0C0D0E0F");
    cr_assert_eq(ls_key_file_read(path, &file, NULL), LS_OK);
    cr_assert_eq(long_bytes[15], 15);
    cr_assert_eq(short_bytes[0], 0xab);
}

/* Cut at every byte: none of it is taken, and the reason is the cut. */
Test(key_file, that_is_cut_short_is_refused_as_such)
{
    static const char whole[] = HEAD LONG "short abcd\n";
    const size_t head = strlen("a key for tests 1\n");
    char text[sizeof whole];
    for (size_t size = 0; size < sizeof whole - 1; size++) {
        memcpy(text, whole, size);
        text[size] = '\0';
        bool is_whole =
            size == strlen(HEAD LONG) - 1 || size == strlen(HEAD LONG) || size == sizeof whole - 2;
        if (is_whole) {
            write_text(text);
            cr_expect_eq(ls_key_file_read(path, &file, NULL), LS_OK);
        } else {
            expect_malformed(text, size < head ? "its first line is not" : "is cut short");
        }
    }
    expect_malformed(HEAD "long 00", "its long has 2 of 32 digits");
    expect_malformed(HEAD "short abcd\n", "its long is missing");
}

Test(key_file, of_another_kind_or_with_something_else_in_it_is_refused)
{
    expect_malformed("another key 1\n" LONG, "no a key for tests");
    expect_malformed("a key for tests 2\n" LONG, "its first line is not");
    expect_malformed(HEAD LONG LONG, "not understood");
    expect_malformed(HEAD LONG "colour abcd\n", "not understood");
    expect_malformed(HEAD LONG "short abcde\n", "not understood");
    expect_malformed(HEAD LONG "short abcg\n", "not understood");
    expect_malformed(HEAD LONG "short\n", "not understood");
}

/* ---- token_key ---- */

static char token_key_folder[] = "/tmp/lockstep-token-key-XXXXXX";

static void enter_folder(void)
{
    cr_assert_not_null(mkdtemp(token_key_folder));
    cr_assert_eq(chdir(token_key_folder), 0);
}

static void leave_folder(void)
{
    remove("first");
    remove("second");
    cr_assert_eq(chdir("/tmp"), 0);
    cr_expect_eq(rmdir(token_key_folder), 0, "something was left in %s", token_key_folder);
}

TestSuite(token_key, .init = enter_folder, .fini = leave_folder);

Test(token_key, given_key_takes_the_place_of_what_is_there)
{
    ls_token_key read;
    const uint8_t given[LS_CIPHER_KEY_BYTES] = {1, 2, 3};
    for (uint32_t round = 0; round < 2; round++) {
        cr_assert_eq(ls_token_key_replace("key", given, NULL), LS_OK);
        cr_assert_eq(ls_token_key_read("key", &read, NULL), LS_OK);
        cr_assert_eq(read.count, 1);
        cr_assert_arr_eq(read.keys[0], given, sizeof given);
    }
    cr_assert_eq(ls_token_key_replace("no-folder/key", given, NULL), LS_IO);
    remove("key");
}

Test(token_key, a_new_one_takes_over_from_the_old_one)
{
    ls_token_key first, second, third;
    ls_text why = {{0}};
    cr_assert_eq(ls_token_key_make("first", NULL, &why), LS_OK, "%s", why.bytes);
    cr_assert_eq(ls_token_key_read("first", &first, &why), LS_OK, "%s", why.bytes);
    cr_assert_eq(first.count, 1);
    cr_assert_eq(ls_token_key_make("second", &first, &why), LS_OK, "%s", why.bytes);
    cr_assert_eq(ls_token_key_read("second", &second, &why), LS_OK, "%s", why.bytes);
    cr_assert_eq(second.count, 2);
    cr_assert_arr_eq(second.keys[1], first.keys[0], LS_CIPHER_KEY_BYTES);
    cr_assert_neq(memcmp(second.keys[0], first.keys[0], LS_CIPHER_KEY_BYTES), 0);
    /* Two are enough: the oldest goes. */
    remove("first");
    cr_assert_eq(ls_token_key_make("first", &second, &why), LS_OK, "%s", why.bytes);
    cr_assert_eq(ls_token_key_read("first", &third, &why), LS_OK, "%s", why.bytes);
    cr_assert_eq(third.count, 2);
    cr_assert_arr_eq(third.keys[1], second.keys[0], LS_CIPHER_KEY_BYTES);
}

Test(token_key, no_file_is_overwritten_and_none_is_not_found)
{
    ls_token_key key = {.count = 7};
    cr_assert_eq(ls_token_key_read("first", &key, NULL), LS_NOT_FOUND);
    cr_assert_eq(key.count, 7);
    cr_assert_eq(ls_token_key_make("first", NULL, NULL), LS_OK);
    cr_assert_eq(ls_token_key_make("first", NULL, NULL), LS_IO);
}

/* ==== seat_file ==== */

static char seat_folder[] = "/tmp/seat-file-XXXXXX";
static char seat_path[64];
static ls_text why;

static void open_folder(void)
{
    cr_assert_not_null(mkdtemp(seat_folder));
    snprintf(seat_path, sizeof seat_path, "%s/seat", seat_folder);
}

static void close_folder(void)
{
    unlink(seat_path);
    rmdir(seat_folder);
}

TestSuite(seat_file, .init = open_folder, .fini = close_folder);

static uint32_t entries_of(const char *name)
{
    uint32_t count = 0;
    DIR *directory = opendir(name);
    cr_assert_not_null(directory);
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        count += entry->d_name[0] != '.' ? 1 : 0;
    }
    closedir(directory);
    return count;
}

static ls_session_seat seat_of(uint8_t byte)
{
    ls_session_seat seat = {.match_id = UINT64_C(0x1122334455667700) + byte};
    memset(seat.secret, byte, sizeof seat.secret);
    return seat;
}

Test(seat_file, the_newest_seat_comes_back)
{
    ls_session_seat seat = {0};
    cr_assert_eq(ls_seat_file_read(seat_path, "host:1", &seat, &why), LS_NOT_FOUND);
    for (uint8_t byte = 1; byte < 3; byte++) {
        const ls_session_seat written = seat_of(byte);
        cr_assert_eq(ls_seat_file_write(seat_path, "host:1", &written, &why), LS_OK, "%s",
                     why.bytes);
        cr_assert_eq(ls_seat_file_read(seat_path, "host:1", &seat, &why), LS_OK, "%s", why.bytes);
        cr_assert_eq(seat.match_id, written.match_id);
        cr_assert_eq(memcmp(seat.secret, written.secret, sizeof seat.secret), 0);
    }
    cr_assert_eq(entries_of(seat_folder), 1u, "nothing is left beside it");
    cr_expect(has_rights(seat_path, 0600));
    cr_assert_eq(ls_seat_file_read(seat_path, "host:2", &seat, &why), LS_NOT_FOUND);
    ls_seat_file_remove(seat_path);
    cr_assert_eq(ls_seat_file_read(seat_path, "host:1", &seat, &why), LS_NOT_FOUND);
}

/* Whether there still is a file after a session has ended with this status. */
static bool is_kept_after(ls_status status)
{
    const ls_session_event over = {.kind = LS_SESSION_EVENT_OVER, .status = status};
    const ls_session_seat seat = seat_of(1);
    ls_session_seat found = {0};
    cr_assert_eq(ls_seat_file_write(seat_path, "host:1", &seat, &why), LS_OK, "%s", why.bytes);
    ls_seat_file_receive_event(seat_path, "host:1", NULL, &over, NULL);
    return ls_seat_file_read(seat_path, "host:1", &found, &why) == LS_OK;
}

Test(seat_file, goes_with_the_seat_and_with_nothing_else)
{
    static const ls_status gone[] = {LS_OK, LS_ALREADY_OVER, LS_NOT_FOUND, LS_KICKED, LS_DESYNCED};
    static const ls_status kept[] = {LS_NO_MEMORY,
                                     LS_IO,
                                     LS_FULL,
                                     LS_UNSUPPORTED,
                                     LS_PLUGIN,
                                     LS_PROTOCOL_MISMATCH,
                                     LS_ARITHMETIC_MISMATCH,
                                     LS_SIMULATION_MISMATCH,
                                     LS_SIMULATION_VERSION_MISMATCH,
                                     LS_PARAMETER_MISMATCH,
                                     LS_SCHEMA_MISMATCH,
                                     LS_CONTENT_MISMATCH,
                                     LS_INITIAL_STATE_MISMATCH,
                                     LS_MATCH_FULL,
                                     LS_TIMED_OUT,
                                     LS_FELL_BEHIND,
                                     LS_MISBEHAVED,
                                     LS_DISCONNECTED,
                                     LS_REFUSED,
                                     LS_NOT_ADMITTED,
                                     LS_SAVED};
    for (size_t i = 0; i < sizeof gone / sizeof gone[0]; i++) {
        cr_expect_not(is_kept_after(gone[i]), "%s", ls_status_name(gone[i]));
    }
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        cr_expect(is_kept_after(kept[i]), "%s", ls_status_name(kept[i]));
    }
}

#ifndef _WIN32
Test(seat_file, a_file_that_others_may_read_or_that_is_no_seat_is_refused)
{
    ls_session_seat seat = seat_of(1);
    cr_assert_eq(ls_seat_file_write(seat_path, "host:1", &seat, &why), LS_OK);
    cr_assert_eq(chmod(seat_path, 0644), 0);
    cr_assert_eq(ls_seat_file_read(seat_path, "host:1", &seat, &why), LS_IO);
    cr_assert_eq(chmod(seat_path, 0600), 0);
    cr_assert_eq(truncate(seat_path, 20), 0);
    cr_assert_eq(ls_seat_file_read(seat_path, "host:1", &seat, &why), LS_IO);
}
#endif
