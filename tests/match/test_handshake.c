/* Machines that would diverge never share a match: each difference is found before it starts, with
 * a status of its own and both values named, and the seat is free for the next. */
#include "lockstep/protocol/wire/handshake.h"
#include "lockstep/tests/match/match_test.h"
#include "lockstep/tests/support/raw_peer.h"

#include <inttypes.h>
#include <stdio.h>

static virtual_match *open_lobby(void)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 1, 60);
    setup.match.sim.players = 2;
    virtual_match *run = checked_match_create(&setup);
    virtual_match_run(run, 500 * MS);
    return run;
}

/* Another client takes the free seat, and the match is played. */
static void close_lobby(virtual_match *run, const virtual_client *refused)
{
    cr_assert_eq(ls_match_state_of(run->match), LS_MATCH_LOBBY);
    add_clients(run, 1, NULL);
    virtual_match_run_to_end(run);
    check_others_played(run, refused);
    close_run(run);
}

static void check_names_both(const char *text, const char *item)
{
    cr_assert_not_null(strstr(text, item), "'%s' does not say '%s'", text, item);
    const char *client = strstr(text, "client ");
    const char *server = strstr(text, "server ");
    cr_assert(client && server, "'%s' does not name both sides", text);
    cr_assert_neq(strncmp(client + 7, server + 7, strcspn(client + 7, ",")), 0,
                  "'%s' names one value twice", text);
}

/* ---- simulations that are not the same ---- */

static void check_refused_field(const ls_simulation *simulation, ls_status status, const char *item,
                                const char *field)
{
    virtual_match *run = open_lobby();
    virtual_client_setup setup = virtual_client_setup_default(run);
    setup.simulation = simulation;
    virtual_client *client = virtual_match_add_client(run, &setup);
    virtual_match_run(run, SECOND);
    cr_assert(client->is_over);
    cr_assert_eq(report_of(client).status, status, "%s", ls_status_name(report_of(client).status));
    const virtual_client_event *over = virtual_client_find(client, LS_SESSION_EVENT_OVER);
    const virtual_event *left = virtual_match_find(run, LS_MATCH_PLAYER_LEFT);
    cr_assert_eq(over->event.status, status);
    cr_assert_eq(left->event.status, status, "the server knows it as well");
    size_t shared = strlen(left->event.text.bytes);
    cr_assert_eq(strncmp(left->event.text.bytes, over->event.text.bytes, shared), 0);
    cr_assert_str_eq(over->event.text.bytes + shared, field, "what the client alone knows");
    if (simulation) {
        check_names_both(over->event.text.bytes, item);
    } else {
        cr_assert_not_null(strstr(over->event.text.bytes, item));
    }
    close_lobby(run, client);
}

static void check_refused(const ls_simulation *simulation, ls_status status, const char *item)
{
    check_refused_field(simulation, status, item, "");
}

Test(handshake, a_client_without_the_simulation)
{
    check_refused(NULL, LS_SIMULATION_MISMATCH, "'test'");
}

Test(handshake, another_version_of_the_simulation)
{
    ls_simulation other = *test_simulation();
    other.version = 2;
    check_refused(&other, LS_SIMULATION_VERSION_MISMATCH, "client 2, server 1");
}

Test(handshake, another_meaning_of_a_parameter)
{
    ls_simulation other = *test_simulation();
    ls_param params[TEST_PARAM_COUNT];
    memcpy(params, other.params, sizeof params);
    params[TEST_PARAM_BYTES].name = "words";
    other.params = params;
    check_refused(&other, LS_PARAMETER_MISMATCH, "parameter digest");
}

static uint32_t other_fields(const ls_sim_config *config, ls_field *fields, uint32_t capacity)
{
    uint32_t count = test_simulation()->fields(config, fields, capacity);
    fields[0].path = "random.state";
    return count;
}

Test(handshake, another_schema)
{
    ls_simulation other = *test_simulation();
    other.fields = other_fields;
    check_refused_field(&other, LS_SCHEMA_MISMATCH, "schema digest",
                        "; the first field that differs is random.state here");
}

static uint64_t other_content(const ls_sim_config *config)
{
    (void)config;
    return 0x1234;
}

Test(handshake, another_content)
{
    ls_simulation other = *test_simulation();
    other.content_digest = other_content;
    check_refused(&other, LS_CONTENT_MISMATCH, "content digest");
}

static ls_status other_init(const ls_sim_config *config, void *state, ls_text *why)
{
    ls_status status = test_simulation()->init(config, state, why);
    ((test_simulation_state *)state)->slots[3].sum = 1;
    return status;
}

