/* Fuzzes the sealed layer: both of its ends, and what lets a player in. */
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/cipher.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/protocol/sealed/connect_token.h"
#include "lockstep/protocol/sealed/invite.h"
#include "lockstep/protocol/sealed/key_exchange.h"
#include "lockstep/protocol/sealed/sealed_client.h"
#include "lockstep/protocol/sealed/sealed_packet.h"
#include "lockstep/protocol/sealed/sealed_server.h"
#include "lockstep/protocol/sealed/token_user_data.h"

#include "lockstep/tests/fuzz/fuzz_input.h"

#include <string.h>

/* ==== sealed_client ==== */

/* Fuzzes a sealed client: a server of the bytes' making that knows the protocol and its own keys,
 * and datagrams of others beside it.
 *
 * A list of moves, each:
 *   u8 what    low 3 bits: which move; bit 3: time passes; bit 4: altered on the way;
 *              bit 5: the client finds that it has moved
 *   ...        what the move takes
 */

typedef struct datagram {
    uint8_t bytes[LS_SEALED_DATAGRAM_BYTES_MAX];
    size_t size;
} datagram;

typedef struct fuzz_run {
    ls_sealed_client *client;
    uint64_t now_ns;
    ls_key_pair identity;
    uint8_t client_key[LS_CIPHER_KEY_BYTES]; /* of what the client sent last */
    ls_packet_keys keys;                     /* of the last ACCEPT */
    uint64_t counter;
    bool has_moved;
} fuzz_run;

static void pop_due(fuzz_run *run)
{
    datagram sent;
    sent.size = ls_sealed_client_pop_due(run->client, run->now_ns, sent.bytes);
    ls_request request;
    ls_confirm confirm;
    if (ls_request_read(sent.bytes, sent.size, &request)) {
        memcpy(run->client_key, request.client_key, sizeof run->client_key);
    } else if (ls_confirm_read(sent.bytes, sent.size, &confirm)) {
        LS_ASSERT(memcmp(confirm.client_key, run->client_key, sizeof run->client_key) == 0);
        run->keys.suite = confirm.suite;
    } else {
        LS_ASSERT(sent.size == 0);
        LS_ASSERT(ls_sealed_client_due_ns(run->client) > run->now_ns);
    }
}

static datagram challenge(const fuzz_run *run, fuzz_input *input)
{
    uint8_t flags = fuzz_take_u8(input);
    ls_challenge made = {.version = (uint8_t)(1 + (flags >> 1 & 1u)),
                         .route = flags >> 2,
                         .time_ms = fuzz_take_u8(input),
                         .has_server_key = (flags & 1u) == 0};
    made.has_aes = (made.time_ms & 1u) != 0;
    memcpy(made.start, run->client_key, sizeof made.start);
    memcpy(made.server_key, run->identity.public_key, sizeof made.server_key);
    datagram sent;
    sent.size = ls_challenge_write(&made, sent.bytes);
    return sent;
}

static bool derive_first_key(const fuzz_run *run, uint8_t first_key[LS_CIPHER_KEY_BYTES])
{
    static const uint8_t none[LS_CIPHER_KEY_BYTES] = {0};
    return ls_first_key_of_server(&run->identity, run->client_key, none, first_key);
}

static datagram accept(fuzz_run *run, fuzz_input *input)
{
    datagram sent = {.size = 0};
    uint8_t first_key[LS_CIPHER_KEY_BYTES];
    uint8_t private_key[LS_CIPHER_KEY_BYTES] = {fuzz_take_u8(input)};
    ls_key_pair own;
    ls_key_pair_from_private(private_key, &own);
    if (derive_first_key(run, first_key) &&
        ls_packet_keys_of_server(first_key, &own, run->client_key, &run->keys)) {
        ls_accept made = {.index = fuzz_take_u16(input)};
        memcpy(made.start, run->client_key, sizeof made.start);
        memcpy(made.server_key, own.public_key, sizeof made.server_key);
        sent.size = ls_accept_write(&made, run->keys.of_server, sent.bytes);
        run->counter = 0;
    }
    return sent;
}

