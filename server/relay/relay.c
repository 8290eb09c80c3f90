#include "lockstep/server/relay/relay.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/common/system/endpoint_text.h"
#include "lockstep/protocol/relay/relay_keys.h"
#include "lockstep/protocol/sealed/address_limits.h"

#include <string.h>

#define COOKIE_MS UINT64_C(5000)
#define SILENCE_NS (30 * LS_NS_PER_SECOND)
#define OPEN_AGAIN_NS (50 * LS_NS_PER_MS)
#define BURST_NS (LS_NS_PER_SECOND / 2) /* of bytes that may come at once */

enum {
    PLAYERS_PER_ADDRESS = 16,
    NAMES_TRIED = 16,
    BYTES_PER_KB = 1000,
};

/* The bytes of one way: each takes time. */
typedef struct byte_use {
    uint64_t spent_until_ns;
} byte_use;

typedef struct host {
    uint64_t id; /* 0: free */
    ls_endpoint endpoint;
    uint8_t public_key[LS_CIPHER_KEY_BYTES];
    ls_relay_keys keys;
    uint8_t nonce[LS_RELAY_NONCE_BYTES]; /* of the REGISTER that counts */
    uint64_t time_ms;                    /* likewise */
    uint64_t counter;
    uint64_t heard_ns;
    char name[LS_RELAY_NAME_CHARACTERS];
    uint16_t outside_port; /* as it says in OPENED */
    ls_endpoint local;     /* likewise */
    byte_use up, down;
} host;

typedef struct player {
    uint64_t flow; /* 0: free */
    uint64_t host; /* the id */
    ls_endpoint endpoint;
    uint8_t nonce[LS_RELAY_NONCE_BYTES]; /* of JOIN */
    uint64_t heard_ns;
    uint64_t opened_ns; /* when OPEN was sent last */
    bool is_open;       /* the server has answered it */
    bool has_way;       /* that is logged */
    byte_use up, down;
} player;

struct ls_relay_service {
    ls_relay_config config;
    ls_relay_sink sink;
    const ls_allocator *allocator;
    ls_key_pair keys;
    uint8_t cookie_key[LS_CIPHER_KEY_BYTES];
    uint64_t seed;
    host *hosts;
    player *players;
    uint32_t *tags;     /* of each player, by address and host: so a look for one is short */
    uint32_t *free_ids; /* free players, as a stack */
    uint32_t free_count;
    ls_address_limits *host_limits;
    ls_address_limits *player_limits;
    ls_directory *directory;
    ls_log_budget lines;
    ls_relay_counts counts;
};

ls_relay_config ls_relay_config_default(void)
{
    return (ls_relay_config){.hosts_max = 1024,
                             .players_max = 8192,
                             .hosts_per_address = 8,
                             .match_kb = 4096,
                             .player_kb = 1024,
                             .games_max = 1024};
}

/* ---- small parts ---- */

/* The lowest bits of an id or a flow are its place, and the others cannot be guessed. */
static uint64_t draw_number(uint32_t place, uint32_t places_max)
{
    uint64_t number = 0;
    ls_cipher_random((uint8_t *)&number, sizeof number);
    number = number - number % places_max + place;
    return number >= places_max ? number : number + places_max;
}

static host *find_host(ls_relay_service *relay, uint64_t id)
{
    uint64_t place = id % LS_RELAY_HOSTS_MAX;
    host *found = &relay->hosts[place < relay->config.hosts_max ? place : 0];
    return id != 0 && found->id == id ? found : NULL;
}

static player *find_flow(ls_relay_service *relay, uint64_t flow)
{
    uint64_t place = flow % LS_RELAY_PLAYERS_MAX;
    player *found = &relay->players[place < relay->config.players_max ? place : 0];
    return flow != 0 && found->flow == flow ? found : NULL;
}

static bool spend_bytes(byte_use *use, uint32_t kb, size_t bytes, uint64_t now_ns)
{
    if (use->spent_until_ns > now_ns + BURST_NS) {
        return false;
    }
    uint64_t took_ns = bytes * LS_NS_PER_SECOND / ((uint64_t)kb * BYTES_PER_KB);
    use->spent_until_ns = LS_MAX(use->spent_until_ns, now_ns) + took_ns;
    return true;
}

