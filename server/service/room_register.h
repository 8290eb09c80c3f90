/* Room register: the rooms that a service has, by name: their settings, their worker, their journal
 * and their newest report; the sums of those that are gone; and who is banned. Written to a file as
 * they change, so that a service that was killed knows all this again: a line for each change, and
 * all anew once the changes are longer than that. Called by room_keeper. */
#ifndef LOCKSTEP_SERVER_SERVICE_ROOM_REGISTER_H
#define LOCKSTEP_SERVER_SERVICE_ROOM_REGISTER_H

#include "lockstep/server/service/ban_list.h"
#include "lockstep/server/service/service_config.h"
#include "lockstep/server/service/worker_message.h"

typedef struct ls_registered_room {
    ls_room_report report;                  /* with name, group and worker from the start */
    const ls_room_settings *settings;       /* at first none; see ls_room_register_set */
    char journal[LS_WORKER_PATH_BYTES_MAX]; /* "": it has none */
    bool is_open;       /* its worker has it; else it is being opened, or its worker is gone */
    bool is_asked;      /* its worker was told to open it */
    bool is_unplayed;   /* no player ever played in its journal: that goes with it */
    bool is_paused;     /* by an operator: it goes on so after its worker is gone, ... */
    ls_text pause_why;  /* ... with these words */
    bool is_unrecorded; /* it is open, and there was no journal of it when that was looked for */
    bool is_kept;       /* it was open before: when it cannot go on now, it is not forgotten */
    uint32_t failures;  /* to go on, one after the other */
    uint64_t again_ns;  /* then it is tried again */
    uint32_t crashes;   /* of its worker, in which it was at work for this room, within a while */
    uint64_t crashed_ns;
} ls_registered_room;

typedef struct ls_room_register ls_room_register;

/* `path` of the file; NULL: there is none. Rooms that the file knows are there, not open; a journal
 * in the folder of the file is found there wherever that folder is now. IO or MALFORMED with `why`:
 * the file is there and cannot be used. ALREADY_STARTED: another register has the file. */
ls_status ls_room_register_create(const char *path, ls_room_register **out, ls_text *why);
/* NULL is allowed. */
void ls_room_register_destroy(ls_room_register *rooms);

uint32_t ls_room_register_count(const ls_room_register *rooms);
/* In the order of their names. */
ls_registered_room *ls_room_register_at(const ls_room_register *rooms, uint32_t index);
ls_registered_room *ls_room_register_find(const ls_room_register *rooms, const char *name);

/* A room of this name, which no other has. FULL or NO_MEMORY: NULL. */
ls_registered_room *ls_room_register_add(ls_room_register *rooms, const char *name);

/* NO_MEMORY: it has the settings of before. */
ls_status ls_room_register_set(ls_registered_room *room, const ls_room_settings *settings);

/* The room is over, or could not be opened: its counters are added to those of the rooms that are
 * gone. */
void ls_room_register_remove(ls_room_register *rooms, const char *name);

/* Its worker is gone: what it counted since it was opened is kept, and counts from zero again. */
void ls_room_register_lose(ls_room_register *rooms, ls_registered_room *room);

const ls_room_counters *ls_room_register_gone(const ls_room_register *rooms);
uint64_t ls_room_register_opened(const ls_room_register *rooms);
uint64_t ls_room_register_ended(const ls_room_register *rooms);
void ls_room_register_note_opened(ls_room_register *rooms);

/* To be changed by its owner, who saves it. */
ls_ban_list *ls_room_register_bans(ls_room_register *rooms);

/* This has changed: the room of this name, which may be gone; NULL: the bans. */
void ls_room_register_note(ls_room_register *rooms, const char *name);

/* Writes all changes that were noted, and waits for the disk once. IO with `why`. */
ls_status ls_room_register_save(ls_room_register *rooms, ls_text *why);

#endif
