/* Fuzzes a sealed client: a server of the bytes' making that knows the protocol and its own keys,
 * and datagrams of others beside it.
 *
 * A list of moves, each:
 *   u8 what    low 3 bits: which move; bit 3: time passes; bit 4: altered on the way;
 *              bit 5: the client finds that it has moved
 *   ...        what the move takes
 */
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/protocol/sealed/key_exchange.h"
#include "lockstep/protocol/sealed/sealed_client.h"
#include "lockstep/protocol/sealed/sealed_packet.h"
#include "lockstep/tests/fuzz/fuzz_input.h"

#include <string.h>

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

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
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
