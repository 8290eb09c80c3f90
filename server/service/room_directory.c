#include "lockstep/server/service/room_directory.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/common/base/text.h"

#include <string.h>

enum {
    BUCKETS = LS_SERVICE_ROOMS_MAX,
    NO_ROW = 0,         /* rows count from 1 where they are linked */
    NO_KEY = 0,         /* no row is found by it */
    ATTEMPTS_KEPT = 64, /* of those who were sent away last: they repeat themselves for a second */
};

/* A newcomer who was sent to another worker. */
typedef struct sent_attempt {
    uint64_t attempt;
    uint32_t to;
} sent_attempt;

/* The keys by which a row is found. */
typedef enum row_key {
    BY_NAME, /* the hash of it */
    BY_MATCH,
    BY_MATCH_BEFORE, /* the one before it in the same room; NO_KEY: there was none */
    ROW_KEYS,
} row_key;

typedef struct directory_row {
    char name[LS_ROOM_NAME_BYTES_MAX];
    uint64_t keys[ROW_KEYS];
    uint16_t next[ROW_KEYS]; /* of those in the same bucket */
    uint32_t worker;
    bool is_open;
} directory_row;

struct ls_room_directory {
    uint32_t intake;                              /* the worker that has it */
    uint32_t sent[LS_SERVICE_WORKERS_MAX];        /* newcomers to each, since its seats were told */
    uint32_t sent_before[LS_SERVICE_WORKERS_MAX]; /* of them, before the last second */
    uint32_t attempts;                            /* that were ever kept */
    sent_attempt kept[ATTEMPTS_KEPT];
    uint32_t count; /* rows behind the last one that is taken are free */
    ls_worker_seats seats[LS_SERVICE_WORKERS_MAX];
    uint16_t first[ROW_KEYS][BUCKETS];
    directory_row rows[LS_SERVICE_ROOMS_MAX];
};

ls_status ls_room_directory_create(ls_room_directory **out)
{
    ls_room_directory *directory = ls_allocate(ls_allocator_heap(), sizeof *directory);
    if (!directory) {
        return LS_NO_MEMORY;
    }
    *out = directory;
    return LS_OK;
}

void ls_room_directory_destroy(ls_room_directory *directory)
{
    ls_release(ls_allocator_heap(), directory);
}

/* ---- rows by their keys: a match starts with thousands of questions ---- */

static uint64_t name_key(const char *name)
{
    uint64_t key = ls_hash_bytes(name, strlen(name), 0);
    return key != NO_KEY ? key : 1;
}

/* The id that a name is, in 16 small hex digits; 0: it is none. */
static uint64_t id_of(const char *name)
{
    uint8_t bytes[sizeof(uint64_t)];
    char again[2 * sizeof bytes + 1];
    uint64_t id = 0;
    if (strlen(name) != sizeof again - 1 || !ls_hex_read(name, bytes, sizeof bytes)) {
        return 0;
    }
    for (uint32_t i = 0; i < sizeof bytes; i++) {
        id = id << 8 | bytes[i];
    }
    ls_hex_write(again, bytes, sizeof bytes);
    return strcmp(again, name) == 0 ? id : 0;
}

static uint16_t *first_of(ls_room_directory *directory, row_key by, uint64_t key)
{
    return &directory->first[by][key % BUCKETS];
}

static void link_row(ls_room_directory *directory, directory_row *row, row_key by, uint64_t key)
{
    row->keys[by] = key;
    if (key != NO_KEY) {
        uint16_t *first = first_of(directory, by, key);
        row->next[by] = *first;
        *first = (uint16_t)(row - directory->rows + 1);
    }
}

static void unlink_row(ls_room_directory *directory, const directory_row *row, row_key by)
{
    uint16_t *link = first_of(directory, by, row->keys[by]);
    if (row->keys[by] == NO_KEY) {
        return;
    }
    while (*link != row - directory->rows + 1) {
        link = &directory->rows[*link - 1].next[by];
    }
    *link = row->next[by];
}

/* `name`: that it has as well; NULL: any. NULL: there is no such row. */
static const directory_row *find(const ls_room_directory *directory, row_key by, uint64_t key,
                                 const char *name)
{
    for (uint16_t at = directory->first[by][key % BUCKETS]; at != NO_ROW;) {
        const directory_row *row = &directory->rows[at - 1];
        if (row->keys[by] == key && (!name || strcmp(row->name, name) == 0)) {
            return row;
        }
        at = row->next[by];
    }
    return NULL;
}

/* By its name or the id of its match. */
static const directory_row *find_row(const ls_room_directory *directory, const char *name)
{
    const directory_row *row = find(directory, BY_NAME, name_key(name), name);
    return row ? row : find(directory, BY_MATCH, id_of(name), NULL);
}

static directory_row *row_of(ls_room_directory *directory, const char *name)
{
    const directory_row *row = find(directory, BY_NAME, name_key(name), name);
    return row ? &directory->rows[row - directory->rows] : NULL;
}

/* The last row takes the place of one that goes. */
static void forget(ls_room_directory *directory, directory_row *row)
{
    directory_row *last = &directory->rows[--directory->count];
    for (uint32_t by = 0; by < ROW_KEYS; by++) {
        unlink_row(directory, row, by);
        if (last != row) {
            unlink_row(directory, last, by);
        }
    }
    *row = *last;
    for (uint32_t by = 0; last != row && by < ROW_KEYS; by++) {
        link_row(directory, row, by, last->keys[by]);
    }
    memset(last, 0, sizeof *last);
}

