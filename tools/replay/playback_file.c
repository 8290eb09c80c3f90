#include "lockstep/common/loader/plugin_crash.h"
#include "lockstep/tools/replay/playback.h"

ls_status replay_playback_open(const char *path, ls_journal_trust trust, replay_playback *out,
                               ls_text *why)
{
    ls_text reason = {{0}};
    *out = (replay_playback){0};
    ls_status status = ls_mapped_file_open(path, &out->file, why);
    if (status != LS_OK) {
        return status;
    }
    status = replay_playback_read(out->file.bytes, out->file.size, trust, out, &reason);
    if (status != LS_OK) {
        ls_text_set(why, "%s: %s", path, reason.bytes[0] ? reason.bytes : ls_status_text(status));
    }
    return status;
}

void replay_playback_close(replay_playback *playback)
{
    ls_release(ls_allocator_heap(), playback->state);
    ls_sim_instance_destroy(playback->instance);
    if (playback->loaded.simulation) {
        ls_simulation_unload(&playback->loaded);
    }
    ls_journal_close(playback->journal);
    ls_mapped_file_close(&playback->file);
    *playback = (replay_playback){0};
}

ls_status replay_playback_load(replay_playback *playback, const char *simulation,
                               const ls_sim_files *files, ls_text *why)
{
    const ls_journal_header *header = ls_journal_header_of(playback->journal);
    const char *name = simulation ? simulation : header->simulation;
    ls_plugin_crash_watch(name);
    ls_status status = ls_simulation_load(name, &playback->loaded, why);
    if (status != LS_OK && !simulation) {
        ls_text_set(why, "no built-in simulation is called '%s': name its file with --sim", name);
    }
    if (status != LS_OK) {
        return status == LS_NOT_FOUND ? LS_BAD_ARGUMENT : status; /* the command line's fault */
    }
    return replay_playback_begin(playback, playback->loaded.simulation, files, why);
}
