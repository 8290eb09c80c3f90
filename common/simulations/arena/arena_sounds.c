/* The sounds of a step of an arena match: shots, hits, ships that are lost and ships that come into
 * play, told by comparing the states before and after it. */
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/common/simulations/arena/arena_state.h"

#define SHOT_VOLUME LS_FIXED_RATIO(1, 2)
#define HIT_VOLUME LS_FIXED_RATIO(6, 10)
#define LOST_VOLUME LS_FIXED_ONE
#define SPAWN_VOLUME LS_FIXED_RATIO(6, 10)

static void push_cue(ls_sound_list *list, uint32_t id, uint32_t slot, ls_fixed volume,
                     ls_vec2 place)
{
    ls_sound_push(list, (ls_sound){.kind = LS_SOUND_CUE,
                                   .id = id,
                                   .owner = slot + 1,
                                   .volume = volume,
                                   .has_place = true,
                                   .x = place.x,
                                   .y = place.y});
}

/* Where the slot's ship was at the start of the step. */
static ls_vec2 ship_place(const ls_arena_view *before, uint32_t slot)
{
    return before->bodies[slot].position;
}

/* A shot that is gone before its time met something: a body, if its owner counts a hit more, and
 * else a wall. At point-blank range it hits in the step in which it is fired. */
static void push_hits(const ls_arena_view *before, const ls_arena_view *now, uint32_t slot,
                      ls_sound_list *list)
{
    uint32_t first = slot * now->layout.shots_each;
    uint32_t hits_before = before->ships[slot].hits;
    uint32_t hits = now->ships[slot].hits;
    uint32_t hits_left = hits > hits_before ? hits - hits_before : 0;
    for (uint32_t i = first; i < first + now->layout.shots_each && hits_left > 0; i++) {
        const ls_arena_shot *old = &before->shots[i];
        if (now->shots[i].serial != old->serial && old->ticks_left > 1) {
            push_cue(list, LS_ARENA_CUE_HIT, slot, HIT_VOLUME, old->position);
            hits_left--;
        }
    }
    for (; hits_left > 0; hits_left--) {
        push_cue(list, LS_ARENA_CUE_HIT, slot, HIT_VOLUME, ship_place(before, slot));
    }
}

/* A ship that has fired has to wait until it can fire again. */
static void push_shot(const ls_arena_view *before, const ls_arena_view *now, uint32_t slot,
                      ls_sound_list *list)
{
    if (now->ships[slot].cooldown_ticks > before->ships[slot].cooldown_ticks) {
        push_cue(list, LS_ARENA_CUE_SHOT, slot, SHOT_VOLUME, ship_place(before, slot));
    }
}

static void push_ship(const ls_arena_view *before, const ls_arena_view *now, uint32_t slot,
                      ls_sound_list *list)
{
    const ls_arena_body *body = &now->bodies[slot];
    if (now->ships[slot].deaths > before->ships[slot].deaths) {
        push_cue(list, LS_ARENA_CUE_LOST, slot, LOST_VOLUME, ship_place(before, slot));
    }
    if (body->shape != LS_ARENA_NONE && body->serial != before->bodies[slot].serial) {
        push_cue(list, LS_ARENA_CUE_SPAWN, slot, SPAWN_VOLUME, body->position);
    }
}

void ls_arena_sounds(const ls_sim_config *config, const void *previous, const void *current,
                     ls_sound_list *list)
{
    ls_arena_view before = ls_arena_view_of(config, previous);
    ls_arena_view now = ls_arena_view_of(config, current);
    for (uint32_t slot = 0; slot < now.layout.player_count; slot++) {
        push_shot(&before, &now, slot, list);
        push_hits(&before, &now, slot, list);
        push_ship(&before, &now, slot, list);
    }
}
