#include "lockstep/tools/replay/web/web_record.h"

#include "lockstep/client/web/web_games.h"
#include "lockstep/client/web/web_screen.h"
#include "lockstep/common/journal/desync_bundle.h"
#include "lockstep/common/system/system_clock.h"
#include "lockstep/tools/replay/playback.h"
#include "lockstep/tools/replay/record_view.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Of a picture, which needs the rest of its time for itself; of a part of the check. */
#define FRAME_BUDGET_NS (8 * LS_NS_PER_MS)
#define CHECK_BUDGET_NS (4 * LS_NS_PER_MS)

enum {
    CHECK_TICKS = 16, /* how often the check looks at its clock */
    PLACES_TOLD_MAX = 12,
};

/* The match is played by one instance and checked by another one: a person seeks as they like. */
typedef struct web_record {
    uint8_t *bytes;
    uint32_t size;
    uint32_t room;  /* bytes behind them that are to be filled */
    uint8_t *older; /* a journal before it grew; NULL: none */
    ls_log log;
    replay_playback shown;
    replay_playback checked;
    replay_verification check;
    ls_status verdict;
    ls_text why; /* of the verdict */
    bool is_checking;
    bool is_growing; /* the match goes on, and its journal with it */
    replay_record_view *view;
    ls_screen *screen;
} web_record;

static web_record here;

uint8_t *replay_web_room(uint32_t bytes)
{
    uint8_t *grown = bytes <= UINT32_MAX - here.size
                         ? ls_allocate(ls_allocator_heap(), here.size + bytes)
                         : NULL;
    if (!grown) {
        return NULL;
    }
    memcpy(grown, here.bytes ? (const void *)here.bytes : "", here.size);
    if (here.older) {
        ls_release(ls_allocator_heap(), here.bytes);
    } else {
        here.older = here.bytes; /* which the playbacks have until they are told */
    }
    here.bytes = grown;
    here.room = bytes;
    return grown + here.size;
}

int32_t replay_web_add(uint32_t part)
{
    uint8_t *added = here.bytes + here.size;
    uint32_t size = here.room;
    here.room = 0;
    size_t head = part != REPLAY_WEB_FILE ? replay_broadcast_segment_head(added, size) : 0;
    if (part != REPLAY_WEB_FILE && head == 0) {
        return LS_MALFORMED;
    }
    size_t skipped = part == REPLAY_WEB_NEXT_SEGMENT ? head : 0;
    memmove(added, added + skipped, size - skipped);
    here.size += size - (uint32_t)skipped;
    return LS_OK;
}

static void write_line(void *user, ls_log_level level, const char *line)
{
    (void)user;
    ls_page_line((uint32_t)level, line, strlen(line));
}

/* ---- a journal ---- */

static ls_status begin(replay_playback *playback, ls_journal_trust trust, ls_text *why)
{
    ls_status status = replay_playback_read(here.bytes, here.size, trust, playback, why);
    if (status != LS_OK) {
        return status;
    }
    const char *name = ls_journal_header_of(playback->journal)->simulation;
    const ls_simulation *simulation = ls_web_game_named(name);
    if (!simulation) {
        return ls_fail(LS_NOT_FOUND, why,
                       "The match is of %s, which this page lacks: it has the built-in games "
                       "alone. lockstep-replay view shows it with the game's plug-in.",
                       name);
    }
    return replay_playback_begin(playback, simulation, NULL, why);
}

static ls_status open_view(ls_text *why)
{
    const replay_record_view_config config = {
        .playback = &here.shown, .clock = ls_clock_system(), .budget_ns = FRAME_BUDGET_NS};
    ls_status status = replay_record_view_create(&config, ls_allocator_heap(), &here.view, why);
    if (status != LS_OK) {
        return status;
    }
    const ls_view_source source = replay_record_view_source(here.view);
    ls_screen_config screen = ls_screen_config_default();
    screen.has_chat = false;
    return ls_screen_open(&screen, &source, &here.log, ls_allocator_heap(), &here.screen, why);
}

static ls_status open_journal(ls_text *why)
{
    ls_status status = begin(&here.checked, LS_JOURNAL_CHECK_ALL, why);
    LS_THEN(status, begin(&here.shown, LS_JOURNAL_TRUST_INDEX, why));
    LS_THEN(status, open_view(why));
    if (status == LS_OK) {
        ls_view_start_at(ls_screen_view(here.screen),
                         ls_journal_info_of(here.shown.journal)->first_tick, 0);
        here.verdict = replay_verification_begin(&here.checked, &here.log, &here.check, &here.why);
        here.is_checking = here.verdict == LS_OK;
    }
    return status;
}

int32_t replay_web_read_on(uint32_t is_over)
{
    ls_text why = {{0}};
    ls_status status = replay_playback_read_on(&here.checked, here.bytes, here.size, &why);
    LS_THEN(status, replay_playback_read_on(&here.shown, here.bytes, here.size, &why));
    if (status == LS_OK) {
        ls_release(ls_allocator_heap(), here.older);
        here.older = NULL;
        replay_verification_read_on(&here.check);
        here.is_checking = here.verdict == LS_OK;
    }
    here.is_growing = status == LS_OK && is_over == 0;
    replay_record_view_set_growing(here.view, here.is_growing);
    ls_web_put_text(why.bytes);
    return status;
}

