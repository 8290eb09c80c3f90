#include "lockstep/protocol/sealed/key_exchange.h"
#include "lockstep/protocol/sealed/token_gate.h"
#include "lockstep/protocol/sealed/token_user_data.h"

#include "sealed_pair.h"

/* ==== sealed_passes ==== */

/* Connect tokens over the sealed layer: a server with a token gate, and clients with tokens. */

#define NOW SEALED_START_NS

enum {
    UNIX_S = 1700000000,
    CLIENT_ID = 4711,
};

static const uint8_t key[LS_TOKEN_KEY_BYTES] = {1, 2, 3};
static ls_sealed_server_config config;
static ls_sealed_server *server;
static ls_token_gate *gate;
static ls_endpoint home;

static void begin(void)
{
    ls_token_gate_config gates;
    memset(&gates, 0, sizeof gates);
    gates.check.protocol_id = LS_TOKEN_PROTOCOL_ID;
    gates.check.key_count = 1;
    memcpy(gates.check.keys[0], key, sizeof key);
    gates.tokens_max = 16;
    gates.now_s = UNIX_S;
    config = sealed_usual_config();
    cr_assert_eq(ls_token_gate_create(&gates, ls_allocator_heap(), &gate), LS_OK);
    config.token_gate = gate;
    server = sealed_server_with(&config);
    home = sealed_address(1, 4000);
}

static void end(void)
{
    ls_sealed_server_destroy(server);
    ls_token_gate_destroy(gate);
}

TestSuite(sealed_passes, .init = begin, .fini = end);

typedef struct token_parts {
    uint64_t protocol_id;
    uint64_t expire_s;
    uint8_t key[LS_TOKEN_KEY_BYTES];
} token_parts;

static token_parts usual_parts(void)
{
    token_parts parts = {.protocol_id = LS_TOKEN_PROTOCOL_ID, .expire_s = UNIX_S + 60};
    memcpy(parts.key, key, sizeof key);
    return parts;
}

/* A client that knows its token alone. */
static ls_sealed_client_config client_with_token(token_parts parts)
{
    uint8_t bytes[LS_TOKEN_BYTES];
    ls_token token;
    ls_sealed_client_config client = {.has_token = true};
    ls_token_config token_config = ls_token_config_default();
    const ls_token_admission admission = {.place = LS_TOKEN_PLACE_SEAT, .seat = 3, .name = "Ann"};
    token_config.protocol_id = parts.protocol_id;
    token_config.create_s = UNIX_S - 60;
    token_config.expire_s = parts.expire_s;
    token_config.claims.client_id = CLIENT_ID;
    token_config.claims.list.count = 1;
    token_config.claims.list.servers[0] = sealed_address(9, 7300);
    cr_assert_eq(ls_token_user_data_write(&admission, token_config.claims.user_data, NULL), LS_OK);
    cr_assert_eq(ls_token_make(&token_config, parts.key, bytes, NULL), LS_OK);
    (void)ls_token_read(bytes, sizeof bytes, UNIX_S, &token);
    ls_token_write_envelope(&token, client.token);
    client.token_keys = token.keys;
    return client;
}

/* A connection that is there: its index. The client is gone. */
static uint32_t connect_with(const ls_sealed_client_config *client_config, uint64_t now_ns)
{
    ls_sealed_client *client = sealed_client_with(client_config, now_ns);
    uint32_t index = sealed_connect(server, client, home, now_ns);
    ls_sealed_client_destroy(client);
    return index;
}

/* The end of a whole exchange that must not be answered with an ACCEPT. */
static ls_sealed_received refusal_of(const ls_sealed_client_config *client_config)
{
    ls_sealed_received received;
    ls_sealed_client *client = sealed_client_with(client_config, NOW);
    sealed_datagram challenge =
        sealed_to_server(server, home, sealed_pop(client, NOW), NOW, &received);
    sealed_to_client(client, challenge, NOW);
    sealed_to_server(server, home, sealed_pop(client, NOW), NOW, &received);
    ls_sealed_client_destroy(client);
    return received;
}

Test(sealed_passes, a_token_lets_its_client_in_and_says_who_it_is)
{
    const ls_sealed_client_config client_config = client_with_token(usual_parts());
    const ls_sealed_pass *pass = ls_sealed_server_pass(server, connect_with(&client_config, NOW));
    cr_assert_not_null(pass);
    cr_assert_eq(pass->client_id, CLIENT_ID);
    cr_assert_not(pass->is_return);
    cr_assert_arr_eq(pass->token_id, ls_token_envelope_id(client_config.token), LS_TOKEN_ID_BYTES);
    cr_assert_eq(pass->admission.seat, 3);
    cr_assert_str_eq(pass->admission.name, "Ann");
}

