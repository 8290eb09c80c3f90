/* A wrapped engine: a list of nodes from malloc behind a handle, with hash, save and load of its
 * own. Nodes are visited by their number, never by their address. */
#include "lockstep/tests/known_bad/sound.h"

#include <stdlib.h>

#define NODES_MAX 64u

typedef struct node {
    uint32_t id;
    uint32_t value;
} node;

typedef struct engine {
    uint32_t next_id;
    uint32_t count;
    node *nodes[NODES_MAX]; /* by id, the oldest first */
} engine;

static engine *engine_of(const void *state)
{
    engine *found = NULL;
    memcpy(&found, state, sizeof found);
    return found;
}

static ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    (void)config;
    engine *made = calloc(1, sizeof *made);
    memcpy(state, &made, sizeof made);
    return made ? LS_OK : LS_NO_MEMORY;
}

static void clear(engine *e)
{
    while (e->count > 0) {
        free(e->nodes[--e->count]);
    }
}

static void deinit(const ls_sim_config *config, void *state)
{
    engine *e = engine_of(state);
    (void)config;
    if (e) {
        clear(e);
    }
    free(e);
}

static bool add(engine *e, uint32_t id, uint32_t value)
{
    node *made = malloc(sizeof *made);
    if (made) {
        *made = (node){id, value};
        e->nodes[e->count++] = made;
    }
    return made != NULL;
}

static void live(const ls_step *step)
{
    engine *e = engine_of(step->state);
    uint32_t inputs = sound_inputs(step);
    if (e->count == NODES_MAX) {
        free(e->nodes[0]);
        memmove(e->nodes, e->nodes + 1, --e->count * sizeof e->nodes[0]);
    }
    if (inputs % 3 == 0 && add(e, e->next_id, inputs)) {
        e->next_id++;
    }
    for (uint32_t i = 0; i < e->count; i++) {
        e->nodes[i]->value = e->nodes[i]->value * 1664525u + e->nodes[i]->id + inputs;
    }
}

static uint64_t hash(const ls_sim_config *config, const void *state)
{
    const engine *e = engine_of(state);
    uint64_t sum = e->next_id;
    (void)config;
    for (uint32_t i = 0; i < e->count; i++) {
        sum = (sum ^ e->nodes[i]->value) * UINT64_C(1099511628211) + e->nodes[i]->id;
    }
    return sum;
}

static size_t save(const ls_sim_config *config, const void *state, uint8_t *bytes, size_t capacity)
{
    const engine *e = engine_of(state);
    const uint32_t head[] = {e->next_id, e->count};
    size_t size = sizeof head + e->count * sizeof(node);
    (void)config;
    if (capacity >= size) {
        memcpy(bytes, head, sizeof head);
        for (uint32_t i = 0; i < e->count; i++) {
            memcpy(bytes + sizeof head + i * sizeof(node), e->nodes[i], sizeof(node));
        }
    }
    return size;
}

static ls_status load(const ls_sim_config *config, void *state, const uint8_t *bytes, size_t size)
{
    engine *e = engine_of(state);
    uint32_t head[2];
    (void)config;
    if (size < sizeof head) {
        return LS_MALFORMED;
    }
    memcpy(head, bytes, sizeof head);
    if (head[1] > NODES_MAX || size != sizeof head + head[1] * sizeof(node)) {
        return LS_MALFORMED;
    }
    clear(e);
    e->next_id = head[0];
    for (uint32_t i = 0; i < head[1]; i++) {
        node read;
        memcpy(&read, bytes + sizeof head + i * sizeof read, sizeof read);
        if (!add(e, read.id, read.value)) {
            return LS_NO_MEMORY;
        }
    }
    return LS_OK;
}

SOUND_PLUGIN("sound_engine", live, sizeof(engine *), .init = init, .deinit = deinit, .hash = hash,
             .save = save, .load = load)
