#include "lockstep/protocol/wire/message.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/diagnosis/desync_class.h"

#include <string.h>

static void u64_field(ls_bit_stream *stream, uint64_t *value)
{
    ls_bits_u64(stream, value, 64);
}

static void u32_field(ls_bit_stream *stream, uint32_t *value)
{
    ls_bits_u32(stream, value, 32);
}

static void count_field(ls_bit_stream *stream, uint32_t *value)
{
    ls_bits_uvar(stream, value, 0, UINT32_MAX);
}

/* As many words as the match has slots for. */
static void slots_field(ls_bit_stream *stream, ls_slot_set *slots, uint32_t players)
{
    for (uint32_t i = 0; i == 0 || i < ls_slot_words(players); i++) {
        u32_field(stream, &slots->words[i]);
    }
}

static void bytes_field(ls_bit_stream *stream, uint8_t *bytes, size_t size)
{
    if (ls_bits_is_writing(stream)) {
        ls_bits_write_bytes(stream, bytes, size);
    } else {
        ls_bits_read_bytes(stream, bytes, size);
    }
}

/* A tick that is not after `last`. */
static void earlier_tick_field(ls_bit_stream *stream, ls_tick *tick, ls_tick last)
{
    uint32_t before = ls_bits_is_writing(stream) ? last - *tick : 0;
    ls_bits_uvar(stream, &before, 0, last);
    *tick = last - before;
}

static void return_fields(ls_bit_stream *stream, ls_return *back)
{
    bool is_returning = back->match_id != 0;
    ls_bits_bool(stream, &is_returning);
    if (!is_returning) {
        return;
    }
    u64_field(stream, &back->match_id);
    bytes_field(stream, back->secret, sizeof back->secret);
    u32_field(stream, &back->confirmed);
    u64_field(stream, &back->tick_chain);
    ls_bits_uvar(stream, &back->held, 0, back->confirmed);
    ls_bits_bool(stream, &back->is_desynced);
    earlier_tick_field(stream, &back->hashed_tick, back->confirmed);
    u32_field(stream, &back->hash_chain);
    ls_bits_bool(stream, &back->has_seal);
    if (back->has_seal) {
        earlier_tick_field(stream, &back->sealed_tick, back->confirmed);
        u32_field(stream, &back->seal);
    }
    ls_bits_bool(stream, &back->is_optional);
    ls_bits_bool(stream, &back->is_joining);
    if (back->match_id == 0) {
        ls_bits_fail(stream);
    }
}

static void hello_fields(ls_bit_stream *stream, ls_hello *hello)
{
    u32_field(stream, &hello->magic);
    ls_bits_u32(stream, &hello->protocol_version, 16);
    if (hello->magic != LS_PROTOCOL_MAGIC || hello->protocol_version != LS_PROTOCOL_VERSION) {
        if (!ls_bits_is_writing(stream)) {
            ls_bits_skip_rest(stream); /* another version's; this is enough to refuse it by name */
        }
        return;
    }
    u64_field(stream, &hello->arithmetic);
    ls_bits_text(stream, hello->name, sizeof hello->name);
    ls_bits_text(stream, hello->token, sizeof hello->token);
    ls_bits_bool(stream, &hello->is_spectator);
    return_fields(stream, &hello->back);
}

/* Its bytes do not travel: each machine has them. */
static void file_fields(ls_bit_stream *stream, ls_sim_file *file)
{
    uint32_t size = (uint32_t)file->size;
    u32_field(stream, &size);
    u64_field(stream, &file->digest);
    if (size > LS_FILE_BYTES_MAX) {
        ls_bits_fail(stream);
    }
    file->size = size;
}

/* Where whole Hz do not say it. */
static void rate_fields(ls_bit_stream *stream, ls_rate *rate)
{
    bool is_there = rate->denominator > 0;
    ls_bits_bool(stream, &is_there);
    if (is_there) {
        u32_field(stream, &rate->numerator);
        u32_field(stream, &rate->denominator);
        if (rate->denominator < 2 || !ls_rate_is_good(*rate)) {
            ls_bits_fail(stream);
        }
    }
}