/* A line about somebody, which begins with the name of the server that it is about. */
static void log_about(ls_relay_service *relay, const host *about, const ls_endpoint *of,
                      const char *what, uint64_t now_ns)
{
    char text[LS_ENDPOINT_NUMERIC_BYTES];
    if (relay->config.log) {
        ls_endpoint_format(of, text);
        const ls_log before = ls_log_budget_begin(&relay->lines, relay->config.log, now_ns);
        ls_log_line(relay->config.log, LS_LOG_INFO, "%.*s: %s %s", (int)sizeof about->name,
                    about->name, what, text);
        *relay->config.log = before;
    }
}

static void send_packet(ls_relay_service *relay, const ls_endpoint *to,
                        const ls_relay_packet *packet, const uint8_t *key)
{
    uint8_t bytes[LS_RELAY_PACKET_BYTES_MAX];
    size_t size = ls_relay_packet_write(packet, bytes);
    if (key) {
        ls_relay_packet_sign(bytes, key);
    }
    relay->sink.send(relay->sink.user, to, bytes, size);
}

/* ---- cookies ---- */

static void on_ask(ls_relay_service *relay, const ls_endpoint *from, const ls_relay_packet *ask,
                   uint64_t now_ns)
{
    if (!ls_address_limits_count_request(relay->host_limits, from, now_ns)) {
        relay->counts.limited++;
        return;
    }
    ls_relay_packet cookie = {.kind = LS_RELAY_COOKIE,
                              .value = relay->config.has_access_key,
                              .time_ms = now_ns / LS_NS_PER_MS};
    memcpy(cookie.nonce, ask->nonce, sizeof cookie.nonce);
    memcpy(cookie.key, relay->keys.public_key, sizeof cookie.key);
    ls_relay_cookie(relay->cookie_key, from, cookie.nonce, cookie.time_ms, cookie.cookie);
    send_packet(relay, from, &cookie, NULL);
}

static bool has_cookie(const ls_relay_service *relay, const ls_endpoint *from,
                       const ls_relay_packet *packet, uint64_t now_ns)
{
    uint8_t made[LS_RELAY_TAG_BYTES];
    uint64_t now_ms = now_ns / LS_NS_PER_MS;
    if (packet->time_ms > now_ms || now_ms - packet->time_ms > COOKIE_MS) {
        return false;
    }
    ls_relay_cookie(relay->cookie_key, from, packet->nonce, packet->time_ms, made);
    return ls_cipher_is_equal(made, packet->cookie, sizeof made);
}

/* ---- servers ---- */

static host *host_of_key(ls_relay_service *relay, const uint8_t key[LS_CIPHER_KEY_BYTES])
{
    for (uint32_t i = 0; i < relay->config.hosts_max; i++) {
        if (relay->hosts[i].id != 0 &&
            memcmp(relay->hosts[i].public_key, key, LS_CIPHER_KEY_BYTES) == 0) {
            return &relay->hosts[i];
        }
    }
    return NULL;
}

static host *host_of_name(ls_relay_service *relay, const char name[LS_RELAY_NAME_CHARACTERS])
{
    for (uint32_t i = 0; i < relay->config.hosts_max; i++) {
        if (relay->hosts[i].id != 0 &&
            memcmp(relay->hosts[i].name, name, LS_RELAY_NAME_CHARACTERS) == 0) {
            return &relay->hosts[i];
        }
    }
    return NULL;
}

/* A place with a name that no other server has; NULL: there is none. */
static host *add_host(ls_relay_service *relay, const ls_endpoint *from, const uint8_t *key)
{
    host *place = NULL;
    char name[LS_RELAY_NAME_CHARACTERS];
    for (uint32_t i = 0; !place && i < relay->config.hosts_max; i++) {
        place = relay->hosts[i].id == 0 ? &relay->hosts[i] : NULL;
    }
    uint32_t attempt = 0;
    do {
        ls_relay_code_name(key, (uint8_t)attempt, name);
    } while (host_of_name(relay, name) && ++attempt < NAMES_TRIED);
    if (!place || attempt == NAMES_TRIED ||
        !ls_address_limits_add_connection(relay->host_limits, from)) {
        return NULL;
    }
    *place = (host){.endpoint = *from,
                    .id = draw_number((uint32_t)(place - relay->hosts), LS_RELAY_HOSTS_MAX)};
    memcpy(place->name, name, sizeof name);
    memcpy(place->public_key, key, sizeof place->public_key);
    relay->counts.hosts++;
    return place;
}

