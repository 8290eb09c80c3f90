#include "lockstep/server/door/door_process.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/cipher.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/system/child_process.h"
#include "lockstep/common/system/endpoint_text.h"
#include "lockstep/common/system/file.h"
#include "lockstep/common/system/machine.h"
#include "lockstep/common/system/shared_memory.h"
#include "lockstep/common/system/socket.h"
#include "lockstep/common/system/tty.h"
#include "lockstep/common/system/udp_socket.h"
#include "lockstep/protocol/sealed/invite.h"
#include "lockstep/server/control/tls_files.h"
#include "lockstep/server/door/door_page.h"
#include "lockstep/server/door/page_code.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    AGAIN_MS = 1000, /* until it is started again */
    LEAVE_MS = 1000, /* that it has to end in */
};

struct ls_door {
    const char *program;
    const ls_log *log;
    bool has_codes;
    ls_door_link link;
    ls_endpoint bound;
    int datagrams; /* descriptors of the door's process */
    int listening;
    int rtc; /* -1: no data channels */
    int page_descriptor;
    ls_door_page *page;
    ls_event_loop *loop;
    ls_child_process process; /* none: it is to be started again */
    ls_loop_source *ending;
    ls_loop_source *alarm;
};

/* ---- the process ---- */

static ls_status start_process(ls_door *door, ls_text *why);

static void on_end(void *user, uint64_t now_ns)
{
    ls_door *door = user;
    ls_child_process_end end;
    if (!ls_child_process_wait(&door->process, 0, &end)) {
        return;
    }
    ls_loop_source_remove(door->ending);
    door->ending = NULL;
    ls_log_line(door->log, LS_LOG_ERROR,
                "the door for pages ended (exit code %" PRId64
                ", signal %d): it is opened again in %d ms",
                end.exit_code, end.signal, AGAIN_MS);
    atomic_store_explicit(&door->page->players, 0, memory_order_relaxed);
    ls_loop_alarm_set(door->alarm, now_ns + AGAIN_MS * LS_NS_PER_MS);
}

static void on_again(void *user, uint64_t now_ns)
{
    ls_door *door = user;
    ls_text why = {{0}};
    if (start_process(door, &why) != LS_OK) {
        ls_log_line(door->log, LS_LOG_ERROR, "%s", why.bytes);
        ls_loop_alarm_set(door->alarm, now_ns + AGAIN_MS * LS_NS_PER_MS);
    }
}

static ls_status start_process(ls_door *door, ls_text *why)
{
    const char *const arguments[] = {door->program, "--door", NULL};
    const ls_child_process_config process = {
        .program = LS_CHILD_THIS_PROGRAM,
        .arguments = arguments,
        .streams = {0, LS_CHILD_OUR_OUTPUT, LS_CHILD_OUR_ERRORS},
        .descriptors = {door->datagrams, door->listening, door->page_descriptor, door->rtc},
        .descriptor_count = door->rtc >= 0 ? 4 : 3,
        .has_group = true, /* what stops this process by the terminal leaves it to say so */
        .dies_with_parent = true};
    ls_status status = ls_child_process_start(&process, &door->process, why);
    LS_THEN(status, ls_event_loop_watch(door->loop, door->process.ended,
                                        (ls_loop_handler){on_end, door}, &door->ending));
    return status;
}

ls_status ls_door_start(ls_door *door, uint16_t server_port, ls_event_loop *loop, ls_text *why)
{
    door->loop = loop;
    door->page->server.port = server_port;
    ls_status status =
        ls_event_loop_add_alarm(loop, (ls_loop_handler){on_again, door}, &door->alarm);
    return status == LS_OK ? start_process(door, why) : status;
}

/* ---- opening ---- */

static bool copy(char *to, size_t capacity, const char *text)
{
    int size = snprintf(to, capacity, "%s", text ? text : "");
    return size >= 0 && (size_t)size < capacity;
}

/* Beside the program as it is installed, or as it is built. */
static void find_files(char *out, size_t capacity)
{
    char program[LS_DOOR_PATH_BYTES_MAX];
    if (!ls_machine_program_path(program, sizeof program)) {
        program[0] = '\0';
    }
    char *last = strrchr(program, '/');
    snprintf(out, capacity, "%.*s/../share/lockstep/web", last ? (int)(last - program) : 0,
             program);
}

static ls_status fill_page(ls_door *door, const ls_door_config *config, ls_text *why)
{
    ls_door_page *page = door->page;
    page->log_level = (uint32_t)config->log->level;
    page->log_format = config->log_format;
    page->broadcast_delay_s = config->broadcast_delay_s;
    page->is_relay = config->is_relay;
    bool fits = copy(page->hosts, sizeof page->hosts, config->hosts) &&
                copy(page->files, sizeof page->files, config->files) &&
                copy(page->journals, sizeof page->journals, config->journals) &&
                copy(page->certificate, sizeof page->certificate, config->certificate) &&
                copy(page->certificate_key, sizeof page->certificate_key, config->certificate_key);
    if (page->files[0] == '\0') {
        find_files(page->files, sizeof page->files);
    }
    memcpy(page->secret, door->link.secret, sizeof page->secret);
    return fits ? LS_OK
                : ls_fail(LS_BAD_ARGUMENT, why, "a path or the hosts of --web are too long");
}