static directory_row *add(ls_room_directory *directory, const char *name, uint64_t match_id)
{
    if (directory->count == LS_SERVICE_ROOMS_MAX) {
        return NULL;
    }
    directory_row *row = &directory->rows[directory->count++];
    ls_name_copy(row->name, sizeof row->name, name);
    link_row(directory, row, BY_NAME, name_key(row->name));
    link_row(directory, row, BY_MATCH, match_id);
    return row;
}

static void set_match(ls_room_directory *directory, directory_row *row, uint64_t match_id)
{
    uint64_t before = row->keys[BY_MATCH];
    if (before != match_id) {
        unlink_row(directory, row, BY_MATCH);
        unlink_row(directory, row, BY_MATCH_BEFORE);
        link_row(directory, row, BY_MATCH, match_id);
        link_row(directory, row, BY_MATCH_BEFORE, before);
    }
}

void ls_room_directory_note(ls_room_directory *directory, const char *name, uint64_t match_id,
                            uint32_t worker, bool is_open)
{
    directory_row *row = row_of(directory, name);
    if (match_id == 0) {
        if (row) {
            forget(directory, row);
        }
        return;
    }
    row = row ? row : add(directory, name, match_id);
    if (row) {
        set_match(directory, row, match_id);
        row->worker = worker;
        row->is_open = is_open;
    }
}

uint32_t ls_room_directory_find(const ls_room_directory *directory, const char *name)
{
    const directory_row *row = find_row(directory, name);
    return row ? row->worker : UINT32_MAX;
}

uint32_t ls_room_directory_find_match(const ls_room_directory *directory, uint64_t match_id)
{
    const directory_row *row = find(directory, BY_MATCH_BEFORE, match_id, NULL);
    row = row ? row : find(directory, BY_MATCH, match_id, NULL);
    return row ? row->worker : UINT32_MAX;
}

bool ls_room_directory_is_expected(const ls_room_directory *directory, const char *name,
                                   uint64_t match_id)
{
    const directory_row *by_match = find(directory, BY_MATCH, match_id, NULL);
    const directory_row *by_name = find_row(directory, name);
    return (by_match && !by_match->is_open) || (by_name && !by_name->is_open);
}

/* ---- seats ---- */

void ls_room_directory_note_seats(ls_room_directory *directory, uint32_t worker,
                                  const ls_worker_seats *seats)
{
    if (worker < LS_SERVICE_WORKERS_MAX) {
        directory->seats[worker] = *seats;
        directory->sent[worker] = 0;
        directory->sent_before[worker] = 0;
    }
}

void ls_room_directory_lapse(ls_room_directory *directory)
{
    for (uint32_t i = 0; i < LS_SERVICE_WORKERS_MAX; i++) {
        directory->sent[i] -= directory->sent_before[i];
        directory->sent_before[i] = directory->sent[i];
    }
}

static bool is_better(const ls_worker_seats *seats, const ls_worker_seats *than)
{
    if ((seats->awaited > 0) != (than->awaited > 0)) {
        return seats->awaited > 0;
    }
    return seats->players < than->players;
}

uint32_t ls_worker_seats_best(const ls_worker_seats *seats, uint32_t workers)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < workers; i++) {
        if (seats[i].open > 0 && (best == UINT32_MAX || is_better(&seats[i], &seats[best]))) {
            best = i;
        }
    }
    return best;
}

uint32_t ls_room_directory_best(const ls_room_directory *directory)
{
    return ls_worker_seats_best(directory->seats, LS_SERVICE_WORKERS_MAX);
}

uint32_t ls_room_directory_intake(const ls_room_directory *directory)
{
    return directory->intake;
}

void ls_room_directory_set_intake(ls_room_directory *directory, uint32_t worker)
{
    if (worker < LS_SERVICE_WORKERS_MAX) {
        directory->intake = worker;
    }
}

bool ls_room_directory_is_other_intake(const ls_room_directory *directory, uint32_t own)
{
    return directory->intake != own && directory->seats[directory->intake].open > 0;
}

static bool has_seat(const ls_room_directory *directory, uint32_t worker)
{
    return directory->seats[worker].open > directory->sent[worker];
}

static const sent_attempt *find_attempt(const ls_room_directory *directory, uint64_t attempt)
{
    for (uint32_t i = 0; i < LS_MIN(directory->attempts, ATTEMPTS_KEPT); i++) {
        if (directory->kept[i].attempt == attempt) {
            return &directory->kept[i];
        }
    }
    return NULL;
}

static void note_sent(ls_room_directory *directory, uint64_t attempt, uint32_t to)
{
    directory->kept[directory->attempts++ % ATTEMPTS_KEPT] = (sent_attempt){attempt, to};
    directory->sent[to]++;
}

uint32_t ls_room_directory_send(ls_room_directory *directory, uint32_t own, uint64_t attempt)
{
    const sent_attempt *before = find_attempt(directory, attempt);
    if (before) {
        return before->to;
    }
    uint32_t to = directory->intake;
    if (!has_seat(directory, to)) {
        to = has_seat(directory, own) ? own : UINT32_MAX;
        for (uint32_t i = 0; i < LS_SERVICE_WORKERS_MAX && to == UINT32_MAX; i++) {
            to = has_seat(directory, i) ? i : UINT32_MAX;
        }
    }
    if (to != UINT32_MAX && to != own) {
        note_sent(directory, attempt, to);
    }
    return to;
}

bool ls_room_directory_hand_on(ls_room_directory *directory, uint32_t own)
{
    if (directory->intake != own || directory->seats[own].awaited > 0) {
        return false;
    }
    const ls_worker_seats *seats = directory->seats;
    uint32_t best = ls_room_directory_best(directory);
    if (best == UINT32_MAX || (seats[own].open > 0 && !is_better(&seats[best], &seats[own]))) {
        return false;
    }
    directory->intake = best;
    return true;
}
