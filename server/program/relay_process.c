#include "lockstep/server/program/relay_process.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/program/log_format.h"
#include "lockstep/common/system/child_process.h"
#include "lockstep/common/system/machine.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    PATH_BYTES_MAX = 4096,
    AGAIN_MS_MIN = 1000, /* until it is started again, doubled up to ... */
    AGAIN_MS_MAX = 60000,
    LONG_ENOUGH_MS = 60000, /* so long it ran: the next pause is short again */
    LEAVE_MS = 1000,
    FLAG_BYTES_MAX = sizeof(ls_room_setting) + 8,
};

struct ls_relay_process {
    const ls_room_settings *rows;
    const ls_log *log;
    ls_event_loop *loop;
    char program[PATH_BYTES_MAX];
    char flags[LS_ROOM_SETTINGS_MAX + 1][FLAG_BYTES_MAX];
    const char *arguments[LS_ROOM_SETTINGS_MAX + 3];
    ls_child_process process; /* none: it is to be started again */
    ls_loop_source *ending;
    ls_loop_source *alarm;
    uint64_t begun_ns;
    uint32_t again_ms;
};

static ls_status start_process(ls_relay_process *relay, ls_text *why);

static void on_end(void *user, uint64_t now_ns)
{
    ls_relay_process *relay = user;
    ls_child_process_end end;
    if (!ls_child_process_wait(&relay->process, 0, &end)) {
        return;
    }
    ls_loop_source_remove(relay->ending);
    relay->ending = NULL;
    bool was_long = now_ns - relay->begun_ns >= LONG_ENOUGH_MS * LS_NS_PER_MS;
    relay->again_ms = was_long ? AGAIN_MS_MIN : relay->again_ms;
    ls_log_line(relay->log, LS_LOG_ERROR,
                "the relay ended (exit code %" PRId64
                ", signal %d): it is started again in %" PRIu32 " s",
                end.exit_code, end.signal, relay->again_ms / 1000);
    ls_loop_alarm_set(relay->alarm, now_ns + relay->again_ms * LS_NS_PER_MS);
    relay->again_ms = LS_MIN(2 * relay->again_ms, AGAIN_MS_MAX);
}

static void on_again(void *user, uint64_t now_ns)
{
    ls_relay_process *relay = user;
    ls_text why = {{0}};
    if (start_process(relay, &why) != LS_OK) {
        ls_log_line(relay->log, LS_LOG_ERROR, "the relay cannot be started: %s", why.bytes);
        ls_loop_alarm_set(relay->alarm, now_ns + relay->again_ms * LS_NS_PER_MS);
    }
}

static ls_status start_process(ls_relay_process *relay, ls_text *why)
{
    const ls_child_process_config process = {
        .program = relay->program,
        .arguments = relay->arguments,
        .streams = {0, LS_CHILD_OUR_OUTPUT, LS_CHILD_OUR_ERRORS},
        .has_group = true, /* what stops this process by the terminal leaves it to say so */
        .dies_with_parent = true};
    relay->begun_ns = ls_event_loop_now_ns(relay->loop);
    ls_status status = ls_child_process_start(&process, &relay->process, why);
    LS_THEN(status, ls_event_loop_watch(relay->loop, relay->process.ended,
                                        (ls_loop_handler){on_end, relay}, &relay->ending));
    return status;
}

static bool find_program(ls_relay_process *relay)
{
    static const char name[] = "lockstep-relay";
    bool is_known = ls_machine_program_path(relay->program, sizeof relay->program);
    char *last = is_known ? strrchr(relay->program, '/') : NULL;
    size_t before = last ? (size_t)(last + 1 - relay->program) : 0;
    if (!last || before + sizeof name > sizeof relay->program) {
        return false;
    }
    memcpy(last + 1, name, sizeof name);
    return true;
}

static void list_arguments(ls_relay_process *relay, uint32_t log_format)
{
    static const char *const formats[] = {
        [LS_LOG_FORMAT_TEXT] = "text",
        [LS_LOG_FORMAT_JSON] = "json",
        [LS_LOG_FORMAT_JOURNALD] = "journald",
    };
    uint32_t count = 0;
    relay->arguments[0] = "lockstep-relay";
    for (; count < relay->rows->count; count++) {
        const ls_room_setting *row = &relay->rows->rows[count];
        snprintf(relay->flags[count], FLAG_BYTES_MAX, "--%s=%s", row->flag, row->value);
        relay->arguments[count + 1] = relay->flags[count];
    }
    snprintf(relay->flags[count], FLAG_BYTES_MAX, "--log-format=%s", formats[log_format]);
    relay->arguments[count + 1] = relay->flags[count];
}

ls_status ls_relay_process_start(const ls_room_settings *rows, uint32_t log_format,
                                 ls_event_loop *loop, const ls_log *log, ls_relay_process **out,
                                 ls_text *why)
{
    ls_relay_process *made = ls_allocate(ls_allocator_heap(), sizeof *made);
    if (!made) {
        return LS_NO_MEMORY;
    }
    made->rows = rows;
    made->log = log;
    made->loop = loop;
    made->again_ms = AGAIN_MS_MIN;
    list_arguments(made, log_format);
    ls_status status =
        find_program(made)
            ? ls_event_loop_add_alarm(loop, (ls_loop_handler){on_again, made}, &made->alarm)
            : ls_fail(LS_NOT_FOUND, why, "lockstep-relay is not beside this program");
    LS_THEN(status, start_process(made, why));
    if (status != LS_OK) {
        ls_relay_process_stop(made);
        return status;
    }
    *out = made;
    return LS_OK;
}

void ls_relay_process_stop(ls_relay_process *relay)
{
    if (!relay) {
        return;
    }
    if (relay->process.id != 0) {
        ls_child_process_ask(&relay->process);
        (void)ls_child_process_wait(&relay->process, LEAVE_MS, NULL);
    }
    ls_child_process_kill(&relay->process);
    ls_release(ls_allocator_heap(), relay);
}