static void config_fields(ls_bit_stream *stream, ls_sim_config *config)
{
    u64_field(stream, &config->seed);
    ls_bits_uvar(stream, &config->tick_rate_hz, LS_TICK_RATE_MIN_HZ, LS_TICK_RATE_MAX_HZ);
    rate_fields(stream, &config->tick_rate);
    ls_bits_uvar(stream, &config->players, 1, LS_PLAYERS_MAX);
    ls_bits_uvar(stream, &config->param_count, 0, LS_PARAMS_MAX);
    for (uint32_t i = 0; i < config->param_count; i++) {
        uint64_t bits = ls_bits_is_writing(stream) ? (uint64_t)config->params[i] : 0;
        u64_field(stream, &bits);
        config->params[i] = ls_signed_from_bits(bits);
    }
    ls_bits_uvar(stream, &config->string_count, 0, LS_STRING_PARAMS_MAX);
    for (uint32_t i = 0; i < config->string_count; i++) {
        ls_bits_text(stream, config->strings[i], sizeof config->strings[i]);
    }
    ls_bits_uvar(stream, &config->file_count, 0, LS_FILE_PARAMS_MAX);
    for (uint32_t i = 0; i < config->file_count; i++) {
        file_fields(stream, &config->files[i]);
    }
}

static void offer_fields(ls_bit_stream *stream, ls_offer *offer)
{
    ls_bits_text(stream, offer->simulation, sizeof offer->simulation);
    u32_field(stream, &offer->simulation_version);
    config_fields(stream, &offer->config);
    ls_bits_uvar(stream, &offer->slot, 0, LS_PLAYERS_MAX - 1);
    ls_bits_uvar(stream, &offer->hash_interval_ticks, 1, LS_HASH_INTERVAL_MAX);
    ls_bits_bool(stream, &offer->trusts_writes);
    ls_bits_uvar(stream, &offer->input_delay_ticks, 0, LS_INPUT_DELAY_TICKS_MAX);
    ls_bits_uvar(stream, &offer->timeout_ms, 1, LS_TIMEOUT_MS_MAX);
    ls_bits_u32(stream, &offer->late_rule, 1);
    ls_bits_u32(stream, &offer->send_rate, 3);
    u64_field(stream, &offer->match_id);
    bytes_field(stream, offer->secret, sizeof offer->secret);
    ls_bits_bool(stream, &offer->is_spectator);
    ls_bits_bool(stream, &offer->is_running);
    if (offer->slot >= offer->config.players || offer->match_id == 0 ||
        offer->send_rate >= LS_SEND_RATE_COUNT) {
        ls_bits_fail(stream);
    }
}

static void ready_fields(ls_bit_stream *stream, ls_ready *ready)
{
    u32_field(stream, &ready->simulation_version);
    u64_field(stream, &ready->parameter_digest);
    u64_field(stream, &ready->schema_digest);
    u64_field(stream, &ready->content_digest);
    u64_field(stream, &ready->initial_hash);
}

static void names_fields(ls_bit_stream *stream, char (*names)[LS_PLAYER_NAME_BYTES_MAX],
                         uint32_t players)
{
    for (uint32_t i = 0; i < LS_MIN(players, LS_NAMES_PER_MESSAGE); i++) {
        ls_bits_text(stream, names[i], sizeof names[i]);
    }
}

static void start_fields(ls_bit_stream *stream, ls_start *start, uint32_t players)
{
    count_field(stream, &start->delay_us);
    names_fields(stream, start->names, players);
}

static void more_names_fields(ls_bit_stream *stream, ls_names *more, uint32_t players)
{
    ls_bits_uvar(stream, &more->first, LS_NAMES_PER_MESSAGE, LS_PLAYERS_MAX - 1);
    if (more->first % LS_NAMES_PER_MESSAGE != 0 || more->first >= players) {
        ls_bits_fail(stream);
        return;
    }
    names_fields(stream, more->names, players - more->first);
}

static void close_reason_fields(ls_bit_stream *stream, ls_close_reason *close_reason)
{
    ls_bits_u32(stream, &close_reason->negated_status, 8);
    ls_bits_text(stream, close_reason->text.bytes, sizeof close_reason->text.bytes);
}