Test(sealed_passes, nobody_comes_in_without_a_token)
{
    ls_sealed_client_config none = sealed_client_of(&config);
    ls_sealed_received received = refusal_of(&none);
    cr_assert_eq(received.rejection, LS_SEALED_REJECT_CREDENTIAL);
    cr_assert_gt(received.answer_bytes, 0, "the client learns that it needs one");
    /* The server's secret, which it does not ask for. */
    ls_sealed_client_config secret = sealed_client_of(&config);
    secret.has_secret = true;
    memcpy(secret.secret, config.secret, sizeof secret.secret);
    received = refusal_of(&secret);
    cr_assert_eq(received.rejection, LS_SEALED_REJECT_CREDENTIAL);
    cr_assert_eq(received.answer_bytes, 0);
}

Test(sealed_passes, the_invited_come_in_beside_those_with_tokens_where_both_are_taken)
{
    ls_sealed_server_destroy(server);
    config.needs_secret = true;
    server = sealed_server_with(&config);
    ls_sealed_client_config invited = sealed_client_of(&config);
    invited.has_secret = true;
    memcpy(invited.secret, config.secret, sizeof invited.secret);
    const ls_sealed_client_config client_config = client_with_token(usual_parts());
    cr_assert_null(ls_sealed_server_pass(server, connect_with(&invited, NOW)));
    cr_assert_not_null(ls_sealed_server_pass(server, connect_with(&client_config, NOW)));
}

Test(sealed_passes, a_server_without_a_gate_takes_no_token)
{
    ls_sealed_server_destroy(server);
    config.token_gate = NULL;
    config.gives_key = true;
    server = sealed_server_with(&config);
    const ls_sealed_client_config client_config = client_with_token(usual_parts());
    const ls_sealed_received received = refusal_of(&client_config);
    cr_assert_eq(received.rejection, LS_SEALED_REJECT_CREDENTIAL);
    cr_assert_eq(received.answer_bytes, 0);
}

static void expect_refused(token_parts parts, ls_token_refusal refusal)
{
    const ls_sealed_client_config client_config = client_with_token(parts);
    const ls_sealed_received received = refusal_of(&client_config);
    cr_expect_eq(received.rejection, LS_SEALED_REJECT_CREDENTIAL);
    cr_expect_eq(received.token_refusal, refusal, "%s",
                 ls_token_refusal_name(received.token_refusal));
    cr_expect_eq(received.answer_bytes, 0, "nothing on the wire");
    cr_expect_eq(ls_token_gate_count(gate, refusal), 1);
}

Test(sealed_passes, a_token_that_is_not_good_is_refused_with_its_reason_and_without_an_answer)
{
    token_parts parts = usual_parts();
    parts.protocol_id = 1;
    expect_refused(parts, LS_TOKEN_REFUSAL_PROTOCOL);
    parts = usual_parts();
    parts.expire_s = UNIX_S;
    expect_refused(parts, LS_TOKEN_REFUSAL_EXPIRED);
    parts = usual_parts();
    parts.key[31] ^= 1;
    expect_refused(parts, LS_TOKEN_REFUSAL_FORGED);
}

/* The envelope travels in the clear, and is of no use without the keys that do not. */
Test(sealed_passes, a_token_copied_from_the_wire_lets_nobody_in_and_is_not_used_up)
{
    const ls_sealed_client_config owner = client_with_token(usual_parts());
    ls_sealed_client_config thief = owner;
    memset(&thief.token_keys, 0, sizeof thief.token_keys);
    const ls_sealed_received received = refusal_of(&thief);
    cr_assert_eq(received.rejection, LS_SEALED_REJECT_CREDENTIAL);
    cr_assert_eq(received.token_refusal, LS_TOKEN_REFUSAL_NONE);
    cr_assert_eq(received.answer_bytes, 0);
    cr_assert_not(ls_sealed_server_pass(server, connect_with(&owner, NOW))->is_return);
}