/* The door goes on without: what is missing may be put there. */
static void look_for_files(const ls_door *door)
{
    char path[LS_DOOR_PATH_BYTES_MAX + 16];
    const char *folder = door->page->files;
    bool has_module = false;
    const char *name = NULL;
    ls_folder *files = ls_folder_open(folder);
    while (files && (name = ls_folder_next(files)) != NULL) {
        size_t size = strlen(name);
        has_module = has_module || (size > 5 && strcmp(name + size - 5, ".wasm") == 0);
    }
    ls_folder_close(files);
    snprintf(path, sizeof path, "%s/play.html", folder);
    if (!ls_file_look(path, NULL)) {
        ls_log_line(door->log, LS_LOG_WARNING,
                    "--web: there is no page in %s: build client/web, or name the folder with "
                    "--web-files",
                    folder);
    } else if (!has_module) {
        ls_log_line(door->log, LS_LOG_WARNING,
                    "--web: %s has the page but no module (*.wasm): pages open and cannot play",
                    folder);
    }
}

/* The certificate is read by the door; what is wrong with it is said here, at the start. */
static ls_status check_tls(const ls_door_config *config, ls_text *why)
{
    if (!config->certificate != !config->certificate_key) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "a certificate needs its key, and a key its certificate");
    }
    if (!config->certificate) {
        return LS_OK;
    }
    const ls_tls_files_config tls = {config->certificate, config->certificate_key};
    return ls_tls_files_check(&tls, why);
}

/* A socket at an address by which the server sees it as it is: its own, or that of the loopback. */
static ls_status open_datagrams(ls_door *door, const ls_door_config *config, ls_text *why)
{
    ls_endpoint server;
    bool is_shared = false;
    ls_status status = ls_endpoint_resolve(config->bind_host, 0, &server, why);
    if (status != LS_OK) {
        return status;
    }
    if (ls_endpoint_is_any(&server)) { /* which takes IPv4 as well */
        server = ls_endpoint_from_ipv4(0, 0);
        server = ls_endpoint_loopback_like(&server);
    }
    door->page->server = server;
    door->datagrams = ls_udp_descriptor_listen(&server, false);
    bool is_open = door->datagrams >= 0 &&
                   ls_udp_descriptor_ready(door->datagrams, &door->link.door, &is_shared);
    return is_open ? LS_OK
                   : ls_fail(LS_IO, why, "the door for pages has no way to the server: %s",
                             strerror(errno));
}

static ls_status open_listening(ls_door *door, const ls_door_config *config, ls_text *why)
{
    ls_endpoint place;
    ls_status status = ls_endpoint_parse_bound(config->place, &place, why);
    if (status != LS_OK) {
        return status;
    }
    door->listening = ls_socket_listen(&place);
    bool is_open = door->listening >= 0 && ls_socket_own(door->listening, &door->bound);
    return is_open ? LS_OK
                   : ls_fail(LS_IO, why, "pages cannot be served at %s: %s", config->place,
                             strerror(errno));
}

/* The UDP port of the same number: one number to let through a firewall. Pages that cannot have it
 * play by their WebSockets. */
static void open_rtc(ls_door *door)
{
    door->rtc = ls_udp_descriptor_listen(&door->bound, false);
    door->page->has_rtc = door->rtc >= 0;
    if (door->rtc < 0) {
        ls_log_line(door->log, LS_LOG_WARNING,
                    "--web: UDP port %u is not free: pages play without data channels",
                    (unsigned)door->bound.port);
    }
}

static ls_status open_all(ls_door *door, const ls_door_config *config, ls_text *why)
{
    ls_status status = ls_cipher_init();
    door->page_descriptor = status == LS_OK ? ls_shared_memory_make("lockstep-door") : -1;
    if (door->page_descriptor >= 0) {
        door->page = ls_shared_memory_map(door->page_descriptor, sizeof *door->page);
    }
    if (!door->page) {
        return ls_fail(LS_IO, why, "the door for pages has no memory: %s", strerror(errno));
    }
    ls_cipher_random(door->link.secret, sizeof door->link.secret);
    status = fill_page(door, config, why);
    LS_THEN(status, check_tls(config, why));
    LS_THEN(status, open_datagrams(door, config, why));
    LS_THEN(status, open_listening(door, config, why));
    if (status == LS_OK) {
        open_rtc(door);
    }
    return status;
}

ls_status ls_door_open(const ls_door_config *config, ls_door **out, ls_text *why)
{
    ls_door *made = ls_allocate(ls_allocator_heap(), sizeof *made);
    if (!made) {
        return LS_NO_MEMORY;
    }
    *made = (ls_door){.program = config->program,
                      .log = config->log,
                      .has_codes = config->has_codes,
                      .datagrams = -1,
                      .listening = -1,
                      .rtc = -1,
                      .page_descriptor = -1};
    ls_status status = open_all(made, config, why);
    if (status != LS_OK) {
        ls_door_close(made);
        return status;
    }
    look_for_files(made);
    *out = made;
    return LS_OK;
}

