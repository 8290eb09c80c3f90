#include "lockstep/client/link/session_log.h"

#include "lockstep/common/diagnosis/desync_class.h"
#include "lockstep/common/diagnosis/state_difference.h"
#include "lockstep/common/loader/plugin_loader.h"

#include <inttypes.h>
#include <string.h>

/* ---- desync lines ---- */

/* A spectator is told of itself alone. */
static ls_text player_of(const ls_session *session, uint32_t slot)
{
    ls_text player = {{0}};
    const ls_offer *offer = ls_session_offer(session);
    if (offer && offer->is_spectator) {
        ls_text_set(&player, "this spectator");
    } else {
        ls_session_add_names(session, ls_slot_set_of(slot), &player);
    }
    return player;
}

/* `event`: LS_SESSION_EVENT_DESYNC */
static void log_desync(ls_session *session, const ls_session_event *event, const ls_log *log)
{
    const ls_desync_notice *notice = &event->desync;
    bool is_own = event->subject == LS_DESYNC_OF_THIS_CLIENT;
    ls_text since = ls_desync_since(ls_session_instance(session),
                                    ls_session_offer(session)->hash_interval_ticks, notice->tick);
    if (event->subject == LS_DESYNC_OF_SERVER) {
        ls_log_line(log, LS_LOG_WARNING,
                    "DESYNC: the server differs %s from %" PRIu32
                    " clients which agree: server %016" PRIx64 ", clients %016" PRIx64,
                    since.bytes, notice->clients, notice->server_hash, notice->client_hash);
        return;
    }
    ls_log_line(log, is_own ? LS_LOG_ERROR : LS_LOG_WARNING,
                "DESYNC: %s%s differs %s: server %016" PRIx64 ", client %016" PRIx64,
                player_of(session, notice->slot).bytes, is_own ? ", this client," : "", since.bytes,
                notice->server_hash, notice->client_hash);
}

static void log_head(const char *who, const ls_desync_cause *cause, ls_log_level level,
                     const ls_log *log)
{
    ls_text verdict = {LS_DESYNC_CLASS_OPEN};
    ls_text extent =
        ls_state_difference_extent(cause->elements, cause->fields, cause->is_lower_bound);
    if (!ls_desync_cause_is_open(cause)) {
        ls_text_set(&verdict, "class %s, at fault: %s",
                    ls_desync_class_word((ls_desync_class)cause->kind),
                    ls_desync_culprit_word((ls_desync_culprit)cause->culprit));
    }
    ls_log_line(log, level, "DESYNC of %s at tick %" PRIu32 ": %s; %s", who, cause->tick,
                extent.bytes, verdict.bytes);
}

/* Whether the pass is where the sides part, or one that by itself gets different results or writes
 * the value, only the server knows where the value is not the one behind it. */
static void log_pass(const ls_desync_cause *cause, ls_log_level level, const ls_log *log)
{
    if (cause->is_behind_pass) {
        ls_log_line(log, level, "  first pass that differs: %s; the value is the one after it",
                    cause->pass);
    } else {
        ls_log_line(log, level, "  pass to look at: %s", cause->pass);
    }
}

ls_text ls_desync_lines_command(ls_session *session, const ls_desync_cause *cause)
{
    const ls_text none = {{0}};
    const ls_sim_instance *instance = ls_session_instance(session);
    const ls_offer *offer = ls_session_offer(session);
    if (!instance) {
        return none;
    }
    const ls_simulation *simulation = ls_sim_instance_simulation(instance);
    ls_text bundle = ls_desync_bundle_name("", simulation, cause->tick, cause->slot,
                                           offer && offer->is_spectator);
    return ls_desync_command(bundle.bytes, ls_simulation_file(simulation), simulation);
}

static void log_next(ls_session *session, const ls_desync_cause *cause, ls_log_level level,
                     const ls_log *log)
{
    ls_text command = ls_desync_lines_command(session, cause);
    if (command.bytes[0]) {
        const ls_sim_instance *instance = ls_session_instance(session);
        const char *advice =
            ls_simulation_file_advice(ls_simulation_file(ls_sim_instance_simulation(instance)));
        ls_log_line(log, level, "  next: %s", command.bytes);
        if (advice) {
            ls_log_line(log, level, "  %s", advice);
        }
        ls_log_line(log, level, "  the server has this bundle, if it writes bundles");
    }
    ls_log_line(log, level, "  %s: %s", command.bytes[0] ? "then" : "next",
                ls_desync_class_next((ls_desync_class)cause->kind));
}