/* Somebody between them answers with a public key of his own. */
Test(sealed_passes, a_client_with_a_token_does_not_take_another_server_for_its_own)
{
    ls_sealed_server_config other_config = sealed_usual_config();
    other_config.gives_key = true;
    ls_sealed_server *other = sealed_server_with(&other_config);
    const ls_sealed_client_config client_config = client_with_token(usual_parts());
    ls_sealed_client *client = sealed_client_with(&client_config, NOW);
    sealed_datagram answer = sealed_exchange(other, client, home, NOW);
    cr_assert_eq(answer.size, 0);
    cr_assert_eq(ls_sealed_client_state_of(client), LS_SEALED_CLIENT_CONFIRMING);
    ls_sealed_client_destroy(client);
    ls_sealed_server_destroy(other);
}

Test(sealed_passes, a_token_that_was_used_is_good_to_come_back_alone)
{
    const ls_sealed_client_config client_config = client_with_token(usual_parts());
    uint32_t first = connect_with(&client_config, NOW);
    uint32_t second = connect_with(&client_config, NOW);
    cr_assert_not(ls_sealed_server_pass(server, first)->is_return);
    cr_assert(ls_sealed_server_pass(server, second)->is_return);
    ls_sealed_server_close(server, first);
    ls_sealed_server_close(server, second);
    cr_assert(ls_sealed_server_pass(server, connect_with(&client_config, NOW))->is_return);
}

/* Its ACCEPT was lost, or the program was started again before it had sent anything. */
Test(sealed_passes, a_client_that_begins_anew_before_it_was_in_does_not_come_back)
{
    const ls_sealed_client_config client_config = client_with_token(usual_parts());
    for (uint32_t i = 0; i < 20; i++) {
        ls_sealed_client *lost = sealed_client_with(&client_config, NOW);
        cr_assert_gt(sealed_exchange(server, lost, home, NOW).size, 0,
                     "the connections that never opened are forgotten");
        ls_sealed_client_destroy(lost);
    }
    cr_assert_not(ls_sealed_server_pass(server, connect_with(&client_config, NOW))->is_return);
}

Test(sealed_passes, a_connection_that_never_opens_gives_its_token_back)
{
    const ls_sealed_client_config client_config = client_with_token(usual_parts());
    const ls_sealed_client_config other_config = client_with_token(usual_parts());
    ls_sealed_client *lost = sealed_client_with(&client_config, NOW);
    cr_assert_gt(sealed_exchange(server, lost, home, NOW).size, 0);
    ls_sealed_client_destroy(lost);
    (void)connect_with(&other_config, NOW + 6 * LS_NS_PER_SECOND);
    bool is_return = true;
    cr_assert_eq(ls_token_gate_use(gate, client_config.token, CLIENT_ID, &is_return),
                 LS_TOKEN_REFUSAL_NONE);
    cr_assert_not(is_return);
}

Test(sealed_passes, a_server_without_a_place_gives_the_token_back)
{
    const ls_sealed_client_config last = client_with_token(usual_parts());
    cr_assert_gt(config.connections_max, config.per_address_max);
    uint32_t index = 0;
    for (uint32_t i = 0; i < config.connections_max; i++) { /* owners of tokens share an address */
        const ls_sealed_client_config client_config = client_with_token(usual_parts());
        index = connect_with(&client_config, NOW);
    }
    const ls_sealed_received received = refusal_of(&last);
    cr_assert_eq(received.rejection, LS_SEALED_REJECT_LIMITED);
    cr_assert_gt(received.answer_bytes, 0, "the client learns that all is full");
    ls_sealed_server_close(server, index);
    cr_assert_not(ls_sealed_server_pass(server, connect_with(&last, NOW))->is_return);
}

Test(sealed_passes, what_a_full_ledger_cannot_note_is_not_let_in)
{
    uint8_t envelope[LS_TOKEN_ENVELOPE_BYTES] = {0};
    bool is_return = false;
    const ls_sealed_client_config client_config = client_with_token(usual_parts());
    for (uint8_t i = 0; i < 16; i++) {
        envelope[15] = 1; /* expires late */
        envelope[sizeof envelope - 1] = i;
        cr_assert_eq(ls_token_gate_use(gate, envelope, 1, &is_return), LS_TOKEN_REFUSAL_NONE);
    }
    const ls_sealed_received received = refusal_of(&client_config);
    cr_assert_eq(received.rejection, LS_SEALED_REJECT_CREDENTIAL);
    cr_assert_eq(received.token_refusal, LS_TOKEN_REFUSAL_FULL);
    cr_assert_eq(received.answer_bytes, 0);
}

