#include "lockstep/protocol/sealed/sealed_client.h"
#include "lockstep/protocol/sealed/sealed_server.h"

#include "lockstep/tests/support/counting_allocator.h"
#include "sealed_pair.h"

#define NOW SEALED_START_NS

static ls_sealed_server_config config;
static ls_sealed_server *server;
static ls_sealed_client *client;
static ls_endpoint home;

static void begin(void)
{
    config = sealed_usual_config();
    server = sealed_server_with(&config);
    ls_sealed_client_config client_config = sealed_client_of(&config);
    client = sealed_client_with(&client_config, NOW);
    home = sealed_address(1, 4000);
}

static void end(void)
{
    ls_sealed_client_destroy(client);
    ls_sealed_server_destroy(server);
}

/* ==== sealed_client ==== */

TestSuite(sealed_client, .init = begin, .fini = end);

static sealed_datagram challenge_of(uint64_t now_ns)
{
    ls_sealed_received received;
    return sealed_to_server(server, home, sealed_pop(client, now_ns), now_ns, &received);
}

static ls_sealed_rejection client_rejection_of(sealed_datagram datagram)
{
    return sealed_to_client(client, datagram, NOW).rejection;
}

Test(sealed_client, sends_nothing_before_it_is_started)
{
    ls_sealed_client_config client_config = sealed_client_of(&config);
    counting_allocator counting;
    counting_allocator_init(&counting);
    ls_sealed_client *idle;
    cr_assert_eq(ls_sealed_client_create(&client_config, &counting.allocator, &idle), LS_OK);
    uint8_t bytes[LS_SEALED_DATAGRAM_BYTES_MAX];
    cr_assert_eq(ls_sealed_client_pop_due(idle, NOW, bytes), 0);
    cr_assert_eq(ls_sealed_client_due_ns(idle), UINT64_MAX);
    ls_sealed_client_destroy(idle);
    cr_assert_eq(counting.live_blocks, 0);
    counting.allowed = 0;
    cr_assert_eq(ls_sealed_client_create(&client_config, &counting.allocator, &idle), LS_NO_MEMORY);
}

#define REQUEST_NUMBER_AT 39

/* Repeats of a first packet, each when it is due; only the number in REQUEST differs. */
static void assert_repeats(sealed_datagram first, uint64_t start_ns)
{
    bool is_numbered = first.bytes[0] == 1;
    const uint64_t confirm_ms[] = {100, 300, 700, 1200, 1700, 2200};
    const uint64_t request_ms[] = {100, 300, 700, 1200, 1450, 1700};
    const uint64_t *times_ms = is_numbered ? request_ms : confirm_ms;
    for (size_t i = 0; i < sizeof request_ms / sizeof request_ms[0]; i++) {
        uint64_t due_ns = start_ns + times_ms[i] * LS_NS_PER_MS;
        uint8_t bytes[LS_SEALED_DATAGRAM_BYTES_MAX];
        cr_assert_eq(ls_sealed_client_due_ns(client), due_ns);
        cr_assert_eq(ls_sealed_client_pop_due(client, due_ns - 1, bytes), 0);
        sealed_datagram repeat = sealed_pop(client, due_ns);
        bool is_short = is_numbered && i == 4;
        cr_assert_eq(repeat.size, is_short ? LS_SEALED_REQUEST_BYTES_MIN : first.size);
        if (is_numbered) {
            cr_assert_eq(repeat.bytes[REQUEST_NUMBER_AT], i + 1);
            repeat.bytes[REQUEST_NUMBER_AT] = first.bytes[REQUEST_NUMBER_AT];
        }
        cr_assert_arr_eq(repeat.bytes, first.bytes, repeat.size);
    }
}

/* Sends what is due until `end_ns` over a path that takes datagrams of at most so many bytes. */
static void exchange_over(size_t bytes_max, uint64_t end_ns)
{
    uint64_t now_ns = NOW;
    while (now_ns < end_ns && ls_sealed_client_state_of(client) != LS_SEALED_CLIENT_OPEN) {
        ls_sealed_received received;
        sealed_datagram sent = sealed_pop(client, now_ns);
        if (sent.size > 0 && sent.size <= bytes_max) {
            sealed_to_client(client, sealed_to_server(server, home, sent, now_ns, &received),
                             now_ns);
        }
        now_ns = ls_sealed_client_due_ns(client);
    }
}

Test(sealed_client, a_path_that_takes_short_datagrams_alone_is_named)
{
    exchange_over(LS_SEALED_REQUEST_BYTES - 1, NOW + 3 * LS_NS_PER_SECOND);
    cr_expect_eq(ls_sealed_client_state_of(client), LS_SEALED_CLIENT_REQUESTING);
    cr_expect_eq(ls_sealed_client_refusal(client), LS_SEALED_REFUSAL_PATH);
    ls_sealed_client_start(client, NOW);
    cr_expect_eq(ls_sealed_client_refusal(client), LS_SEALED_REFUSAL_NONE);
    exchange_over(0, NOW + 3 * LS_NS_PER_SECOND);
    cr_expect_eq(ls_sealed_client_refusal(client), LS_SEALED_REFUSAL_NONE);
    ls_sealed_client_start(client, NOW);
    exchange_over(LS_SEALED_REQUEST_BYTES, NOW + 3 * LS_NS_PER_SECOND);
    cr_expect_eq(ls_sealed_client_state_of(client), LS_SEALED_CLIENT_OPEN);
}

