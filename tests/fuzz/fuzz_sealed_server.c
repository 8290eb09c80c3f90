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
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/protocol/sealed/sealed_client.h"
#include "lockstep/protocol/sealed/sealed_server.h"
#include "lockstep/tests/fuzz/fuzz_input.h"

#include <string.h>

#define KEPT 8u
#define CONNECTIONS 4u
#define ADDRESSES 4u

typedef struct datagram {
    uint8_t bytes[LS_SEALED_DATAGRAM_BYTES_MAX];
    size_t size;
} datagram;

/* The part that an address has had in the client's connection. */
typedef struct client_place {
    uint64_t heard_ns; /* the client has answered what was sent there; 0: never */
    uint64_t left_ns;  /* it was the connection's until then; 0: it was not */
} client_place;

typedef struct fuzz_run {
    ls_sealed_server *server;
    ls_sealed_client *client;
    uint64_t now_ns;
    datagram kept[KEPT]; /* what the client sent last */
    uint32_t kept_count;
    uint32_t worker, workers;
    bool is_there[CONNECTIONS];
    uint32_t sent, received;        /* contents of the client */
    uint32_t newest;                /* the client's newest connection */
    uint64_t moved_ns;              /* when the client found that it had moved; 0: it has not */
    bool is_deaf;                   /* but for the address at hand */
    uint64_t came[256], went[256];  /* bytes from each address, and there as answers */
    client_place places[ADDRESSES]; /* of the newest connection */
} fuzz_run;

static ls_endpoint address_of(uint8_t number)
{
    ls_endpoint address = ls_endpoint_from_ipv4(0, 4000);
    address.address[15] = number;
    return address;
}

/* A datagram of the client that is kept for hostile use. */
static datagram *keep(fuzz_run *run)
{
    return &run->kept[run->kept_count++ % KEPT];
}

static ls_sealed_client_received give_client(fuzz_run *run, const uint8_t *bytes, size_t size)
{
    uint8_t copy[LS_SEALED_DATAGRAM_BYTES_MAX];
    ls_sealed_client_received got;
    memcpy(copy, bytes, size);
    ls_sealed_client_receive(run->client, copy, size, run->now_ns, &got);
    return got;
}

/* An honest datagram is marked by its content: the number of the packet. No other can be made.
 */
static void check_content(fuzz_run *run, const ls_sealed_received *got)
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
static void count_answer(fuzz_run *run, uint8_t to, size_t size)
{
    const ls_endpoint endpoint = address_of(to);
    run->went[to] += size + ls_udp_header_bytes(&endpoint);
    LS_ASSERT(run->went[to] <= run->came[to]);
}

/* At times something else goes to a new address before it is challenged. */
static void use_path(fuzz_run *run, uint32_t index)
{
    size_t room = ls_sealed_server_path_room(run->server, index);
    if (room > 0 && run->sent % 3 == 0) {
        const ls_endpoint *to = ls_sealed_server_claim_path(run->server, index, room);
        count_answer(run, to->address[15], room);
    }
}

static void note_connection(fuzz_run *run, uint32_t index)
{
    run->newest = index;
    for (uint32_t i = 0; i < ADDRESSES; i++) {
        run->places[i] = (client_place){.heard_ns = run->now_ns};
    }
}

/* The address of a connection changes only when the client says that it moved, when what was sent
 * to the old one was not answered, or back to where the client may be still. */
static void check_move(fuzz_run *run, uint32_t before, uint32_t after)
{
    LS_ASSERT(before < ADDRESSES && after < ADDRESSES && before != after);
    bool is_told = run->moved_ns != 0 && run->now_ns < run->moved_ns + 5 * LS_NS_PER_SECOND;
    bool is_silent = run->now_ns >= run->places[before].heard_ns + LS_NS_PER_SECOND;
    uint64_t left_ns = run->places[after].left_ns;
    bool is_back = left_ns != 0 && run->now_ns < left_ns + 60 * LS_NS_PER_SECOND;
    LS_ASSERT(is_told || is_silent || is_back);
    run->places[before].left_ns = run->now_ns;
}

static void give_server(fuzz_run *run, uint8_t from, const datagram *sent);

/* The challenges that are due, and the client's answers to those that it hears. */
static void challenge_paths(fuzz_run *run, uint8_t from, uint32_t index)
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
        ls_sealed_client_received got = give_client(run, made[i].bytes, made[i].size);
        for (uint32_t j = 0; j < got.answer_count; j++) {
            datagram *answer = keep(run);
            answer->size = got.answers[j].size;
            memcpy(answer->bytes, got.answers[j].bytes, answer->size);
            run->places[to].heard_ns = run->now_ns;
            give_server(run, from, answer);
        }
    }
}

static void give_server(fuzz_run *run, uint8_t from, const datagram *sent)
{
    ls_endpoint address = address_of(from);
    uint8_t before[CONNECTIONS];
    datagram copy = *sent;
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
        (void)give_client(run, got.answer, got.answer_bytes);
    }
    if (got.has_content) {
        use_path(run, got.index);
    }
    if (got.is_challenge_due) {
        challenge_paths(run, from, got.index);
    }
}

static void client_sends(fuzz_run *run, uint8_t from)
{
    datagram *sent = keep(run);
    sent->size = ls_sealed_client_pop_due(run->client, run->now_ns, sent->bytes);
    if (sent->size == 0 && ls_sealed_client_state_of(run->client) == LS_SEALED_CLIENT_OPEN) {
        memset(sent->bytes + LS_SEALED_CLIENT_HEADER_BYTES, 0x5a, 16);
        sent->size = ls_sealed_client_seal(run->client, LS_SEALED_PACKET, sent->bytes, 16);
        run->sent++;
    }
    give_server(run, from, sent);
}

/* One of the client's, some bytes of it altered. */
static datagram altered(fuzz_run *run, fuzz_input *input)
{
    datagram made = run->kept[fuzz_take_u8(input) % KEPT];
    for (uint8_t left = fuzz_take_u8(input) % 4; left > 0 && made.size > 0; left--) {
        uint16_t place = fuzz_take_u16(input);
        made.bytes[place % made.size] ^= fuzz_take_u8(input);
    }
    return made;
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

static void close_one(fuzz_run *run, uint8_t index)
{
    if (run->is_there[index % CONNECTIONS]) {
        run->is_there[index % CONNECTIONS] = false;
        ls_sealed_server_close(run->server, index % CONNECTIONS);
    }
}

static void make_move(fuzz_run *run, fuzz_input *input)
{
    uint8_t what = fuzz_take_u8(input);
    uint8_t from = what >> 3 & 3u;
    datagram made;
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
        made = invented(input);
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
    const fuzz_run *run = user;
    LS_ASSERT(!asker->pass);
    if (asker->has_asked) {
        return run->worker;
    }
    return (run->worker + run->kept_count / 8) % run->workers;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fuzz_input input = {bytes, size};
    static fuzz_run run;
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
        make_move(&run, &input);
    }
    ls_sealed_client_destroy(run.client);
    ls_sealed_server_destroy(run.server);
    return 0;
}