static void send_registered(ls_relay_service *relay, const ls_endpoint *to, const host *of,
                            const ls_relay_keys *keys, uint8_t result)
{
    ls_relay_packet registered = {
        .kind = LS_RELAY_REGISTERED, .value = result, .host = *to, .page = relay->config.page};
    if (of) {
        registered.number = of->id;
        memcpy(registered.name, of->name, sizeof registered.name);
    }
    send_packet(relay, to, &registered, keys->to_server);
}

/* The server may have been started anew: it is told of its players as they come. */
static void forget_open(ls_relay_service *relay, const host *of)
{
    for (uint32_t i = 0; i < relay->config.players_max; i++) {
        if (relay->players[i].flow != 0 && relay->players[i].host == of->id) {
            relay->players[i].is_open = false;
        }
    }
}

/* Of a server that has proven who it is. False when it is an old REGISTER that somebody repeats. */
static bool admit(ls_relay_service *relay, const ls_endpoint *from, const ls_relay_packet *wants,
                  const ls_relay_keys *keys, uint64_t now_ns)
{
    host *known = host_of_key(relay, wants->key);
    bool is_repeated = known && memcmp(known->nonce, wants->nonce, sizeof known->nonce) == 0 &&
                       ls_endpoint_is_equal(&known->endpoint, from);
    if (is_repeated) {
        send_registered(relay, from, known, keys, LS_RELAY_GOOD);
        return true;
    }
    if (known && wants->time_ms <= known->time_ms) {
        return false;
    }
    if (!known) {
        known = add_host(relay, from, wants->key);
        if (!known) {
            send_registered(relay, from, NULL, keys, LS_RELAY_FULL);
            return true;
        }
    } else if (!ls_endpoint_is_equal(&known->endpoint, from)) {
        ls_address_limits_remove_connection(relay->host_limits, &known->endpoint);
        if (!ls_address_limits_add_connection(relay->host_limits, from)) {
            (void)ls_address_limits_add_connection(relay->host_limits, &known->endpoint);
            send_registered(relay, from, NULL, keys, LS_RELAY_FULL);
            return true;
        }
    }
    known->endpoint = *from;
    known->keys = *keys;
    known->time_ms = wants->time_ms;
    known->counter = 0;
    known->heard_ns = now_ns;
    memcpy(known->nonce, wants->nonce, sizeof known->nonce);
    ls_directory_begin(relay->directory, (uint32_t)(known - relay->hosts));
    forget_open(relay, known);
    log_about(relay, known, from, "registered: a server at", now_ns);
    send_registered(relay, from, known, keys, LS_RELAY_GOOD);
    return true;
}

static bool on_register(ls_relay_service *relay, const ls_endpoint *from, const uint8_t *bytes,
                        const ls_relay_packet *wants, uint64_t now_ns)
{
    ls_relay_keys keys;
    if (!has_cookie(relay, from, wants, now_ns)) {
        return false;
    }
    if (!ls_address_limits_count_question(relay->host_limits, from, now_ns)) {
        relay->counts.limited++;
        return true;
    }
    const ls_relay_keys_of of = {.own = &relay->keys,
                                 .server = wants->key,
                                 .relay = relay->keys.public_key,
                                 .nonce = wants->nonce,
                                 .time_ms = wants->time_ms};
    bool is_good = ls_relay_keys_make(&of, &keys) && ls_relay_packet_is_signed(bytes, keys.proof);
    if (is_good && relay->config.has_access_key &&
        !ls_relay_packet_has_access(bytes, relay->config.access_key)) {
        send_registered(relay, from, NULL, &keys, LS_RELAY_KEY_NEEDED);
    } else if (is_good) {
        is_good = admit(relay, from, wants, &keys, now_ns);
    }
    ls_cipher_wipe(&keys, sizeof keys);
    return is_good;
}

