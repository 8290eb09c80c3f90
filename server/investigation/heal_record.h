/* Heal record: how often a slot was healed, and whether it may be once more. Knows nothing of how
 * it is healed. */
#ifndef LOCKSTEP_SERVER_INVESTIGATION_HEAL_RECORD_H
#define LOCKSTEP_SERVER_INVESTIGATION_HEAL_RECORD_H

#include "lockstep/common/simulation/simulation.h"

enum {
    LS_HEALS_AT_ONCE = 3, /* within 10 s; more of them only one in 2 s */
};

typedef enum ls_heal_phase {
    LS_HEAL_NONE,   /* not by the whole state */
    LS_HEAL_WANTED, /* the state is to be sent */
    LS_HEAL_SENT,   /* the player has been told that it comes */
} ls_heal_phase;

typedef struct ls_heal_record {
    ls_heal_phase phase;
    ls_tick tick;                         /* SENT: of the state */
    uint64_t begun_ns;                    /* when the healing that goes on began; 0: none does */
    uint64_t spent_ns;                    /* by healings, in all */
    uint64_t healed_ns[LS_HEALS_AT_ONCE]; /* the newest first, without spent_ns; 0: never */
} ls_heal_record;

/* False: the player was healed too often, and differs again. Else the time begins to count. */
bool ls_heal_record_begin(ls_heal_record *record, uint64_t now_ns);

/* The player is gone, or will be dropped. */
void ls_heal_record_end(ls_heal_record *record, uint64_t now_ns);

/* The player has got the server's state. */
void ls_heal_record_succeed(ls_heal_record *record, uint64_t now_ns);

#endif
