#include "lockstep/common/diagnosis/state_difference.h"
#include "lockstep/common/system/system_clock.h"
#include "lockstep/tools/replay/command.h"

#include <inttypes.h>
#include <string.h>

static bool show_element(const replay_run *run, ls_json *fields, const ls_schema_place *place,
                         const void *state)
{
    ls_difference_text text = ls_state_difference_text(place, state, state);
    if (strncmp(text.name, run->config->fields, strlen(run->config->fields)) != 0) {
        return false;
    }
    replay_say(run, "%s = %s", text.name, text.a);
    ls_json_text(fields, text.name, text.a);
    return true;
}

static void show_fields(const replay_run *run)
{
    const ls_sim_instance *instance = run->playback->instance;
    const ls_schema *schema = ls_sim_instance_schema(instance);
    ls_json *fields = ls_json_object(run->json, "fields");
    uint64_t shown = 0;
    for (uint32_t i = 0; schema && i < ls_schema_field_count(schema); i++) {
        const ls_field *field = ls_schema_field(schema, i);
        if (field->type == LS_FIELD_PADDING) {
            continue;
        }
        for (uint32_t item = 0; item < field->count; item++) {
            for (uint32_t element = 0; element < field->length; element++) {
                ls_schema_place place = {.field = field,
                                         .item = item,
                                         .element = element,
                                         .offset =
                                             field->offset + item * field->stride +
                                             (size_t)element * ls_field_type_bytes(field->type)};
                shown += show_element(run, fields, &place, ls_sim_instance_view(instance));
            }
        }
    }
    if (!schema) {
        ls_log_line(&run->console->log, LS_LOG_WARNING,
                    "the fields of this simulation's state are not known");
    } else if (shown == 0) {
        ls_log_line(&run->console->log, LS_LOG_WARNING,
                    "no value begins with '%s': --fields alone shows all", run->config->fields);
    }
}

ls_status replay_seek(replay_run *run, ls_text *why)
{
    ls_clock clock = ls_clock_system();
    uint64_t begun_ns = ls_clock_now_ns(&clock);
    ls_status status =
        replay_playback_load(run->playback, run->config->simulation, &run->config->files, why);
    if (status == LS_OK) {
        status = replay_playback_seek(run->playback, run->config->from, why);
    }
    if (status != LS_OK) {
        return status;
    }
    uint64_t recorded = run->playback->state_hash;
    uint64_t here = ls_sim_instance_hash(run->playback->instance);
    double took_ms = (double)(ls_clock_now_ns(&clock) - begun_ns) / 1e6;
    replay_say(run, "state %" PRIu32 " has hash %016" PRIx64 " (%s), found in %.1f ms",
               run->config->from, here,
               recorded == 0      ? "not recorded"
               : recorded == here ? "as recorded"
                                  : "another one was recorded",
               took_ms);
    ls_json_number(run->json, "tick", run->config->from);
    ls_json_hash(run->json, "state_hash", here);
    if (recorded != 0) {
        ls_json_hash(run->json, "journal_root", recorded);
    } else {
        ls_json_null(run->json, "journal_root");
    }
    ls_json_number(run->json, "took_ms", took_ms);
    if (run->config->fields) {
        show_fields(run);
    }
    return recorded == 0 || recorded == here ? LS_OK : LS_DESYNCED;
}
