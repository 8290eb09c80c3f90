#include "lockstep/common/simulations/units/units_state.h"

#include <criterion/criterion.h>
#include <string.h>

static ls_units_order listed(ls_units_verb verb, uint8_t count)
{
    ls_units_order order = {.verb = verb,
                            .select = LS_UNITS_SELECT_LIST,
                            .list_count = count,
                            .point = {300, 65535},
                            .target = 19999};
    for (uint32_t i = 0; i < count; i++) {
        order.list[i] = (uint16_t)(i * 83);
    }
    return order;
}

static void assert_same(const ls_units_order *a, const ls_units_order *b)
{
    cr_assert_eq(a->verb, b->verb);
    cr_assert_eq(a->select, b->select);
    if (a->select == LS_UNITS_SELECT_LIST) {
        cr_assert_eq(a->list_count, b->list_count);
        cr_assert_arr_eq(a->list, b->list, a->list_count * sizeof a->list[0]);
    } else {
        cr_assert_eq(a->kinds, b->kinds);
    }
    if (a->select == LS_UNITS_SELECT_AREA) {
        cr_assert_arr_eq(a->corners, b->corners, sizeof a->corners);
    }
    if (a->verb == LS_UNITS_ATTACK) {
        cr_assert_eq(a->target, b->target);
    } else if (a->verb != LS_UNITS_STOP) {
        cr_assert_eq(a->point.x, b->point.x);
        cr_assert_eq(a->point.y, b->point.y);
    }
}

static ls_units_order order_of(ls_units_verb verb, ls_units_select select)
{
    ls_units_order order = listed(verb, select == LS_UNITS_SELECT_LIST ? 5 : 0);
    order.select = select;
    order.kinds = 0xa5;
    order.corners[0] = (ls_units_point){1, 2};
    order.corners[1] = (ls_units_point){40000, 3};
    return order;
}

Test(units_orders, every_form_reads_back_as_written)
{
    for (int verb = LS_UNITS_STOP; verb <= LS_UNITS_ATTACK_MOVE; verb++) {
        for (int select = LS_UNITS_SELECT_LIST; select <= LS_UNITS_SELECT_AREA; select++) {
            ls_units_order order = order_of((ls_units_verb)verb, (ls_units_select)select);
            ls_units_order read = {0};
            uint8_t bytes[LS_UNITS_INPUT_BYTES_MAX];
            uint32_t size = ls_units_order_write(&order, bytes, sizeof bytes);
            cr_assert_gt(size, 0);
            cr_assert_eq(ls_units_order_read(bytes, size, &read), size);
            assert_same(&order, &read);
        }
    }
}

Test(units_orders, bytes_are_as_documented)
{
    ls_units_order order = listed(LS_UNITS_ATTACK, 2);
    uint8_t bytes[16];
    static const uint8_t expected[] = {0x13, 2, 0, 0, 83, 0, 0x1f, 0x4e};
    cr_assert_eq(ls_units_order_write(&order, bytes, sizeof bytes), sizeof expected);
    cr_assert_arr_eq(bytes, expected, sizeof expected);
}

Test(units_orders, an_order_cut_anywhere_is_no_order)
{
    for (int select = LS_UNITS_SELECT_LIST; select <= LS_UNITS_SELECT_AREA; select++) {
        ls_units_order order = order_of(LS_UNITS_MOVE, (ls_units_select)select);
        ls_units_order read = {0};
        uint8_t bytes[LS_UNITS_INPUT_BYTES_MAX];
        uint32_t size = ls_units_order_write(&order, bytes, sizeof bytes);
        for (uint32_t cut = 0; cut < size; cut++) {
            cr_assert_eq(ls_units_order_read(bytes, cut, &read), 0, "%u of %u", cut, size);
        }
    }
}

Test(units_orders, unknown_heads_are_no_orders)
{
    uint8_t bytes[LS_UNITS_INPUT_BYTES_MAX] = {0};
    ls_units_order read = {0};
    uint32_t known = 0;
    for (uint32_t head = 0; head < 256; head++) {
        bytes[0] = (uint8_t)head;
        known += ls_units_order_read(bytes, sizeof bytes, &read) > 0;
    }
    cr_assert_eq(known, 4 * 3);
}

Test(units_orders, the_longest_list_fits_and_one_more_is_refused)
{
    ls_units_order order = listed(LS_UNITS_MOVE, LS_UNITS_LIST_MAX);
    ls_units_order read = {0};
    uint8_t bytes[LS_UNITS_INPUT_BYTES_MAX + 16] = {0};
    uint32_t size = ls_units_order_write(&order, bytes, LS_UNITS_INPUT_BYTES_MAX);
    cr_assert_gt(size, 0);
    cr_assert_eq(ls_units_order_read(bytes, size, &read), size);
    assert_same(&order, &read);
    bytes[1]++;
    cr_assert_eq(ls_units_order_read(bytes, sizeof bytes, &read), 0);
}

Test(units_orders, without_room_nothing_is_written)
{
    ls_units_order order = listed(LS_UNITS_MOVE, 5);
    uint8_t bytes[32];
    memset(bytes, 0x77, sizeof bytes);
    uint32_t size = ls_units_order_write(&order, bytes, sizeof bytes);
    memset(bytes, 0x77, sizeof bytes);
    cr_assert_eq(ls_units_order_write(&order, bytes, size - 1), 0);
    for (uint32_t i = 0; i < sizeof bytes; i++) {
        cr_assert_eq(bytes[i], 0x77);
    }
}

Test(units_orders, points_are_the_nearest_and_are_cut_to_16_bits)
{
    ls_units_point point = {12345, 0};
    ls_vec2 position = ls_units_point_position(point);
    cr_assert_eq(ls_units_point_from(position).x, point.x);
    position.x += LS_FIXED_ONE / 129;
    cr_assert_eq(ls_units_point_from(position).x, point.x);
    position.x += LS_FIXED_ONE / 512;
    cr_assert_eq(ls_units_point_from(position).x, point.x + 1);
    ls_units_point low = ls_units_point_from((ls_vec2){LS_FIXED_MIN, -1});
    ls_units_point high = ls_units_point_from((ls_vec2){LS_FIXED_MAX, LS_FIXED_INT(1024)});
    cr_assert(low.x == 0 && low.y == 0);
    cr_assert(high.x == UINT16_MAX && high.y == UINT16_MAX);
}