static void send_gone(ls_relay_service *relay, const ls_endpoint *to, uint64_t number)
{
    send_packet(relay, to, &(ls_relay_packet){.kind = LS_RELAY_GONE, .number = number}, NULL);
}

static bool on_keep(ls_relay_service *relay, const ls_endpoint *from, const uint8_t *bytes,
                    const ls_relay_packet *keep, uint64_t now_ns)
{
    host *of = find_host(relay, keep->number);
    if (!of || !ls_endpoint_is_equal(&of->endpoint, from)) {
        send_gone(relay, from, keep->number);
        return false;
    }
    if (keep->counter <= of->counter || !ls_relay_packet_is_signed(bytes, of->keys.to_relay)) {
        return false;
    }
    of->counter = keep->counter;
    of->heard_ns = now_ns;
    const ls_relay_packet kept = {
        .kind = LS_RELAY_KEPT, .number = of->id, .counter = keep->counter};
    send_packet(relay, from, &kept, of->keys.to_server);
    return true;
}

static bool on_list(ls_relay_service *relay, const ls_endpoint *from, const uint8_t *bytes,
                    size_t size, uint64_t now_ns)
{
    ls_relay_list list;
    ls_relay_packet listed;
    if (!ls_relay_list_read(bytes, size, &list)) {
        return false;
    }
    host *of = find_host(relay, list.number);
    if (!of || !ls_endpoint_is_equal(&of->endpoint, from)) {
        send_gone(relay, from, list.number);
        return false;
    }
    if (!ls_relay_list_is_signed(bytes, size, of->keys.to_relay) ||
        !ls_directory_receive(relay->directory, (uint32_t)(of - relay->hosts), of->name, &list,
                              now_ns, &listed)) {
        return false;
    }
    send_packet(relay, from, &listed, of->keys.to_server);
    return true;
}

/* ---- players ---- */

static uint32_t tag_of(const ls_relay_service *relay, const ls_endpoint *endpoint, uint64_t host_id)
{
    return (uint32_t)ls_hash_bytes(endpoint->address, sizeof endpoint->address,
                                   relay->seed ^ host_id ^ endpoint->port) |
           1u;
}

static player *find_player(ls_relay_service *relay, const ls_endpoint *from, const host *at)
{
    uint32_t tag = tag_of(relay, from, at->id);
    for (uint32_t i = 0; i < relay->config.players_max; i++) {
        player *each = &relay->players[i];
        if (relay->tags[i] == tag && each->host == at->id &&
            ls_endpoint_is_equal(&each->endpoint, from)) {
            return each;
        }
    }
    return NULL;
}

/* NULL: there is no room, or the address has enough. */
static player *add_player(ls_relay_service *relay, const ls_endpoint *from, const host *at)
{
    if (relay->free_count == 0 || !ls_address_limits_add_connection(relay->player_limits, from)) {
        return NULL;
    }
    uint32_t place = relay->free_ids[--relay->free_count];
    relay->tags[place] = tag_of(relay, from, at->id);
    relay->players[place] = (player){.host = at->id, .endpoint = *from};
    relay->counts.players++;
    relay->counts.introduced++;
    return &relay->players[place];
}

static void remove_player(ls_relay_service *relay, player *gone)
{
    uint32_t place = (uint32_t)(gone - relay->players);
    ls_address_limits_remove_connection(relay->player_limits, &gone->endpoint);
    *gone = (player){.flow = 0};
    relay->tags[place] = 0;
    relay->free_ids[relay->free_count++] = place;
    relay->counts.players--;
}

static void send_open(ls_relay_service *relay, const host *at, player *about, uint64_t now_ns)
{
    if (about->opened_ns != 0 && now_ns < about->opened_ns + OPEN_AGAIN_NS) {
        return;
    }
    about->opened_ns = now_ns;
    const ls_relay_packet open = {
        .kind = LS_RELAY_OPEN, .number = about->flow, .player = about->endpoint};
    send_packet(relay, &at->endpoint, &open, at->keys.to_server);
}