static void hash_request_fields(ls_bit_stream *stream, ls_hash_request *request)
{
    u32_field(stream, &request->first);
    ls_bits_uvar(stream, &request->count, 1, LS_WINDOW_TICKS);
}

static void hashes_fields(ls_bit_stream *stream, ls_hashes *hashes)
{
    u32_field(stream, &hashes->first);
    ls_bits_uvar(stream, &hashes->count, 0, LS_HASHES_PER_MESSAGE);
    for (uint32_t i = 0; i < hashes->count; i++) {
        u64_field(stream, &hashes->state_hashes[i]);
    }
}

static void desync_fields(ls_bit_stream *stream, ls_desync_notice *desync)
{
    ls_bits_uvar(stream, &desync->slot, 0, LS_PLAYERS_MAX - 1);
    u32_field(stream, &desync->tick);
    u64_field(stream, &desync->server_hash);
    u64_field(stream, &desync->client_hash);
    ls_bits_uvar(stream, &desync->clients, 0, LS_PLAYERS_MAX);
}

static void finished_fields(ls_bit_stream *stream, ls_finished *finished)
{
    u32_field(stream, &finished->tick);
    u64_field(stream, &finished->state_hash);
    u32_field(stream, &finished->chain_tick);
    u32_field(stream, &finished->chain);
    count_field(stream, &finished->stalled_ticks);
    count_field(stream, &finished->confirm_latency_p50_us);
    count_field(stream, &finished->confirm_latency_p99_us);
    count_field(stream, &finished->confirm_latency_max_us);
    count_field(stream, &finished->rtt_us);
    count_field(stream, &finished->frames);
}

/* ---- the cause of a desync ---- */

_Static_assert(LS_EVIDENCE_FIGURES_BYTES == LS_RERUN_FIGURES_BYTES, "figures travel whole");
_Static_assert(LS_EVIDENCE_PRINT_BYTES_MAX == LS_PRINT_BYTES_MAX, "a print travels whole");

static void block_fields(ls_bit_stream *stream, uint32_t *size, uint32_t size_max, uint8_t *bytes)
{
    ls_bits_uvar(stream, size, 0, size_max);
    bytes_field(stream, bytes, *size);
}

static void pass_field(ls_bit_stream *stream, uint32_t *pass)
{
    uint32_t number = *pass + 1u; /* LS_NO_PASS: 0 */
    ls_bits_uvar(stream, &number, 0, LS_PASSES_MAX);
    *pass = number - 1u;
}

static void tree_query_fields(ls_bit_stream *stream, ls_wire_query *query)
{
    u32_field(stream, &query->tick);
    pass_field(stream, &query->pass);
    ls_bits_bool(stream, &query->query.wants_values);
    u32_field(stream, &query->query.nodes.first);
    ls_bits_uvar(stream, &query->query.nodes.count, 1, LS_TREE_FAN);
}

static void tree_answer_fields(ls_bit_stream *stream, ls_wire_answer *answer)
{
    tree_query_fields(stream, &answer->asked);
    block_fields(stream, &answer->size, sizeof answer->bytes, answer->bytes);
}

static void evidence_fields(ls_bit_stream *stream, ls_wire_evidence *evidence)
{
    u32_field(stream, &evidence->tick);
    pass_field(stream, &evidence->pass);
    bytes_field(stream, evidence->figures, sizeof evidence->figures);
    ls_bits_uvar(stream, &evidence->pass_count, 0, LS_PASSES_MAX);
    u64_field(stream, &evidence->before);
    for (uint32_t i = 0; i < evidence->pass_count; i++) {
        u64_field(stream, &evidence->state_hashes[i]);
    }
}

