#include "lockstep/server/directory/directory.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/common/program/player_name.h"
#include "lockstep/protocol/relay/listing_json.h"
#include "lockstep/protocol/sealed/address_limits.h"

#include <string.h>

#define SHOWN_NS (30 * LS_NS_PER_SECOND)
#define PROOF_NS (5 * LS_NS_PER_SECOND)

enum {
    LOOK_SLOTS = 1024,     /* addresses may have to share one */
    JSON_BYTES_MAX = 1024, /* of one game */
    FRAME_BYTES_MAX = 32,
    FRAME_END_BYTES = 2, /* of the list and the object */
};

static const ls_rate_limit LIST_LIMIT = {LS_NS_PER_SECOND / 2, 8};
static const ls_rate_limit LOOK_LIMIT = {LS_NS_PER_SECOND / 16, 64};
static const ls_rate_limit ALL_LOOKS_LIMIT = {LS_NS_PER_SECOND / 1024, 4096};

/* Of one registration. */
typedef struct entry {
    uint64_t counter;   /* of its last LIST */
    uint64_t challenge; /* that is out; 0: none */
    uint64_t asked_ns;  /* when it was sent */
    bool is_shown;
    uint64_t renewed_ns;
    ls_rate_use lists;
    ls_relay_game game;
    char sent_name[LS_PLAYER_NAME_BYTES_MAX]; /* of which the game's is made */
    size_t json_bytes;
    char json[JSON_BYTES_MAX];
} entry;

struct ls_directory {
    const ls_allocator *allocator;
    entry *entries;
    uint32_t places;
    uint32_t games_max;
    uint32_t shown;
    uint64_t seed;
    ls_rate_use looks[LOOK_SLOTS];
    ls_rate_use all_looks;
    char frame[FRAME_BYTES_MAX]; /* the JSON of no games */
    size_t frame_bytes;
};

/* The object becomes text; 0 bytes: memory is out, and the game stands in GAMES alone. */
static size_t print_json(ls_json *json_take, char *out, size_t capacity)
{
    char *line = json_take ? ls_json_print_line(json_take) : NULL;
    size_t size = line ? strlen(line) : 0;
    LS_ASSERT(size <= capacity);
    memcpy(out, line ? line : "", size);
    ls_json_release_line(line);
    ls_json_destroy(json_take);
    return size;
}

ls_status ls_directory_create(uint32_t places, uint32_t games_max, const ls_allocator *allocator,
                              ls_directory **out)
{
    ls_directory *made = ls_allocate(allocator, sizeof *made);
    entry *entries = made ? ls_allocate_array(allocator, places, sizeof *entries) : NULL;
    if (!entries) {
        ls_release(allocator, made);
        return LS_NO_MEMORY;
    }
    made->allocator = allocator;
    made->entries = entries;
    made->places = places;
    made->games_max = games_max;
    ls_cipher_random((uint8_t *)&made->seed, sizeof made->seed);
    ls_json *frame = ls_json_create();
    if (frame) {
        (void)ls_json_array(frame, "games");
    }
    made->frame_bytes = print_json(frame, made->frame, sizeof made->frame);
    if (made->frame_bytes == 0) {
        ls_directory_destroy(made);
        return LS_NO_MEMORY;
    }
    *out = made;
    return LS_OK;
}

void ls_directory_destroy(ls_directory *directory)
{
    if (directory) {
        ls_release(directory->allocator, directory->entries);
        ls_release(directory->allocator, directory);
    }
}

static void hide(ls_directory *directory, entry *gone)
{
    directory->shown -= gone->is_shown ? 1 : 0;
    gone->is_shown = false;
}

void ls_directory_begin(ls_directory *directory, uint32_t place)
{
    LS_ASSERT(place < directory->places);
    directory->entries[place].counter = 0;
    directory->entries[place].challenge = 0;
}

void ls_directory_remove(ls_directory *directory, uint32_t place)
{
    LS_ASSERT(place < directory->places);
    hide(directory, &directory->entries[place]);
    directory->entries[place] = (entry){.is_shown = false};
}

/* ---- entries ---- */

static void fill_json(ls_json *json, const ls_relay_game *game)
{
    const ls_relay_listing *listing = &game->listing;
    char text[LS_RELAY_CODE_BYTES];
    ls_relay_game_code(game, text);
    ls_json_text(json, "code", text);
    ls_relay_listing_fill_json(json, listing);
    ls_json_number(json, "free", listing->seats - LS_MIN(listing->players, listing->seats));
    ls_json_number(json, "protocol", listing->protocol);
    ls_json_number(json, "ping_ms", game->ping_ms);
    if (listing->page[0] != '\0') {
        ls_json_text(json, "page", listing->page);
    }
}

static void write_json(entry *of)
{
    ls_json *json = ls_json_create();
    if (json) {
        fill_json(json, &of->game);
    }
    of->json_bytes = print_json(json, of->json, sizeof of->json);
}