static void send_joined(ls_relay_service *relay, const ls_endpoint *to,
                        const ls_relay_packet *answer)
{
    ls_relay_packet joined = *answer;
    joined.kind = LS_RELAY_JOINED;
    joined.player = *to;
    send_packet(relay, to, &joined, NULL);
}

static void send_good(ls_relay_service *relay, const host *at, const player *to)
{
    ls_relay_packet joined = {.value = LS_RELAY_GOOD,
                              .number = to->flow,
                              .host = at->endpoint,
                              .outside_port = at->outside_port};
    if (ls_endpoint_is_same_host(&at->endpoint, &to->endpoint)) { /* for neighbours alone */
        joined.local = at->local;
    }
    memcpy(joined.nonce, to->nonce, sizeof joined.nonce);
    send_joined(relay, &to->endpoint, &joined);
}

static bool on_join(ls_relay_service *relay, const ls_endpoint *from, const ls_relay_packet *wants,
                    uint64_t now_ns)
{
    ls_relay_packet refusal = {.value = LS_RELAY_CODE_FULL};
    memcpy(refusal.nonce, wants->nonce, sizeof refusal.nonce);
    if (!has_cookie(relay, from, wants, now_ns)) {
        return false;
    }
    if (!ls_address_limits_count_question(relay->player_limits, from, now_ns) ||
        !ls_address_limits_may_guess(relay->player_limits, from, now_ns)) {
        relay->counts.limited++;
        return true;
    }
    host *at = host_of_name(relay, wants->name);
    if (!at) {
        ls_address_limits_count_wrong_guess(relay->player_limits, from, now_ns);
        refusal.value = LS_RELAY_NO_SUCH_CODE;
        send_joined(relay, from, &refusal);
        return true;
    }
    player *joins = find_player(relay, from, at);
    joins = joins ? joins : add_player(relay, from, at);
    if (!joins) {
        send_joined(relay, from, &refusal);
        return true;
    }
    if (joins->flow == 0 || memcmp(joins->nonce, wants->nonce, sizeof joins->nonce) != 0) {
        joins->flow = draw_number((uint32_t)(joins - relay->players), LS_RELAY_PLAYERS_MAX);
        memcpy(joins->nonce, wants->nonce, sizeof joins->nonce);
        joins->is_open = false;
        joins->has_way = false;
        joins->opened_ns = 0;
    }
    joins->heard_ns = now_ns;
    if (joins->is_open) {
        send_good(relay, at, joins);
    } else {
        send_open(relay, at, joins, now_ns);
    }
    return true;
}

static bool on_opened(ls_relay_service *relay, const ls_endpoint *from,
                      const ls_relay_packet *opened)
{
    player *of = find_flow(relay, opened->number);
    host *at = of ? find_host(relay, of->host) : NULL;
    if (!at || !ls_endpoint_is_equal(&at->endpoint, from)) {
        return false;
    }
    if (!of->is_open) {
        of->is_open = true;
        at->outside_port = opened->outside_port;
        at->local = opened->local;
        send_good(relay, at, of);
    }
    return true;
}

/* The server has forgotten the player, and is told of it again when the player sends. */
static bool on_gone(ls_relay_service *relay, const ls_endpoint *from, const ls_relay_packet *gone)
{
    player *of = find_flow(relay, gone->number);
    const host *at = of ? find_host(relay, of->host) : NULL;
    if (!at || !ls_endpoint_is_equal(&at->endpoint, from)) {
        return false;
    }
    of->is_open = false;
    return true;
}

static bool on_way(ls_relay_service *relay, const ls_endpoint *from, const ls_relay_packet *way,
                   uint64_t now_ns)
{
    player *of = find_flow(relay, way->number);
    const host *at = of ? find_host(relay, of->host) : NULL;
    if (!at || !ls_endpoint_is_equal(&of->endpoint, from)) {
        return false;
    }
    if (!of->has_way) {
        log_about(relay, at, from,
                  way->value ? "directly: a player at" : "through the relay: a player at", now_ns);
        of->has_way = true;
        relay->counts.went_directly += way->value;
    }
    return true;
}

