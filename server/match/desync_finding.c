#include "lockstep/server/match/desync_finding.h"

#include "lockstep/common/diagnosis/hash_tree_diff.h"

void ls_desync_finding_add_places(ls_desync_finding *finding, ls_hash_tree_diff *diff,
                                  void *server_state)
{
    ls_state_difference difference;
    ls_hash_tree_diff_result(diff, &difference);
    finding->elements = difference.elements;
    finding->fields = difference.fields;
    finding->is_lower_bound = difference.is_lower_bound || !ls_hash_tree_diff_is_done(diff);
    finding->place_count = difference.place_count;
    for (uint32_t i = 0; i < difference.place_count; i++) {
        finding->place_fields[i] = difference.places[i].field;
        finding->places[i] =
            ls_state_difference_text(&difference.places[i], server_state, server_state);
    }
    ls_hash_tree_diff_exchange(diff, server_state);
    for (uint32_t i = 0; i < difference.place_count; i++) {
        ls_schema_place_value(&difference.places[i], server_state, finding->places[i].b,
                              sizeof finding->places[i].b);
    }
    ls_hash_tree_diff_exchange(diff, server_state);
}

void ls_desync_finding_note_withheld(ls_desync_finding *finding, ls_tick tick)
{
    *finding = (ls_desync_finding){
        .tick = tick,
        .times = finding->times + 1,
        .healed = finding->healed,
        .is_lower_bound = true,
        .verdict = {.kind = LS_DESYNC_CLASS_SILENT, .culprit = LS_DESYNC_CULPRIT_CLIENT}};
    ls_text_set(&finding->verdict.why,
                "%s: it withheld the root of the state from which on it differs",
                ls_desync_class_text(finding->verdict.kind));
}
