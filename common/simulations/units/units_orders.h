/* Units orders: what a player may tell an army, and its bytes. Reading is safe for any bytes and
 * judges form alone; whether a unit exists and whose it is the step decides, and ignores what
 * makes no sense. Called by the orders pass, by bots and by user interfaces.
 *
 * An input is any number of orders, one after the other, up to its end. All numbers are
 * little-endian. An order that is cut short or has an unknown head ends the reading, and so does
 * the limit of LS_UNITS_ORDERS_MAX orders; what stands before counts.
 *
 *   order     = head selection argument
 *   head      = u8: verb in the low four bits, form of the selection in the high four
 *   selection = LIST: u8 count, count * u16 unit
 *               KINDS: u8 mask, bit k for every unit of kind k
 *               AREA: u8 mask, point, point: those of these kinds between two corners
 *   argument  = STOP: nothing; MOVE, ATTACK_MOVE: point; ATTACK: u16 unit
 *   point     = u16 x, u16 y in 1/64 m
 *
 * Units are named by slot. A selection takes the sender's own living units and passes over all
 * others; one without any is an order to nobody. */
#ifndef LOCKSTEP_COMMON_SIMULATIONS_UNITS_UNITS_ORDERS_H
#define LOCKSTEP_COMMON_SIMULATIONS_UNITS_UNITS_ORDERS_H

#include "lockstep/common/maths/fixed.h"

#include <stdint.h>

#define LS_UNITS_INPUT_BYTES_MAX 512u
#define LS_UNITS_ORDERS_MAX 16u
#define LS_UNITS_LIST_MAX 240u
#define LS_UNITS_ALL_KINDS 0xffu

typedef enum ls_units_verb {
    LS_UNITS_STOP = 1,        /* guard this place: fight what comes into sight, then return */
    LS_UNITS_MOVE = 2,        /* go there without fighting, in formation, then guard */
    LS_UNITS_ATTACK = 3,      /* follow and fight this unit until it is dead, then guard */
    LS_UNITS_ATTACK_MOVE = 4, /* go there, fight what comes into sight, then guard */
} ls_units_verb;

typedef enum ls_units_select {
    LS_UNITS_SELECT_LIST = 1,
    LS_UNITS_SELECT_KINDS = 2,
    LS_UNITS_SELECT_AREA = 3,
} ls_units_select;

/* In 1/64 m: 0 to 1023.98 m. */
typedef struct ls_units_point {
    uint16_t x;
    uint16_t y;
} ls_units_point;

typedef struct ls_units_order {
    ls_units_verb verb;
    ls_units_select select;
    uint8_t kinds;             /* KINDS, AREA */
    uint8_t list_count;        /* LIST, at most LS_UNITS_LIST_MAX */
    ls_units_point corners[2]; /* AREA, any two opposite ones */
    ls_units_point point;      /* MOVE, ATTACK_MOVE */
    uint16_t target;           /* ATTACK */
    uint16_t list[LS_UNITS_LIST_MAX];
} ls_units_order;

/* Reads the order at the start of `bytes`: returns how many bytes it takes, or 0 when they do not
 * hold a whole order of known form; then `out` may be half filled. */
uint32_t ls_units_order_read(const uint8_t *bytes, uint32_t size, ls_units_order *out);

/* Returns how many bytes the order takes, or 0 when there are more than `capacity`; then nothing
 * is written. The order is one that reading could give. */
uint32_t ls_units_order_write(const ls_units_order *order, uint8_t *bytes, uint32_t capacity);

/* To the nearest point, cut to what 16 bits hold; and back, exactly. */
ls_units_point ls_units_point_from(ls_vec2 position);
ls_vec2 ls_units_point_position(ls_units_point point);

#endif