static datagram denied(const fuzz_run *run, fuzz_input *input)
{
    datagram sent = {.size = 0};
    uint8_t first_key[LS_CIPHER_KEY_BYTES];
    if (derive_first_key(run, first_key)) {
        uint8_t reason = fuzz_take_u8(input);
        ls_denied made = {.reason = (ls_denial)(reason & 7u), .worker = reason >> 4};
        memcpy(made.start, run->client_key, sizeof made.start);
        sent.size = ls_denied_write(&made, first_key, sent.bytes);
    }
    return sent;
}

static datagram packet(fuzz_run *run, fuzz_input *input)
{
    run->counter += fuzz_take_u16(input) % 1024;
    const ls_sealed_header header = {.content = (ls_sealed_content)(fuzz_take_u8(input) % 8),
                                     .counter = (uint16_t)run->counter};
    datagram sent;
    size_t size;
    const uint8_t *bytes = fuzz_take_bytes(input, fuzz_take_u8(input), &size);
    ls_sealed_write_server_header(sent.bytes, &header);
    if (size > 0) {
        memcpy(sent.bytes + LS_SEALED_SERVER_HEADER_BYTES, bytes, size);
    }
    sent.size = ls_sealed_packet_seal(run->keys.suite, run->keys.of_server, run->counter,
                                      sent.bytes, LS_SEALED_SERVER_HEADER_BYTES, size);
    run->counter += fuzz_take_u8(input) % 2; /* or it is sealed again, with the same number */
    return sent;
}

static datagram invented(fuzz_input *input)
{
    datagram made = {.size = fuzz_take_u16(input) % (LS_SEALED_DATAGRAM_BYTES_MAX + 1)};
    size_t size;
    const uint8_t *bytes = fuzz_take_bytes(input, made.size, &size);
    if (size > 0) {
        memcpy(made.bytes, bytes, size);
    }
    return made;
}

static void check(const fuzz_run *run, const datagram *sent, const ls_sealed_client_received *got)
{
    LS_ASSERT(got->rejection >= LS_SEALED_ACCEPTED && got->rejection < LS_SEALED_REJECTION_COUNT);
    bool is_used = got->has_content || got->answer_count > 0 || got->is_opened;
    LS_ASSERT(got->rejection == LS_SEALED_ACCEPTED || !is_used);
    ls_sealed_client_state state = ls_sealed_client_state_of(run->client);
    LS_ASSERT(!is_used || state == LS_SEALED_CLIENT_OPEN);
    ls_sealed_refusal refusal = ls_sealed_client_refusal(run->client);
    bool is_refused = refusal != LS_SEALED_REFUSAL_NONE && refusal != LS_SEALED_REFUSAL_PATH;
    LS_ASSERT((state == LS_SEALED_CLIENT_REFUSED) == is_refused);
    LS_ASSERT(got->answer_count <= 1u + (run->has_moved ? 1u : 0u));
    if (got->has_content) {
        LS_ASSERT(got->content <= LS_SEALED_ENET);
        LS_ASSERT(got->bytes == sent->bytes + LS_SEALED_SERVER_HEADER_BYTES);
        LS_ASSERT(got->size + LS_SEALED_SERVER_HEADER_BYTES + LS_SEALED_TAG_BYTES == sent->size);
    }
}

static void give_client(fuzz_run *run, datagram *sent, bool is_altered, fuzz_input *input)
{
    uint8_t change = 0;
    if (is_altered && sent->size > 0) {
        uint16_t place = fuzz_take_u16(input);
        change = fuzz_take_u8(input);
        sent->bytes[place % sent->size] ^= change;
    }
    ls_sealed_client_received got;
    ls_sealed_client_receive(run->client, sent->bytes, sent->size, run->now_ns, &got);
    check(run, sent, &got);
    LS_ASSERT(change == 0 || !(got.has_content || got.answer_count > 0 || got.is_opened));
}

