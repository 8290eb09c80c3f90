#include "lockstep/common/simulations/arena/arena_touches.h"

#include <string.h>

/* Impulses below this are none, kg m/s. */
#define PRESSED_MIN LS_FIXED_RATIO(1, 65536)

/* ---- impulses in few bits ---- */

/* How a number that is not negative is packed: an exponent above so many bits of mantissa. */
typedef struct packing {
    uint32_t mantissa_bits;
    uint32_t unit_bits; /* the smallest step is 2^(unit_bits - 32) */
    uint32_t max;       /* of packed numbers: larger ones are packed as this */
} packing;

/* Steps of a millionth at 1 kg m/s, up to 4096. */
static const packing fine = {.mantissa_bits = 20, .unit_bits = 9, .max = 0xffffff};

/* Steps of a thousandth at 1 kg m/s, up to 2^17. */
static const packing coarse = {.mantissa_bits = 10, .unit_bits = 8, .max = 0x7fff};

#define COARSE_SIGN 0x8000u

static uint32_t pack(packing kind, uint64_t number)
{
    uint64_t one = UINT64_C(1) << kind.mantissa_bits;
    uint64_t units = number >> (kind.unit_bits - 1);
    units = units / 2 + units % 2;
    uint64_t exponent = 0;
    while (units >= 2 * one) {
        units = units / 2 + units % 2;
        exponent++;
    }
    return (uint32_t)LS_MIN(exponent * one + units, kind.max);
}

static ls_fixed unpack(packing kind, uint32_t packed)
{
    uint64_t one = UINT64_C(1) << kind.mantissa_bits;
    uint32_t exponent = packed >> kind.mantissa_bits;
    uint64_t units = packed & (one - 1);
    if (exponent > 0) {
        units = (units + one) << (exponent - 1);
    }
    return (ls_fixed)(units << kind.unit_bits);
}

static uint16_t pack_signed(ls_fixed number)
{
    return (uint16_t)(pack(coarse, ls_magnitude(number)) | (number < 0 ? COARSE_SIGN : 0));
}

static ls_fixed unpack_signed(uint16_t packed)
{
    ls_fixed number = unpack(coarse, packed & ~COARSE_SIGN);
    return packed & COARSE_SIGN ? -number : number;
}

/* ---- where a contact is remembered ---- */

static ls_arena_touch *touches_of(const ls_arena_world *world, uint32_t body)
{
    return &world->touches[body * LS_ARENA_TOUCHES_EACH];
}

static uint16_t name_of(uint32_t body)
{
    return (uint16_t)(body + 1);
}

/* The place of the touch among those of the body that is called `other`, NULL if there is none.
 * Free places come last. */
static ls_arena_touch *find(const ls_arena_world *world, uint32_t body, uint16_t other)
{
    ls_arena_touch *touches = touches_of(world, body);
    for (uint32_t i = 0; i < LS_ARENA_TOUCHES_EACH; i++) {
        if (touches[i].other == other) {
            return &touches[i];
        }
        if (touches[i].other == 0) {
            return NULL;
        }
    }
    return NULL;
}

/* The first body of a contact looks for it, then the second one does. */
static ls_arena_touch *find_touch(const ls_arena_world *world, const ls_arena_contact *contact)
{
    if (contact->b == LS_ARENA_WALL) {
        return find(world, contact->a, (uint16_t)(LS_ARENA_TOUCH_WALLS + contact->wall));
    }
    ls_arena_touch *touch = find(world, contact->a, name_of(contact->b));
    return touch ? touch : find(world, contact->b, name_of(contact->a));
}

