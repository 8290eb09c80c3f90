#include "lockstep/server/service/http_event_text.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/program/json.h"

#include <inttypes.h>

enum {
    PIECE_BYTES = 16384
};

static const ls_json_field event_fields[] = {
    LS_JSON_FIELD(ls_service_event, number), LS_JSON_FIELD(ls_service_event, unix_ms),
    LS_JSON_FIELD(ls_service_event, kind),   LS_JSON_FIELD(ls_service_event, room),
    LS_JSON_FIELD(ls_service_event, text),
};

static void write_event(const ls_service_event *event, ls_http_text *text)
{
    ls_json *json = ls_json_create();
    LS_JSON_ADD(json, event_fields, event);
    ls_json_known(json, "slot", event->slot >= 0, event->slot);
    char *line = ls_json_print_line(json);
    ls_json_destroy(json);
    if (line) {
        ls_http_text_add(text, "id: %" PRIu64 "\ndata: %s\n\n", event->number, line);
    }
    ls_release(ls_allocator_heap(), line);
}

void ls_http_event_text_write(const ls_service_view *view, uint64_t *next, ls_http_text *text)
{
    while (text->size < PIECE_BYTES) {
        const ls_service_event *event = view->event(view->user, *next);
        if (!event) {
            return;
        }
        write_event(event, text);
        *next = event->number + 1;
    }
}