Test(sealed_client, request_and_confirm_are_repeated_alike)
{
    sealed_datagram request = sealed_pop(client, NOW);
    cr_assert_eq(request.size, LS_SEALED_REQUEST_BYTES);
    assert_repeats(request, NOW);
    ls_sealed_received received;
    sealed_datagram challenge = sealed_to_server(server, home, request, NOW, &received);
    uint64_t start_ns = NOW + 9 * LS_NS_PER_SECOND;
    sealed_to_client(client, challenge, start_ns);
    assert_repeats(sealed_pop(client, start_ns), start_ns);
}

Test(sealed_client, confirm_without_an_answer_is_begun_again_with_other_keys)
{
    sealed_datagram request = sealed_pop(client, NOW);
    ls_sealed_received received;
    sealed_datagram challenge = sealed_to_server(server, home, request, NOW, &received);
    sealed_to_client(client, challenge, NOW);
    uint64_t now_ns = NOW;
    sealed_datagram sent;
    do {
        sent = sealed_pop(client, now_ns);
        now_ns = ls_sealed_client_due_ns(client);
    } while (sent.bytes[0] == 3 && now_ns < NOW + 60 * LS_NS_PER_SECOND);
    cr_assert_eq(sent.bytes[0], 1);
    cr_assert_neq(memcmp(sent.bytes, request.bytes, request.size), 0);
    cr_assert_eq(ls_sealed_client_state_of(client), LS_SEALED_CLIENT_REQUESTING);
    cr_assert_leq(now_ns, NOW + 5 * LS_NS_PER_SECOND);
    challenge = sealed_to_server(server, home, sent, now_ns, &received);
    sealed_to_client(client, challenge, now_ns);
    sealed_datagram accept =
        sealed_to_server(server, home, sealed_pop(client, now_ns), now_ns, &received);
    cr_assert(sealed_to_client(client, accept, now_ns).is_opened);
}

Test(sealed_client, lost_accept_is_had_by_the_repeat)
{
    sealed_exchange(server, client, home, NOW);
    uint64_t later_ns = NOW + 100 * LS_NS_PER_MS;
    ls_sealed_received received;
    sealed_datagram accept =
        sealed_to_server(server, home, sealed_pop(client, later_ns), later_ns, &received);
    cr_assert(sealed_to_client(client, accept, later_ns).is_opened);
    cr_assert_eq(ls_sealed_client_due_ns(client), UINT64_MAX);
}

Test(sealed_client, round_trip_is_the_shorter_of_both)
{
    uint64_t now_ns = NOW;
    sealed_datagram challenge = challenge_of(now_ns);
    now_ns += 40 * LS_NS_PER_MS;
    sealed_to_client(client, challenge, now_ns);
    cr_assert_eq(ls_sealed_client_rtt_ns(client), 40 * LS_NS_PER_MS);
    ls_sealed_received received;
    sealed_datagram accept =
        sealed_to_server(server, home, sealed_pop(client, now_ns), now_ns, &received);
    sealed_to_client(client, accept, now_ns + 33 * LS_NS_PER_MS);
    cr_assert_eq(ls_sealed_client_rtt_ns(client), 33 * LS_NS_PER_MS);
}

Test(sealed_client, answers_to_repeated_requests_measure_the_round_trip_too)
{
    sealed_datagram first = sealed_pop(client, NOW);
    sealed_datagram second = sealed_pop(client, NOW + 100 * LS_NS_PER_MS);
    sealed_pop(client, NOW + 300 * LS_NS_PER_MS);
    ls_sealed_received received;
    sealed_datagram challenge = sealed_to_server(server, home, second, NOW, &received);
    cr_assert_neq(memcmp(first.bytes, second.bytes, second.size), 0);
    sealed_to_client(client, challenge, NOW + 310 * LS_NS_PER_MS);
    cr_assert_eq(ls_sealed_client_rtt_ns(client), 210 * LS_NS_PER_MS);
    /* The answer to a repeated CONFIRM measures nothing: either may have been answered. */
    sealed_pop(client, NOW + 310 * LS_NS_PER_MS);
    sealed_datagram confirm = sealed_pop(client, NOW + 410 * LS_NS_PER_MS);
    sealed_datagram accept = sealed_to_server(server, home, confirm, NOW, &received);
    cr_assert(sealed_to_client(client, accept, NOW + 411 * LS_NS_PER_MS).is_opened);
    cr_assert_eq(ls_sealed_client_rtt_ns(client), 210 * LS_NS_PER_MS);
}

Test(sealed_client, challenge_that_answers_what_was_not_asked_measures_nothing)
{
    sealed_datagram request = sealed_pop(client, NOW);
    request.bytes[REQUEST_NUMBER_AT] = 7;
    ls_sealed_received received;
    sealed_datagram challenge = sealed_to_server(server, home, request, NOW, &received);
    cr_assert_eq(sealed_to_client(client, challenge, NOW + LS_NS_PER_MS).rejection,
                 LS_SEALED_ACCEPTED);
    cr_assert_eq(ls_sealed_client_rtt_ns(client), 0);
}