Test(sealed_passes, a_client_that_was_given_nothing_may_begin_anew)
{
    const ls_sealed_client_config client_config = client_with_token(usual_parts());
    uint32_t first = connect_with(&client_config, NOW);
    ls_sealed_server_settle_pass(server, first, false);
    uint32_t second = connect_with(&client_config, NOW);
    cr_assert_not(ls_sealed_server_pass(server, second)->is_return);
    ls_sealed_server_settle_pass(server, second, true);
    /* The first connection is closed late: the token is the second's by then. */
    ls_sealed_server_settle_pass(server, first, false);
    ls_sealed_server_close(server, first);
    ls_sealed_server_settle_pass(server, second, false);
    ls_sealed_server_close(server, second);
    cr_assert(ls_sealed_server_pass(server, connect_with(&client_config, NOW))->is_return);
}

Test(sealed_passes, a_token_with_unknown_user_data_is_refused)
{
    uint8_t bytes[LS_TOKEN_BYTES];
    ls_token token;
    ls_sealed_client_config client_config = client_with_token(usual_parts());
    const token_parts parts = usual_parts();
    ls_token_config token_config = ls_token_config_default();
    token_config.protocol_id = parts.protocol_id;
    token_config.expire_s = parts.expire_s;
    token_config.claims.list.count = 1;
    token_config.claims.list.servers[0] = sealed_address(9, 7300);
    token_config.claims.user_data[0] = 99;
    cr_assert_eq(ls_token_make(&token_config, parts.key, bytes, NULL), LS_OK);
    cr_assert_eq(ls_token_read(bytes, sizeof bytes, UNIX_S, &token), LS_TOKEN_REFUSAL_NONE);
    ls_token_write_envelope(&token, client_config.token);
    client_config.token_keys = token.keys;
    const ls_sealed_received received = refusal_of(&client_config);
    cr_assert_eq(received.token_refusal, LS_TOKEN_REFUSAL_USER_DATA);
    cr_assert_eq(received.answer_bytes, 0);
}

/* ---- several workers ---- */

typedef struct worker_question {
    uint32_t answer, asked;
    uint64_t client_id; /* of the last one */
} worker_question;

static uint32_t choose(void *user, const ls_sealed_asker *asker)
{
    worker_question *question = user;
    question->asked++;
    question->client_id = asker->pass->client_id;
    return question->answer;
}

Test(sealed_passes, token_of_a_client_that_is_sent_elsewhere_is_not_used)
{
    worker_question question = {.answer = 1};
    config.workers = 2;
    config.choose_worker = choose;
    config.worker_user = &question;
    ls_sealed_server_destroy(server);
    server = sealed_server_with(&config);
    const ls_sealed_client_config client_config = client_with_token(usual_parts());
    for (uint32_t i = 1; i <= 3; i++) {
        ls_sealed_received received = refusal_of(&client_config);
        cr_assert_eq(received.denial, LS_DENIAL_REDIRECTED);
        cr_assert_eq(received.token_refusal, LS_TOKEN_REFUSAL_NONE);
        cr_assert_eq(question.asked, i);
        cr_assert_eq(question.client_id, CLIENT_ID);
    }
    question.answer = 0;
    const ls_sealed_pass *pass = ls_sealed_server_pass(server, connect_with(&client_config, NOW));
    cr_assert_not_null(pass);
    cr_assert_not(pass->is_return, "it was not used before");
    cr_assert_eq(ls_token_gate_count(gate, LS_TOKEN_REFUSAL_USED), 0);
}

/* ==== sealed_workers ==== */

/* Several sealed servers behind one port, as workers. The test steers datagrams to them, as the
 * system does. */

#define WORKERS 3u
#define ITS_MATCH UINT64_C(0x0123456789abcdef)
#define ITS_WORKER 2u
#define SOME_MATCH UINT64_C(0x7777) /* of which the workers know nothing */

enum {
    ROUTE_OF_CHALLENGE_AT = 11,
    REASON_AT = 9,
    ACCEPT_INDEX_AT = 41,
    OWN_INDICES = LS_SEALED_INDICES / LS_SEALED_WORKERS_MAX, /* of 12 bits */
};

static ls_sealed_server *servers[WORKERS];
static uint32_t chosen[WORKERS]; /* what the owner of each answers */
static uint32_t asked;           /* how often owners were asked */
static uint32_t default_worker;
static bool worker_has_match;
static ls_sealed_client *client;