static bool on_look(ls_relay_service *relay, const ls_endpoint *from, const ls_relay_packet *look,
                    uint64_t now_ns)
{
    uint8_t bytes[LS_RELAY_GAMES_BYTES_MAX];
    if (!has_cookie(relay, from, look, now_ns)) {
        return false;
    }
    size_t size = ls_directory_look(relay->directory, from, look, now_ns, bytes);
    if (size == 0) {
        relay->counts.limited++;
    } else {
        relay->sink.send(relay->sink.user, from, bytes, size);
    }
    return true;
}

/* ---- what is carried ---- */

static bool on_carry(ls_relay_service *relay, const ls_endpoint *from, const uint8_t *bytes,
                     size_t size, uint64_t now_ns)
{
    uint64_t flow = 0;
    if (!ls_relay_read_carry(bytes, size, &flow)) {
        return false;
    }
    player *of = find_flow(relay, flow);
    host *at = of ? find_host(relay, of->host) : NULL;
    bool is_up = at && ls_endpoint_is_equal(&of->endpoint, from);
    if (!at || (!is_up && !ls_endpoint_is_equal(&at->endpoint, from))) {
        send_gone(relay, from, flow);
        return false;
    }
    if (!of->is_open) {
        send_open(relay, at, of, now_ns);
        return true;
    }
    if (!spend_bytes(is_up ? &of->up : &of->down, relay->config.player_kb, size, now_ns) ||
        !spend_bytes(is_up ? &at->up : &at->down, relay->config.match_kb, size, now_ns)) {
        relay->counts.limited++;
        return true;
    }
    if (is_up) {
        of->heard_ns = now_ns;
    }
    relay->counts.carried++;
    relay->counts.carried_bytes += size;
    relay->sink.send(relay->sink.user, is_up ? &at->endpoint : &of->endpoint, bytes, size);
    return true;
}

static bool receive(ls_relay_service *relay, const ls_endpoint *from, const uint8_t *bytes,
                    size_t size, uint64_t now_ns)
{
    ls_relay_packet packet;
    if (size > 0 && bytes[0] == LS_RELAY_CARRY) {
        return on_carry(relay, from, bytes, size, now_ns);
    }
    if (size > 0 && bytes[0] == LS_RELAY_LIST) {
        return on_list(relay, from, bytes, size, now_ns);
    }
    if (!ls_relay_packet_read(bytes, size, &packet)) {
        return false;
    }
    switch (packet.kind) {
    case LS_RELAY_ASK:
        on_ask(relay, from, &packet, now_ns);
        return true;
    case LS_RELAY_REGISTER:
        return on_register(relay, from, bytes, &packet, now_ns);
    case LS_RELAY_KEEP:
        return on_keep(relay, from, bytes, &packet, now_ns);
    case LS_RELAY_JOIN:
        return on_join(relay, from, &packet, now_ns);
    case LS_RELAY_OPENED:
        return on_opened(relay, from, &packet);
    case LS_RELAY_GONE:
        return on_gone(relay, from, &packet);
    case LS_RELAY_WAY:
        return on_way(relay, from, &packet, now_ns);
    case LS_RELAY_LOOK:
        return on_look(relay, from, &packet, now_ns);
    default:
        return false;
    }
}

void ls_relay_receive(ls_relay_service *relay, const ls_endpoint *from, const uint8_t *bytes,
                      size_t size, uint64_t now_ns)
{
    if (from->port == 0 || !receive(relay, from, bytes, size, now_ns)) {
        relay->counts.refused++;
    }
}

