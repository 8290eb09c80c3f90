#include "lockstep/server/door/page_link.h"

#include <criterion/criterion.h>

static const char *link_of(bool is_sealed, const char *host, uint16_t port, const char *invite)
{
    static char text[LS_PAGE_LINK_BYTES_MAX];
    const ls_page_link link = {is_sealed, host, port, invite};
    ls_page_link_write(&link, text);
    return text;
}

Test(page_link, link_has_the_invite_where_no_browser_sends_it)
{
    cr_assert_str_eq(
        link_of(true, "play.example.com", 7380, "lockstep://192.0.2.1:7300/#KEY.CHECK"),
        "https://play.example.com:7380/play#lockstep://192.0.2.1:7300/#KEY.CHECK");
    cr_assert_str_eq(link_of(false, "127.0.0.1", 7380, ""), "http://127.0.0.1:7380/play");
}

Test(page_link, port_that_browsers_take_is_left_out)
{
    cr_assert_str_eq(link_of(true, "play.example.com", 443, ""), "https://play.example.com/play");
    cr_assert_str_eq(link_of(false, "2001:db8::1", 80, ""), "http://[2001:db8::1]/play");
    cr_assert_str_eq(link_of(false, "2001:db8::1", 443, ""), "http://[2001:db8::1]:443/play");
}