static void cause_fields(ls_bit_stream *stream, ls_desync_cause *cause)
{
    ls_bits_uvar(stream, &cause->slot, 0, LS_PLAYERS_MAX - 1);
    u32_field(stream, &cause->tick);
    ls_bits_uvar(stream, &cause->kind, 0, LS_DESYNC_CLASS_COUNT - 1);
    ls_bits_uvar(stream, &cause->culprit, 0, LS_DESYNC_CULPRIT_BOTH);
    count_field(stream, &cause->fields);
    count_field(stream, &cause->elements);
    ls_bits_bool(stream, &cause->is_lower_bound);
    ls_bits_text(stream, cause->field, sizeof cause->field);
    ls_bits_text(stream, cause->server_value, sizeof cause->server_value);
    ls_bits_text(stream, cause->client_value, sizeof cause->client_value);
    ls_bits_text(stream, cause->pass, sizeof cause->pass);
    ls_bits_bool(stream, &cause->is_behind_pass);
    ls_bits_text(stream, cause->why.bytes, sizeof cause->why.bytes);
}

static void heal_leaf_fields(ls_bit_stream *stream, ls_heal_leaf *leaf)
{
    u32_field(stream, &leaf->tick);
    u32_field(stream, &leaf->leaf);
    block_fields(stream, &leaf->size, sizeof leaf->bytes, leaf->bytes);
}

static void heal_snapshot_fields(ls_bit_stream *stream, ls_heal_snapshot *heal)
{
    u32_field(stream, &heal->tick);
    u64_field(stream, &heal->state_hash);
    u32_field(stream, &heal->chain_tick);
    u64_field(stream, &heal->chain);
    ls_bits_u32(stream, &heal->blob, 8);
    count_field(stream, &heal->blob_bytes);
    u64_field(stream, &heal->blob_hash);
    if (heal->chain_tick > heal->tick) {
        ls_bits_fail(stream);
    }
}

static void diagnosis_fields(ls_bit_stream *stream, ls_message *message)
{
    switch (message->kind) {
    case LS_MESSAGE_TREE_QUERY:
        tree_query_fields(stream, &message->body.tree_query);
        return;
    case LS_MESSAGE_TREE_ANSWER:
        tree_answer_fields(stream, &message->body.tree_answer);
        return;
    case LS_MESSAGE_EVIDENCE_REQUEST:
        u32_field(stream, &message->body.evidence_request.tick);
        pass_field(stream, &message->body.evidence_request.pass);
        ls_bits_bool(stream, &message->body.evidence_request.is_single);
        ls_bits_uvar(stream, &message->body.evidence_request.time_max_ms, 1,
                     LS_EVIDENCE_RUN_MAX_MS);
        return;
    case LS_MESSAGE_EVIDENCE:
        evidence_fields(stream, &message->body.evidence);
        return;
    case LS_MESSAGE_BUILD_FINGERPRINT:
        block_fields(stream, &message->body.build_fingerprint.size, LS_EVIDENCE_PRINT_BYTES_MAX,
                     message->body.build_fingerprint.bytes);
        return;
    case LS_MESSAGE_DESYNC_CAUSE:
        cause_fields(stream, &message->body.cause);
        return;
    case LS_MESSAGE_HEAL_LEAF:
        heal_leaf_fields(stream, &message->body.heal_leaf);
        return;
    case LS_MESSAGE_HEAL:
        u32_field(stream, &message->body.heal.tick);
        u64_field(stream, &message->body.heal.state_hash);
        u64_field(stream, &message->body.heal.chain);
        return;
    case LS_MESSAGE_HEAL_SNAPSHOT:
        heal_snapshot_fields(stream, &message->body.heal_snapshot);
        return;
    case LS_MESSAGE_HEALED:
        u32_field(stream, &message->body.healed.tick);
        ls_bits_bool(stream, &message->body.healed.is_equal);
        return;
    default:
        ls_bits_fail(stream);
    }
}

/* ---- coming late and coming back ---- */

_Static_assert(LS_TICKS_PER_REQUEST == LS_TICK_PARTS_AHEAD, "what is asked for has room");

