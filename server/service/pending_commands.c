#include "lockstep/server/service/pending_commands.h"

static ls_pending_command *find(ls_pending_commands *pending, uint64_t id)
{
    for (uint32_t i = 0; i < LS_PENDING_COMMANDS_MAX; i++) {
        if (pending->rows[i].id == id) {
            return &pending->rows[i];
        }
    }
    return NULL;
}

ls_pending_command *ls_pending_commands_find(ls_pending_commands *pending, uint64_t id)
{
    return id != 0 ? find(pending, id) : NULL;
}

ls_pending_command *ls_pending_commands_add(ls_pending_commands *pending,
                                            const ls_service_command *command, uint32_t worker,
                                            const ls_service_asker *asker)
{
    ls_pending_command *row = find(pending, 0);
    if (row) {
        *row = (ls_pending_command){.id = ++pending->ids,
                                    .worker = worker,
                                    .kind = command->kind,
                                    .seconds = command->seconds,
                                    .text = command->text,
                                    .asker = *asker};
        ls_name_copy(row->room, sizeof row->room, command->room);
    }
    return row;
}

void ls_pending_command_finish(ls_pending_command *command, const ls_service_result *result)
{
    const ls_service_asker asker = command->asker;
    *command = (ls_pending_command){.id = 0};
    if (asker.done) {
        asker.done(asker.user, result);
    }
}

void ls_pending_commands_lose(ls_pending_commands *pending, uint32_t worker,
                              const ls_service_result *result)
{
    for (uint32_t i = 0; i < LS_PENDING_COMMANDS_MAX; i++) {
        if (pending->rows[i].id != 0 && pending->rows[i].worker == worker) {
            ls_pending_command_finish(&pending->rows[i], result);
        }
    }
}

void ls_service_asker_tell(const ls_service_asker *asker, ls_status status, const char *text)
{
    ls_service_result result = {.status = status};
    ls_text_set(&result.text, "%s", text);
    if (asker->done) {
        asker->done(asker->user, &result);
    }
}
