/* A system without doors: they are refused in words. */
#include "lockstep/server/door/door_process.h"
#include "lockstep/server/door/door_program.h"

ls_status ls_door_open(const ls_door_config *config, ls_door **out, ls_text *why)
{
    (void)config;
    (void)out;
    return ls_fail(LS_UNSUPPORTED, why, "pages are served on POSIX systems alone: without --web");
}

void ls_door_close(ls_door *door)
{
    (void)door;
}

const ls_door_link *ls_door_link_of(const ls_door *door)
{
    (void)door;
    return NULL;
}

ls_status ls_door_start(ls_door *door, uint16_t server_port, ls_event_loop *loop, ls_text *why)
{
    (void)door;
    (void)server_port;
    (void)loop;
    (void)why;
    return LS_UNSUPPORTED;
}

ls_endpoint ls_door_endpoint(const ls_door *door)
{
    (void)door;
    return (ls_endpoint){.port = 0};
}

void ls_door_write_public_link(const ls_door *door, char out[LS_PAGE_LINK_BYTES_MAX])
{
    (void)door;
    out[0] = '\0';
}

void ls_door_log(const ls_door *door, const char *invite, bool has_secret)
{
    (void)door;
    (void)invite;
    (void)has_secret;
}

ls_exit_code ls_door_program_run(ls_console *console)
{
    ls_log_line(&console->log, LS_LOG_ERROR, "There are no doors here: see --web.");
    return LS_EXIT_USAGE;
}
