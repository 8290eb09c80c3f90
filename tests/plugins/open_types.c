/* Open types: a state whose members mean other values on other machines. Its schema says only where
 * the bytes are. With OPEN_BY_HAND it has no struct of its own. */
#include "lockstep/tests/plugins/minimal.h"

typedef enum open_order {
    OPEN_IDLE,
    OPEN_ATTACK
} open_order;

typedef struct open_inner {
    size_t visits;
    int64_t whole;
} open_inner;

typedef struct open_unit {
    long distance;
    open_inner inner[2];
    char mark;
    char name[3];
    open_order order;
} open_unit;

typedef struct open_state {
    open_unit units[2];
    const char *title;
    long double share;
    int kind : 3;
    uint32_t padding;
    uint64_t last;
} open_state;

/* As large as the state, and no part of it. */
typedef struct open_table {
    long rows[sizeof(open_state) / sizeof(long)];
} open_table;
_Static_assert(sizeof(open_table) == sizeof(open_state), "it only looks like a state");

volatile open_table open_rows;

static size_t state_bytes(const ls_sim_config *config)
{
    (void)config;
    return sizeof(open_state);
}

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    const size_t rest = offsetof(open_state, title);
    const ls_field list[] = {
        {"units.bytes", "", LS_FIELD_U8, sizeof(open_unit), 2, 0, sizeof(open_unit)},
        {"rest", "", LS_FIELD_U8, (uint32_t)(sizeof(open_state) - rest), 1, rest, 0},
    };
    return ls_fields_copy(list, 2, out, capacity);
}

static void count(const ls_step *step)
{
#if defined(OPEN_BY_HAND)
    open_unit *units = step->state;
#else
    open_state *state = step->state;
    open_unit *units = state->units;
    state->last++;
#endif
    units[step->inputs->tick % 2].distance++;
}

/* No state, but as large as one of its items. */
typedef struct open_task {
    void *what;
    long left[(sizeof(open_unit) - sizeof(void *)) / sizeof(long)];
} open_task;
_Static_assert(sizeof(open_task) == sizeof(open_unit), "it only looks like an item");

void open_work(void *user);
void open_work(void *user)
{
    open_task *task = user;
    task->left[0]--;
}

LS_SIMULATION_EXPORT const ls_simulation *lockstep_simulation(void)
{
    static const ls_pass passes[] = {{"count", count}};
    static ls_simulation simulation;
    simulation = minimal_simulation("open_types", fields);
    simulation.passes = passes;
    simulation.state_bytes = state_bytes;
    return &simulation;
}
