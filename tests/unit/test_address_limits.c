#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/protocol/sealed/address_limits.h"
#include "lockstep/protocol/sealed/sealed_connections.h"
#include "sealed_pair.h"

#include <criterion/criterion.h>

/* ---- address_limits ---- */

#define PER_ADDRESS 4u
#define NOW (1000 * LS_NS_PER_SECOND)

static ls_address_limits *limits;

static void begin(void)
{
    const ls_address_limits_config config = {
        .connections_max = 16, .per_address_max = PER_ADDRESS, .seed = 0x9e3779b97f4a7c15};
    cr_assert_eq(ls_address_limits_create(&config, ls_allocator_heap(), &limits), LS_OK);
}

static void end(void)
{
    ls_address_limits_destroy(limits);
}

TestSuite(address_limits, .init = begin, .fini = end);

static ls_endpoint of_ipv4(uint32_t number)
{
    return ls_endpoint_from_ipv4(number, (uint16_t)(1000 + number % 7));
}

static bool asks(ls_endpoint address, uint64_t now_ns)
{
    return ls_address_limits_count_question(limits, &address, now_ns);
}

static uint32_t count_questions(ls_endpoint address, uint64_t now_ns)
{
    uint32_t count = 0;
    while (count < 10000 && asks(address, now_ns)) {
        count++;
    }
    return count;
}

Test(address_limits, address_asks_32_times_a_second_and_more_at_once)
{
    cr_assert_eq(count_questions(of_ipv4(1), NOW), 32 + PER_ADDRESS);
    cr_assert_eq(count_questions(of_ipv4(1), NOW + LS_NS_PER_SECOND / 32 - 1), 0);
    cr_assert_eq(count_questions(of_ipv4(1), NOW + LS_NS_PER_SECOND / 32), 1);
    cr_assert_eq(count_questions(of_ipv4(1), NOW + LS_NS_PER_SECOND), 31);
    cr_assert_eq(count_questions(of_ipv4(1), NOW + 100 * LS_NS_PER_SECOND), 32 + PER_ADDRESS);
}

Test(address_limits, address_that_asks_too_often_takes_nothing_from_others)
{
    for (uint32_t i = 0; i < 100000; i++) {
        asks(of_ipv4(1), NOW);
    }
    cr_assert_eq(count_questions(of_ipv4(2), NOW + LS_NS_PER_SECOND / 10), 32 + PER_ADDRESS);
}

/* So many new hosts ask a millisecond, for so long; returns how many may. */
static uint32_t ask_once_each(uint32_t hosts, uint64_t length_ms)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < length_ms * hosts; i++) {
        count += asks(of_ipv4(1 + i), NOW + i / hosts * LS_NS_PER_MS);
    }
    return count;
}

Test(address_limits, all_together_ask_80_times_at_once)
{
    cr_assert_eq(ask_once_each(10000, 1), 64 + 16);
}

Test(address_limits, all_together_ask_2500_times_a_second_while_it_lasts)
{
    uint32_t count = ask_once_each(100, 1000);
    cr_assert_geq(count, 2490);
    cr_assert_leq(count, 2500 + 80);
}

Test(address_limits, all_together_ask_512_times_a_second_in_the_long_run)
{
    uint32_t count = ask_once_each(10, 20000);
    cr_assert_geq(count, 4096 + 19 * 512);
    cr_assert_leq(count, 4096 + 20 * 512);
}

/* Asks as often as it can, for 10 s; returns how often it may. */
static uint32_t ask_often(uint32_t first, uint32_t hosts)
{
    uint32_t count = 0;
    for (uint64_t now_ns = NOW; now_ns < NOW + 10 * LS_NS_PER_SECOND; now_ns += LS_NS_PER_MS) {
        for (uint32_t host = first; host < first + hosts; host++) {
            count += asks(of_ipv4(host), now_ns);
        }
    }
    return count;
}

Test(address_limits, hosts_that_use_up_all_questions_leave_some_for_those_that_ask_rarely)
{
    uint32_t count = ask_often(1, 300);
    cr_assert_leq(count, 4096 + 10 * 512);
    uint32_t rare = 0;
    for (uint32_t address = 1000; address < 1100; address++) {
        uint64_t now_ns = NOW + 10 * LS_NS_PER_SECOND + (address - 1000) * 2 * LS_NS_PER_MS;
        rare += asks(of_ipv4(address), now_ns);
    }
    cr_assert_eq(rare, 100);
}

