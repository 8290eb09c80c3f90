/* Web client: what a page calls: one client of one match, and the simulations that it has. Texts
 * and datagrams pass by the desk (web_screen.h). A page can do nothing that ends otherwise
 * than in a status, or in nothing. Called by worker.js. */
#include "lockstep/client/bots.h"
#include "lockstep/client/link/client_link.h"
#include "lockstep/client/link/seat_file.h"
#include "lockstep/client/link/session_log.h"
#include "lockstep/client/program/client_view.h"
#include "lockstep/client/web/web_games.h"
#include "lockstep/client/web/web_screen.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/diagnosis/rerun_local.h"
#include "lockstep/common/system/wasm/page.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Bits of ls_web_open. */
#define LS_WEB_WATCHES 1u  /* comes as a spectator */
#define LS_WEB_BELIEVES 2u /* the desk has no invite but HOST: the page's own server */
#define LS_WEB_IS_BOT 4u   /* plays by itself */
#define LS_WEB_AT_RELAY 8u /* the page is of a relay, which the pipe leads to, and no server */

/* Connects by the invite on the desk, and the name behind its NUL. An ls_status; when it is none of
 * LS_OK the desk has the reason. Once. */
int32_t ls_web_open(uint32_t flags);

/* A datagram of so many bytes has come: it is on the desk. */
void ls_web_receive(uint32_t size);

/* Does what is due; to be called after datagrams, and when it says: in so many milliseconds at the
 * latest. */
uint32_t ls_web_turn(void);

/* The next picture; its pixels, NULL without a size. */
const uint32_t *ls_web_frame(void);

/* Says the line on the desk, or carries out its command. */
void ls_web_say(void);

/* Puts on the desk how it stands, in lines of a name and what it is, and returns its bytes. */
uint32_t ls_web_report(void);

#define SEAT "seat" /* the page has one private file */

/* A page that is hidden shows no pictures, and steps all the same. */
#define FRAME_NS_MAX (40 * LS_NS_PER_MS)
#define TURN_MS_MAX 8u

enum {
    CONNECT_WAIT_MS = 10000,
    RETURN_WAIT_MS = 60000, /* of a page that was loaded again in a match */
    BOT_SEED = 35,
};

typedef struct web_client {
    ls_console console; /* its log alone is used */
    ls_client_place place;
    ls_event_loop *loop;
    ls_relay_client *meeting; /* at the relay of the page; NULL: the server is known */
    ls_client_link *link;     /* NULL until then, as is the session */
    ls_session *session;
    ls_rerun_local *reruns;
    ls_client_view view;
    ls_client_chat chat;
    ls_session_log lines;
    ls_bot bot;
    bool is_bot;
    uint32_t flags; /* of ls_web_open */
    char name[LS_PLAYER_NAME_BYTES_MAX];
    bool is_over; /* before there was a session */
    ls_status over_status;
    bool has_next; /* the room plays another match behind this one */
    uint64_t frame_ns;
    ls_text over_why;
    char lacks[LS_NAME_BYTES_MAX]; /* the simulation that is not here */
} web_client;

static web_client here;

/* ---- what the session asks for ---- */

static const ls_simulation *find_simulation(void *user, const char *name)
{
    web_client *client = user;
    const ls_simulation *found = ls_web_game_named(name);
    if (!found) {
        ls_name_copy(client->lacks, sizeof client->lacks, name);
    }
    return found;
}

static uint32_t make_input(void *user, const ls_sim_instance *instance, uint32_t slot, ls_tick tick,
                           uint8_t *bytes)
{
    web_client *client = user;
    (void)tick;
    return client->is_bot ? ls_bot_input(&client->bot, instance, slot, bytes)
                          : ls_client_view_input(&client->view, instance, slot, bytes);
}

static void on_sound(void *user, ls_tick tick, const ls_sound *sound)
{
    web_client *client = user;
    (void)tick;
    ls_client_view_play(&client->view, sound);
}

static void write_line(void *user, ls_log_level level, const char *line)
{
    (void)user;
    ls_page_line((uint32_t)level, line, strlen(line));
}

static void on_ready(void *user, uint64_t now_ns)
{
    (void)user;
    (void)now_ns;
}

/* ---- opening ---- */

/* A code before the host of a server is for its relay, which the page may not be of. */
static ls_status choose_way(ls_client_place *place, uint32_t flags, ls_text *why)
{
    char *server = place->servers[0];
    bool has_code = ls_relay_code_is_meant(server);
    if ((flags & LS_WEB_AT_RELAY) != 0) {
        place->avoids_direct = true;
        return has_code ? LS_OK
                        : ls_fail(LS_BAD_ARGUMENT, why,
                                  "this page is a relay's: give it the code of a game, such as "
                                  "K7QM-29F, or an invite with one");
    }
    if (has_code) {
        const char *host = strchr(server, '@') + 1;
        memmove(server, host, strlen(host) + 1);
    }
    bool is_known = (flags & LS_WEB_BELIEVES) != 0 || place->sealed.has_server_key;
    return is_known
               ? LS_OK
               : ls_fail(LS_BAD_ARGUMENT, why,
                         "the link of this page has no whole invite behind its '#': copy it again");
}

