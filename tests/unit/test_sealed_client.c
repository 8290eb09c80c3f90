#include "lockstep/protocol/sealed/sealed_client.h"

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

TestSuite(sealed_client, .init = begin, .fini = end);

static sealed_datagram challenge_of(uint64_t now_ns)
{
    ls_sealed_received received;
    return sealed_to_server(server, home, sealed_pop(client, now_ns), now_ns, &received);
}

static ls_sealed_rejection rejection_of(sealed_datagram datagram)
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
    cr_assert_eq(rejection_of(other), LS_SEALED_REJECT_OUT_OF_PLACE);
    cr_assert_eq(rejection_of(challenge), LS_SEALED_ACCEPTED);
    cr_assert_eq(rejection_of(challenge), LS_SEALED_REJECT_OUT_OF_PLACE, "it was answered");
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
    rejection_of(challenge);
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
        cr_assert_neq(rejection_of(altered), LS_SEALED_ACCEPTED, "bit %zu", bit);
        cr_assert_eq(ls_sealed_client_state_of(client), LS_SEALED_CLIENT_CONFIRMING);
    }
    cr_assert_eq(rejection_of(answer), LS_SEALED_ACCEPTED);
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
        cr_assert_neq(rejection_of(altered), LS_SEALED_ACCEPTED, "bit %zu", bit);
    }
    cr_assert_eq(rejection_of(packet), LS_SEALED_ACCEPTED);
    cr_assert_eq(rejection_of(packet), LS_SEALED_REJECT_REPEATED);
}

Test(sealed_client, own_packet_sent_back_does_not_open)
{
    sealed_connect(server, client, home, NOW);
    sealed_datagram packet = sealed_by_client(client, LS_SEALED_PACKET, "abc", 3);
    cr_assert_neq(rejection_of(packet), LS_SEALED_ACCEPTED);
}

Test(sealed_client, packets_before_the_keys_are_dropped)
{
    sealed_datagram packet = {.bytes = {0x80}, .size = 40};
    cr_assert_eq(rejection_of(packet), LS_SEALED_REJECT_OUT_OF_PLACE);
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
        cr_assert_neq(rejection_of(junk), LS_SEALED_ACCEPTED);
    }
    cr_assert_eq(ls_sealed_client_state_of(client), LS_SEALED_CLIENT_OPEN);
}

Test(sealed_client, start_forgets_the_connection_before)
{
    uint32_t index = sealed_connect(server, client, home, NOW);
    sealed_datagram packet = sealed_by_server(server, index, "abc", 3);
    ls_sealed_client_start(client, NOW);
    cr_assert_eq(rejection_of(packet), LS_SEALED_REJECT_OUT_OF_PLACE);
    cr_assert_neq(sealed_connect(server, client, home, NOW), index);
    cr_assert_eq(rejection_of(packet), LS_SEALED_REJECT_FORGED);
}
