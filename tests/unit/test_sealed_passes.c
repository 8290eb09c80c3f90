/* Connect tokens over the sealed layer: a server with a token gate, and clients with tokens. */
#include "lockstep/protocol/sealed/token_gate.h"
#include "lockstep/protocol/sealed/token_user_data.h"

#include "sealed_pair.h"

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
