#include "lockstep/server/match/finding_report.h"

#include "lockstep/common/base/text.h"
#include "lockstep/server/investigation/investigation.h"
#include "lockstep/server/match/tick_log.h"

#include <inttypes.h>
#include <string.h>

#define VALUES_FIRST_NS LS_NS_PER_SECOND

enum {
    INPUT_BYTES_SHOWN = 16,
};

void ls_finding_report_send_to(const ls_match *match, ls_peer_id spectator)
{
    if (spectator != 0) {
        ls_outbox_send(match->outbox, spectator);
    } else {
        ls_seat_table_send_all(match->seats);
    }
}

static void send_cause(const ls_match *match, uint32_t slot, ls_peer_id spectator,
                       const ls_desync_finding *finding)
{
    ls_desync_cause *cause = &ls_outbox_message(match->outbox, LS_MESSAGE_DESYNC_CAUSE)->body.cause;
    memset(cause, 0, sizeof *cause);
    cause->slot = spectator != 0 ? 0 : slot;
    cause->tick = finding->tick;
    cause->kind = finding->verdict.kind;
    cause->culprit = finding->verdict.culprit;
    cause->fields = finding->fields;
    cause->elements = finding->elements < UINT32_MAX ? (uint32_t)finding->elements : UINT32_MAX;
    cause->is_lower_bound = finding->is_lower_bound;
    cause->why = finding->verdict.why;
    if (finding->place_count > 0) {
        const ls_difference_text *first = &finding->places[0];
        ls_name_copy(cause->field, sizeof cause->field, first->name);
        ls_name_copy(cause->server_value, sizeof cause->server_value, first->a);
        ls_name_copy(cause->client_value, sizeof cause->client_value, first->b);
    }
    if (finding->pass) {
        ls_name_copy(cause->pass, sizeof cause->pass, finding->pass);
    }
    cause->is_behind_pass = finding->is_after_pass;
    ls_finding_report_send_to(match, spectator);
}

/* One slot's input as a person reads it: "slot 0: 2 bytes 01e8". */
static void describe_input(const ls_slot_input *input, uint32_t slot, ls_text *out)
{
    uint32_t shown = LS_MIN(input->size, INPUT_BYTES_SHOWN);
    char digits[2 * INPUT_BYTES_SHOWN + 1];
    ls_text_add(out, "%sslot %" PRIu32 ": ", slot > 0 ? "; " : "", slot);
    if (input->size == 0) {
        ls_text_add(out, "nothing");
    } else {
        ls_text_add(out, "%" PRIu32 " byte%s ", input->size, input->size == 1 ? "" : "s");
    }
    ls_hex_write(digits, input->bytes, shown);
    ls_text_add(out, "%s%s%s%s", digits, shown < input->size ? "..." : "",
                input->events & LS_EVENT_JOINED ? " joined" : "",
                input->events & LS_EVENT_LEFT ? " left" : "");
}

void ls_finding_report_add_inputs(const ls_match *match, ls_desync_finding *finding)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs inputs;
    ls_text_set(&finding->inputs, "%s", "");
    if (ls_tick_log_at(match->log, ls_desync_finding_step(finding), slots, &inputs) != LS_OK) {
        return;
    }
    for (uint32_t slot = 0; slot < inputs.slot_count; slot++) {
        describe_input(&slots[slot], slot, &finding->inputs);
    }
}

void ls_finding_report_send(const ls_match *match, uint32_t slot, ls_peer_id spectator,
                            const ls_desync_finding *finding)
{
    ls_match_event *event =
        ls_outbox_push_event(match->outbox, LS_MATCH_DESYNC_CAUSE, slot, finding->tick);
    event->text = finding->verdict.why;
    send_cause(match, slot, spectator, finding);
}

void ls_finding_report_send_values(const ls_match *match, uint32_t slot, ls_peer_id spectator,
                                   ls_investigation *investigation, uint64_t found_ns)
{
    ls_desync_finding *finding = &investigation->finding;
    bool is_known =
        finding->place_count > 0 && investigation->comparison != LS_COMPARISON_CONTRADICTED;
    if (finding->is_open || !is_known || match->now_ns - found_ns < VALUES_FIRST_NS) {
        return;
    }
    finding->is_open = true;
    finding->values_ns = match->now_ns - found_ns;
    ls_conclusion_add_first_tick(investigation);
    (void)ls_outbox_push_event(match->outbox, LS_MATCH_DESYNC_VALUES, slot, finding->tick);
    send_cause(match, slot, spectator, finding);
}
