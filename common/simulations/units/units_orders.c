#include "lockstep/common/simulations/units/units_orders.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"

#include <stdbool.h>

#define POINT_BYTES 4u
#define ID_BYTES 2u
#define RAW_PER_STEP (LS_FIXED_ONE / 64)

ls_units_point ls_units_point_from(ls_vec2 position)
{
    ls_fixed high = UINT16_MAX * RAW_PER_STEP;
    ls_fixed x = ls_fixed_clamp(position.x, 0, high) + RAW_PER_STEP / 2;
    ls_fixed y = ls_fixed_clamp(position.y, 0, high) + RAW_PER_STEP / 2;
    return (ls_units_point){(uint16_t)(x / RAW_PER_STEP), (uint16_t)(y / RAW_PER_STEP)};
}

ls_vec2 ls_units_point_position(ls_units_point point)
{
    return (ls_vec2){point.x * RAW_PER_STEP, point.y * RAW_PER_STEP};
}

/* The bytes that follow the head and, for a list, its count; false for an unknown form. */
static bool selection_bytes(uint32_t select, uint32_t list_count, uint32_t *out)
{
    switch (select) {
    case LS_UNITS_SELECT_LIST:
        *out = 1 + list_count * ID_BYTES;
        return true;
    case LS_UNITS_SELECT_KINDS:
        *out = 1;
        return true;
    case LS_UNITS_SELECT_AREA:
        *out = 1 + 2 * POINT_BYTES;
        return true;
    default:
        return false;
    }
}

static bool argument_bytes(uint32_t verb, uint32_t *out)
{
    switch (verb) {
    case LS_UNITS_STOP:
        *out = 0;
        return true;
    case LS_UNITS_ATTACK:
        *out = ID_BYTES;
        return true;
    case LS_UNITS_MOVE:
    case LS_UNITS_ATTACK_MOVE:
        *out = POINT_BYTES;
        return true;
    default:
        return false;
    }
}

static ls_units_point load_point(const uint8_t *bytes)
{
    return (ls_units_point){ls_load_u16(bytes), ls_load_u16(bytes + 2)};
}

static void store_point(uint8_t *bytes, ls_units_point point)
{
    ls_store_u16(bytes, point.x);
    ls_store_u16(bytes + 2, point.y);
}

/* `bytes` begin behind the head and are as many as selection_bytes said. */
static void read_selection(const uint8_t *bytes, ls_units_order *out)
{
    if (out->select != LS_UNITS_SELECT_LIST) {
        out->kinds = bytes[0];
    }
    if (out->select == LS_UNITS_SELECT_AREA) {
        out->corners[0] = load_point(bytes + 1);
        out->corners[1] = load_point(bytes + 1 + POINT_BYTES);
    }
    for (uint32_t i = 0; i < out->list_count; i++) {
        out->list[i] = ls_load_u16(bytes + 1 + i * ID_BYTES);
    }
}

static void write_selection(const ls_units_order *order, uint8_t *bytes)
{
    bool is_list = order->select == LS_UNITS_SELECT_LIST;
    bytes[0] = is_list ? order->list_count : order->kinds;
    if (order->select == LS_UNITS_SELECT_AREA) {
        store_point(bytes + 1, order->corners[0]);
        store_point(bytes + 1 + POINT_BYTES, order->corners[1]);
    }
    for (uint32_t i = 0; is_list && i < order->list_count; i++) {
        ls_store_u16(bytes + 1 + i * ID_BYTES, order->list[i]);
    }
}

static void read_argument(const uint8_t *bytes, ls_units_order *out)
{
    if (out->verb == LS_UNITS_ATTACK) {
        out->target = ls_load_u16(bytes);
    } else if (out->verb != LS_UNITS_STOP) {
        out->point = load_point(bytes);
    }
}

static void write_argument(const ls_units_order *order, uint8_t *bytes)
{
    if (order->verb == LS_UNITS_ATTACK) {
        ls_store_u16(bytes, order->target);
    } else if (order->verb != LS_UNITS_STOP) {
        store_point(bytes, order->point);
    }
}

uint32_t ls_units_order_read(const uint8_t *bytes, uint32_t size, ls_units_order *out)
{
    if (size < 2) {
        return 0;
    }
    uint32_t verb = bytes[0] & 0x0fu;
    uint32_t select = bytes[0] >> 4;
    uint32_t list_count = select == LS_UNITS_SELECT_LIST ? bytes[1] : 0;
    uint32_t selection = 0;
    uint32_t argument = 0;
    if (list_count > LS_UNITS_LIST_MAX || !selection_bytes(select, list_count, &selection) ||
        !argument_bytes(verb, &argument) || size < 1 + selection + argument) {
        return 0;
    }
    out->verb = (ls_units_verb)verb;
    out->select = (ls_units_select)select;
    out->list_count = (uint8_t)list_count;
    read_selection(bytes + 1, out);
    read_argument(bytes + 1 + selection, out);
    return 1 + selection + argument;
}

uint32_t ls_units_order_write(const ls_units_order *order, uint8_t *bytes, uint32_t capacity)
{
    bool is_list = order->select == LS_UNITS_SELECT_LIST;
    uint32_t list_count = is_list ? order->list_count : 0;
    uint32_t selection = 0;
    uint32_t argument = 0;
    bool is_known = selection_bytes(order->select, list_count, &selection) &&
                    argument_bytes(order->verb, &argument);
    LS_ASSERT(is_known && list_count <= LS_UNITS_LIST_MAX);
    if (capacity < 1 + selection + argument) {
        return 0;
    }
    bytes[0] = (uint8_t)((uint32_t)order->verb | (uint32_t)order->select << 4);
    write_selection(order, bytes + 1);
    write_argument(order, bytes + 1 + selection);
    return 1 + selection + argument;
}