static void make_move(fuzz_run *run, fuzz_input *input)
{
    uint8_t what = fuzz_take_u8(input);
    if ((what & 8u) != 0) {
        run->now_ns += fuzz_take_u16(input) * (LS_NS_PER_MS / 4);
    }
    if ((what & 32u) != 0) {
        ls_sealed_client_note_move(run->client, run->now_ns);
        run->has_moved = true;
    }
    datagram sent = {.size = 0};
    switch (what & 7u) {
    case 0:
        sent = invented(input);
        break;
    case 1:
        sent = challenge(run, input);
        break;
    case 2:
        sent = accept(run, input);
        break;
    case 3:
        sent = denied(run, input);
        break;
    case 4:
        ls_sealed_client_start(run->client, run->now_ns);
        return;
    case 5:
        pop_due(run);
        return;
    default:
        sent = packet(run, input);
    }
    give_client(run, &sent, (what & 16u) != 0, input);
}

FUZZ_TARGET(sealed_client)
{
    fuzz_input input = {bytes, size};
    static fuzz_run run;
    memset(&run, 0, sizeof run);
    LS_ASSERT(ls_cipher_init() == LS_OK);
    static const uint8_t private_key[LS_CIPHER_KEY_BYTES] = {1, 2, 3};
    ls_key_pair_from_private(private_key, &run.identity);
    ls_sealed_client_config config = {.has_server_key = fuzz_take_u8(&input) % 2 == 0};
    memcpy(config.server_key, run.identity.public_key, sizeof config.server_key);
    LS_ASSERT(ls_sealed_client_create(&config, ls_allocator_heap(), &run.client) == LS_OK);
    run.now_ns = 1000 * LS_NS_PER_SECOND;
    ls_sealed_client_start(run.client, run.now_ns);
    while (input.size > 0) {
        make_move(&run, &input);
    }
    ls_sealed_client_destroy(run.client);
    return 0;
}

/* ==== sealed_server ==== */

/* Fuzzes a sealed server beside an honest client: hostile datagrams from other addresses and from
 * the client's own, made of nothing or of those that the client sent.
 *
 * A first byte: bit 0: the server gives its key; bits 1 and 2: one of 1 to 4 workers, bits 3 and 4:
 * which; bit 5: it sends clients elsewhere at times. Then a list of moves, each:
 *   u8 what    low 3 bits: which move; next 2 bits: from which address; bit 5: time passes;
 *              bit 6: the client hears what is sent to that address alone; bit 7: it finds that it
 *              has moved
 *   ...        what the move takes
 */

#define KEPT 8u
#define CONNECTIONS 4u
#define ADDRESSES 4u

typedef struct server_datagram {
    uint8_t bytes[LS_SEALED_DATAGRAM_BYTES_MAX];
    size_t size;
} server_datagram;

/* The part that an address has had in the client's connection. */
typedef struct client_place {
    uint64_t heard_ns; /* the client has answered what was sent there; 0: never */
    uint64_t left_ns;  /* it was the connection's until then; 0: it was not */
} client_place;

typedef struct server_run {
    ls_sealed_server *server;
    ls_sealed_client *client;
    uint64_t now_ns;
    server_datagram kept[KEPT]; /* what the client sent last */
    uint32_t kept_count;
    uint32_t worker, workers;
    bool is_there[CONNECTIONS];
    uint32_t sent, received;        /* contents of the client */
    uint32_t newest;                /* the client's newest connection */
    uint64_t moved_ns;              /* when the client found that it had moved; 0: it has not */
    bool is_deaf;                   /* but for the address at hand */
    uint64_t came[256], went[256];  /* bytes from each address, and there as answers */
    client_place places[ADDRESSES]; /* of the newest connection */
} server_run;