/* Every host of a network asks as often as it may, one after the other within 51 ms. */
static void check_network(bool is_ipv6, uint64_t start_ns)
{
    uint32_t count = 0;
    ls_endpoint address = {.address = {0x20, 1, 0x0d, 0xb8, 1, 2}};
    for (uint32_t i = 0; i < 256; i++) {
        address.address[6] = (uint8_t)i;
        count += count_questions(is_ipv6 ? address : of_ipv4(7 + (i << 24)),
                                 start_ns + i * LS_NS_PER_MS / 5);
    }
    cr_assert_geq(count, 128 + PER_ADDRESS);
    cr_assert_leq(count, 128 + PER_ADDRESS + 7, "and what 51 ms give");
}

Test(address_limits, addresses_of_one_network_share)
{
    check_network(false, NOW);
    uint64_t later_ns = NOW + LS_NS_PER_SECOND;
    cr_assert_eq(count_questions(of_ipv4(8), later_ns), 32 + PER_ADDRESS);
    check_network(true, later_ns + LS_NS_PER_SECOND);
}

static bool requests(ls_endpoint address, uint64_t now_ns)
{
    return ls_address_limits_count_request(limits, &address, now_ns);
}

Test(address_limits, requests_are_limited_for_a_network_and_in_all)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < 10000; i++) {
        count += requests(of_ipv4(7 + (i << 24)), NOW);
    }
    cr_assert_eq(count, 1024 + PER_ADDRESS);
    cr_assert_not(requests(of_ipv4(7), NOW));
    cr_assert(requests(of_ipv4(7), NOW + LS_NS_PER_SECOND / 2048));
    for (uint32_t address = 100; address < 100000; address++) {
        count += requests(of_ipv4(address), NOW);
    }
    cr_assert_eq(count + 1, 8192, "with the one that was not counted");
    cr_assert(requests(of_ipv4(8), NOW + LS_NS_PER_SECOND / 16384));
}

Test(address_limits, ports_share_and_addresses_do_not)
{
    for (uint32_t i = 0; i < 32 + PER_ADDRESS; i++) {
        ls_endpoint address = ls_endpoint_from_ipv4(1, (uint16_t)(i + 1));
        cr_assert(asks(address, NOW));
    }
    cr_assert_not(asks(ls_endpoint_from_ipv4(1, 999), NOW));
    cr_assert(asks(ls_endpoint_from_ipv4(2, 999), NOW));
}

Test(address_limits, addresses_of_one_56_share)
{
    ls_endpoint address = {.address = {0x20, 1, 0x0d, 0xb8, 1, 2, 3}};
    for (uint8_t i = 0; i < 32 + PER_ADDRESS; i++) {
        address.address[7] = i;
        address.address[15] = (uint8_t)(255 - i);
        cr_assert(asks(address, NOW));
    }
    cr_assert_not(asks(address, NOW));
    address.address[6] = 4;
    cr_assert(asks(address, NOW));
}

Test(address_limits, connections_of_one_address_are_limited)
{
    ls_endpoint address = of_ipv4(1), other = of_ipv4(2);
    for (uint32_t i = 0; i < PER_ADDRESS; i++) {
        cr_assert(ls_address_limits_add_connection(limits, &address));
    }
    cr_assert_not(ls_address_limits_add_connection(limits, &address));
    cr_assert(ls_address_limits_add_connection(limits, &other));
    ls_address_limits_remove_connection(limits, &address);
    cr_assert(ls_address_limits_add_connection(limits, &address));
    cr_assert_not(ls_address_limits_add_connection(limits, &address));
}