/* A name is cleaned once: that takes longer than all else here. */
static void take_name(entry *of, ls_relay_listing *listing)
{
    if (strcmp(of->sent_name, listing->name) == 0) {
        memcpy(listing->name, of->game.listing.name, sizeof listing->name);
        return;
    }
    memcpy(of->sent_name, listing->name, sizeof of->sent_name);
    (void)ls_player_name_clean(listing->name, LS_NAME_AS_GIVEN);
}

static void show(ls_directory *directory, entry *of, const char *code, const ls_relay_list *list,
                 uint64_t now_ns)
{
    directory->shown += of->is_shown ? 0 : 1;
    of->is_shown = true;
    of->renewed_ns = now_ns;
    ls_relay_listing listing = list->listing;
    take_name(of, &listing);
    of->game.listing = listing;
    of->game.ping_ms = (uint16_t)LS_MIN((now_ns - of->asked_ns) / LS_NS_PER_MS, UINT16_MAX);
    memcpy(of->game.name, code, sizeof of->game.name);
    write_json(of);
}

bool ls_directory_receive(ls_directory *directory, uint32_t place,
                          const char code[LS_RELAY_NAME_CHARACTERS], const ls_relay_list *list,
                          uint64_t now_ns, ls_relay_packet *listed)
{
    LS_ASSERT(place < directory->places);
    entry *of = &directory->entries[place];
    if (list->counter <= of->counter || !ls_rate_use_spend(&of->lists, &LIST_LIMIT, now_ns)) {
        return false;
    }
    of->counter = list->counter;
    *listed = (ls_relay_packet){
        .kind = LS_RELAY_LISTED, .number = list->number, .counter = list->counter};
    bool is_proven =
        of->challenge != 0 && list->challenge == of->challenge && now_ns - of->asked_ns <= PROOF_NS;
    of->challenge = 0; /* each is good once */
    if (list->challenge == LS_RELAY_LIST_OVER) {
        hide(directory, of);
    } else if (!of->is_shown && directory->shown >= directory->games_max) {
        listed->value = LS_RELAY_LIST_FULL;
    } else if (is_proven) {
        show(directory, of, code, list, now_ns);
    } else {
        while (of->challenge == 0) {
            ls_cipher_random((uint8_t *)&of->challenge, sizeof of->challenge);
        }
        of->asked_ns = now_ns;
        listed->value = LS_RELAY_TO_BE_PROVEN;
        listed->challenge = of->challenge;
    }
    return true;
}

void ls_directory_expire(ls_directory *directory, uint64_t now_ns)
{
    for (uint32_t i = 0; i < directory->places; i++) {
        if (directory->entries[i].is_shown &&
            now_ns > directory->entries[i].renewed_ns + SHOWN_NS) {
            hide(directory, &directory->entries[i]);
        }
    }
}

/* ---- looks ---- */

static bool may_look(ls_directory *directory, const ls_endpoint *from, uint64_t now_ns)
{
    uint64_t origin = ls_endpoint_origin(from);
    uint64_t slot = ls_hash_bytes(&origin, sizeof origin, directory->seed) % LOOK_SLOTS;
    return ls_rate_use_spend(&directory->looks[slot], &LOOK_LIMIT, now_ns) &&
           ls_rate_use_spend(&directory->all_looks, &ALL_LOOKS_LIMIT, now_ns);
}

size_t ls_directory_look(ls_directory *directory, const ls_endpoint *from,
                         const ls_relay_packet *look, uint64_t now_ns,
                         uint8_t bytes[LS_RELAY_GAMES_BYTES_MAX])
{
    if (!may_look(directory, from, now_ns)) {
        return 0;
    }
    size_t size = ls_relay_games_begin(look, bytes);
    for (uint32_t i = look->place; i < directory->places; i++) {
        const entry *each = &directory->entries[i];
        if (each->is_shown && !ls_relay_games_add(bytes, &size, &each->game)) {
            ls_relay_games_end(bytes, i);
            break;
        }
    }
    return size;
}

uint32_t ls_directory_count(const ls_directory *directory)
{
    return directory->shown;
}

/* Each game with the comma that parts it from the one before. */
size_t ls_directory_json_bytes(const ls_directory *directory)
{
    size_t size = directory->frame_bytes;
    uint32_t count = 0;
    for (uint32_t i = 0; i < directory->places; i++) {
        const entry *each = &directory->entries[i];
        if (each->is_shown && each->json_bytes > 0) {
            size += each->json_bytes + (count++ > 0 ? 1 : 0);
        }
    }
    return size;
}

static char *append(char *at, const char *bytes, size_t size)
{
    memcpy(at, bytes, size);
    return at + size;
}

void ls_directory_write_json(const ls_directory *directory, char *out)
{
    size_t begin = directory->frame_bytes - FRAME_END_BYTES;
    char *at = append(out, directory->frame, begin);
    for (uint32_t i = 0; i < directory->places; i++) {
        const entry *each = &directory->entries[i];
        if (each->is_shown && each->json_bytes > 0) {
            at = append(at, ",", at > out + begin ? 1 : 0);
            at = append(at, each->json, each->json_bytes);
        }
    }
    at = append(at, directory->frame + begin, directory->frame_bytes - begin);
    LS_ASSERT(at == out + ls_directory_json_bytes(directory));
}