void ls_relay_expire(ls_relay_service *relay, uint64_t now_ns)
{
    ls_directory_expire(relay->directory, now_ns);
    for (uint32_t i = 0; i < relay->config.hosts_max; i++) {
        host *each = &relay->hosts[i];
        if (each->id != 0 && now_ns > each->heard_ns + SILENCE_NS) {
            ls_address_limits_remove_connection(relay->host_limits, &each->endpoint);
            relay->counts.hosts--;
            log_about(relay, each, &each->endpoint, "forgotten: the server at", now_ns);
            ls_directory_remove(relay->directory, i);
            ls_cipher_wipe(each, sizeof *each);
        }
    }
    for (uint32_t i = 0; i < relay->config.players_max; i++) {
        player *each = &relay->players[i];
        if (each->flow != 0 &&
            (now_ns > each->heard_ns + SILENCE_NS || !find_host(relay, each->host))) {
            remove_player(relay, each);
        }
    }
}

const ls_relay_counts *ls_relay_counts_of(const ls_relay_service *relay)
{
    return &relay->counts;
}

const ls_directory *ls_relay_directory(const ls_relay_service *relay)
{
    return relay->directory;
}

/* ---- the whole ---- */

static ls_status make_parts(ls_relay_service *made)
{
    const ls_relay_config *config = &made->config;
    const ls_address_limits_config hosts = {.connections_max = config->hosts_max,
                                            .per_address_max = config->hosts_per_address,
                                            .seed = made->seed};
    const ls_address_limits_config players = {.connections_max = config->players_max,
                                              .per_address_max = PLAYERS_PER_ADDRESS,
                                              .seed = made->seed};
    ls_status status = ls_address_limits_create(&hosts, made->allocator, &made->host_limits);
    LS_THEN(status, ls_address_limits_create(&players, made->allocator, &made->player_limits));
    LS_THEN(status, ls_directory_create(config->hosts_max, config->games_max, made->allocator,
                                        &made->directory));
    return status;
}

ls_status ls_relay_create(const ls_relay_config *config, const ls_relay_sink *sink,
                          const ls_allocator *allocator, ls_relay_service **out)
{
    LS_ASSERT(config->hosts_max >= 1 && config->hosts_max <= LS_RELAY_HOSTS_MAX &&
              config->players_max >= 1 && config->players_max <= LS_RELAY_PLAYERS_MAX &&
              config->games_max <= LS_RELAY_HOSTS_MAX && config->hosts_per_address >= 1 &&
              config->match_kb >= 1 && config->player_kb >= 1);
    ls_relay_service *made = ls_allocate(allocator, sizeof *made);
    if (!made) {
        return LS_NO_MEMORY;
    }
    uint32_t players = config->players_max;
    made->config = *config;
    made->sink = *sink;
    made->allocator = allocator;
    ls_key_pair_random(&made->keys);
    ls_cipher_random(made->cookie_key, sizeof made->cookie_key);
    ls_cipher_random((uint8_t *)&made->seed, sizeof made->seed);
    made->hosts = ls_allocate_array(allocator, config->hosts_max, sizeof *made->hosts);
    made->players = ls_allocate_array(allocator, players, sizeof *made->players);
    made->tags = ls_allocate_array(allocator, players, sizeof *made->tags);
    made->free_ids = ls_allocate_array(allocator, players, sizeof *made->free_ids);
    bool has_all = made->hosts && made->players && made->tags && made->free_ids;
    ls_status status = has_all ? make_parts(made) : LS_NO_MEMORY;
    if (status != LS_OK) {
        ls_relay_destroy(made);
        return status;
    }
    while (made->free_count < players) {
        made->free_ids[made->free_count] = players - 1 - made->free_count;
        made->free_count++;
    }
    *out = made;
    return LS_OK;
}

void ls_relay_destroy(ls_relay_service *relay)
{
    if (!relay) {
        return;
    }
    const ls_allocator *allocator = relay->allocator;
    if (relay->hosts) {
        ls_cipher_wipe(relay->hosts, relay->config.hosts_max * sizeof *relay->hosts);
    }
    ls_release(allocator, relay->hosts);
    ls_release(allocator, relay->players);
    ls_release(allocator, relay->tags);
    ls_release(allocator, relay->free_ids);
    ls_address_limits_destroy(relay->host_limits);
    ls_address_limits_destroy(relay->player_limits);
    ls_directory_destroy(relay->directory);
    ls_cipher_wipe(relay, sizeof *relay);
    ls_release(allocator, relay);
}