Test(sealed_client, answers_to_other_questions_are_dropped)
{
    sealed_datagram challenge = challenge_of(NOW);
    sealed_datagram other = challenge;
    other.bytes[1] ^= 1;
    cr_assert_eq(client_rejection_of(other), LS_SEALED_REJECT_OUT_OF_PLACE);
    cr_assert_eq(client_rejection_of(challenge), LS_SEALED_ACCEPTED);
    cr_assert_eq(client_rejection_of(challenge), LS_SEALED_REJECT_OUT_OF_PLACE, "it was answered");
}

Test(sealed_client, server_with_another_key_is_never_believed)
{
    ls_sealed_server_config impostor_config = sealed_usual_config();
    impostor_config.gives_key = true;
    ls_sealed_server *impostor = sealed_server_with(&impostor_config);
    sealed_datagram answer = sealed_exchange(impostor, client, home, NOW);
    cr_assert_eq(answer.size, 0, "the server cannot compute what the client seals with");
    cr_assert_eq(ls_sealed_client_state_of(client), LS_SEALED_CLIENT_CONFIRMING);
    ls_sealed_server_destroy(impostor);
}

Test(sealed_client, other_version_of_the_server_is_named)
{
    sealed_datagram challenge = challenge_of(NOW);
    challenge.bytes[9] = 2;
    client_rejection_of(challenge);
    cr_assert_eq(ls_sealed_client_state_of(client), LS_SEALED_CLIENT_REFUSED);
    cr_assert_eq(ls_sealed_client_refusal(client), LS_SEALED_REFUSAL_VERSION);
    cr_assert_eq(ls_sealed_client_due_ns(client), UINT64_MAX);
    ls_sealed_client_start(client, NOW);
    cr_assert_eq(ls_sealed_client_refusal(client), LS_SEALED_REFUSAL_NONE);
    sealed_connect(server, client, home, NOW);
}

/* An altered answer changes nothing: the real one is taken afterwards. */
static void assert_altered_is_dropped(sealed_datagram answer)
{
    for (size_t bit = 0; bit < 8 * answer.size; bit++) {
        sealed_datagram altered = answer;
        altered.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        cr_assert_neq(client_rejection_of(altered), LS_SEALED_ACCEPTED, "bit %zu", bit);
        cr_assert_eq(ls_sealed_client_state_of(client), LS_SEALED_CLIENT_CONFIRMING);
    }
    cr_assert_eq(client_rejection_of(answer), LS_SEALED_ACCEPTED);
}

Test(sealed_client, altered_accept_is_dropped)
{
    assert_altered_is_dropped(sealed_exchange(server, client, home, NOW));
    cr_assert_eq(ls_sealed_client_state_of(client), LS_SEALED_CLIENT_OPEN);
}

Test(sealed_client, altered_denial_is_dropped)
{
    config.needs_secret = true;
    ls_sealed_server *closed = sealed_server_with(&config);
    assert_altered_is_dropped(sealed_exchange(closed, client, home, NOW));
    cr_assert_eq(ls_sealed_client_refusal(client), LS_SEALED_REFUSAL_CREDENTIAL);
    ls_sealed_server_destroy(closed);
}

Test(sealed_client, packet_opens_once_and_never_when_it_is_altered)
{
    uint32_t index = sealed_connect(server, client, home, NOW);
    sealed_datagram packet = sealed_by_server(server, index, "abc", 3);
    for (size_t bit = 0; bit < 8 * packet.size; bit++) {
        sealed_datagram altered = packet;
        altered.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        cr_assert_neq(client_rejection_of(altered), LS_SEALED_ACCEPTED, "bit %zu", bit);
    }
    cr_assert_eq(client_rejection_of(packet), LS_SEALED_ACCEPTED);
    cr_assert_eq(client_rejection_of(packet), LS_SEALED_REJECT_REPEATED);
}

Test(sealed_client, own_packet_sent_back_does_not_open)
{
    sealed_connect(server, client, home, NOW);
    sealed_datagram packet = sealed_by_client(client, LS_SEALED_PACKET, "abc", 3);
    cr_assert_neq(client_rejection_of(packet), LS_SEALED_ACCEPTED);
}

Test(sealed_client, packets_before_the_keys_are_dropped)
{
    sealed_datagram packet = {.bytes = {0x80}, .size = 40};
    cr_assert_eq(client_rejection_of(packet), LS_SEALED_REJECT_OUT_OF_PLACE);
}

Test(sealed_client, junk_is_dropped)
{
    sealed_connect(server, client, home, NOW);
    sealed_datagram junk;
    for (uint32_t i = 0; i < 20000; i++) {
        uint8_t random[2];
        ls_cipher_random(random, sizeof random);
        junk.size = (random[0] | random[1] << 8) % (LS_SEALED_DATAGRAM_BYTES_MAX + 1);
        ls_cipher_random(junk.bytes, junk.size);
        cr_assert_neq(client_rejection_of(junk), LS_SEALED_ACCEPTED);
    }
    cr_assert_eq(ls_sealed_client_state_of(client), LS_SEALED_CLIENT_OPEN);
}

Test(sealed_client, start_forgets_the_connection_before)
{
    uint32_t index = sealed_connect(server, client, home, NOW);
    sealed_datagram packet = sealed_by_server(server, index, "abc", 3);
    ls_sealed_client_start(client, NOW);
    cr_assert_eq(client_rejection_of(packet), LS_SEALED_REJECT_OUT_OF_PLACE);
    cr_assert_neq(sealed_connect(server, client, home, NOW), index);
    cr_assert_eq(client_rejection_of(packet), LS_SEALED_REJECT_FORGED);
}