static ls_endpoint address_of(uint8_t number)
{
    ls_endpoint address = ls_endpoint_from_ipv4(0, 4000);
    address.address[15] = number;
    return address;
}

/* A datagram of the client that is kept for hostile use. */
static server_datagram *keep(server_run *run)
{
    return &run->kept[run->kept_count++ % KEPT];
}

static ls_sealed_client_received server_give_client(server_run *run, const uint8_t *bytes,
                                                    size_t size)
{
    uint8_t copy[LS_SEALED_DATAGRAM_BYTES_MAX];
    ls_sealed_client_received got;
    memcpy(copy, bytes, size);
    ls_sealed_client_receive(run->client, copy, size, run->now_ns, &got);
    return got;
}

/* An honest datagram is marked by its content: the number of the packet. No other can be made.
 */
static void check_content(server_run *run, const ls_sealed_received *got)
{
    LS_ASSERT(got->index < CONNECTIONS);
    LS_ASSERT(run->is_there[got->index] != got->is_opened);
    run->is_there[got->index] = true;
    LS_ASSERT(got->size == 16);
    for (size_t i = 0; i < got->size; i++) {
        LS_ASSERT(got->bytes[i] == 0x5a);
    }
    run->received++;
    LS_ASSERT(run->received <= run->sent);
}

/* An answer goes to an address that has sent as much. */
static void count_answer(server_run *run, uint8_t to, size_t size)
{
    const ls_endpoint endpoint = address_of(to);
    run->went[to] += size + ls_udp_header_bytes(&endpoint);
    LS_ASSERT(run->went[to] <= run->came[to]);
}

/* At times something else goes to a new address before it is challenged. */
static void use_path(server_run *run, uint32_t index)
{
    size_t room = ls_sealed_server_path_room(run->server, index);
    if (room > 0 && run->sent % 3 == 0) {
        const ls_endpoint *to = ls_sealed_server_claim_path(run->server, index, room);
        count_answer(run, to->address[15], room);
    }
}

static void note_connection(server_run *run, uint32_t index)
{
    run->newest = index;
    for (uint32_t i = 0; i < ADDRESSES; i++) {
        run->places[i] = (client_place){.heard_ns = run->now_ns};
    }
}

/* The address of a connection changes only when the client says that it moved, when what was sent
 * to the old one was not answered, or back to where the client may be still. */
static void check_move(server_run *run, uint32_t before, uint32_t after)
{
    LS_ASSERT(before < ADDRESSES && after < ADDRESSES && before != after);
    bool is_told = run->moved_ns != 0 && run->now_ns < run->moved_ns + 5 * LS_NS_PER_SECOND;
    bool is_silent = run->now_ns >= run->places[before].heard_ns + LS_NS_PER_SECOND;
    uint64_t left_ns = run->places[after].left_ns;
    bool is_back = left_ns != 0 && run->now_ns < left_ns + 60 * LS_NS_PER_SECOND;
    LS_ASSERT(is_told || is_silent || is_back);
    run->places[before].left_ns = run->now_ns;
}

static void give_server(server_run *run, uint8_t from, const server_datagram *sent);

/* The challenges that are due, and the client's answers to those that it hears. */
static void challenge_paths(server_run *run, uint8_t from, uint32_t index)
{
    ls_path_challenge made[LS_PATH_CHALLENGES_MAX];
    const ls_endpoint *active = ls_sealed_server_endpoint(run->server, index);
    uint8_t active_place = active->address[15];
    uint32_t count = ls_sealed_server_challenge_paths(run->server, index, run->now_ns, made);
    LS_ASSERT(count <= LS_PATH_CHALLENGES_MAX);
    for (uint32_t i = 0; i < count; i++) {
        uint8_t to = made[i].to.address[15];
        if (to == from && to != active_place) {
            count_answer(run, to, made[i].size);
        }
        if (run->is_deaf && to != from) {
            continue;
        }
        ls_sealed_client_received got = server_give_client(run, made[i].bytes, made[i].size);
        for (uint32_t j = 0; j < got.answer_count; j++) {
            server_datagram *answer = keep(run);
            answer->size = got.answers[j].size;
            memcpy(answer->bytes, got.answers[j].bytes, answer->size);
            run->places[to].heard_ns = run->now_ns;
            give_server(run, from, answer);
        }
    }
}