Test(address_limits, address_with_connections_is_never_forgotten)
{
    ls_endpoint address = of_ipv4(1);
    for (uint32_t i = 0; i < PER_ADDRESS; i++) {
        cr_assert(ls_address_limits_add_connection(limits, &address));
    }
    uint64_t now_ns = NOW;
    for (uint32_t other = 2; other < 3 * LS_ADDRESS_LIMITS_IDLE_MAX; other++) {
        now_ns += LS_NS_PER_SECOND / 512;
        cr_assert(asks(of_ipv4(other), now_ns));
    }
    cr_assert_not(ls_address_limits_add_connection(limits, &address));
    for (uint32_t i = 0; i < PER_ADDRESS; i++) {
        ls_address_limits_remove_connection(limits, &address);
    }
}

Test(address_limits, address_that_asked_lately_is_remembered)
{
    cr_assert_eq(count_questions(of_ipv4(1), NOW), 32 + PER_ADDRESS);
    for (uint32_t other = 2; other < 4000; other++) {
        asks(of_ipv4(other), NOW);
    }
    cr_assert_not(asks(of_ipv4(1), NOW));
}

Test(address_limits, an_address_guesses_wrong_16_times_at_once_and_then_once_a_second)
{
    ls_endpoint guesser = of_ipv4(1), other = of_ipv4(2);
    cr_assert(asks(guesser, NOW) && asks(other, NOW));
    uint32_t count = 0;
    while (count < 100 && ls_address_limits_may_guess(limits, &guesser, NOW)) {
        ls_address_limits_count_wrong_guess(limits, &guesser, NOW);
        count++;
    }
    cr_assert_eq(count, 16);
    cr_assert(ls_address_limits_may_guess(limits, &other, NOW));
    cr_assert_not(ls_address_limits_may_guess(limits, &guesser, NOW + LS_NS_PER_SECOND - 1));
    cr_assert(ls_address_limits_may_guess(limits, &guesser, NOW + LS_NS_PER_SECOND));
}

/* ---- connection_paths ---- */

#define START SEALED_START_NS
#define MS LS_NS_PER_MS
#define CHALLENGE_BYTES 27u

static ls_sealed_server *server;
static ls_sealed_client *client;
static ls_endpoint home, away, other, copier;
static uint32_t connection;
static uint64_t now_ns;

/* The challenges that the newest packet caused. */
static ls_path_challenge challenges[LS_PATH_CHALLENGES_MAX];
static uint32_t challenge_count;

static void connection_paths_begin(void)
{
    ls_sealed_server_config config = sealed_usual_config();
    ls_sealed_client_config client_config = sealed_client_of(&config);
    now_ns = START;
    home = sealed_address(1, 4000);
    away = sealed_address(7, 7000);
    other = sealed_address(8, 8000);
    copier = sealed_address(66, 6);
    server = sealed_server_with(&config);
    client = sealed_client_with(&client_config, now_ns);
    connection = sealed_connect(server, client, home, now_ns);
}

static void connection_paths_end(void)
{
    ls_sealed_client_destroy(client);
    ls_sealed_server_destroy(server);
}

TestSuite(connection_paths, .init = connection_paths_begin, .fini = connection_paths_end);

static bool is_at(ls_endpoint address)
{
    return ls_endpoint_is_equal(ls_sealed_server_endpoint(server, connection), &address);
}

static sealed_datagram packet_of_client(void)
{
    return sealed_by_client(client, LS_SEALED_PACKET, "0123456789", 10);
}

static ls_sealed_received receive(ls_endpoint from, sealed_datagram datagram)
{
    ls_sealed_received received;
    ls_sealed_server_receive(server, &from, datagram.bytes, datagram.size, now_ns, &received);
    return received;
}

static void challenge(void)
{
    challenge_count = ls_sealed_server_challenge_paths(server, connection, now_ns, challenges);
}

/* A packet of the client comes from there; returns how many challenges it causes. */
static uint32_t come_from(ls_endpoint from)
{
    ls_sealed_received received = receive(from, packet_of_client());
    cr_assert(received.has_content);
    challenge_count = 0;
    if (received.is_challenge_due) {
        challenge();
    }
    return challenge_count;
}

static const ls_path_challenge *challenge_of(ls_endpoint address)
{
    for (uint32_t i = 0; i < challenge_count; i++) {
        if (ls_endpoint_is_equal(&challenges[i].to, &address)) {
            return &challenges[i];
        }
    }
    return NULL;
}

/* The client hears the challenge of that address, if there is one; its answers, of which the newest
 * is returned, come from `from`. */