/* The worker's own number is what it is asked with. */
static uint32_t workers_choose(void *user, const ls_sealed_asker *asker)
{
    const uint32_t *answer = user;
    cr_assert_null(asker->pass);
    if (asker->match == ITS_MATCH) {
        return ITS_WORKER;
    }
    if (asker->has_asked) {
        return worker_has_match ? (uint32_t)(answer - chosen) : LS_SEALED_NO_WORKER;
    }
    asked++;
    return *answer;
}

static void workers_begin(void)
{
    config = sealed_usual_config();
    for (uint32_t i = 0; i < WORKERS; i++) {
        chosen[i] = i;
        config.worker = i;
        config.workers = WORKERS;
        config.choose_worker = workers_choose;
        config.worker_user = &chosen[i];
        servers[i] = sealed_server_with(&config);
    }
    asked = 0;
    default_worker = 0;
    worker_has_match = true;
    ls_sealed_client_config client_config = sealed_client_of(&config);
    client = sealed_client_with(&client_config, NOW);
    ls_sealed_client_set_match(client, SOME_MATCH);
    home = sealed_address(1, 4000);
}

static void workers_end(void)
{
    ls_sealed_client_destroy(client);
    for (uint32_t i = 0; i < WORKERS; i++) {
        ls_sealed_server_destroy(servers[i]);
    }
}

/* Clients are as those whose token says where they belong: it counts that they asked for nothing.
 */
static bool never_asks;

TestSuite(sealed_workers, .init = workers_begin, .fini = workers_end);

/* ---- steering ---- */

static uint32_t worker_of(const sealed_datagram *datagram)
{
    if ((datagram->bytes[0] & 0x80u) != 0) {
        return ((datagram->bytes[0] & 15u) << 8 | datagram->bytes[1]) % WORKERS;
    }
    uint32_t route = datagram->bytes[datagram->size - 1];
    uint32_t worker = route > LS_ROUTE_ASKED ? route - LS_ROUTE_ASKED - 1 : route - 1;
    return route > 0 && worker < WORKERS ? worker : default_worker;
}

static sealed_datagram to_workers(sealed_datagram datagram, ls_sealed_received *received)
{
    uint8_t *route = &datagram.bytes[datagram.size - 1];
    if (never_asks && datagram.bytes[0] == 3 && *route > LS_ROUTE_ASKED) {
        *route = (uint8_t)(*route - LS_ROUTE_ASKED);
    }
    return sealed_to_server(servers[worker_of(&datagram)], home, datagram, NOW, received);
}

/* REQUEST and CONFIRM of one attempt: the answer to CONFIRM, not given to the client yet. */
static sealed_datagram attempt(uint32_t worker, ls_sealed_received *received)
{
    sealed_datagram request = sealed_pop(client, NOW);
    cr_assert_eq(request.bytes[0], 1);
    cr_assert_eq(worker_of(&request), worker);
    sealed_datagram challenge = to_workers(request, received);
    cr_assert_eq(sealed_to_client(client, challenge, NOW).rejection, LS_SEALED_ACCEPTED);
    sealed_datagram confirm = sealed_pop(client, NOW);
    cr_assert_eq(worker_of(&confirm), worker);
    return to_workers(confirm, received);
}

/* The client is let in by this worker, with its first packet. */
static void assert_let_in(uint32_t worker)
{
    ls_sealed_received received;
    sealed_datagram accept = attempt(worker, &received);
    cr_assert(sealed_to_client(client, accept, NOW).is_opened);
    sealed_datagram packet = sealed_by_client(client, LS_SEALED_PACKET, "hello", 5);
    cr_assert_eq(worker_of(&packet), worker);
    to_workers(packet, &received);
    cr_assert(received.is_opened);
}

static void assert_redirected(uint32_t worker, uint32_t to)
{
    ls_sealed_received received;
    sealed_datagram denied = attempt(worker, &received);
    cr_assert_eq(denied.size, 26);
    cr_assert_eq(denied.bytes[REASON_AT], 16 + to);
    cr_assert_eq(received.denial, LS_DENIAL_REDIRECTED);
    cr_assert_eq(received.rejection, LS_SEALED_ACCEPTED);
    cr_assert_eq(sealed_to_client(client, denied, NOW).rejection, LS_SEALED_ACCEPTED);
}

/* ---- indices ---- */

