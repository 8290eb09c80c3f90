#include "lockstep/server/control/audit_log.h"

#include "lockstep/common/system/system_clock.h"

#include <inttypes.h>
#include <string.h>

#define OF_ENTRY(member) LS_JSON_FIELD(ls_audit_entry, member)

static const ls_json_field fields[] = {
    OF_ENTRY(number), OF_ENTRY(unix_ms), OF_ENTRY(name),   OF_ENTRY(role),
    OF_ENTRY(what),   OF_ENTRY(body),    OF_ENTRY(status), OF_ENTRY(result),
};

void ls_audit_log_add(ls_audit_log *audit, const ls_audit_entry *entry)
{
    const ls_audit_entry *last = &audit->entries[(audit->newest - 1) % LS_AUDIT_KEPT];
    bool is_again = audit->newest > 0 && entry->status == 403 && last->status == 403 &&
                    strcmp(entry->name, last->name) == 0;
    audit->newest += is_again ? 0 : 1;
    ls_audit_entry *added = &audit->entries[(audit->newest - 1) % LS_AUDIT_KEPT];
    *added = *entry;
    added->number = audit->newest;
    added->unix_ms = ls_clock_unix_ms();
    ls_text_make_printable(added->what, strlen(added->what));
    ls_text_make_printable(added->body, strlen(added->body));
    ls_text_make_printable(added->result.bytes, strlen(added->result.bytes));
    if (audit->log) {
        ls_log_line(audit->log, LS_LOG_INFO, "operator %s (%s): %s%s%s: %" PRIu32 " %s",
                    added->name, added->role, added->what, added->body[0] ? " " : "", added->body,
                    added->status, added->result.bytes);
    }
}

void ls_audit_log_write(const ls_audit_log *audit, ls_json *object)
{
    ls_json *entries = ls_json_array(object, "entries");
    uint64_t kept = LS_MIN(audit->newest, LS_AUDIT_KEPT);
    for (uint64_t number = audit->newest - kept; number < audit->newest; number++) {
        LS_JSON_ADD(ls_json_append(entries), fields, &audit->entries[number % LS_AUDIT_KEPT]);
    }
}
