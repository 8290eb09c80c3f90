#include "lockstep/server/door/web_request.h"

#include <criterion/criterion.h>

static const ls_web_site PLAIN = {.names = "play.example.com, other.example.com"};
static const ls_web_site SEALED = {.names = "", .is_tls = true};

static const ls_web_handshake GOOD = {.host = "192.0.2.1:8080",
                                      .origin = "http://192.0.2.1:8080",
                                      .upgrade = "websocket",
                                      .version = "13",
                                      .key = "dGhlIHNhbXBsZSBub25jZQ==",
                                      .protocols = "chat, lockstep"};

static uint32_t status_of(const ls_web_handshake *handshake)
{
    const char *why = NULL;
    uint32_t status = ls_web_handshake_check(&PLAIN, handshake, &why);
    cr_assert_eq(status != 0, why != NULL);
    return status;
}

Test(web_request, page_of_this_machine_is_let_in)
{
    cr_assert_eq(status_of(&GOOD), 0);
    cr_assert(ls_web_origin_is_good(&PLAIN, "play.example.com", "http://play.example.com"));
    cr_assert(ls_web_origin_is_good(&PLAIN, "PLAY.example.com:81", "http://play.EXAMPLE.com:81"));
    cr_assert(ls_web_origin_is_good(&PLAIN, "[2001:db8::1]:80", "http://[2001:db8::1]:80"));
    cr_assert(ls_web_origin_is_good(&PLAIN, "10.0.0.1:80", "https://other.example.com"));
    cr_assert(ls_web_origin_is_good(&SEALED, "any.example.com", "https://any.example.com"));
}

Test(web_request, page_of_another_site_is_not)
{
    cr_assert_not(ls_web_origin_is_good(&PLAIN, "192.0.2.1:8080", "http://example.net"));
    cr_assert_not(ls_web_origin_is_good(&PLAIN, "192.0.2.1:8080", "http://192.0.2.1:80"));
    cr_assert_not(ls_web_origin_is_good(&PLAIN, "192.0.2.1:8080", "null"));
    cr_assert_not(ls_web_origin_is_good(&PLAIN, "192.0.2.1:8080", NULL));
    cr_assert_not(ls_web_origin_is_good(&PLAIN, NULL, "http://play.example.com"));
    cr_assert_not(ls_web_origin_is_good(&PLAIN, "10.0.0.1", "http://play.example.com.example.net"));
    cr_assert_not(ls_web_origin_is_good(&SEALED, "any.example.com", "http://any.example.com"));
}

Test(web_request, name_of_another_that_leads_here_is_refused_without_tls)
{
    cr_assert_not(ls_web_origin_is_good(&PLAIN, "example.net", "http://example.net"));
}

Test(web_request, handshake_that_is_none_of_ours_is_refused_with_its_status)
{
    ls_web_handshake each = GOOD;
    each.upgrade = "h2c";
    cr_assert_eq(status_of(&each), 400);
    each = GOOD;
    each.version = "8";
    cr_assert_eq(status_of(&each), 426);
    each = GOOD;
    each.key = "dGhlIHNhbXBsZSBub25jZQ";
    cr_assert_eq(status_of(&each), 400);
    each.key = NULL;
    cr_assert_eq(status_of(&each), 400);
    each = GOOD;
    each.protocols = "lockstep2, chat";
    cr_assert_eq(status_of(&each), 400);
    each.protocols = NULL;
    cr_assert_eq(status_of(&each), 400);
    each = GOOD;
    each.origin = "http://example.net";
    cr_assert_eq(status_of(&each), 403);
}

Test(web_request, word_is_found_in_a_list)
{
    cr_assert(ls_web_list_has("gzip, deflate, br", "br"));
    cr_assert(ls_web_list_has("gzip;q=0.5 ,\tBR ;q=1", "br"));
    cr_assert(ls_web_list_has("br;q=0.01", "br"));
    cr_assert_not(ls_web_list_has("gzip, br;q=0", "br"));
    cr_assert_not(ls_web_list_has("gzip, br; q=0.000", "br"));
    cr_assert_not(ls_web_list_has("brotli, gzip", "br"));
    cr_assert_not(ls_web_list_has("", "br"));
    cr_assert_not(ls_web_list_has(NULL, "br"));
}

Test(web_request, path_names_a_file_beneath_the_folder_or_none)
{
    cr_assert_str_eq(ls_web_path_file("/play"), "play.html");
    cr_assert_str_eq(ls_web_path_file("/play/"), "play.html");
    cr_assert_str_eq(ls_web_path_file("/play/lockstep.wasm"), "lockstep.wasm");
    cr_assert_str_eq(ls_web_path_file("/play/icons/a-b_c.png"), "icons/a-b_c.png");
    static const char *const none[] = {"/",           "/player",    "/play/../x",   "/play/.x",
                                       "/play//etc/", "/play//etc", "/play/a/../b", "/play/a/.b",
                                       "/play/a/",    "/play/a%2e", "/play/a\\b",   "/play/a b",
                                       "/etc/passwd", "/play/a/./b"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        cr_assert_null(ls_web_path_file(none[i]), "%s", none[i]);
    }
}

Test(web_request, type_of_a_file_follows_its_name)
{
    cr_assert_str_eq(ls_web_file_type("a.wasm"), "application/wasm");
    cr_assert_str_eq(ls_web_file_type("play.html"), "text/html; charset=utf-8");
    cr_assert_str_eq(ls_web_file_type("wasm"), "application/octet-stream");
}