static void give_server(server_run *run, uint8_t from, const server_datagram *sent)
{
    ls_endpoint address = address_of(from);
    uint8_t before[CONNECTIONS];
    server_datagram copy = *sent;
    ls_sealed_received got;
    for (uint32_t i = 0; i < CONNECTIONS; i++) {
        before[i] = run->is_there[i] ? ls_sealed_server_endpoint(run->server, i)->address[15] : 0;
    }
    ls_sealed_server_receive(run->server, &address, copy.bytes, copy.size, run->now_ns, &got);
    LS_ASSERT(got.rejection >= LS_SEALED_ACCEPTED && got.rejection < LS_SEALED_REJECTION_COUNT);
    run->came[from] += sent->size + ls_udp_header_bytes(&address);
    LS_ASSERT(got.rejection == LS_SEALED_ACCEPTED || !got.has_content);
    if (got.has_content) {
        check_content(run, &got);
    }
    if (got.is_opened) {
        note_connection(run, got.index);
    }
    if (got.has_moved && got.index == run->newest) {
        check_move(run, before[got.index],
                   ls_sealed_server_endpoint(run->server, got.index)->address[15]);
    }
    if (got.answer_bytes > 0) {
        count_answer(run, from, got.answer_bytes);
        (void)server_give_client(run, got.answer, got.answer_bytes);
    }
    if (got.has_content) {
        use_path(run, got.index);
    }
    if (got.is_challenge_due) {
        challenge_paths(run, from, got.index);
    }
}

static void client_sends(server_run *run, uint8_t from)
{
    server_datagram *sent = keep(run);
    sent->size = ls_sealed_client_pop_due(run->client, run->now_ns, sent->bytes);
    if (sent->size == 0 && ls_sealed_client_state_of(run->client) == LS_SEALED_CLIENT_OPEN) {
        memset(sent->bytes + LS_SEALED_CLIENT_HEADER_BYTES, 0x5a, 16);
        sent->size = ls_sealed_client_seal(run->client, LS_SEALED_PACKET, sent->bytes, 16);
        run->sent++;
    }
    give_server(run, from, sent);
}

/* One of the client's, some bytes of it altered. */
static server_datagram altered(server_run *run, fuzz_input *input)
{
    server_datagram made = run->kept[fuzz_take_u8(input) % KEPT];
    for (uint8_t left = fuzz_take_u8(input) % 4; left > 0 && made.size > 0; left--) {
        uint16_t place = fuzz_take_u16(input);
        made.bytes[place % made.size] ^= fuzz_take_u8(input);
    }
    return made;
}

static server_datagram server_invented(fuzz_input *input)
{
    server_datagram made = {.size = fuzz_take_u16(input) % (LS_SEALED_DATAGRAM_BYTES_MAX + 1)};
    size_t size;
    const uint8_t *bytes = fuzz_take_bytes(input, made.size, &size);
    if (size > 0) {
        memcpy(made.bytes, bytes, size);
    }
    return made;
}

static void close_one(server_run *run, uint8_t index)
{
    if (run->is_there[index % CONNECTIONS]) {
        run->is_there[index % CONNECTIONS] = false;
        ls_sealed_server_close(run->server, index % CONNECTIONS);
    }
}