static void join_fields(ls_bit_stream *stream, ls_join *join, uint32_t players)
{
    ls_bits_u32(stream, &join->source, 2);
    u32_field(stream, &join->tick);
    u64_field(stream, &join->state_hash);
    u32_field(stream, &join->chain_tick);
    u64_field(stream, &join->chain);
    u64_field(stream, &join->tick_chain);
    u32_field(stream, &join->next_close);
    count_field(stream, &join->next_close_us);
    ls_bits_u32(stream, &join->blob, 8);
    count_field(stream, &join->blob_bytes);
    u64_field(stream, &join->blob_hash);
    names_fields(stream, join->names, players);
    if (join->source >= LS_JOIN_SOURCE_COUNT || join->chain_tick > join->tick) {
        ls_bits_fail(stream);
    }
}

static void lag_fields(ls_bit_stream *stream, ls_lag *lag)
{
    uint32_t cause = (uint32_t)lag->cause;
    ls_bits_uvar(stream, &cause, 0, LS_LAG_CAUSE_COUNT - 1);
    lag->cause = (ls_lag_cause)cause;
    ls_bits_uvar(stream, &lag->whom, 0, LS_PLAYERS_MAX - 1);
    u32_field(stream, &lag->since_tick);
    uint32_t *shares[] = {&lag->late_ppm, &lag->stalled_ppm, &lag->uplink_loss_ppm,
                          &lag->downlink_loss_ppm};
    count_field(stream, &lag->lost_ms);
    for (uint32_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        ls_bits_uvar(stream, shares[i], 0, LS_LAG_ALL_PPM);
    }
    count_field(stream, &lag->uplink_jitter_us);
    count_field(stream, &lag->downlink_jitter_us);
    count_field(stream, &lag->longest_frame_ms);
    ls_bits_uvar(stream, &lag->suggested_input_delay_ticks, 0, LS_INPUT_DELAY_TICKS_MAX);
}

/* A line has its words or its number, not both. */
static void chat_fields(ls_bit_stream *stream, ls_chat *chat)
{
    ls_bits_uvar(stream, &chat->slot, 0, LS_PLAYERS_MAX - 1);
    ls_bits_uvar(stream, &chat->quick_line, 0, LS_QUICK_LINES);
    ls_bits_text(stream, chat->text, sizeof chat->text);
    ls_bits_text(stream, chat->name, sizeof chat->name);
    if ((chat->quick_line == 0) == (chat->text[0] == '\0')) {
        ls_bits_fail(stream);
    }
}

/* No lobby asks 32 players who are all ready for more: so many bits say that it asks nobody. */
static void ready_slots_field(ls_bit_stream *stream, ls_session_lobby *lobby, uint32_t players)
{
    uint32_t words = ls_slot_words(LS_MAX(players, 1));
    ls_slot_set sent = lobby->ready;
    if (lobby->asks_nobody) {
        memset(sent.words, 0xff, sizeof sent.words);
    }
    slots_field(stream, &sent, players);
    lobby->asks_nobody = ls_slot_set_count(sent) == words * 32;
    lobby->ready = lobby->asks_nobody ? (ls_slot_set){{0}} : sent;
}

static void lobby_fields(ls_bit_stream *stream, ls_lobby *lobby, uint32_t players)
{
    slots_field(stream, &lobby->players.here, players);
    ready_slots_field(stream, &lobby->players, players);
    for (uint32_t slot = ls_slot_set_next(lobby->players.here, 0); slot < LS_NAMES_PER_MESSAGE;
         slot = ls_slot_set_next(lobby->players.here, slot + 1)) {
        ls_bits_text(stream, lobby->names[slot], sizeof lobby->names[slot]);
    }
}