/* `event`: LS_SESSION_EVENT_CAUSE */
static void log_cause(ls_session *session, const ls_session_event *event, const ls_log *log)
{
    const ls_desync_cause *cause = &event->cause;
    ls_log_level level = event->subject == LS_DESYNC_OF_THIS_CLIENT ? LS_LOG_ERROR : LS_LOG_WARNING;
    ls_text player = player_of(session, cause->slot);
    log_head(event->subject == LS_DESYNC_OF_SERVER ? "the server" : player.bytes, cause, level,
             log);
    if (cause->field[0]) {
        ls_log_line(log, level, "  %s: server %s, client %s", cause->field, cause->server_value,
                    cause->client_value);
    }
    if (cause->pass[0]) {
        log_pass(cause, level, log);
    }
    if (!ls_desync_cause_is_open(cause)) {
        ls_log_line(log, level, "  %s", cause->why.bytes);
        log_next(session, cause, level, log);
    }
}

static void log_desync_event(ls_session *session, const ls_session_event *event, const ls_log *log)
{
    if (event->kind == LS_SESSION_EVENT_DESYNC) {
        log_desync(session, event, log);
    } else {
        log_cause(session, event, log);
    }
}

/* A server sends away without a word who shows a token that was used. */
#define TOKEN_GIVES_NOTHING                                                                        \
    "the server gives this client no place for its token, which may have been used before; the "   \
    "server's log says why"

static void log_waiting(ls_session_log *lines, const ls_waiting *waiting, uint64_t now_ns)
{
    ls_text names = {{0}};
    if (!ls_wait_notes_add(&lines->waits, waiting->slots, waiting->tick, waiting->waited_ms,
                           now_ns)) {
        return;
    }
    ls_session_add_names(lines->session, waiting->slots, &names);
    ls_log_line(lines->log, LS_LOG_WARNING,
                "waiting for %s: no input for tick %" PRIu32 " (%" PRIu32 " ms)", names.bytes,
                waiting->tick, waiting->waited_ms);
}

static void log_lag(const ls_session_log *lines, const ls_lag *lag)
{
    ls_text words = {{0}};
    ls_session_lag_text(lines->session, lag, &words);
    ls_log_line(lines->log, LS_LOG_INFO, "lag: %s", words.bytes);
}

static void log_notice(const ls_session_log *lines, const ls_notice *notice)
{
    const ls_log *log = lines->log;
    const char *text = notice->text.bytes;
    const char *colon = text[0] != '\0' ? ": " : "";
    if (notice->kind == LS_NOTICE_NEXT) {
        ls_log_line(log, LS_LOG_INFO, "next in room %s", text);
    } else if (notice->kind == LS_NOTICE_PAUSED) {
        ls_log_line(log, LS_LOG_WARNING, "the server pauses the match at tick %" PRIu32 "%s%s",
                    notice->tick, colon, text);
    } else if (notice->kind == LS_NOTICE_UNPAUSED) {
        ls_log_line(log, LS_LOG_INFO, "the match goes on at tick %" PRIu32 "%s%s", notice->tick,
                    colon, text);
    } else {
        ls_log_line(log, LS_LOG_WARNING, "the server says: %s", text);
    }
}

void ls_session_log_add_lobby(const ls_session *session, ls_text *line)
{
    ls_session_lobby lobby = ls_session_lobby_of(session);
    ls_slot_set missing = ls_slot_set_minus(lobby.here, lobby.ready);
    ls_text_add(line, "%" PRIu32 " of %" PRIu32 " players are here", ls_slot_set_count(lobby.here),
                ls_session_offer(session)->config.players);
    if (lobby.asks_nobody) {
        return;
    }
    if (ls_slot_set_is_empty(missing)) {
        ls_text_add(line, " and ready");
    } else {
        ls_text_add(line, "; not ready: ");
        ls_session_add_names(session, missing, line);
    }
}

static void log_lobby(ls_session_log *lines, ls_session_lobby lobby)
{
    ls_text line = {{0}};
    if (ls_slot_set_is_same(lobby.here, lines->lobby.here) &&
        ls_slot_set_is_same(lobby.ready, lines->lobby.ready)) {
        return;
    }
    lines->lobby = lobby;
    ls_session_log_add_lobby(lines->session, &line);
    ls_log_line(lines->log, LS_LOG_INFO, "%s", line.bytes);
}