static void server_make_move(server_run *run, fuzz_input *input)
{
    uint8_t what = fuzz_take_u8(input);
    uint8_t from = what >> 3 & 3u;
    server_datagram made;
    if ((what & 32u) != 0) {
        run->now_ns += fuzz_take_u16(input) * (LS_NS_PER_MS / 4);
    }
    run->is_deaf = (what & 64u) != 0;
    if ((what & 128u) != 0) {
        ls_sealed_client_note_move(run->client, run->now_ns);
        run->moved_ns = run->now_ns;
    }
    switch (what & 7u) {
    case 0:
        made = server_invented(input);
        give_server(run, from, &made);
        break;
    case 1:
        made = altered(run, input);
        give_server(run, from, &made);
        break;
    case 2:
        ls_sealed_client_start(run->client, run->now_ns);
        break;
    case 3:
        close_one(run, from);
        break;
    default:
        client_sends(run, from);
    }
}

static uint32_t choose_worker(void *user, const ls_sealed_asker *asker)
{
    const server_run *run = user;
    LS_ASSERT(!asker->pass);
    if (asker->has_asked) {
        return run->worker;
    }
    return (run->worker + run->kept_count / 8) % run->workers;
}

FUZZ_TARGET(sealed_server)
{
    fuzz_input input = {bytes, size};
    static server_run run;
    memset(&run, 0, sizeof run);
    ls_sealed_server_config config = {.connections_max = CONNECTIONS, .per_address_max = 2};
    LS_ASSERT(ls_cipher_init() == LS_OK);
    uint8_t kind = fuzz_take_u8(&input);
    config.gives_key = kind % 2 == 0;
    config.workers = 1 + (kind >> 1 & 3u);
    config.worker = (kind >> 3 & 3u) % config.workers;
    config.choose_worker = (kind & 32u) != 0 ? choose_worker : NULL;
    config.worker_user = &run;
    run.worker = config.worker;
    run.workers = config.workers;
    static const uint8_t private_key[LS_CIPHER_KEY_BYTES] = {1, 2, 3};
    ls_key_pair_from_private(private_key, &config.identity);
    ls_sealed_client_config client = {.has_server_key = !config.gives_key};
    memcpy(client.server_key, config.identity.public_key, sizeof client.server_key);
    LS_ASSERT(ls_sealed_server_create(&config, ls_allocator_heap(), &run.server) == LS_OK);
    LS_ASSERT(ls_sealed_client_create(&client, ls_allocator_heap(), &run.client) == LS_OK);
    run.now_ns = 1000 * LS_NS_PER_SECOND;
    ls_sealed_client_start(run.client, run.now_ns);
    while (input.size > 0) {
        server_make_move(&run, &input);
    }
    ls_sealed_client_destroy(run.client);
    ls_sealed_server_destroy(run.server);
    return 0;
}

/* ==== token ==== */

/* Fuzzes what a player is let in with: the bytes of a connect token, a private part of any content
 * behind a good seal, user data, and the text of an invite.
 *
 *   u8 kind, then: 0 a whole token; 1 a private part before it is sealed; 2 user data; 3 an invite
 */

enum {
    EXPIRE_S = 1700000045,
    PLAIN_BYTES = LS_TOKEN_PRIVATE_BYTES - LS_TOKEN_ID_BYTES,
};

/* As tests/tokens/make_tokens.py has them. */
static ls_token_check check_of_samples(void)
{
    ls_token_check check = {.protocol_id = UINT64_C(0x1122334455667788), .key_count = 2};
    for (uint32_t i = 0; i < LS_TOKEN_KEY_BYTES; i++) {
        check.keys[1][i] = (uint8_t)(0x80 + i);
    }
    return check;
}

static void check_list(const ls_token_server_list *list)
{
    LS_ASSERT(list->count >= 1 && list->count <= LS_TOKEN_SERVERS_MAX);
}

