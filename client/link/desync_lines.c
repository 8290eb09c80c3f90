#include "lockstep/client/link/desync_lines.h"

#include "lockstep/common/diagnosis/desync_class.h"
#include "lockstep/common/diagnosis/state_difference.h"
#include "lockstep/common/loader/plugin_loader.h"

#include <inttypes.h>

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

void ls_desync_lines_log(ls_session *session, const ls_session_event *event, const ls_log *log)
{
    if (event->kind == LS_SESSION_EVENT_DESYNC) {
        log_desync(session, event, log);
    } else {
        log_cause(session, event, log);
    }
}