Test(sealed_workers, config_out_of_range_is_refused)
{
    ls_sealed_server *made = NULL;
    ls_sealed_server_config bad = config;
    bad.worker = WORKERS;
    cr_assert_eq(ls_sealed_server_create(&bad, ls_allocator_heap(), &made), LS_BAD_ARGUMENT);
    bad = (ls_sealed_server_config){.connections_max = 8, .per_address_max = 4, .worker = 1};
    cr_assert_eq(ls_sealed_server_create(&bad, ls_allocator_heap(), &made), LS_BAD_ARGUMENT);
    bad.workers = LS_SEALED_WORKERS_MAX + 1;
    cr_assert_eq(ls_sealed_server_create(&bad, ls_allocator_heap(), &made), LS_BAD_ARGUMENT);
    bad.workers = LS_SEALED_WORKERS_MAX;
    bad.connections_max = LS_SEALED_INDICES + 1;
    cr_assert_eq(ls_sealed_server_create(&bad, ls_allocator_heap(), &made), LS_BAD_ARGUMENT);
    cr_assert_null(made);
}

/* The last of sixteen workers, with more connections than it has indices of 12 bits: each has an
 * index of its own, whose lowest 12 bits are this worker's. */
Test(sealed_workers, each_worker_has_every_nth_index)
{
    config.workers = LS_SEALED_WORKERS_MAX;
    config.worker = LS_SEALED_WORKERS_MAX - 1;
    config.connections_max = OWN_INDICES + 5;
    config.choose_worker = NULL;
    ls_sealed_server *last = sealed_server_with(&config);
    ls_sealed_client_config client_config = sealed_client_of(&config);
    for (uint32_t i = 0; i < config.connections_max; i++) {
        uint64_t now_ns = NOW + i * LS_NS_PER_MS * 10;
        ls_endpoint from = sealed_address(100 + i * 256, 4000);
        ls_sealed_client *each = sealed_client_with(&client_config, now_ns);
        sealed_datagram accept = sealed_exchange(last, each, from, now_ns);
        cr_assert_eq(accept.bytes[0], 4);
        uint32_t index = accept.bytes[ACCEPT_INDEX_AT] | (uint32_t)accept.bytes[ACCEPT_INDEX_AT + 1]
                                                             << 8;
        uint32_t round = i / OWN_INDICES * LS_SEALED_INDICES;
        cr_assert_eq(index,
                     round + i % OWN_INDICES * LS_SEALED_WORKERS_MAX + LS_SEALED_WORKERS_MAX - 1);
        cr_assert(sealed_to_client(each, accept, now_ns).is_opened);
        ls_sealed_received received;
        sealed_datagram up = sealed_by_client(each, LS_SEALED_PACKET, "up", 2);
        sealed_to_server(last, from, up, now_ns, &received);
        cr_assert(received.has_content);
        cr_assert_eq(received.index, i, "its owner counts from 0");
        sealed_datagram down = sealed_by_server(last, received.index, "down", 4);
        cr_assert(sealed_to_client(each, down, now_ns).has_content);
        ls_sealed_client_destroy(each);
    }
    ls_sealed_server_destroy(last);
}

Test(sealed_workers, packets_of_other_workers_are_of_no_connection)
{
    assert_let_in(0);
    sealed_datagram packet = sealed_by_client(client, LS_SEALED_PACKET, "x", 1);
    ls_sealed_received received;
    for (uint32_t i = 1; i < WORKERS; i++) {
        sealed_to_server(servers[i], home, packet, NOW, &received);
        cr_assert_eq(received.rejection, LS_SEALED_REJECT_UNKNOWN_PEER);
        sealed_datagram renamed = packet;
        renamed.bytes[1] = (uint8_t)(renamed.bytes[1] + i);
        sealed_to_server(servers[0], home, renamed, NOW, &received);
        cr_assert_eq(received.rejection, LS_SEALED_REJECT_UNKNOWN_PEER);
    }
    to_workers(packet, &received);
    cr_assert_eq(received.rejection, LS_SEALED_ACCEPTED);
}

/* ---- routes ---- */

Test(sealed_workers, confirm_goes_to_the_worker_that_made_the_cookie)
{
    ls_sealed_received received;
    sealed_datagram challenge = to_workers(sealed_pop(client, NOW), &received);
    default_worker = 2;
    sealed_to_client(client, challenge, NOW);
    sealed_datagram confirm = sealed_pop(client, NOW);
    cr_assert_eq(worker_of(&confirm), 0);
    sealed_datagram accept = to_workers(confirm, &received);
    cr_assert(sealed_to_client(client, accept, NOW).is_opened);
}

