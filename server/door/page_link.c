#include "lockstep/server/door/page_link.h"

#include <stdio.h>
#include <string.h>

enum {
    PORT_PLAIN = 80,
    PORT_SEALED = 443,
};

void ls_page_link_write(const ls_page_link *link, char out[LS_PAGE_LINK_BYTES_MAX])
{
    bool is_ipv6 = strchr(link->host, ':') != NULL;
    bool is_usual = link->port == (link->is_sealed ? PORT_SEALED : PORT_PLAIN);
    char port[8] = "";
    if (!is_usual) {
        snprintf(port, sizeof port, ":%u", (unsigned)link->port);
    }
    snprintf(out, LS_PAGE_LINK_BYTES_MAX, "%s://%s%.253s%s%s/play%s%.500s",
             link->is_sealed ? "https" : "http", is_ipv6 ? "[" : "", link->host, is_ipv6 ? "]" : "",
             port, link->invite[0] != '\0' ? "#" : "", link->invite);
}
