#include "lockstep/server/service/room_directory.h"

#include "lockstep/common/base/allocator.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    ID_BYTES = 17,
    ATTEMPTS_KEPT = 64, /* of those who were sent away last: they repeat themselves for a second */
};

/* A newcomer who was sent to another worker. */
typedef struct sent_attempt {
    uint64_t attempt;
    uint32_t to;
} sent_attempt;

typedef struct directory_row {
    char name[LS_ROOM_NAME_BYTES_MAX]; /* "": free */
    char id[ID_BYTES];
    char id_before[ID_BYTES]; /* of the match before this one; "": there was none */
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

static directory_row *row_of(ls_room_directory *directory, const char *name)
{
    for (uint32_t i = 0; i < directory->count; i++) {
        if (strcmp(directory->rows[i].name, name) == 0) {
            return &directory->rows[i];
        }
    }
    return NULL;
}

static void forget(ls_room_directory *directory, directory_row *row)
{
    *row = directory->rows[--directory->count];
    memset(&directory->rows[directory->count], 0, sizeof *row);
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
    if (!row && directory->count < LS_SERVICE_ROOMS_MAX) {
        row = &directory->rows[directory->count++];
    }
    if (row) {
        char before[ID_BYTES];
        memcpy(before, row->id, sizeof before);
        ls_name_copy(row->name, sizeof row->name, name);
        snprintf(row->id, sizeof row->id, "%016" PRIx64, match_id);
        if (before[0] != '\0' && strcmp(before, row->id) != 0) {
            memcpy(row->id_before, before, sizeof before);
        }
        row->worker = worker;
        row->is_open = is_open;
    }
}

/* By its name or the id of its match; NULL: there is none. */
static const directory_row *find_row(const ls_room_directory *directory, const char *name)
{
    for (uint32_t i = 0; i < directory->count; i++) {
        const directory_row *row = &directory->rows[i];
        if (strcmp(row->name, name) == 0 || strcmp(row->id, name) == 0) {
            return row;
        }
    }
    return NULL;
}

uint32_t ls_room_directory_find(const ls_room_directory *directory, const char *name)
{
    const directory_row *row = find_row(directory, name);
    return row ? row->worker : UINT32_MAX;
}

uint32_t ls_room_directory_find_match(const ls_room_directory *directory, uint64_t match_id)
{
    char id[ID_BYTES];
    snprintf(id, sizeof id, "%016" PRIx64, match_id);
    for (uint32_t i = 0; i < directory->count; i++) {
        if (strcmp(directory->rows[i].id_before, id) == 0) {
            return directory->rows[i].worker;
        }
    }
    return ls_room_directory_find(directory, id);
}

bool ls_room_directory_is_expected(const ls_room_directory *directory, const char *name,
                                   uint64_t match_id)
{
    char id[ID_BYTES];
    snprintf(id, sizeof id, "%016" PRIx64, match_id);
    const directory_row *by_id = find_row(directory, id);
    const directory_row *by_name = find_row(directory, name);
    return (by_id && !by_id->is_open) || (by_name && !by_name->is_open);
}

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