/* ==== sealed_server ==== */

TestSuite(sealed_server, .init = begin, .fini = end);

Test(sealed_server, client_and_server_exchange_keys_and_packets)
{
    uint32_t index = sealed_connect(server, client, home, NOW);
    cr_assert_eq(ls_sealed_client_state_of(client), LS_SEALED_CLIENT_OPEN);
    sealed_datagram up = sealed_by_client(client, LS_SEALED_ENET, "up", 2);
    ls_sealed_received received;
    ls_sealed_server_receive(server, &home, up.bytes, up.size, NOW, &received);
    cr_assert(received.has_content);
    cr_assert_not(received.is_opened);
    cr_assert_eq(received.index, index);
    cr_assert_eq(received.content, LS_SEALED_ENET);
    cr_assert_eq(received.size, 2);
    cr_assert_arr_eq(received.bytes, "up", 2);
    cr_assert_eq(received.answer_bytes, 0);

    sealed_datagram down = sealed_by_server(server, index, "down", 4);
    ls_sealed_client_received got;
    ls_sealed_client_receive(client, down.bytes, down.size, NOW, &got);
    cr_assert(got.has_content);
    cr_assert_eq(got.content, LS_SEALED_PACKET);
    cr_assert_eq(got.size, 4);
    cr_assert_arr_eq(got.bytes, "down", 4);
}

static void expect_exchange(bool server_avoids_aes, bool client_avoids_aes)
{
    end();
    config = sealed_usual_config();
    config.avoids_aes = server_avoids_aes;
    server = sealed_server_with(&config);
    ls_sealed_client_config client_config = sealed_client_of(&config);
    client_config.avoids_aes = client_avoids_aes;
    client = sealed_client_with(&client_config, NOW);
    uint32_t index = sealed_connect(server, client, home, NOW);
    sealed_datagram down = sealed_by_server(server, index, "down", 4);
    ls_sealed_client_received got;
    ls_sealed_client_receive(client, down.bytes, down.size, NOW, &got);
    cr_assert(got.has_content);
    cr_assert_arr_eq(got.bytes, "down", 4);
}

Test(sealed_server, either_side_may_have_no_aes)
{
    for (uint32_t i = 0; i < 4; i++) {
        expect_exchange((i & 1) != 0, (i & 2) != 0);
    }
}

Test(sealed_server, cipher_that_the_server_has_not_is_refused)
{
    if (!ls_cipher_has_aes()) {
        cr_skip_test("this processor has no instructions for AES");
    }
    end();
    config = sealed_usual_config();
    config.avoids_aes = true;
    server = sealed_server_with(&config);
    ls_sealed_client_config client_config = sealed_client_of(&config);
    client = sealed_client_with(&client_config, NOW);
    ls_sealed_received received;
    sealed_datagram challenge =
        sealed_to_server(server, home, sealed_pop(client, NOW), NOW, &received);
    cr_assert_eq(challenge.bytes[12], 0);
    challenge.bytes[12] = 1; /* somebody on the path says that it has */
    cr_assert_eq(sealed_to_client(client, challenge, NOW).rejection, LS_SEALED_ACCEPTED);
    sealed_to_server(server, home, sealed_pop(client, NOW), NOW, &received);
    cr_assert_eq(received.rejection, LS_SEALED_REJECT_MALFORMED);
}

Test(sealed_server, cookie_is_of_one_address_and_port)
{
    const ls_endpoint others[] = {sealed_address(2, 4000), sealed_address(1, 4001)};
    ls_sealed_received received;
    sealed_datagram challenge =
        sealed_to_server(server, home, sealed_pop(client, NOW), NOW, &received);
    cr_assert_eq(sealed_to_client(client, challenge, NOW).rejection, LS_SEALED_ACCEPTED);
    sealed_datagram confirm = sealed_pop(client, NOW);
    for (size_t i = 0; i < 2; i++) {
        sealed_to_server(server, others[i], confirm, NOW, &received);
        cr_assert_eq(received.rejection, LS_SEALED_REJECT_COOKIE);
        cr_assert_eq(received.answer_bytes, 0);
    }
    sealed_to_server(server, home, confirm, NOW, &received);
    cr_assert_eq(received.rejection, LS_SEALED_ACCEPTED);
}

/* ---- the key exchange ---- */

static sealed_datagram confirm_of(ls_sealed_client *of, ls_endpoint from, uint64_t now_ns)
{
    ls_sealed_received received;
    sealed_datagram challenge =
        sealed_to_server(server, from, sealed_pop(of, now_ns), now_ns, &received);
    cr_assert_eq(sealed_to_client(of, challenge, now_ns).rejection, LS_SEALED_ACCEPTED);
    return sealed_pop(of, now_ns);
}

static ls_sealed_rejection server_rejection_of(ls_endpoint from, sealed_datagram datagram,
                                               uint64_t now_ns)
{
    ls_sealed_received received;
    sealed_to_server(server, from, datagram, now_ns, &received);
    return received.rejection;
}

/* A client that nothing but this call knows asks to be let in; the server's answer.
 */
static sealed_datagram answer_to_another(ls_endpoint from, uint64_t now_ns)
{
    ls_sealed_client_config client_config = sealed_client_of(&config);
    ls_sealed_client *other = sealed_client_with(&client_config, now_ns);
    sealed_datagram answer = sealed_exchange(server, other, from, now_ns);
    ls_sealed_client_destroy(other);
    return answer;
}