static ls_sealed_received answer_from(ls_endpoint challenged, ls_endpoint from)
{
    ls_sealed_received received = {.rejection = LS_SEALED_ACCEPTED};
    const ls_path_challenge *made = challenge_of(challenged);
    sealed_datagram copy = {.size = made ? made->size : 0};
    if (!made) {
        return received;
    }
    memcpy(copy.bytes, made->bytes, made->size);
    ls_sealed_client_received got = sealed_to_client(client, copy, now_ns);
    cr_assert_gt(got.answer_count, 0);
    cr_assert_not(got.has_content);
    bool has_moved = false;
    for (uint32_t i = 0; i < got.answer_count; i++) {
        sealed_datagram answer = {.size = got.answers[i].size};
        memcpy(answer.bytes, got.answers[i].bytes, answer.size);
        received = receive(from, answer);
        cr_assert_not(received.has_content);
        has_moved = has_moved || received.has_moved;
    }
    received.has_moved = has_moved;
    return received;
}

/* Packets come from `from` every 50 ms for so long, and the client answers what is sent there, and
 * what is sent to `heard`. Returns after how many ms the connection is there, or `length_ms`. */
static uint64_t stay_at(ls_endpoint from, const ls_endpoint *heard, uint64_t length_ms)
{
    for (uint64_t ms = 0; ms < length_ms; ms += 50, now_ns += 50 * MS) {
        come_from(from);
        answer_from(from, from);
        if (heard) {
            answer_from(*heard, from);
        }
        if (is_at(from)) {
            return ms;
        }
    }
    return length_ms;
}

Test(connection_paths, client_that_says_that_it_moved_is_followed_at_once)
{
    ls_sealed_client_note_move(client, now_ns);
    cr_assert_eq(come_from(away), 2);
    cr_assert_eq(challenge_of(away)->size, CHALLENGE_BYTES);
    cr_assert(is_at(home), "not proven yet");
    ls_sealed_received received = answer_from(away, away);
    cr_assert(received.has_moved);
    cr_assert_eq(received.index, connection);
    cr_assert(is_at(away));
    cr_assert_eq(come_from(away), 0);
}

Test(connection_paths, client_that_does_not_know_is_followed_when_its_address_is_silent)
{
    uint64_t ms = stay_at(away, NULL, 3000);
    cr_assert(is_at(away));
    cr_assert(ms >= 1000 && ms <= 1050, "%u ms", (unsigned)ms);
}

Test(connection_paths, copies_are_never_followed_while_the_client_hears_at_its_address)
{
    for (uint32_t i = 0; i < 60 * 20; i++, now_ns += 50 * MS) {
        sealed_datagram packet = packet_of_client();
        cr_assert(receive(copier, packet).has_content);
        challenge();
        cr_assert_eq(receive(home, packet).rejection, LS_SEALED_REJECT_REPEATED);
        cr_assert_not(answer_from(copier, copier).has_moved);
        cr_assert_not(answer_from(home, copier).has_moved, "the answer is copied too");
        cr_assert(is_at(home));
        cr_assert_null(ls_sealed_server_second_path(server, connection));
    }
}

/* He is faster than the client's own line each time, and 19 of 20 answers of its address are lost.
 */
Test(connection_paths, one_answer_in_a_second_keeps_the_address)
{
    for (uint32_t i = 0; i < 60 * 20; i++, now_ns += 50 * MS) {
        come_from(copier);
        answer_from(copier, copier);
        cr_assert(is_at(home), "after %u ms", i * 50);
        if (i % 19 == 0) {
            answer_from(home, copier);
        }
    }
}

Test(connection_paths, a_move_that_was_told_before_is_not_told_again)
{
    ls_sealed_client_note_move(client, now_ns);
    come_from(away);
    answer_from(away, away);
    cr_assert(is_at(away));
    now_ns += 50 * MS;
    cr_assert_eq(come_from(copier), 2);
    cr_assert_not(answer_from(copier, copier).has_moved);
    ls_sealed_client_note_move(client, now_ns);
    now_ns += 50 * MS;
    come_from(other);
    cr_assert(answer_from(other, other).has_moved);
}