static ls_status read_place(web_client *client, const char *word, ls_text *why)
{
    const ls_client_place_source from = {.word = word,
                                         .is_insecure = (client->flags & LS_WEB_BELIEVES) != 0,
                                         .now_s = (uint64_t)time(NULL)};
    ls_status status = ls_client_place_read(&from, &client->place, why);
    LS_THEN(status, choose_way(&client->place, client->flags, why));
    LS_THEN(status, ls_event_loop_create(ls_allocator_heap(), &client->loop));
    return status;
}

static ls_status open_link(web_client *client, ls_relay_client *met, ls_text *why)
{
    const ls_client_link_config link = {.place = &client->place,
                                        .loop = client->loop,
                                        .on_ready = {on_ready, client},
                                        .met = met,
                                        .connect_wait_ms = CONNECT_WAIT_MS};
    return ls_client_link_open(&link, &client->link, why);
}

static ls_status open_session(web_client *client, ls_text *why)
{
    ls_session_config config = ls_session_config_default();
    ls_name_copy(config.name, sizeof config.name, client->name);
    memcpy(config.room, client->place.room, sizeof config.room);
    config.find_simulation = find_simulation;
    config.make_input = make_input;
    config.on_sound = on_sound;
    config.user = client;
    config.makes_inputs_between_frames = true;
    config.keeps_previous_state = true;
    config.is_spectator = (client->flags & LS_WEB_WATCHES) != 0;
    config.asks_when_ready = !client->is_bot;
    config.rerun_host = ls_rerun_local_host(client->reruns);
    config.reconnect_ms = LS_SESSION_RECONNECT_MS_MAX;
    (void)ls_seat_file_read(SEAT, client->place.identity, &config.seat, why);
    ls_client_link_return_to(client->link, config.seat.match_id, RETURN_WAIT_MS);
    ls_packet_sink sink = ls_client_link_sink(client->link);
    ls_status status =
        ls_session_create(&config, &sink, ls_allocator_heap(), &client->session, why);
    client->view.session = client->session;
    client->view.chat = &client->chat;
    client->lines = (ls_session_log){.log = &client->console.log,
                                     .session = client->session,
                                     .link = client->link,
                                     .place = &client->place,
                                     .has_picture = true};
    return status;
}

int32_t ls_web_open(uint32_t flags)
{
    char word[LS_WEB_DESK_BYTES];
    uint8_t *desk = ls_web_desk();
    ls_text why = {{0}};
    desk[LS_WEB_DESK_BYTES - 1] = '\0';
    memcpy(word, desk, sizeof word);
    const char *name = word + strlen(word);
    name += name + 1 < word + sizeof word;
    here.console.log = (ls_log){LS_LOG_INFO, write_line, NULL};
    here.flags = flags;
    ls_name_copy(here.name, sizeof here.name, name);
    here.is_bot = (flags & LS_WEB_IS_BOT) != 0;
    here.bot = ls_bot_make(BOT_SEED);
    const ls_screen_config screen = ls_screen_config_default();
    ls_status status = ls_client_view_open(&here.view, &screen, &here.console, &why);
    LS_THEN(status, ls_rerun_local_create(ls_allocator_heap(), &here.reruns));
    LS_THEN(status, read_place(&here, word, &why));
    if (status == LS_OK && (flags & LS_WEB_AT_RELAY) != 0) {
        status = ls_client_link_begin_meeting(&here.place, 0, &here.meeting, &why);
    } else {
        LS_THEN(status, open_link(&here, NULL, &why));
        LS_THEN(status, open_session(&here, &why));
    }
    memset(desk, 0, LS_WEB_DESK_BYTES); /* it had the invite */
    if (status != LS_OK) {
        ls_web_put_text(why.bytes[0] != '\0' ? why.bytes : ls_status_text(status));
    }
    return status;
}

/* ---- playing ---- */

static void on_event(web_client *client, const ls_session_event *event, uint64_t now_ns)
{
    ls_seat_file_receive_event(SEAT, client->place.identity, client->session, event,
                               &client->console.log);
    if (event->kind == LS_SESSION_EVENT_SEATED) {
        ls_client_link_set_match(client->link, ls_session_offer(client->session)->match_id);
    } else if (event->kind == LS_SESSION_EVENT_NOTICE && event->notice.kind == LS_NOTICE_NEXT) {
        client->has_next = true;
    } else if (event->kind == LS_SESSION_EVENT_OVER && event->status != LS_OK) {
        client->over_why = event->text;
    }
    ls_session_log_event(&client->lines, event, now_ns);
    ls_client_view_on_event(&client->view, event);
}