static uint8_t kind_of(sealed_datagram datagram)
{
    return datagram.size == 0 ? 0 : datagram.bytes[0];
}

Test(sealed_server, config_out_of_range_is_refused)
{
    ls_sealed_server *made = NULL;
    ls_sealed_server_config bad = config;
    bad.connections_max = 0;
    cr_assert_eq(ls_sealed_server_create(&bad, ls_allocator_heap(), &made), LS_BAD_ARGUMENT);
    bad.connections_max = LS_SEALED_INDICES * LS_SEALED_INDEX_ROUNDS + 1;
    cr_assert_eq(ls_sealed_server_create(&bad, ls_allocator_heap(), &made), LS_BAD_ARGUMENT);
    bad = config;
    bad.per_address_max = 0;
    cr_assert_eq(ls_sealed_server_create(&bad, ls_allocator_heap(), &made), LS_BAD_ARGUMENT);
    cr_assert_null(made);
}

Test(sealed_server, memory_is_taken_at_create_alone_and_given_back)
{
    counting_allocator counting;
    counting_allocator_init(&counting);
    ls_sealed_server *counted;
    cr_assert_eq(ls_sealed_server_create(&config, &counting.allocator, &counted), LS_OK);
    uint64_t taken = counting.allocations;
    for (uint64_t allowed = 0; allowed < taken; allowed++) {
        counting.allowed = allowed;
        ls_sealed_server *refused;
        cr_assert_eq(ls_sealed_server_create(&config, &counting.allocator, &refused), LS_NO_MEMORY);
    }
    uint64_t before = heap_calls();
    uint32_t index = sealed_connect(counted, client, home, NOW);
    cr_assert_eq(heap_calls(), before);
    ls_sealed_server_close(counted, index);
    ls_sealed_server_destroy(counted);
    cr_assert_eq(counting.live_blocks, 0);
}

Test(sealed_server, challenge_is_good_for_five_seconds)
{
    sealed_datagram confirm = confirm_of(client, home, NOW);
    cr_assert_eq(server_rejection_of(home, confirm, NOW + 5001 * LS_NS_PER_MS),
                 LS_SEALED_REJECT_COOKIE);
    cr_assert_eq(server_rejection_of(home, confirm, NOW - LS_NS_PER_MS), LS_SEALED_REJECT_COOKIE);
    cr_assert_eq(server_rejection_of(home, confirm, NOW + 5000 * LS_NS_PER_MS), LS_SEALED_ACCEPTED);
}

Test(sealed_server, cookie_of_another_server_is_refused)
{
    ls_sealed_server *restarted = sealed_server_with(&config);
    sealed_datagram confirm = confirm_of(client, home, NOW);
    ls_sealed_received received;
    sealed_to_server(restarted, home, confirm, NOW, &received);
    cr_assert_eq(received.rejection, LS_SEALED_REJECT_COOKIE);
    ls_sealed_server_destroy(restarted);
}

Test(sealed_server, altered_confirm_is_refused_without_an_answer)
{
    end();
    config.per_address_max = 200; /* none is refused for being one too many */
    server = sealed_server_with(&config);
    ls_sealed_client_config client_config = sealed_client_of(&config);
    client = sealed_client_with(&client_config, NOW);
    const sealed_datagram confirm = confirm_of(client, home, NOW);
    for (size_t bit = 0; bit < 8 * 79; bit++) {
        sealed_datagram altered = confirm;
        altered.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        ls_sealed_received received;
        uint64_t now_ns = NOW + bit * LS_NS_PER_MS; /* within what may be asked in all */
        sealed_to_server(server, home, altered, now_ns, &received);
        cr_assert_neq(received.rejection, LS_SEALED_ACCEPTED, "bit %zu", bit);
        cr_assert_neq(received.rejection, LS_SEALED_REJECT_LIMITED, "bit %zu", bit);
        cr_assert_eq(received.answer_bytes, 0, "bit %zu", bit);
    }
    cr_assert_eq(server_rejection_of(home, confirm, NOW), LS_SEALED_ACCEPTED);
}

Test(sealed_server, repeated_confirm_gives_the_same_accept_and_no_second_connection)
{
    const sealed_datagram confirm = confirm_of(client, home, NOW);
    ls_sealed_received received;
    sealed_datagram first = sealed_to_server(server, home, confirm, NOW, &received);
    cr_assert_eq(kind_of(first), 4);
    for (uint64_t i = 0; i < 100; i++) {
        sealed_datagram again = sealed_to_server(server, home, confirm, NOW + i, &received);
        cr_assert_eq(received.rejection, LS_SEALED_ACCEPTED);
        cr_assert_eq(again.size, first.size);
        cr_assert_arr_eq(again.bytes, first.bytes, first.size);
    }
    for (uint32_t i = 1; i < config.connections_max; i++) {
        cr_assert_eq(kind_of(answer_to_another(sealed_address(10 + i, 1), NOW)), 4);
    }
    cr_assert(sealed_to_client(client, first, NOW).is_opened);
    sealed_datagram packet = sealed_by_client(client, LS_SEALED_PACKET, "x", 1);
    sealed_to_server(server, home, packet, NOW, &received);
    cr_assert(received.is_opened);
    cr_assert_eq(received.rtt_ns, 0, "ACCEPT was repeated");
    sealed_datagram late = sealed_to_server(server, home, confirm, NOW, &received);
    cr_assert_eq(late.size, 0);
    cr_assert_eq(received.rejection, LS_SEALED_REJECT_REPEATED);
}

