#include "lockstep/client/program/desync_lines.h"

#include "lockstep/common/diagnosis/desync_class.h"
#include "lockstep/common/diagnosis/state_difference.h"

#include <inttypes.h>

bool ls_desync_lines_is_own(const ls_session *session, uint32_t slot)
{
    const ls_offer *offer = ls_session_offer(session);
    return offer && !offer->is_spectator && offer->slot == slot;
}

static ls_text player_of(const ls_session *session, uint32_t slot)
{
    ls_text player = {{0}};
    ls_session_add_names(session, UINT32_C(1) << slot, &player);
    return player;
}

void ls_desync_lines_notice(const ls_session *session, const ls_desync_notice *notice,
                            const ls_log *log)
{
    bool is_own = ls_desync_lines_is_own(session, notice->slot);
    if (notice->clients > 0) {
        ls_log_line(log, LS_LOG_WARNING,
                    "DESYNC: the server differs from tick %" PRIu32 " on from %" PRIu32
                    " clients which agree: server %016" PRIx64 ", clients %016" PRIx64,
                    notice->tick, notice->clients, notice->server_hash, notice->client_hash);
        return;
    }
    ls_log_line(log, is_own ? LS_LOG_ERROR : LS_LOG_WARNING,
                "DESYNC: %s%s differs from tick %" PRIu32 " on: server %016" PRIx64
                ", client %016" PRIx64,
                player_of(session, notice->slot).bytes, is_own ? ", this client," : "",
                notice->tick, notice->server_hash, notice->client_hash);
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

void ls_desync_lines_cause(const ls_session *session, const ls_desync_cause *cause,
                           const ls_desync_notice *newest, const ls_log *log)
{
    bool is_of_server =
        newest->clients > 0 && newest->slot == cause->slot && newest->tick == cause->tick;
    bool is_own = !is_of_server && ls_desync_lines_is_own(session, cause->slot);
    ls_log_level level = is_own ? LS_LOG_ERROR : LS_LOG_WARNING;
    log_head(is_of_server ? "the server" : player_of(session, cause->slot).bytes, cause, level,
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
        ls_log_line(log, level, "  next: %s", ls_desync_class_next((ls_desync_class)cause->kind));
    }
}