uint32_t replay_web_check(void)
{
    const ls_clock clock = ls_clock_system();
    uint64_t end_ns = ls_clock_now_ns(&clock) + CHECK_BUDGET_NS;
    while (here.is_checking && ls_clock_now_ns(&clock) < end_ns) {
        here.verdict = replay_verification_go_on(&here.check, CHECK_TICKS, &here.why);
        here.is_checking = here.verdict == LS_OK && !here.check.is_done;
        if (here.verdict == LS_OK && here.check.is_done && !here.is_growing) {
            here.verdict = replay_verification_judge(&here.check, &here.why);
        }
    }
    return here.is_checking;
}

/* ---- a desync bundle ---- */

static char words[LS_WEB_DESK_BYTES];

/* A text that has no room is cut. */
static void LS_PRINTF(1, 2) tell(const char *format, ...)
{
    size_t length = strlen(words);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words + length, sizeof words - length, format, arguments);
    va_end(arguments);
}

static void tell_place(const ls_difference_text *place)
{
    tell("%s: the server has %s, the client %s\n", place->name, place->a, place->b);
}

static void tell_places(const ls_desync_bundle *bundle)
{
    const ls_bundle_pass_places *places = &bundle->after_pass;
    ls_text extent =
        ls_state_difference_extent(places->elements, places->fields, places->is_lower_bound);
    if (places->count == 0) {
        return;
    }
    tell("\nAfter the pass %s: %s.\n",
         places->pass < bundle->pass_count ? bundle->passes[places->pass] : "?", extent.bytes);
    for (uint32_t i = 0; i < LS_MIN(places->count, PLACES_TOLD_MAX); i++) {
        tell_place(&places->places[i]);
    }
}

static void tell_states(const ls_bundle_reading *reading)
{
    const ls_desync_bundle *bundle = ls_bundle_reading_bundle(reading);
    const ls_schema *schema = ls_bundle_reading_schema(reading);
    ls_state_difference found;
    if (!schema || !bundle->server.state || !bundle->client.state) {
        return;
    }
    ls_state_difference_find(schema, bundle->server.state, bundle->client.state, &found);
    ls_text extent = ls_state_difference_extent(found.elements, found.fields, false);
    tell("\nIn state %" PRIu32 ": %s.\n", bundle->tick, extent.bytes);
    for (uint32_t i = 0; i < LS_MIN(found.place_count, PLACES_TOLD_MAX); i++) {
        ls_difference_text place =
            ls_state_difference_text(&found.places[i], bundle->server.state, bundle->client.state);
        tell_place(&place);
    }
}

static ls_status open_bundle(ls_text *why)
{
    ls_bundle_reading *reading = NULL;
    ls_status status =
        ls_bundle_reading_open(here.bytes, here.size, ls_allocator_heap(), &reading, why);
    if (status != LS_OK) {
        return status;
    }
    const ls_desync_bundle *bundle = ls_bundle_reading_bundle(reading);
    const ls_desync_verdict *verdict = &bundle->verdict;
    tell("%s, tick %" PRIu32 ", slot %" PRIu32 " (%s): the server has state hash %016" PRIx64
         ", the client %016" PRIx64 ".\n%s\n%s%s",
         bundle->simulation, bundle->tick, bundle->slot, bundle->player, bundle->server_hash,
         bundle->client_hash,
         verdict->why.bytes[0] != '\0' ? verdict->why.bytes : ls_desync_class_text(verdict->kind),
         why->bytes, why->bytes[0] != '\0' ? "\n" : "");
    tell_places(bundle);
    tell_states(reading);
    tell("\nNext: %s. lockstep-desync explains the whole file.\n",
         ls_desync_class_next(verdict->kind));
    ls_bundle_reading_close(reading);
    return LS_OK;
}

/* ---- what the page calls ---- */

/* Each reader knows its own files by their first bytes. */
int32_t replay_web_open(void)
{
    ls_text why = {{0}};
    here.log = (ls_log){LS_LOG_INFO, write_line, NULL};
    if (open_bundle(&why) == LS_OK) {
        ls_web_put_text(words);
        return LS_OK;
    }
    why = (ls_text){{0}};
    ls_status status = open_journal(&why);
    ls_web_put_text(status == LS_OK ? "" : why.bytes[0] ? why.bytes : ls_status_text(status));
    return status;
}

const uint32_t *replay_web_frame(void)
{
    const ls_clock clock = ls_clock_system();
    if (!here.screen) {
        return NULL;
    }
    ls_screen_frame(here.screen, ls_clock_now_ns(&clock));
    return ls_web_screen_pixels(here.screen);
}

uint32_t replay_web_report(void)
{
    ls_text out = {{0}};
    if (!here.screen) {
        return 0;
    }
    const ls_journal_info *info = ls_journal_info_of(here.checked.journal);
    const ls_hud_model *hud = ls_view_hud(ls_screen_view(here.screen));
    ls_web_add_number(&out, "tick", hud->tick);
    ls_web_add_number(&out, "first", info->first_tick);
    ls_web_add_number(&out, "last", info->end_tick);
    ls_web_add_number(&out, "checking", here.is_checking);
    ls_web_add_number(&out, "growing", here.is_growing);
    ls_web_add_number(&out, "checked", ls_sim_instance_tick(here.checked.instance));
    ls_text_add(&out, "hashes %" PRIu64 "\n", here.check.state_hashes);
    ls_text_add(&out, "hash %016" PRIx64 "\n", ls_sim_instance_hash(here.checked.instance));
    ls_web_add_line(&out, "status", ls_status_name(here.verdict));
    if (here.verdict == LS_DESYNCED) {
        ls_web_add_number(&out, "differs", here.check.differing_tick);
    }
    ls_web_add_line(&out, "why", here.why.bytes);
    return ls_web_put_text(out.bytes);
}