Test(sealed_server, round_trip_is_measured_from_accept_to_the_first_packet)
{
    sealed_datagram accept = sealed_exchange(server, client, home, NOW);
    sealed_to_client(client, accept, NOW);
    sealed_datagram packet = sealed_by_client(client, LS_SEALED_PACKET, "x", 1);
    ls_sealed_received received;
    sealed_to_server(server, home, packet, NOW + 34 * LS_NS_PER_MS, &received);
    cr_assert_eq(received.rtt_ns, 34 * LS_NS_PER_MS);
}

Test(sealed_server, key_is_given_only_when_it_may_be)
{
    ls_sealed_client_config no_key = {0};
    ls_sealed_client *asking = sealed_client_with(&no_key, NOW);
    ls_sealed_received received;
    sealed_datagram answer =
        sealed_to_server(server, home, sealed_pop(asking, NOW), NOW, &received);
    cr_assert_eq(answer.size, 41);
    sealed_to_client(asking, answer, NOW);
    cr_assert_eq(ls_sealed_client_refusal(asking), LS_SEALED_REFUSAL_KEY_WITHHELD);

    config.gives_key = true;
    ls_sealed_server *generous = sealed_server_with(&config);
    ls_sealed_client_start(asking, NOW);
    sealed_connect(generous, asking, home, NOW);
    answer = sealed_to_server(generous, home, sealed_pop(client, NOW), NOW, &received);
    cr_assert_eq(answer.size, 41, "the key is not sent to who has it");
    ls_sealed_server_destroy(generous);
    ls_sealed_client_destroy(asking);
}

Test(sealed_server, secret_is_needed_when_the_server_says_so)
{
    config.needs_secret = true;
    ls_sealed_server *closed = sealed_server_with(&config);
    sealed_datagram answer = sealed_exchange(closed, client, home, NOW);
    cr_assert_eq(kind_of(answer), 5);
    sealed_to_client(client, answer, NOW);
    cr_assert_eq(ls_sealed_client_state_of(client), LS_SEALED_CLIENT_REFUSED);
    cr_assert_eq(ls_sealed_client_refusal(client), LS_SEALED_REFUSAL_CREDENTIAL);

    ls_sealed_client_config invited = sealed_client_of(&config);
    invited.has_secret = true;
    memcpy(invited.secret, config.secret, sizeof invited.secret);
    ls_sealed_client *invitee = sealed_client_with(&invited, NOW);
    sealed_connect(closed, invitee, home, NOW);
    ls_sealed_client_destroy(invitee);

    invited.secret[15] ^= 1;
    invitee = sealed_client_with(&invited, NOW);
    cr_assert_eq(sealed_exchange(closed, invitee, home, NOW).size, 0);
    ls_sealed_client_destroy(invitee);
    ls_sealed_server_destroy(closed);
}

Test(sealed_server, half_open_connection_is_forgotten_after_five_seconds)
{
    sealed_datagram accept = sealed_exchange(server, client, home, NOW);
    sealed_to_client(client, accept, NOW);
    sealed_datagram packet = sealed_by_client(client, LS_SEALED_PACKET, "x", 1);
    cr_assert_eq(server_rejection_of(home, packet, NOW + 5 * LS_NS_PER_SECOND),
                 LS_SEALED_REJECT_UNKNOWN_PEER);
}

Test(sealed_server, half_open_connection_opens_until_then)
{
    sealed_datagram accept = sealed_exchange(server, client, home, NOW);
    sealed_to_client(client, accept, NOW);
    sealed_datagram packet = sealed_by_client(client, LS_SEALED_PACKET, "x", 1);
    cr_assert_eq(server_rejection_of(home, packet, NOW + 5 * LS_NS_PER_SECOND - 1),
                 LS_SEALED_ACCEPTED);
}

static void fill_server(uint64_t now_ns)
{
    for (uint32_t i = 0; i < config.connections_max; i++) {
        ls_sealed_client_config client_config = sealed_client_of(&config);
        ls_sealed_client *filler = sealed_client_with(&client_config, now_ns);
        sealed_connect(server, filler, sealed_address(100 + i, 1), now_ns);
        ls_sealed_client_destroy(filler);
    }
}

Test(sealed_server, full_server_says_so)
{
    fill_server(NOW);
    sealed_datagram answer = sealed_exchange(server, client, home, NOW);
    sealed_to_client(client, answer, NOW);
    cr_assert_eq(ls_sealed_client_refusal(client), LS_SEALED_REFUSAL_FULL);
    ls_sealed_server_close(server, 3);
    ls_sealed_client_start(client, NOW);
    cr_assert_eq(sealed_connect(server, client, home, NOW), 3);
}

Test(sealed_server, connection_that_was_never_used_gives_way_after_a_second)
{
    for (uint32_t i = 0; i < config.connections_max; i++) {
        cr_assert_eq(kind_of(answer_to_another(sealed_address(100 + i, 1), NOW)), 4);
    }
    cr_assert_eq(kind_of(answer_to_another(home, NOW + LS_NS_PER_SECOND - 1)), 5);
    ls_sealed_client_start(client, NOW + LS_NS_PER_SECOND);
    cr_assert_eq(sealed_connect(server, client, home, NOW + LS_NS_PER_SECOND), 0);
}

