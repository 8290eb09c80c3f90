#include "lockstep/tools/timestep/one_bit.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/tools/timestep/sim_player.h"

#include <math.h>
#include <string.h>

static bool is_coordinate(const ls_field *field)
{
    size_t size = strlen(field->path);
    return field->type == LS_FIELD_FIXED && size > 2 && strcmp(field->path + size - 2, ".x") == 0;
}

static bool flip(stepping_sim_player *player, char *name, size_t capacity)
{
    const ls_schema *schema = ls_sim_instance_schema(player->instance);
    for (uint32_t i = 0; schema && i < ls_schema_field_count(schema); i++) {
        const ls_field *field = ls_schema_field(schema, i);
        if (is_coordinate(field)) {
            uint8_t *at = (uint8_t *)ls_sim_instance_state(player->instance) + field->offset;
            uint64_t value;
            memcpy(&value, at, sizeof value);
            value ^= 1;
            memcpy(at, &value, sizeof value);
            ls_schema_place place = ls_schema_at(schema, field->offset);
            ls_schema_place_name(&place, name, capacity);
            return true;
        }
    }
    return false;
}

static double distance(const ls_draw_shape *a, const ls_draw_shape *b)
{
    double x = ls_fixed_to_double(ls_fixed_sub(a->x, b->x));
    double y = ls_fixed_to_double(ls_fixed_sub(a->y, b->y));
    return sqrt(x * x + y * y);
}

/* Shapes come in the same order, but one of the two may draw some that the other does not. */
static double farthest(const ls_draw_list *a, const ls_draw_list *b)
{
    double apart = 0;
    uint32_t k = 0;
    for (uint32_t i = 0; i < a->count; i++) {
        uint32_t from = k;
        while (k < b->count && b->shapes[k].id != a->shapes[i].id) {
            k++;
        }
        if (k == b->count) {
            k = from;
            continue;
        }
        double now = distance(&a->shapes[i], &b->shapes[k]);
        apart = now > apart ? now : apart;
    }
    return apart;
}

static void grow(stepping_sim_player *one, stepping_sim_player *other, stepping_one_bit *out)
{
    uint32_t rate_hz = ls_sim_instance_config(one->instance)->tick_rate_hz;
    for (uint32_t second = 0; second <= out->seconds; second++) {
        for (uint32_t i = 0; second > 0 && i < rate_hz; i++) {
            stepping_sim_player_step(one);
            stepping_sim_player_follow(other, one);
        }
        out->apart_m[second] = farthest(stepping_sim_player_draw(one, LS_FIXED_ONE),
                                        stepping_sim_player_draw(other, LS_FIXED_ONE));
    }
}

ls_status stepping_one_bit_run(const ls_simulation *simulation, const ls_sim_config *config,
                               uint32_t seconds, const ls_allocator *allocator,
                               stepping_one_bit *out, ls_text *why)
{
    LS_ASSERT(seconds <= STEPPING_ONE_BIT_SECONDS_MAX);
    stepping_one_bit result = {.seconds = seconds};
    stepping_sim_player *one = NULL;
    stepping_sim_player *other = NULL;
    ls_status status = stepping_sim_player_create(simulation, config, allocator, &one, why);
    if (status == LS_OK) {
        status = stepping_sim_player_create(simulation, config, allocator, &other, why);
    }
    if (status == LS_OK) {
        stepping_sim_player_step(one);
        stepping_sim_player_follow(other, one);
        if (flip(other, result.field, sizeof result.field)) {
            grow(one, other, &result);
            *out = result;
        } else {
            ls_text_set(why, "%s has no fixed-point coordinate", simulation->name);
            status = LS_UNSUPPORTED;
        }
    }
    stepping_sim_player_destroy(other);
    stepping_sim_player_destroy(one);
    return status;
}