void ls_door_close(ls_door *door)
{
    if (!door) {
        return;
    }
    if (door->process.id != 0) {
        atomic_store_explicit(&door->page->is_over, true, memory_order_release);
        ls_child_process_ask(&door->process);
        (void)ls_child_process_wait(&door->process, LEAVE_MS, NULL);
    }
    ls_child_process_kill(&door->process);
    ls_socket_close(door->datagrams);
    ls_socket_close(door->listening);
    ls_socket_close(door->rtc);
    ls_shared_memory_release(door->page, sizeof *door->page);
    ls_shared_memory_close(door->page_descriptor);
    ls_cipher_wipe(&door->link, sizeof door->link);
    ls_release(ls_allocator_heap(), door);
}

/* ---- questions ---- */

const ls_door_link *ls_door_link_of(const ls_door *door)
{
    return &door->link;
}

ls_endpoint ls_door_endpoint(const ls_door *door)
{
    return door->bound;
}

static const char *first_name(const ls_door *door)
{
    return door->page->hosts + strspn(door->page->hosts, ", \t");
}

/* A host that browsers reach: a name of this machine, the address that the door listens on, or
 * where the invite leads. */
static void choose_host(const ls_door *door, const char *invite, char out[LS_INVITE_HOST_BYTES_MAX])
{
    const char *names = first_name(door);
    ls_invite read;
    ls_endpoint own = door->bound;
    bool is_known = !ls_endpoint_is_any(&own);
    if (names[0] != '\0') {
        snprintf(out, LS_INVITE_HOST_BYTES_MAX, "%.*s", (int)strcspn(names, ", \t"), names);
        return;
    }
    if (!is_known && ls_invite_parse(invite, &read, NULL) == LS_OK) {
        bool is_direct = strchr(read.host, '@') == NULL;
        snprintf(out, LS_INVITE_HOST_BYTES_MAX, "%s", is_direct ? read.host : "");
        ls_cipher_wipe(&read, sizeof read);
        if (is_direct) {
            return;
        }
    }
    char text[LS_ENDPOINT_NUMERIC_BYTES] = "localhost:";
    if (is_known || ls_udp_own_address(&own)) {
        ls_endpoint_format(&own, text);
    }
    bool has_brackets = text[0] == '[';
    snprintf(out, LS_INVITE_HOST_BYTES_MAX, "%.*s",
             (int)strcspn(text + has_brackets, has_brackets ? "]" : ":"), text + has_brackets);
}

void ls_door_write_link(const ls_door *door, const char *invite, char out[LS_PAGE_LINK_BYTES_MAX])
{
    char host[LS_INVITE_HOST_BYTES_MAX];
    choose_host(door, invite, host);
    const ls_page_link link = {.is_sealed = door->page->certificate[0] != '\0',
                               .host = host,
                               .port = door->bound.port,
                               .invite = invite};
    ls_page_link_write(&link, out);
}

void ls_door_write_public_link(const ls_door *door, char out[LS_PAGE_LINK_BYTES_MAX])
{
    out[0] = '\0';
    if (door && first_name(door)[0] != '\0') {
        ls_door_write_link(door, "", out);
    }
}

static void log_code_line(void *user, const char *text)
{
    const ls_door *door = user;
    ls_log_line(door->log, LS_LOG_INFO, "%s", text);
}

void ls_door_log(const ls_door *door, const char *invite, bool has_secret)
{
    char text[LS_PAGE_LINK_BYTES_MAX];
    bool is_terminal = ls_tty_is(LS_TTY_ERRORS);
    bool is_hidden = has_secret && !is_terminal;
    ls_door_write_link(door, is_hidden ? "" : invite, text);
    ls_log_line(door->log, LS_LOG_INFO, "play in a browser: %s%s", text,
                is_hidden ? "#INVITE, with the invite, which has a secret" : "");
    if (is_terminal && door->has_codes) {
        (void)ls_page_code_draw(text, log_code_line, (void *)(uintptr_t)door);
    }
    ls_cipher_wipe(text, sizeof text);
}

static uint64_t read_counter(const atomic_uint_fast64_t *counter)
{
    return atomic_load_explicit((atomic_uint_fast64_t *)(uintptr_t)counter, memory_order_relaxed);
}

void ls_door_look(const ls_door *door, ls_door_report *out)
{
    const ls_door_page *page = door->page;
    *out = (ls_door_report){.players = read_counter(&page->players),
                            .opened = read_counter(&page->opened),
                            .refused = read_counter(&page->refused),
                            .wrong = read_counter(&page->wrong),
                            .received = read_counter(&page->received),
                            .dropped = read_counter(&page->dropped),
                            .sent = read_counter(&page->sent),
                            .stale = read_counter(&page->stale)};
}
