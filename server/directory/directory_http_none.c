#include "lockstep/server/directory/directory_http.h"

ls_status ls_directory_http_open(const char *place, uint16_t relay_port,
                                 const ls_directory *directory, ls_event_loop *loop,
                                 ls_directory_http **out, ls_text *why)
{
    (void)relay_port;
    (void)directory;
    (void)loop;
    (void)out;
    return ls_fail(LS_UNSUPPORTED, why, "the games cannot be served at %s: this build has no HTTP",
                   place);
}

void ls_directory_http_close(ls_directory_http *http)
{
    (void)http;
}

uint16_t ls_directory_http_port(const ls_directory_http *http)
{
    (void)http;
    return 0;
}