static void log_lost(ls_session_log *lines, const ls_session_event *event)
{
    lines->resuming = (ls_slot_set){{0}};
    const ls_log *log = lines->log;
    double retry_s = (double)event->retry_in_ns / 1e9;
    if (event->away_ns == 0) {
        ls_log_line(log, LS_LOG_WARNING, "lost the link to the server (%s); trying again in %.2g s",
                    event->text.bytes, retry_s);
        ls_log_line(log, LS_LOG_INFO,
                    "this client has every tick before %" PRIu32 " (chain %016" PRIx64 ")",
                    event->tick, event->tick_chain);
        return;
    }
    ls_log_line(log, LS_LOG_WARNING,
                "still without a link after %.1f s (%s); trying again in %.2g s",
                (double)event->away_ns / 1e9, event->text.bytes, retry_s);
}

static void log_joining(const ls_session_log *lines, const ls_session_event *event)
{
    static const char *const sources[] = {"with the state that this client has",
                                          "with a snapshot of", "with a history of",
                                          "with the rest of the state of"};
    const ls_log *log = lines->log;
    const ls_join *join = &event->join;
    uint32_t ticks = join->next_close - join->tick;
    if (event->away_ns > 0) {
        ls_log_line(log, LS_LOG_INFO,
                    "back in the match after %.1f s; %" PRIu32 " ticks to catch up",
                    (double)event->away_ns / 1e9, ticks);
    }
    if (join->source != LS_JOIN_HELD) {
        ls_log_line(log, LS_LOG_INFO, "joining the match at tick %" PRIu32 " %s %.1f KiB",
                    join->next_close, sources[join->source], join->blob_bytes / 1024.0);
    } else if (event->away_ns == 0) {
        ls_log_line(log, LS_LOG_INFO, "joining the match at tick %" PRIu32 " %s", join->next_close,
                    sources[join->source]);
    }
}

static void log_resuming(ls_session_log *lines, const ls_resuming *resuming)
{
    if (ls_slot_set_is_same(lines->resuming, resuming->slots)) {
        return; /* the server repeats it twice a second */
    }
    const ls_log *log = lines->log;
    uint32_t others = ls_slot_set_count(resuming->slots);
    lines->resuming = resuming->slots;
    if (others == 0) {
        ls_log_line(log, LS_LOG_INFO,
                    "all players are back; the server collects the ticks that it lacks");
        return;
    }
    ls_log_line(log, LS_LOG_INFO,
                "the server was restarted and waits for %" PRIu32
                " other player%s (%.0f s at most)",
                others, others == 1 ? "" : "s", resuming->left_ms / 1e3);
}

static void log_over(const ls_session_log *lines, const ls_session_event *event)
{
    const ls_log *log = lines->log;
    const char *name = ls_status_name(event->status);
    if (event->status == LS_OK) {
        ls_log_line(log, LS_LOG_INFO, "%s", event->text.bytes);
    } else if (event->status == LS_SAVED) {
        ls_log_line(log, LS_LOG_WARNING,
                    "the server has saved the match, to go on another time: %s", event->text.bytes);
    } else if (!ls_client_link_has_connected(lines->link)) {
        bool is_full = event->status == LS_FULL || event->status == LS_MATCH_FULL;
        bool is_named = event->status == LS_REFUSED || event->status == LS_UNREACHABLE ||
                        event->status == LS_TIMED_OUT ||
                        (lines->place->sealed.has_token && !is_full);
        ls_log_line(
            log, LS_LOG_ERROR, "cannot connect to %s: %s (%s)%s", lines->place->name,
            is_named ? ls_client_link_failure(lines->link) : event->text.bytes, name,
            is_full ? "; try again later, or wait a minute for a seat with --connect-wait 60" : "");
    } else {
        bool is_sent_away = lines->place->sealed.has_token && event->status == LS_DISCONNECTED &&
                            !ls_session_offer(lines->session);
        ls_log_line(log, LS_LOG_ERROR, "%s: %s (%s)", ls_client_link_server(lines->link),
                    is_sent_away ? TOKEN_GIVES_NOTHING : event->text.bytes, name);
    }
}