void ls_arena_touches_recall(const ls_arena_world *world, ls_arena_contact *contact)
{
    const ls_arena_touch *touch = find_touch(world, contact);
    if (!touch) {
        return;
    }
    ls_fixed first = unpack(fine, (uint32_t)touch->first << 8 | touch->first_fine);
    ls_fixed second = unpack(fine, (uint32_t)touch->second << 8 | touch->second_fine);
    contact->friction.impulse = unpack_signed(touch->tangent);
    if (contact->point_count == 1) {
        contact->points[0].row.impulse = ls_fixed_add(first, second);
    } else {
        contact->points[0].row.impulse = first;
        contact->points[1].row.impulse = second;
    }
    contact->is_pressed = 1;
}

/* ---- what is remembered ---- */

static bool is_asleep(const ls_arena_world *world, uint32_t body)
{
    return body < world->layout.body_count && ls_arena_is_asleep(world, &world->bodies[body]);
}

/* The contacts between bodies that sleep were not looked for in this tick. */
static void forget(const ls_arena_world *world, uint32_t body)
{
    ls_arena_touch *touches = touches_of(world, body);
    ls_arena_touch left[LS_ARENA_TOUCHES_EACH] = {{0}};
    uint32_t count = 0;
    if (is_asleep(world, body)) {
        for (uint32_t i = 0; i < LS_ARENA_TOUCHES_EACH; i++) {
            uint16_t other = touches[i].other;
            if (other >= LS_ARENA_TOUCH_WALLS || (other > 0 && is_asleep(world, other - 1u))) {
                left[count++] = touches[i];
            }
        }
    }
    memcpy(touches, left, sizeof left);
}

static uint32_t count_touches(const ls_arena_world *world, uint32_t body)
{
    const ls_arena_touch *touches = touches_of(world, body);
    uint32_t count = 0;
    while (count < LS_ARENA_TOUCHES_EACH && touches[count].other != 0) {
        count++;
    }
    return count;
}

/* A free place, with the body of the two that has more of them; NULL if neither has one. */
static ls_arena_touch *find_place(const ls_arena_world *world, const ls_arena_contact *contact,
                                  uint16_t *other)
{
    bool is_wall = contact->b == LS_ARENA_WALL;
    uint32_t used_a = count_touches(world, contact->a);
    uint32_t used_b = is_wall ? LS_ARENA_TOUCHES_EACH : count_touches(world, contact->b);
    uint32_t owner = used_a <= used_b ? contact->a : contact->b;
    uint32_t used = LS_MIN(used_a, used_b);
    *other = name_of(owner == contact->a ? contact->b : contact->a);
    if (is_wall) {
        *other = (uint16_t)(LS_ARENA_TOUCH_WALLS + contact->wall);
    }
    return used < LS_ARENA_TOUCHES_EACH ? &touches_of(world, owner)[used] : NULL;
}

static bool has_bounced(const ls_arena_contact *contact)
{
    return (contact->points[0].bounce | contact->points[1].bounce) != 0;
}

static void remember(const ls_arena_world *world, const ls_arena_contact *contact)
{
    ls_fixed first = contact->points[0].row.impulse;
    ls_fixed second = contact->points[1].row.impulse;
    if (ls_fixed_add(first, second) < PRESSED_MIN || has_bounced(contact)) {
        return;
    }
    uint16_t other;
    ls_arena_touch *touch = find_place(world, contact, &other);
    if (touch) {
        uint32_t packed_first = pack(fine, (uint64_t)first);
        uint32_t packed_second = pack(fine, (uint64_t)second);
        *touch = (ls_arena_touch){
            .other = other,
            .first = (uint16_t)(packed_first >> 8),
            .second = (uint16_t)(packed_second >> 8),
            .tangent = pack_signed(contact->friction.impulse),
            .first_fine = (uint8_t)packed_first,
            .second_fine = (uint8_t)packed_second,
        };
    }
}

void ls_arena_touches_keep(const ls_arena_world *world)
{
    for (uint32_t i = 0; i < world->layout.body_count; i++) {
        if (touches_of(world, i)->other != 0) {
            forget(world, i);
        }
    }
    for (uint32_t i = 0; i < world->match->contacts; i++) {
        remember(world, &world->contacts[i]);
    }
}