Test(sealed_workers, redirected_client_is_let_in_and_comes_back_directly)
{
    chosen[0] = 2;
    assert_redirected(0, 2);
    cr_assert_eq(ls_sealed_client_due_ns(client), NOW, "the next attempt is due at once");
    assert_let_in(2);
    for (uint32_t i = 0; i < 2; i++) {
        ls_sealed_client_start(client, NOW);
        assert_let_in(2);
    }
    cr_assert_eq(asked, 1);
}

Test(sealed_workers, client_that_comes_back_is_kept_by_a_worker_that_sends_new_ones_away)
{
    assert_let_in(0);
    chosen[0] = 1;
    ls_sealed_client_start(client, NOW);
    assert_let_in(0);
}

Test(sealed_workers, client_that_was_sent_to_a_worker_is_not_sent_on_by_it)
{
    chosen[0] = 1;
    chosen[1] = 2;
    assert_redirected(0, 1);
    assert_let_in(1);
}

Test(sealed_workers, client_comes_back_to_its_worker_when_others_get_the_new_ones)
{
    assert_let_in(0);
    default_worker = 1;
    ls_sealed_client_start(client, NOW);
    assert_let_in(0);
}

/* Its rooms may be opened again in a moment, after a crash: no other worker has its match. */
Test(sealed_workers, client_waits_for_its_worker_when_that_has_no_match)
{
    assert_let_in(0);
    worker_has_match = false;
    ls_sealed_client_start(client, NOW);
    ls_sealed_received received;
    sealed_datagram denied = attempt(0, &received);
    cr_assert_eq(received.denial, LS_DENIAL_NO_SEAT);
    cr_assert_eq(denied.bytes[REASON_AT], 1);
    sealed_to_client(client, denied, NOW);
    cr_assert_eq(ls_sealed_client_refusal(client), LS_SEALED_REFUSAL_FULL);
    worker_has_match = true;
    ls_sealed_client_start(client, NOW);
    assert_let_in(0);
}

/* There was no seat: the next one may be on any worker, where others wait for the client. */
Test(sealed_workers, client_that_got_no_match_begins_as_at_first)
{
    ls_sealed_client_set_match(client, 0);
    chosen[0] = 2;
    assert_redirected(0, 2);
    assert_let_in(2);
    default_worker = 1;
    ls_sealed_client_start(client, NOW);
    assert_let_in(1);
    cr_assert_eq(asked, 2);
}

Test(sealed_workers, each_attempt_has_keys_of_its_own)
{
    chosen[0] = 1;
    sealed_datagram first = sealed_pop(client, NOW);
    ls_sealed_received received;
    sealed_to_client(client, to_workers(first, &received), NOW);
    sealed_to_client(client, to_workers(sealed_pop(client, NOW), &received), NOW);
    sealed_datagram second = sealed_pop(client, NOW);
    cr_assert_eq(second.bytes[0], 1);
    cr_assert_neq(memcmp(first.bytes + 7, second.bytes + 7, 32), 0);
}

Test(sealed_workers, nothing_is_kept_of_a_redirected_client)
{
    chosen[0] = 1;
    for (uint32_t i = 0; i < 4 * config.connections_max; i++) {
        ls_sealed_client_start(client, NOW);
        assert_redirected(0, 1);
    }
    chosen[0] = 0;
    for (uint32_t i = 0; i < config.per_address_max; i++) {
        ls_sealed_client_start(client, NOW);
        assert_let_in(0);
        ls_sealed_client_config again = sealed_client_of(&config);
        ls_sealed_client_destroy(client);
        client = sealed_client_with(&again, NOW);
    }
}

/* Two workers that send their clients to each other. */
Test(sealed_workers, client_is_not_sent_round_for_ever)
{
    chosen[0] = 1;
    chosen[1] = 0;
    never_asks = true;
    for (uint32_t starts = 1; starts <= 2; starts++) {
        for (uint32_t i = 0; i < 4; i++) {
            assert_redirected(i % 2, (i + 1) % 2);
            cr_assert_eq(ls_sealed_client_state_of(client), LS_SEALED_CLIENT_REQUESTING);
        }
        assert_redirected(0, 1);
        cr_assert_eq(ls_sealed_client_state_of(client), LS_SEALED_CLIENT_REFUSED);
        cr_assert_eq(ls_sealed_client_refusal(client), LS_SEALED_REFUSAL_FULL);
        cr_assert_eq(ls_sealed_client_due_ns(client), UINT64_MAX);
        cr_assert_eq(asked, 5 * starts);
        ls_sealed_client_start(client, NOW);
    }
}