static void log_seated(const ls_session_log *lines)
{
    const ls_offer *offer = ls_session_offer(lines->session);
    const ls_simulation *simulation =
        ls_sim_instance_simulation(ls_session_instance(lines->session));
    if (lines->has_picture && !simulation->draw) {
        ls_log_line(lines->log, LS_LOG_WARNING,
                    "simulation %s has no draw function: there is no picture of it",
                    simulation->name);
    }
    ls_text place = {{0}};
    ls_text_set(&place, "as slot %" PRIu32, offer->slot);
    ls_log_line(lines->log, LS_LOG_INFO, "joined %s %s: %s for %" PRIu32 " players",
                ls_client_link_server(lines->link),
                offer->is_spectator ? "as a spectator" : place.bytes, offer->simulation,
                offer->config.players);
}

static void log_event(ls_session_log *lines, const ls_session_event *event, uint64_t now_ns)
{
    const ls_log *log = lines->log;
    const ls_offer *offer = ls_session_offer(lines->session);
    switch (event->kind) {
    case LS_SESSION_EVENT_SEATED:
        log_seated(lines);
        break;
    case LS_SESSION_EVENT_SECRET:
    case LS_SESSION_EVENT_CHAT:
        break;
    case LS_SESSION_EVENT_UNPREDICTED:
        ls_log_line(log, LS_LOG_WARNING, "--predict: %s", event->text.bytes);
        break;
    case LS_SESSION_EVENT_UNNAMED_WRITE:
        ls_log_line(log, LS_LOG_WARNING, "%s", event->text.bytes);
        break;
    case LS_SESSION_EVENT_STARTED:
        ls_log_line(log, LS_LOG_INFO, "the match starts");
        break;
    case LS_SESSION_EVENT_JOINING:
        log_joining(lines, event);
        break;
    case LS_SESSION_EVENT_JOINED:
        ls_log_line(log, LS_LOG_INFO, "%s from tick %" PRIu32 " on",
                    offer && offer->is_spectator ? "watching" : "playing", event->tick);
        break;
    case LS_SESSION_EVENT_LOST:
        log_lost(lines, event);
        break;
    case LS_SESSION_EVENT_RESUMING:
        log_resuming(lines, &event->resuming);
        break;
    case LS_SESSION_EVENT_WAITING:
        log_waiting(lines, &event->waiting, now_ns);
        break;
    case LS_SESSION_EVENT_LAG:
        log_lag(lines, &event->lag);
        break;
    case LS_SESSION_EVENT_NOTICE:
        log_notice(lines, &event->notice);
        break;
    case LS_SESSION_EVENT_LOBBY:
        log_lobby(lines, ls_session_lobby_of(lines->session));
        break;
    case LS_SESSION_EVENT_DESYNC:
    case LS_SESSION_EVENT_CAUSE:
        log_desync_event(lines->session, event, log);
        break;
    case LS_SESSION_EVENT_HEALED:
        ls_log_line(log, LS_LOG_WARNING,
                    "this client was healed and agrees from tick %" PRIu32 " on", event->tick);
        break;
    case LS_SESSION_EVENT_ENDED:
        ls_log_line(log, LS_LOG_DEBUG, "the final tick is %" PRIu32, event->end.final_tick);
        break;
    case LS_SESSION_EVENT_OVER:
        log_over(lines, event);
        break;
    }
}

/* A server may send as many messages as it likes. */
void ls_session_log_event(ls_session_log *lines, const ls_session_event *event, uint64_t now_ns)
{
    bool is_own = event->kind == LS_SESSION_EVENT_OVER;
    const ls_log before =
        is_own ? *lines->log : ls_log_budget_begin(&lines->budget, lines->log, now_ns);
    log_event(lines, event, now_ns);
    *lines->log = before;
}

void ls_session_log_chat(ls_session_log *lines, const char *line, uint64_t now_ns)
{
    const ls_log before = ls_log_budget_begin(&lines->budget, lines->log, now_ns);
    ls_log_line(lines->log, LS_LOG_INFO, "chat %s", line);
    *lines->log = before;
}

void ls_session_log_end_waits(ls_session_log *lines, uint64_t now_ns)
{
    ls_text names = {{0}};
    ls_text words = {{0}};
    if (!ls_wait_notes_is_over(&lines->waits, now_ns)) {
        return;
    }
    ls_session_add_names(lines->session, lines->waits.slots, &names);
    ls_wait_notes_text(&lines->waits, &words);
    ls_log_line(lines->log, LS_LOG_INFO, "the match does not wait any more for %s: %s", names.bytes,
                words.bytes);
    lines->waits = (ls_wait_notes){0};
}

/* ---- chat ---- */

/* Every answer of the program begins so; the line of a player begins with "[". */
#define OWN "-- "

/* ---- who is muted ---- */

