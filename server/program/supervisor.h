/* Supervisor: the service that lockstep-server --config starts: one UDP port, workers with rooms on
 * it, an HTTP listener for its operators, and a way out that loses no closed tick.
 * Hosts no match itself. Called by main. */
#ifndef LOCKSTEP_SERVER_PROGRAM_SUPERVISOR_H
#define LOCKSTEP_SERVER_PROGRAM_SUPERVISOR_H

#include "lockstep/common/program/console.h"
#include "lockstep/common/program/systemd.h"
#include "lockstep/server/program/port_keeper.h"
#include "lockstep/server/service/service_config.h"
#include "lockstep/server/service/worker_message.h"

typedef struct ls_supervisor_config {
    ls_service_config *service; /* changes when its file is read again */
    /* Reads it, under the command line, as the start has: BAD_ARGUMENT when it has faults, which
     * the log has; or NO_MEMORY. */
    ls_status (*read_again)(void *user, ls_service_config *out);
    void *user;
    const char *bind_host;
    uint16_t port;                     /* 0: chosen by the system and told on the console */
    const char *port_file;             /* gets the port in decimal once it is bound; NULL: none */
    const char *web_port_file;         /* NULL: none */
    const char *http_port_file;        /* likewise that of HTTP */
    bool is_on_agones;                 /* tells the sidecar of Agones' SDK how it is */
    const char *json_path;             /* of the summary; NULL: none; "-": standard output */
    const char *program;               /* this program's path, for workers */
    const ls_worker_settings *worker;  /* of every worker */
    ls_admission *admission;           /* of the invite; borrowed */
    const ls_service_sockets *sockets; /* those that are there are taken */
    ls_port_keeper *ports;             /* likewise; NULL: no router is asked */
} ls_supervisor_config;

/* Serves until SIGINT or SIGTERM; a second one leaves at once. SIGHUP reads the configuration
 * again. */
ls_exit_code ls_supervisor_run(const ls_supervisor_config *config, ls_console *console);

#endif