static void after_turn(web_client *client, uint64_t now_ns)
{
    ls_session_event event;
    ls_client_link_advance(client->link, client->session, &client->console.log, now_ns);
    while (ls_session_next_event(client->session, &event)) {
        on_event(client, &event, now_ns);
    }
    ls_client_link_flush(client->link);
    client->view.server = ls_client_link_server(client->link);
}

void ls_web_receive(uint32_t size)
{
    ls_pipe_receive(ls_web_desk(), LS_MIN(size, LS_WEB_DESK_BYTES));
}

/* Until the server is known, or there is none: then the page hears it by the report. */
static void go_on_meeting(web_client *client)
{
    ls_relay_client_turn(client->meeting, ls_event_loop_now_ns(client->loop));
    if (ls_relay_client_state_of(client->meeting) == LS_RELAY_CLIENT_MEETING) {
        return;
    }
    ls_relay_client *met = client->meeting;
    client->meeting = NULL;
    ls_status status = ls_relay_client_outcome(met, &client->over_why);
    LS_THEN(status, open_link(client, met, &client->over_why));
    LS_THEN(status, open_session(client, &client->over_why));
    client->is_over = status != LS_OK;
    client->over_status = status;
}

uint32_t ls_web_turn(void)
{
    if (here.meeting) {
        go_on_meeting(&here);
    }
    if (!here.session) {
        return TURN_MS_MAX;
    }
    uint64_t now_ns = ls_event_loop_now_ns(here.loop);
    ls_client_link_receive_waiting(here.link, here.session, now_ns);
    ls_session_update(here.session, now_ns);
    if (now_ns - here.frame_ns > FRAME_NS_MAX) {
        here.frame_ns = now_ns;
        ls_session_frame(here.session, now_ns);
    }
    after_turn(&here, now_ns);
    uint64_t due_ns = ls_session_next_ns(here.session);
    uint64_t wait_ns = due_ns > now_ns ? due_ns - now_ns : 0;
    return (uint32_t)LS_MIN(wait_ns / LS_NS_PER_MS, TURN_MS_MAX);
}

const uint32_t *ls_web_frame(void)
{
    if (!here.session) {
        return NULL;
    }
    uint64_t now_ns = ls_event_loop_now_ns(here.loop);
    ls_client_link_receive_waiting(here.link, here.session, now_ns);
    here.frame_ns = now_ns;
    ls_session_frame(here.session, now_ns);
    after_turn(&here, now_ns);
    ls_client_view_frame(&here.view, now_ns);
    return ls_web_screen_pixels(here.view.screen);
}

/* ---- the person ---- */

void ls_web_say(void)
{
    ls_text answer = {{0}};
    uint8_t *desk = ls_web_desk();
    desk[LS_WEB_DESK_BYTES - 1] = '\0';
    if (here.session) {
        ls_client_chat_type(&here.chat, here.session, (const char *)desk, &answer);
    }
    if (answer.bytes[0] != '\0') {
        ls_view_add_chat(ls_screen_view(here.view.screen), answer.bytes);
    }
}

/* ---- what the page asks ---- */

uint32_t ls_web_report(void)
{
    ls_text out = {{0}};
    if (!here.session) {
        ls_web_add_number(&out, "state", here.is_over ? LS_SESSION_OVER : LS_SESSION_CONNECTING);
        ls_web_add_line(&out, "status", ls_status_name(here.over_status));
        ls_web_add_line(&out, "why", here.over_why.bytes);
        return ls_web_put_text(out.bytes);
    }
    const ls_session_report report = ls_session_report_of(here.session);
    const ls_offer *offer = ls_session_offer(here.session);
    ls_sim_instance *instance = ls_session_instance(here.session);
    ls_web_add_number(&out, "state", report.state);
    ls_web_add_number(&out, "tick", report.tick);
    ls_web_add_number(&out, "next", here.has_next);
    ls_web_add_number(&out, "typing", ls_view_is_typing(ls_screen_view(here.view.screen)));
    ls_web_add_line(&out, "simulation", offer ? offer->simulation : "");
    ls_web_add_line(&out, "status", ls_status_name(report.status));
    ls_web_add_line(&out, "lacks", here.lacks);
    if (report.state == LS_SESSION_OVER && instance) {
        ls_text_add(&out, "hash %016" PRIx64 "\n", ls_sim_instance_hash(instance));
    }
    ls_web_add_line(&out, "why", here.over_why.bytes);
    return ls_web_put_text(out.bytes);
}