/* Another player may have taken the seat. */
static bool is_muted(ls_client_chat *chat, const ls_chat *said)
{
    if (strcmp(chat->muted[said->slot], said->name) != 0) {
        ls_slot_set_remove(&chat->muted_slots, said->slot);
    }
    return ls_slot_set_has(&chat->muted_slots, said->slot);
}

bool ls_client_chat_write(ls_client_chat *chat, const ls_chat *said, ls_text *line)
{
    ls_text_set(line, "[%u] %s: %s", said->slot + 1, said->name, said->text);
    return !is_muted(chat, said);
}

/* The slot of a player by its name, or by the number of its seat; LS_PLAYERS_MAX: there is none. */
static uint32_t find_player(const ls_session *session, const char *who)
{
    const ls_offer *offer = ls_session_offer(session);
    uint32_t players = offer ? offer->config.players : 0;
    for (uint32_t slot = 0; slot < players; slot++) {
        ls_text number = {{0}};
        ls_text_set(&number, "%u", slot + 1);
        const char *name = ls_session_player_name(session, slot);
        if ((name[0] != '\0' && strcmp(name, who) == 0) || strcmp(number.bytes, who) == 0) {
            return slot;
        }
    }
    return LS_PLAYERS_MAX;
}

static void mute(ls_client_chat *chat, const ls_session *session, const char *who, bool is_on,
                 ls_text *answer)
{
    uint32_t slot = find_player(session, who);
    if (slot == LS_PLAYERS_MAX) {
        ls_text_set(answer, OWN "there is no player '%s'; give a name or the number of a seat",
                    who);
        return;
    }
    ls_slot_set_put(&chat->muted_slots, slot, is_on);
    ls_name_copy(chat->muted[slot], sizeof chat->muted[slot],
                 ls_session_player_name(session, slot));
    ls_text_set(answer, OWN "%s (seat %u) is %s", chat->muted[slot], slot + 1,
                is_on ? "muted: you see none of its lines" : "heard again");
}

/* ---- what the person says ---- */

static void report(ls_status status, ls_text *answer)
{
    if (status == LS_UNSUPPORTED) {
        ls_text_set(answer, OWN "a spectator may read, and not write");
    } else if (status != LS_OK) {
        ls_text_set(answer, OWN "nobody can hear you now");
    }
}

void ls_client_chat_say(ls_session *session, uint32_t quick_line, ls_text *answer)
{
    report(ls_session_chat(session, quick_line, NULL), answer);
}

static void help(ls_text *answer)
{
    ls_text_set(answer, OWN "/mute NAME, /unmute NAME, /vote NUMBER; quick lines:");
    for (uint32_t i = 1; i <= LS_QUICK_LINES; i++) {
        ls_text_add(answer, " /%u %s", i, ls_quick_line_words(i));
    }
}

/* The rest behind the word, or NULL when the text does not begin with it. */
static const char *after(const char *text, const char *word)
{
    size_t size = strlen(word);
    bool is_it = strncmp(text, word, size) == 0 && (text[size] == ' ' || text[size] == '\0');
    return is_it ? text + size + strspn(text + size, " ") : NULL;
}

static void command(ls_client_chat *chat, ls_session *session, const char *typed, ls_text *answer)
{
    const char *muted = after(typed, "/mute");
    const char *unmuted = after(typed, "/unmute");
    bool is_quick = typed[1] >= '1' && typed[1] < '1' + (int)LS_QUICK_LINES && typed[2] == '\0';
    if (is_quick) {
        ls_client_chat_say(session, (uint32_t)(typed[1] - '0'), answer);
    } else if (after(typed, "/vote")) {
        report(ls_session_chat(session, 0, typed), answer); /* the server counts it */
    } else if (muted || unmuted) {
        mute(chat, session, muted ? muted : unmuted, muted != NULL, answer);
    } else if (after(typed, "/help")) {
        help(answer);
    } else {
        ls_text_set(answer, OWN "'%s' is no command; /help names them", typed);
    }
}

void ls_client_chat_type(ls_client_chat *chat, ls_session *session, const char *typed,
                         ls_text *answer)
{
    char text[LS_CHAT_TEXT_BYTES_MAX];
    ls_name_copy(text, sizeof text, typed + strspn(typed, " "));
    size_t size = strlen(text);
    while (size > 0 && text[size - 1] == ' ') {
        text[--size] = '\0';
    }
    if (text[0] == '/') {
        command(chat, session, text, answer);
    } else {
        report(ls_session_chat(session, 0, text), answer);
    }
}