Test(handshake, another_state_to_begin_with)
{
    ls_simulation other = *test_simulation();
    other.init = other_init;
    check_refused_field(&other, LS_INITIAL_STATE_MISMATCH, "initial state",
                        "; the first field that differs is slots.sum here");
}

/* ---- programs and machines that are not the same ---- */

static void check_hello_refused(const ls_hello *hello, ls_status status, const char *item)
{
    virtual_match *run = open_lobby();
    raw_peer *peer = raw_peer_create(run);
    virtual_match_run(run, 5 * MS);
    ls_message message = {.kind = LS_MESSAGE_HELLO, .body.hello = *hello};
    raw_peer_send_message(peer, &message);
    virtual_match_run(run, 5 * MS);
    cr_assert(peer->is_closed);
    cr_assert_eq(peer->heard[LS_MESSAGE_OFFER], 0);
    cr_assert_eq(peer->refusal.negated_status, (uint32_t)-status);
    const virtual_event *refused = virtual_match_find(run, LS_MATCH_PEER_REFUSED);
    cr_assert_eq(refused->event.status, status);
    cr_assert_str_eq(refused->event.text.bytes, peer->refusal.text.bytes);
    cr_assert_not_null(strstr(refused->event.text.bytes, item), "'%s' does not say '%s'",
                       refused->event.text.bytes, item);
    close_lobby(run, NULL);
    raw_peer_destroy(peer);
}

Test(handshake, another_protocol_version)
{
    char item[64];
    ls_hello hello = ls_hello_make("old");
    hello.protocol_version = 999;
    snprintf(item, sizeof item, "client 999, server %u", LS_PROTOCOL_VERSION);
    check_hello_refused(&hello, LS_PROTOCOL_MISMATCH, item);
}

Test(handshake, another_arithmetic)
{
    char item[64];
    ls_hello hello = ls_hello_make("odd");
    uint64_t right = hello.arithmetic;
    hello.arithmetic ^= 1;
    snprintf(item, sizeof item, "client %016" PRIx64 ", server %016" PRIx64, hello.arithmetic,
             right);
    check_hello_refused(&hello, LS_ARITHMETIC_MISMATCH, item);
}

/* Denormals that are flushed are the commonest reason, and each side knows its own. */
Test(handshake, another_arithmetic_is_told_with_what_both_sides_have)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 2, 100);
    ls_build_fingerprint server = {.items = {{0}}};
    ls_build_fingerprint client = {.items = {{0}}};
    ls_build_fingerprint_set(&server, LS_PRINT_FLOAT, "denormals kept");
    ls_build_fingerprint_set(&client, LS_PRINT_FLOAT, "denormals flushed");
    setup.match.print = &server;
    setup.match.maths_check = 1;
    setup.clients = 0;
    virtual_match *run = checked_match_create(&setup);
    virtual_client_setup odd = virtual_client_setup_default(run);
    odd.session.print = &client;
    odd.session.maths_check = 2;
    const virtual_client *refused = virtual_match_add_client(run, &odd);
    virtual_match_run_until(run, 2 * SECOND);
    const virtual_client_event *over = virtual_client_find(refused, LS_SESSION_EVENT_OVER);
    cr_assert_not_null(over);
    cr_expect_eq(over->event.status, LS_ARITHMETIC_MISMATCH);
    const char *why = over->event.text.bytes;
    cr_expect_not_null(strstr(why, "; the server has denormals kept; this client has denormals "
                                   "flushed"),
                       "%s", why);
    virtual_match_destroy(run);
}

Test(handshake, another_program_altogether)
{
    ls_hello hello = ls_hello_make("browser");
    hello.magic = 0x20544547;
    check_hello_refused(&hello, LS_MALFORMED, "20544547");
}

/* ---- no room ---- */

static virtual_client *add_and_run(virtual_match *run)
{
    virtual_client_setup setup = virtual_client_setup_default(run);
    virtual_client *client = virtual_match_add_client(run, &setup);
    virtual_match_run(run, SECOND);
    return client;
}

Test(handshake, a_full_match_takes_nobody_else)
{
    virtual_match *run = open_lobby();
    raw_peer *slow = raw_peer_create(run); /* has a seat and is not ready */
    virtual_match_run(run, 5 * MS);
    raw_peer_say_hello(slow);
    virtual_match_run(run, 5 * MS);
    virtual_client *late = add_and_run(run);
    cr_assert(late->is_over);
    cr_assert_eq(report_of(late).status, LS_MATCH_FULL);
    cr_assert_eq(virtual_match_find(run, LS_MATCH_PEER_REFUSED)->event.status, LS_MATCH_FULL);
    cr_assert_eq(ls_match_state_of(run->match), LS_MATCH_LOBBY);
    raw_peer_destroy(slow);
    virtual_match_destroy(run);
}