static void joining_fields(ls_bit_stream *stream, ls_message *message)
{
    switch (message->kind) {
    case LS_MESSAGE_JOIN:
        join_fields(stream, &message->body.join, message->players);
        return;
    case LS_MESSAGE_JOINED:
        u32_field(stream, &message->body.joined.tick);
        u64_field(stream, &message->body.joined.state_hash);
        u32_field(stream, &message->body.joined.first_input);
        return;
    case LS_MESSAGE_TICKS_REQUEST:
        u32_field(stream, &message->body.ticks_request.first);
        ls_bits_uvar(stream, &message->body.ticks_request.count, 1, LS_TICKS_PER_REQUEST);
        return;
    case LS_MESSAGE_CLOSED_TICK:
        ls_tick_part_fields(stream, &message->body.closed_tick);
        return;
    case LS_MESSAGE_RESUMING:
        slots_field(stream, &message->body.resuming.slots, message->players);
        count_field(stream, &message->body.resuming.left_ms);
        return;
    case LS_MESSAGE_NOTICE:
        ls_bits_uvar(stream, &message->body.notice.kind, 0, LS_NOTICE_KIND_COUNT - 1);
        u32_field(stream, &message->body.notice.tick);
        ls_bits_text(stream, message->body.notice.text.bytes,
                     sizeof message->body.notice.text.bytes);
        return;
    case LS_MESSAGE_LAG:
        lag_fields(stream, &message->body.lag);
        return;
    case LS_MESSAGE_CHAT:
        chat_fields(stream, &message->body.chat);
        return;
    case LS_MESSAGE_LOBBY:
        lobby_fields(stream, &message->body.lobby, message->players);
        return;
    case LS_MESSAGE_NAMES:
        more_names_fields(stream, &message->body.names, message->players);
        return;
    default:
        diagnosis_fields(stream, message);
    }
}

static void body_fields(ls_bit_stream *stream, ls_message *message)
{
    switch (message->kind) {
    case LS_MESSAGE_HELLO:
        hello_fields(stream, &message->body.hello);
        return;
    case LS_MESSAGE_OFFER:
        offer_fields(stream, &message->body.offer);
        return;
    case LS_MESSAGE_READY:
        ready_fields(stream, &message->body.ready);
        return;
    case LS_MESSAGE_START:
        start_fields(stream, &message->body.start, message->players);
        return;
    case LS_MESSAGE_REFUSE:
    case LS_MESSAGE_GOODBYE:
        close_reason_fields(stream, &message->body.close_reason);
        return;
    case LS_MESSAGE_HASH_REQUEST:
        hash_request_fields(stream, &message->body.hash_request);
        return;
    case LS_MESSAGE_HASHES:
        hashes_fields(stream, &message->body.hashes);
        return;
    case LS_MESSAGE_DESYNC:
        desync_fields(stream, &message->body.desync);
        return;
    case LS_MESSAGE_END:
        u32_field(stream, &message->body.end.final_tick);
        u64_field(stream, &message->body.end.final_hash);
        return;
    case LS_MESSAGE_FINISHED:
        finished_fields(stream, &message->body.finished);
        return;
    case LS_MESSAGE_WAITING:
        u32_field(stream, &message->body.waiting.tick);
        slots_field(stream, &message->body.waiting.slots, message->players);
        count_field(stream, &message->body.waiting.waited_ms);
        return;
    case LS_MESSAGE_INPUT_DELAY:
        ls_bits_uvar(stream, &message->body.input_delay_ticks, 0, LS_INPUT_DELAY_TICKS_MAX);
        return;
    default:
        joining_fields(stream, message);
    }
}

size_t ls_message_write(const ls_message *message, uint8_t bytes[LS_PACKET_BYTES_MAX])
{
    /* One field list serves both directions, so it takes a message that it may write to. */
    ls_message copy = *message;
    uint32_t kind = (uint32_t)message->kind;
    ls_bit_stream stream = ls_bit_writer(bytes, LS_PACKET_BYTES_MAX);
    ls_bits_u32(&stream, &kind, LS_MESSAGE_KIND_BITS);
    body_fields(&stream, &copy);
    LS_ASSERT(!stream.is_failed);
    return ls_bits_size_bytes(&stream);
}

uint32_t ls_message_peek(const uint8_t *bytes, size_t size)
{
    return size == 0 ? 0 : bytes[0] & 0x3fu;
}

ls_status ls_message_read(const uint8_t *bytes, size_t size, uint32_t players, ls_message *out)
{
    uint32_t kind = 0;
    ls_bit_stream stream = ls_bit_reader(bytes, size);
    ls_bits_u32(&stream, &kind, LS_MESSAGE_KIND_BITS);
    memset(out, 0, sizeof *out);
    out->kind = (ls_message_kind)kind;
    out->players = players;
    body_fields(&stream, out);
    return ls_bits_is_complete(&stream) ? LS_OK : LS_MALFORMED;
}