Test(connection_paths, a_move_is_told_for_five_seconds)
{
    ls_sealed_client_note_move(client, now_ns);
    now_ns += 5 * LS_NS_PER_SECOND;
    cr_assert_eq(come_from(away), 2);
    cr_assert_not(answer_from(away, away).has_moved);
    cr_assert(is_at(home));
}

Test(connection_paths, address_that_was_silent_is_taken_back_when_it_answers)
{
    stay_at(copier, NULL, 1500);
    cr_assert(is_at(copier), "the client's line was dead for so long");
    uint64_t seconds = 0;
    while (is_at(copier)) {
        cr_assert_lt(++seconds, 3);
        now_ns += LS_NS_PER_SECOND;
        come_from(copier);
        answer_from(home, copier);
    }
    cr_assert(is_at(home));
}

Test(connection_paths, address_that_was_silent_is_challenged_for_a_minute)
{
    stay_at(away, NULL, 1500);
    uint32_t asked = 0;
    for (uint32_t i = 0; i < 2 * 60 * 20; i++, now_ns += 50 * MS) {
        asked += come_from(away);
    }
    cr_assert(asked >= 55 && asked <= 60, "%u", asked);
    cr_assert_not(receive(away, packet_of_client()).is_challenge_due);
}

/* His second address does not make the server forget the client's. */
Test(connection_paths, first_address_of_several_is_taken_back)
{
    stay_at(copier, NULL, 1500);
    stay_at(other, NULL, 3000);
    cr_assert(is_at(other));
    now_ns += LS_NS_PER_SECOND;
    come_from(other);
    answer_from(home, other);
    cr_assert(is_at(home));
}

Test(connection_paths, silence_begins_anew_after_three_seconds_without_challenges)
{
    stay_at(away, NULL, 950);
    cr_assert(is_at(home));
    now_ns += 3001 * MS;
    stay_at(away, NULL, 950);
    cr_assert(is_at(home));
    stay_at(away, NULL, 100);
    cr_assert(is_at(away));
}

Test(connection_paths, client_that_moves_twice_is_followed_to_the_second_address)
{
    stay_at(away, NULL, 500);
    uint64_t ms = stay_at(other, NULL, 1000);
    cr_assert(is_at(other));
    cr_assert_leq(ms, 550, "the first address was silent already");
}

Test(connection_paths, response_proves_the_address_that_was_asked_only)
{
    ls_sealed_client_note_move(client, now_ns);
    come_from(away);
    cr_assert(answer_from(away, other).has_moved, "whoever forwards the answer");
    cr_assert(is_at(away));
}

/* Somebody on the path sends copies from elsewhere, and is faster now and then. */
Test(connection_paths, others_that_copy_packets_do_not_keep_a_client_from_moving)
{
    ls_sealed_client_note_move(client, now_ns);
    come_from(away);
    ls_path_challenge of_away = *challenge_of(away);
    now_ns += LS_NS_PER_SECOND;
    come_from(copier);
    challenges[0] = of_away;
    cr_assert(answer_from(away, away).has_moved);
    cr_assert(is_at(away));
}

Test(connection_paths, response_of_a_former_move_proves_nothing)
{
    ls_sealed_client_note_move(client, now_ns);
    come_from(away);
    ls_path_challenge first = *challenge_of(away);
    now_ns += 50 * MS;
    come_from(away);
    sealed_datagram second = {.size = challenge_of(away)->size};
    memcpy(second.bytes, challenge_of(away)->bytes, second.size);
    ls_sealed_client_received got = sealed_to_client(client, second, now_ns);
    challenges[0] = first;
    answer_from(away, away);
    cr_assert(is_at(away));
    ls_sealed_client_note_move(client, now_ns);
    come_from(home);
    answer_from(home, home);
    cr_assert(is_at(home));
    for (uint32_t i = 0; i < got.answer_count; i++) {
        sealed_datagram kept = {.size = got.answers[i].size};
        memcpy(kept.bytes, got.answers[i].bytes, kept.size);
        cr_assert_eq(receive(away, kept).rejection, LS_SEALED_REJECT_OUT_OF_PLACE);
    }
    cr_assert(is_at(home));
}