Test(sealed_server, connections_of_one_address_are_limited)
{
    for (uint32_t i = 0; i < config.per_address_max; i++) {
        cr_assert_eq(kind_of(answer_to_another(sealed_address(1, (uint16_t)(i + 1)), NOW)), 4);
    }
    sealed_datagram answer = sealed_exchange(server, client, home, NOW);
    sealed_to_client(client, answer, NOW);
    cr_assert_eq(ls_sealed_client_refusal(client), LS_SEALED_REFUSAL_TOO_MANY);
    ls_sealed_client_start(client, NOW + 5 * LS_NS_PER_SECOND);
    sealed_connect(server, client, home, NOW + 5 * LS_NS_PER_SECOND);
}

Test(sealed_server, questions_of_one_address_are_limited)
{
    uint32_t answers = 0;
    for (uint32_t i = 0; i < 100; i++) {
        answers += answer_to_another(home, NOW).size > 0;
    }
    cr_assert_eq(answers, 32 + config.per_address_max);
    cr_assert_eq(kind_of(answer_to_another(sealed_address(2, 1), NOW)), 4);
    cr_assert_gt(answer_to_another(home, NOW + LS_NS_PER_SECOND / 32).size, 0);
}

Test(sealed_server, closing_frees_everything_that_a_connection_held)
{
    for (uint32_t i = 0; i < 200; i++) {
        uint64_t now_ns = NOW + i * LS_NS_PER_SECOND / 16;
        ls_sealed_client_start(client, now_ns);
        uint32_t index = sealed_connect(server, client, home, now_ns);
        ls_sealed_server_close(server, index);
        sealed_datagram packet = sealed_by_client(client, LS_SEALED_PACKET, "x", 1);
        cr_assert_eq(server_rejection_of(home, packet, now_ns), LS_SEALED_REJECT_UNKNOWN_PEER);
    }
}

/* sealed_to_server asserts the size of the answer. */
Test(sealed_server, no_answer_is_larger_than_its_question_whatever_comes)
{
    config.gives_key = true;
    ls_sealed_server *generous = sealed_server_with(&config);
    const uint64_t now_ns = NOW + LS_NS_PER_SECOND;
    const sealed_datagram samples[] = {sealed_pop(client, NOW), confirm_of(client, home, now_ns)};
    uint8_t random[8];
    uint32_t answers = 0;
    for (uint32_t i = 0; i < 20000; i++) {
        ls_cipher_random(random, sizeof random);
        sealed_datagram datagram = samples[i % 2];
        datagram.size = (random[0] | random[1] << 8) % (LS_SEALED_DATAGRAM_BYTES_MAX + 1);
        if (i % 3 == 0) {
            ls_cipher_random(datagram.bytes, datagram.size);
        } else if (i % 3 == 1) {
            datagram.bytes[random[2] % 80] ^= random[3];
        }
        ls_sealed_received received;
        answers += sealed_to_server(generous, home, datagram, now_ns, &received).size > 0;
    }
    cr_assert_gt(answers, 0);
    ls_sealed_server_destroy(generous);
}

/* ---- sealed packets ---- */

Test(sealed_server, forged_packet_never_opens)
{
    uint32_t index = sealed_connect(server, client, home, NOW);
    const sealed_datagram packet = sealed_by_client(client, LS_SEALED_PACKET, "abc", 3);
    for (size_t bit = 0; bit < 8 * packet.size; bit++) {
        sealed_datagram altered = packet;
        altered.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        cr_assert_neq(server_rejection_of(home, altered, NOW), LS_SEALED_ACCEPTED, "bit %zu", bit);
    }
    ls_sealed_received received;
    sealed_to_server(server, home, packet, NOW, &received);
    cr_assert_eq(received.rejection, LS_SEALED_ACCEPTED);
    cr_assert_eq(received.index, index);
}

Test(sealed_server, packet_of_another_connection_does_not_open)
{
    uint32_t index = sealed_connect(server, client, home, NOW);
    ls_sealed_client_config client_config = sealed_client_of(&config);
    ls_sealed_client *other = sealed_client_with(&client_config, NOW);
    sealed_connect(server, other, sealed_address(2, 1), NOW);
    sealed_datagram packet = sealed_by_client(other, LS_SEALED_PACKET, "abc", 3);
    packet.bytes[1] = (uint8_t)index;
    cr_assert_eq(server_rejection_of(home, packet, NOW), LS_SEALED_REJECT_FORGED);
    ls_sealed_client_destroy(other);
}

Test(sealed_server, datagram_names_a_connection_that_is_there)
{
    uint32_t index = sealed_connect(server, client, home, NOW);
    sealed_datagram packet = sealed_by_client(client, LS_SEALED_PACKET, "abc", 3);
    uint32_t named = index + 1;
    cr_assert(ls_sealed_server_find(server, packet.bytes, packet.size, &named));
    cr_assert_eq(named, index);
    for (size_t size = 0; size < LS_SEALED_CLIENT_HEADER_BYTES + LS_SEALED_TAG_BYTES; size++) {
        cr_assert_not(ls_sealed_server_find(server, packet.bytes, size, &named));
    }
    for (uint32_t other = 0; other < 4096; other++) {
        packet.bytes[0] = (uint8_t)((packet.bytes[0] & 0xf0u) | other >> 8);
        packet.bytes[1] = (uint8_t)other;
        bool is_named = ls_sealed_server_find(server, packet.bytes, packet.size, &named);
        cr_assert_eq(is_named, other == index, "%u", other);
    }
    ls_sealed_server_close(server, index);
    packet.bytes[1] = (uint8_t)index;
    cr_assert_not(ls_sealed_server_find(server, packet.bytes, packet.size, &named));
}