static void check_user_data(const uint8_t user_data[LS_TOKEN_USER_DATA_BYTES])
{
    ls_token_admission admission;
    uint8_t again[LS_TOKEN_USER_DATA_BYTES];
    if (ls_token_user_data_read(user_data, &admission, NULL) != LS_OK) {
        return;
    }
    LS_ASSERT(ls_token_user_data_write(&admission, again, NULL) == LS_OK);
    LS_ASSERT(user_data[0] == 0 || memcmp(again, user_data, sizeof again) == 0);
}

static void check_envelope(const uint8_t *envelope)
{
    ls_token_claims claims;
    const ls_token_check check = check_of_samples();
    memset(&claims, 0xcc, sizeof claims);
    if (ls_token_open(envelope, &check, EXPIRE_S - 1, &claims) == LS_TOKEN_REFUSAL_NONE) {
        check_list(&claims.list);
        check_user_data(claims.user_data);
    }
}

static void check_token(fuzz_input *input)
{
    ls_token token;
    uint8_t envelope[LS_TOKEN_ENVELOPE_BYTES];
    memset(&token, 0xcc, sizeof token);
    if (ls_token_read(input->bytes, input->size, EXPIRE_S - 1, &token) !=
        LS_TOKEN_REFUSAL_MALFORMED) {
        check_list(&token.list);
        ls_token_write_envelope(&token, envelope);
        LS_ASSERT(memcmp(envelope, input->bytes + 13, 8) == 0);
        LS_ASSERT(memcmp(envelope + 8, input->bytes + 29, sizeof envelope - 8) == 0);
        check_envelope(envelope);
    }
}

/* The seal is good, as when a back end is at fault or its key has leaked. */
static void check_private(fuzz_input *input)
{
    uint8_t envelope[LS_TOKEN_ENVELOPE_BYTES] = {0};
    uint8_t header[13 + 16] = "NETCODE 1.02";
    const ls_token_check check = check_of_samples();
    uint8_t *plain = envelope + sizeof envelope - LS_TOKEN_PRIVATE_BYTES;
    size_t size = 0;
    const uint8_t *bytes = fuzz_take_bytes(input, PLAIN_BYTES, &size);
    memcpy(plain, bytes, size);
    ls_store_u64(envelope, check.protocol_id);
    ls_store_u64(envelope + 8, EXPIRE_S);
    memcpy(header + 13, envelope, 16);
    ls_cipher_seal_long(check.keys[1], envelope + 16, header, sizeof header, plain, PLAIN_BYTES);
    check_envelope(envelope);
}

static void check_invite(fuzz_input *input)
{
    char text[1024], again[LS_INVITE_TEXT_BYTES_MAX];
    ls_invite invite, read;
    size_t size = 0;
    const uint8_t *bytes = fuzz_take_bytes(input, sizeof text - 1, &size);
    memcpy(text, bytes, size);
    text[size] = '\0';
    if (ls_invite_parse(text, &invite, NULL) != LS_OK) {
        return;
    }
    ls_invite_format(&invite, again);
    LS_ASSERT(ls_invite_parse(again, &read, NULL) == LS_OK);
    LS_ASSERT(strcmp(read.host, invite.host) == 0 && read.port == invite.port);
    LS_ASSERT(strcmp(read.room, invite.room) == 0 && read.worker == invite.worker);
    LS_ASSERT(memcmp(read.key, invite.key, sizeof read.key) == 0);
}

FUZZ_TARGET(token)
{
    fuzz_input input = {bytes, size};
    uint8_t user_data[LS_TOKEN_USER_DATA_BYTES] = {0};
    switch (fuzz_take_u8(&input) % 4) {
    case 0:
        check_token(&input);
        break;
    case 1:
        check_private(&input);
        break;
    case 2:
        memcpy(user_data, input.bytes, LS_MIN(input.size, sizeof user_data));
        check_user_data(user_data);
        break;
    default:
        check_invite(&input);
        break;
    }
    return 0;
}