Test(connection_paths, packet_that_is_not_the_newest_moves_nothing)
{
    sealed_datagram held_back = packet_of_client();
    sealed_datagram newest = packet_of_client();
    receive(home, newest);
    cr_assert_eq(receive(copier, newest).rejection, LS_SEALED_REJECT_REPEATED);
    ls_sealed_received late = receive(copier, held_back);
    cr_assert(late.has_content, "it is late, and the client's");
    cr_assert_not(late.is_challenge_due);
    cr_assert(is_at(home));
}

static uint32_t come_with(ls_endpoint from, size_t size)
{
    const uint8_t content[64] = {0};
    ls_sealed_received received =
        receive(from, sealed_by_client(client, LS_SEALED_PACKET, content, size));
    cr_assert(received.is_challenge_due);
    challenge();
    return challenge_count;
}

Test(connection_paths, both_addresses_are_asked_every_50_ms_for_packets_that_are_large_enough)
{
    cr_assert_eq(come_with(away, 6), 0);
    cr_assert_eq(come_with(other, 6), 0, "what came from one address does not count for another");
    cr_assert_eq(come_with(away, 10), 2);
    cr_assert_not_null(challenge_of(home));
    now_ns += 50 * MS - 1;
    cr_assert_eq(come_from(away), 0);
    now_ns += 1;
    cr_assert_eq(come_from(away), 2);
    answer_from(home, home);
    now_ns += 250 * MS - 1;
    cr_assert_eq(come_from(away), 0, "the client is where it was");
    now_ns += 1;
    cr_assert_eq(come_from(away), 2);
}

/* A new address may be sent something before the challenge: as much as came from there. */
Test(connection_paths, bytes_to_an_address_that_is_not_proven_are_those_that_came_from_there)
{
    cr_assert_eq(ls_sealed_server_path_room(server, connection), 0);
    sealed_datagram packet = packet_of_client();
    ls_sealed_received received = receive(away, packet);
    cr_assert(received.is_challenge_due);
    cr_assert_not(received.is_challenge_first, "it waits for what is of more use");
    cr_assert_eq(ls_sealed_server_path_room(server, connection), packet.size);
    const ls_endpoint *to = ls_sealed_server_claim_path(server, connection, packet.size);
    cr_assert(ls_endpoint_is_equal(to, &away));
    cr_assert_eq(ls_sealed_server_path_room(server, connection), 0);
    challenge();
    cr_assert_eq(challenge_count, 0, "nothing is left for it");

    cr_assert(receive(away, packet_of_client()).is_challenge_first, "it waits once");
    challenge();
    cr_assert_eq(challenge_count, 2);
    cr_assert_leq(ls_sealed_server_path_room(server, connection) + CHALLENGE_BYTES, packet.size);
    receive(home, packet_of_client());
    cr_assert_eq(ls_sealed_server_path_room(server, connection), 0, "it is at home");
}

Test(connection_paths, bytes_that_come_from_a_new_address_are_not_saved_up)
{
    const uint8_t content[1000] = {0};
    for (int i = 0; i < 100; i++) {
        sealed_datagram large = sealed_by_client(client, LS_SEALED_PACKET, content, sizeof content);
        cr_assert(receive(away, large).has_content);
    }
    cr_assert_leq(ls_sealed_server_path_room(server, connection), 2048);
}

/* Until it is known which of both the client keeps, and no longer. */
Test(connection_paths, datagrams_go_to_both_addresses_while_the_old_one_does_not_answer)
{
    come_from(away);
    cr_assert_null(ls_sealed_server_second_path(server, connection), "not proven");
    answer_from(away, away);
    const ls_endpoint *second = ls_sealed_server_second_path(server, connection);
    cr_assert(second && ls_endpoint_is_equal(second, &away));
    cr_assert_eq(ls_sealed_server_path_room(server, connection), 0);
    answer_from(home, away);
    cr_assert_null(ls_sealed_server_second_path(server, connection), "it hears at home");
    now_ns += 250 * MS;
    come_from(away);
    cr_assert_null(ls_sealed_server_second_path(server, connection));
    now_ns += 250 * MS;
    come_from(away);
    cr_assert_not_null(ls_sealed_server_second_path(server, connection), "two have no answer");
    come_from(home);
    cr_assert_null(ls_sealed_server_second_path(server, connection));
}