Test(sealed_workers, altered_redirect_is_dropped)
{
    chosen[0] = 1;
    ls_sealed_received received;
    sealed_datagram denied = attempt(0, &received);
    for (size_t bit = 0; bit < 8 * denied.size; bit++) {
        sealed_datagram altered = denied;
        altered.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        cr_assert_neq(sealed_to_client(client, altered, NOW).rejection, LS_SEALED_ACCEPTED);
    }
    cr_assert_eq(sealed_to_client(client, denied, NOW).rejection, LS_SEALED_ACCEPTED);
    cr_assert_eq(sealed_to_client(client, denied, NOW).rejection, LS_SEALED_REJECT_OUT_OF_PLACE);
    assert_let_in(1);
}

Test(sealed_workers, credential_is_proven_before_anybody_is_asked)
{
    config.worker = 0;
    config.needs_secret = true;
    config.worker_user = &chosen[1];
    ls_sealed_server *closed = sealed_server_with(&config);
    sealed_datagram denied = sealed_exchange(closed, client, home, NOW);
    cr_assert_eq(denied.bytes[REASON_AT], LS_DENIAL_CREDENTIAL);
    cr_assert_eq(asked, 0);
    ls_sealed_server_destroy(closed);
}

/* A process that was started again remembers its match, and not the worker; and one whose worker
 * has another match by now is sent on. */
Test(sealed_workers, client_that_names_its_match_comes_to_the_worker_that_has_it)
{
    ls_sealed_client_set_match(client, ITS_MATCH);
    assert_redirected(0, ITS_WORKER);
    assert_let_in(ITS_WORKER);
    ls_sealed_client_set_match(client, SOME_MATCH);
    ls_sealed_client_start(client, NOW);
    assert_let_in(ITS_WORKER);
    cr_assert_eq(asked, 0);
}

/* ---- those that know of no workers ---- */

/* An old client writes zeros where a route is, and does not know the reasons above 3. */
Test(sealed_workers, client_that_knows_of_no_workers_is_told_that_there_is_no_place)
{
    chosen[0] = 1;
    ls_sealed_received received;
    sealed_datagram challenge = to_workers(sealed_pop(client, NOW), &received);
    challenge.bytes[ROUTE_OF_CHALLENGE_AT] = 0;
    sealed_to_client(client, challenge, NOW);
    sealed_datagram confirm = sealed_pop(client, NOW);
    cr_assert_eq(confirm.bytes[confirm.size - 1], 0);
    sealed_to_client(client, to_workers(confirm, &received), NOW);
    cr_assert_eq(received.denial, LS_DENIAL_NO_SEAT, "places are not all taken");
    cr_assert_eq(received.rejection, LS_SEALED_REJECT_LIMITED);
    cr_assert_eq(ls_sealed_client_refusal(client), LS_SEALED_REFUSAL_FULL);
    chosen[0] = 0;
    ls_sealed_client_start(client, NOW);
    assert_let_in(0);
}

/* A server alone says and sees no route: neither is there one in what its client sends. */
Test(sealed_workers, server_alone_takes_clients_with_and_without_a_route)
{
    config.worker = 0;
    config.choose_worker = NULL;
    for (config.workers = 0; config.workers <= 1; config.workers++) {
        ls_sealed_server *alone = sealed_server_with(&config);
        ls_sealed_client_start(client, NOW);
        assert_let_in(0);
        ls_sealed_client_start(client, NOW);
        sealed_datagram request = sealed_pop(client, NOW);
        cr_assert_eq(request.bytes[request.size - 1], 1, "it comes back to a worker");
        ls_sealed_received received;
        sealed_datagram challenge = sealed_to_server(alone, home, request, NOW, &received);
        cr_assert_eq(challenge.bytes[ROUTE_OF_CHALLENGE_AT], 0);
        sealed_to_client(client, challenge, NOW);
        sealed_datagram confirm = sealed_pop(client, NOW);
        cr_assert_eq(confirm.bytes[confirm.size - 1], 0);
        sealed_datagram accept = sealed_to_server(alone, home, confirm, NOW, &received);
        cr_assert(sealed_to_client(client, accept, NOW).is_opened);
        ls_sealed_client_start(client, NOW);
        request = sealed_pop(client, NOW);
        cr_assert_eq(request.bytes[request.size - 1], 0);
        ls_sealed_server_destroy(alone);
    }
}