Test(sealed_server, packets_open_once_in_any_order)
{
    enum {
        COUNT = 200
    };
    static sealed_datagram packets[COUNT];
    sealed_connect(server, client, home, NOW);
    for (uint32_t i = 0; i < COUNT; i++) {
        packets[i] = sealed_by_client(client, LS_SEALED_PACKET, &i, sizeof i);
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        const sealed_datagram *packet = &packets[i * 77 % COUNT];
        cr_assert_eq(server_rejection_of(home, *packet, NOW), LS_SEALED_ACCEPTED);
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        cr_assert_eq(server_rejection_of(home, packets[i], NOW), LS_SEALED_REJECT_REPEATED);
        cr_assert_eq(server_rejection_of(sealed_address(9, 9), packets[i], NOW),
                     LS_SEALED_REJECT_REPEATED);
    }
}

/* Packets are lost, repeated and late, both ways, past the 16 bits that are sent of a counter. */
Test(sealed_server, counters_go_on_past_16_bits_with_loss)
{
    uint32_t index = sealed_connect(server, client, home, NOW);
    sealed_datagram kept = {.size = 0};
    for (uint32_t i = 0; i < 140000; i++) {
        sealed_datagram up = sealed_by_client(client, LS_SEALED_PACKET, &i, sizeof i);
        sealed_datagram down = sealed_by_server(server, index, &i, sizeof i);
        if (i % 7 == 0 || i % 30000 > 29000) {
            continue;
        }
        cr_assert_eq(server_rejection_of(home, up, NOW), LS_SEALED_ACCEPTED, "packet %u", i);
        cr_assert_eq(sealed_to_client(client, down, NOW).rejection, LS_SEALED_ACCEPTED);
        if (i % 100 == 1) {
            kept = up;
        } else if (i % 10000 == 5005) {
            cr_assert_eq(server_rejection_of(home, kept, NOW), LS_SEALED_REJECT_REPEATED);
        }
    }
}

Test(sealed_server, contents_of_a_path_are_not_for_the_client_to_start)
{
    sealed_datagram accept = sealed_exchange(server, client, home, NOW);
    sealed_to_client(client, accept, NOW);
    const uint8_t number[12] = {0};
    sealed_datagram response = sealed_by_client(client, LS_SEALED_PATH_RESPONSE, number, 8);
    cr_assert_eq(server_rejection_of(home, response, NOW), LS_SEALED_REJECT_OUT_OF_PLACE);
    sealed_datagram moved = sealed_by_client(client, LS_SEALED_PATH_MOVED, number, 12);
    cr_assert_eq(server_rejection_of(home, moved, NOW), LS_SEALED_REJECT_OUT_OF_PLACE);
    sealed_datagram challenge = sealed_by_client(client, LS_SEALED_PATH_CHALLENGE, number, 8);
    cr_assert_eq(server_rejection_of(home, challenge, NOW), LS_SEALED_REJECT_OUT_OF_PLACE);
    sealed_datagram packet = sealed_by_client(client, LS_SEALED_PACKET, number, 8);
    ls_sealed_received received;
    sealed_to_server(server, home, packet, NOW, &received);
    cr_assert(received.is_opened);
    response = sealed_by_client(client, LS_SEALED_PATH_RESPONSE, number, 8);
    cr_assert_eq(server_rejection_of(sealed_address(2, 2), response, NOW),
                 LS_SEALED_REJECT_OUT_OF_PLACE);
    cr_assert(ls_endpoint_is_equal(ls_sealed_server_endpoint(server, received.index), &home));
}

static sealed_datagram packet_of_client(void)
{
    return sealed_by_client(client, LS_SEALED_PACKET, "0123456789", 10);
}

Test(sealed_server, forged_packets_from_elsewhere_are_opened_4096_times_a_second)
{
    const ls_endpoint elsewhere = sealed_address(66, 6);
    sealed_connect(server, client, home, NOW);
    sealed_datagram forged = packet_of_client();
    forged.bytes[10] ^= 1;
    for (uint32_t i = 0; i < 4096; i++) {
        cr_assert_eq(server_rejection_of(elsewhere, forged, NOW), LS_SEALED_REJECT_FORGED);
    }
    cr_assert_eq(server_rejection_of(elsewhere, forged, NOW), LS_SEALED_REJECT_LIMITED);
    cr_assert_eq(server_rejection_of(home, forged, NOW), LS_SEALED_REJECT_FORGED);
    cr_assert_eq(server_rejection_of(home, packet_of_client(), NOW), LS_SEALED_ACCEPTED);
    uint64_t later_ns = NOW + LS_NS_PER_SECOND / 4096;
    cr_assert_eq(server_rejection_of(elsewhere, packet_of_client(), later_ns), LS_SEALED_ACCEPTED,
                 "a client that moves is let through");
}