static raw_peer *say_hello(virtual_match *run)
{
    raw_peer *peer = raw_peer_create(run);
    virtual_match_run(run, 5 * MS);
    raw_peer_say_hello(peer);
    virtual_match_run(run, 5 * MS);
    return peer;
}

/* HELLO alone keeps nobody out. */
Test(handshake, a_newcomer_that_is_not_ready_makes_room_after_its_time)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 0, 60);
    setup.match.sim.players = 2;
    virtual_match *run = checked_match_create(&setup);
    raw_peer *idle[] = {say_hello(run), say_hello(run)};
    raw_peer *early = say_hello(run);
    cr_assert_eq(early->refusal.negated_status, (uint32_t)-LS_MATCH_FULL);
    virtual_match_run(run, 2 * SECOND);
    raw_peer *late[] = {say_hello(run), say_hello(run)};
    for (uint32_t i = 0; i < 2; i++) {
        cr_assert_eq(late[i]->offer.slot, i);
        cr_assert_eq(idle[i]->refusal.negated_status, (uint32_t)-LS_TIMED_OUT);
        raw_peer_destroy(idle[i]);
        raw_peer_destroy(late[i]);
    }
    raw_peer_destroy(early);
    virtual_match_destroy(run);
}

Test(handshake, a_running_match_whose_seats_are_taken_takes_nobody_else)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 2, 300);
    virtual_match *run = match_at(&setup, 50);
    virtual_client *late = add_and_run(run);
    cr_assert(late->is_over);
    cr_assert_eq(report_of(late).status, LS_MATCH_FULL);
    virtual_match_run_to_end(run);
    check_others_played(run, late);
    close_run(run);
}

Test(handshake, nobody_is_refused_who_is_the_same)
{
    ls_simulation same = *test_simulation();
    virtual_match *run = open_lobby();
    virtual_client_setup setup = virtual_client_setup_default(run);
    setup.simulation = &same;
    virtual_match_add_client(run, &setup);
    play_and_check(run);
    cr_assert_null(virtual_match_find(run, LS_MATCH_PLAYER_LEFT));
    virtual_match_destroy(run);
}

/* ---- whom the host of the match lets in ---- */

typedef struct doorkeeper {
    uint32_t asked;
    bool is_open;
    ls_match_newcomer newest;
    char name[LS_PLAYER_NAME_BYTES_MAX];
} doorkeeper;

static bool may_join(void *user, const ls_match_newcomer *newcomer, ls_text *why)
{
    doorkeeper *door = user;
    door->asked++;
    door->newest = *newcomer;
    ls_name_copy(door->name, sizeof door->name, newcomer->name);
    ls_text_set(why, "%s is not on the list", newcomer->name);
    return door->is_open;
}

static virtual_match *open_door(doorkeeper *door, uint32_t players)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), players, 60);
    setup.match.may_join = may_join;
    setup.match.may_join_user = door;
    setup.match.spectators_max = 1;
    return checked_match_create(&setup);
}

Test(handshake, somebody_whom_the_host_does_not_let_in_reads_why)
{
    doorkeeper door = {0};
    virtual_match *run = open_door(&door, 1);
    virtual_match_run(run, SECOND);
    ls_session_report report = ls_session_report_of(run->clients[0]->session);
    cr_assert_eq(report.state, LS_SESSION_OVER);
    cr_assert_eq(report.status, LS_NOT_ADMITTED);
    cr_assert_eq(door.asked, 1);
    cr_assert_eq(door.newest.slot, 0);
    cr_assert(!door.newest.is_spectator && !door.newest.is_returning);
    const virtual_event *refused = virtual_match_find(run, LS_MATCH_PEER_REFUSED);
    ls_text words = {""};
    ls_text_set(&words, "%s is not on the list", door.name);
    cr_assert_str_eq(refused->event.text.bytes, words.bytes);
    cr_assert_eq(refused->event.peer, door.newest.peer);
    cr_assert_eq(ls_match_seats_open(run->match), 1, "the seat is free");
    virtual_match_destroy(run);
}

Test(handshake, everybody_whom_the_host_lets_in_plays)
{
    doorkeeper door = {.is_open = true};
    virtual_match *run = open_door(&door, 3);
    play_and_check(run);
    cr_assert_eq(door.asked, 3);
    virtual_match_destroy(run);
}
