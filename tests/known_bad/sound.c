/* Right games, each of another kind, in which nothing may be found: not by synctest, not by the
 * lint, not in a match. A plug-in is built of each part, which its name selects. */
#include "lockstep/tests/known_bad/sound.h"

#include "lockstep/common/maths/fixed_trig.h"

#include <errno.h>
#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

/* ==== sound_integer ==== */

/* A board of integers, with random numbers from the state. */
#ifdef GAME_IS_SOUND_INTEGER

#define CELLS 256u

typedef struct board {
    ls_rng rng;
    uint32_t moves;
    uint32_t spare;
    uint16_t cells[CELLS];
} board;

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    const ls_field list[] = {
        LS_FIELD_OF(board, rng.state, LS_FIELD_U64, ""),
        LS_FIELD_OF(board, rng.increment, LS_FIELD_U64, ""),
        LS_FIELD_OF(board, moves, LS_FIELD_U32, ""),
        LS_FIELD_OF(board, spare, LS_FIELD_U32, ""),
        LS_FIELD_ARRAY_OF(board, cells, CELLS, LS_FIELD_U16, ""),
    };
    return ls_fields_copy(list, sizeof list / sizeof list[0], out, capacity);
}

static ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    ((board *)state)->rng = ls_rng_make(config->seed, 1);
    return LS_OK;
}

static void move(const ls_step *step)
{
    board *b = step->state;
    uint32_t place = ls_rng_below(&b->rng, CELLS);
    b->moves += sound_inputs(step) % 3;
    b->cells[place] = (uint16_t)(b->cells[place] * 3u + b->moves);
}

SOUND_PLUGIN("sound_integer", move, sizeof(board), .fields = fields, .init = init)

#endif

/* ==== sound_fixed ==== */

/* Fixed point: ships that fly by angles. */
#ifdef GAME_IS_SOUND_FIXED

#define SHIPS 24u

typedef struct ship {
    ls_fixed x;
    ls_fixed y;
    ls_angle angle;
    uint32_t rank;
} ship;

typedef struct fleet {
    ship ships[SHIPS];
} fleet;

#define SHIP(member, type, unit)                                                                   \
    LS_FIELD_EACH("ships", offsetof(fleet, ships), SHIPS, ship, member, LS_FIELD_##type, unit)

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    const ls_field list[] = {SHIP(x, FIXED, "m"), SHIP(y, FIXED, "m"), SHIP(angle, ANGLE, "deg"),
                             SHIP(rank, U32, "")};
    return ls_fields_copy(list, sizeof list / sizeof list[0], out, capacity);
}

static ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    fleet *f = state;
    ls_rng rng = ls_rng_make(config->seed, 1);
    for (uint32_t i = 0; i < SHIPS; i++) {
        f->ships[i].angle = ls_rng_next(&rng);
    }
    return LS_OK;
}

/* Ties are ended by the index. */
static void rank(fleet *f)
{
    for (uint32_t i = 0; i < SHIPS; i++) {
        f->ships[i].rank = 0;
        for (uint32_t k = 0; k < SHIPS; k++) {
            bool is_before =
                f->ships[k].x < f->ships[i].x || (f->ships[k].x == f->ships[i].x && k < i);
            f->ships[i].rank += is_before;
        }
    }
}

static void fly(const ls_step *step)
{
    fleet *f = step->state;
    uint32_t turn = sound_inputs(step);
    for (uint32_t i = 0; i < SHIPS; i++) {
        ship *s = &f->ships[i];
        s->angle += turn * (i + 1);
        s->x = ls_fixed_add(s->x, ls_fixed_mul(ls_fixed_cos(s->angle), LS_FIXED_ONE / 8));
        s->y = ls_fixed_add(s->y, ls_fixed_mul(ls_fixed_sin(s->angle), LS_FIXED_ONE / 8));
    }
    rank(f);
}

SOUND_PLUGIN("sound_fixed", fly, sizeof(fleet), .fields = fields, .init = init)

#endif

/* ==== sound_float ==== */

/* Floats and doubles with + - * / and the square root alone, which IEEE 754 fixes to the bit, and
 * with the mode set at the start of the step. */
#ifdef GAME_IS_SOUND_FLOAT

#define BALLS 32u

typedef struct ball {
    double x;
    double speed;
    float heat;
    float mass;
} ball;

typedef struct table {
    ball balls[BALLS];
} table;

#define BALL(member, type, unit)                                                                   \
    LS_FIELD_EACH("balls", offsetof(table, balls), BALLS, ball, member, LS_FIELD_##type, unit)

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    const ls_field list[] = {BALL(x, F64, "m"), BALL(speed, F64, "m/s"), BALL(heat, F32, "K"),
                             BALL(mass, F32, "kg")};
    return ls_fields_copy(list, sizeof list / sizeof list[0], out, capacity);
}

static ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    table *t = state;
    (void)config;
    for (uint32_t i = 0; i < BALLS; i++) {
        t->balls[i] = (ball){.x = i, .speed = 0.25 * i, .heat = 1.0f, .mass = 2.0f};
    }
    return LS_OK;
}

static void roll(const ls_step *step)
{
    table *t = step->state;
    fenv_t kept;
    fegetenv(&kept);
    fesetenv(FE_DFL_ENV);
    double push = (double)(sound_inputs(step) % 1000) / 7.0;
    for (uint32_t i = 0; i < BALLS; i++) {
        ball *b = &t->balls[i];
        b->speed = b->speed * 0.9 + sqrt(push + i) / 3.0;
        b->x += b->speed / step->config->tick_rate_hz;
        b->heat = b->heat * 0.5f + (float)b->speed / b->mass;
    }
    fesetenv(&kept);
}

SOUND_PLUGIN("sound_float", roll, sizeof(table), .fields = fields, .init = init)

#endif

/* ==== sound_mode ==== */

/* Doubles that fade to denormals, by a game that leaves the mode as it finds it: right as long as
 * no library changes it, so that synctest only warns. */
#ifdef GAME_IS_SOUND_MODE

#define LAMPS 8u

typedef struct row {
    double light[LAMPS];
    uint64_t lit;
} row;

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    const ls_field list[] = {LS_FIELD_ARRAY_OF(row, light, LAMPS, LS_FIELD_F64, "lm"),
                             LS_FIELD_OF(row, lit, LS_FIELD_U64, "")};
    return ls_fields_copy(list, sizeof list / sizeof list[0], out, capacity);
}

static ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    (void)config;
    (void)state;
    return LS_OK;
}

static void fade(const ls_step *step)
{
    row *r = step->state;
    uint32_t lit = sound_inputs(step) % 64;
    for (uint32_t i = 0; i < LAMPS; i++) {
        r->light[i] = i == lit ? 1.0 : r->light[i] * 0x1p-30 / 3.0;
        r->lit += i == lit;
    }
}

SOUND_PLUGIN("sound_mode", fade, sizeof(row), .fields = fields, .init = init)

#endif

/* ==== sound_players ==== */

/* Seats that are taken and left, texts and bytes of players, and inputs of any size. */
#ifdef GAME_IS_SOUND_PLAYERS

#define SEATS LS_PLAYERS_MAX

typedef struct seat {
    uint8_t is_taken;
    uint8_t last_bytes;
    uint16_t joins;
    uint32_t score;
} seat;

typedef struct hall {
    seat seats[SEATS];
    uint64_t chain;
} hall;

#define SEAT(member, type, unit)                                                                   \
    LS_FIELD_EACH("seats", offsetof(hall, seats), SEATS, seat, member, LS_FIELD_##type, unit)

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    const ls_field list[] = {SEAT(is_taken, U8, ""), SEAT(last_bytes, U8, ""), SEAT(joins, U16, ""),
                             SEAT(score, U32, "points"),
                             LS_FIELD_OF(hall, chain, LS_FIELD_U64, "")};
    return ls_fields_copy(list, sizeof list / sizeof list[0], out, capacity);
}

static ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    ((hall *)state)->chain = config->seed;
    return LS_OK;
}

static uint32_t answer(const ls_sim_config *config, const void *state, uint32_t slot, ls_rng *rng,
                       uint8_t *bytes)
{
    const hall *h = state;
    (void)config;
    bytes[0] = (uint8_t)h->seats[slot].score;
    bytes[1] = (uint8_t)ls_rng_below(rng, 4);
    return 2;
}

static void seat_players(const ls_step *step)
{
    hall *h = step->state;
    for (uint32_t slot = 0; slot < step->inputs->slot_count; slot++) {
        const ls_slot_input *input = &step->inputs->slots[slot];
        seat *s = &h->seats[slot];
        s->joins += (input->events & LS_EVENT_JOINED) != 0;
        s->is_taken = input->events & LS_EVENT_JOINED ? 1 : s->is_taken;
        s->is_taken = input->events & LS_EVENT_LEFT ? 0 : s->is_taken;
        s->last_bytes = (uint8_t)input->size;
        s->score += input->size > 1 ? input->bytes[1] : input->size;
    }
    h->chain = h->chain * UINT64_C(6364136223846793005) + sound_inputs(step);
}

SOUND_PLUGIN("sound_players", seat_players, sizeof(hall), .fields = fields, .init = init,
             .bot = answer)

#endif

/* ==== sound_big ==== */

/* A state of 2 MiB, of which a step changes some, and scratch that is written before it is read. */
#ifdef GAME_IS_SOUND_BIG

#define CELLS (512u * 1024u)
#define CHANGED 64u

typedef struct land {
    uint32_t cells[CELLS];
} land;

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    const ls_field list[] = {LS_FIELD_ARRAY_OF(land, cells, CELLS, LS_FIELD_U32, "m")};
    return ls_fields_copy(list, sizeof list / sizeof list[0], out, capacity);
}

static size_t scratch_bytes(const ls_sim_config *config)
{
    (void)config;
    return CHANGED * sizeof(uint32_t);
}

static ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    land *l = state;
    for (uint32_t i = 0; i < CELLS; i++) {
        l->cells[i] = (uint32_t)config->seed + i;
    }
    return LS_OK;
}

static void dig(const ls_step *step)
{
    land *l = step->state;
    uint32_t *places = step->scratch;
    uint32_t place = sound_inputs(step);
    for (uint32_t i = 0; i < CHANGED; i++) {
        place = place * 1664525u + 1013904223u;
        places[i] = place % CELLS;
    }
    for (uint32_t i = 0; i < CHANGED; i++) {
        l->cells[places[i]] += l->cells[places[CHANGED - 1 - i]] + i;
    }
}

SOUND_PLUGIN("sound_big", dig, sizeof(land), .fields = fields, .init = init,
             .scratch_bytes = scratch_bytes)

#endif

/* ==== sound_library ==== */

/* Words that are kept in order and copied with the C library: memmove for what overlaps, the sign
 * of a comparison, errno cleared before it is read. */
#ifdef GAME_IS_SOUND_LIBRARY

#define WORDS 16u
#define WORD_BYTES 12u

typedef struct shelf {
    char words[WORDS][WORD_BYTES];
    uint32_t sum;
    uint32_t overflows;
} shelf;

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    const ls_field list[] = {
        LS_FIELD_ARRAY_OF(shelf, words, WORDS * WORD_BYTES, LS_FIELD_U8, ""),
        LS_FIELD_OF(shelf, sum, LS_FIELD_U32, ""),
        LS_FIELD_OF(shelf, overflows, LS_FIELD_U32, ""),
    };
    return ls_fields_copy(list, sizeof list / sizeof list[0], out, capacity);
}

static ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)config;
    (void)why;
    shelf *s = state;
    for (uint32_t i = 0; i < WORDS; i++) {
        memset(s->words[i], 'a' + (int)i, i % (WORD_BYTES - 1));
    }
    return LS_OK;
}

static void put_in_order(shelf *s, const char *word)
{
    uint32_t place = 0;
    while (place + 1 < WORDS && strcmp(s->words[place], word) < 0) {
        place++;
    }
    char kept[WORD_BYTES] = "";
    memcpy(kept, word, strlen(word));
    memmove(s->words[place + 1], s->words[place], (WORDS - place - 1) * WORD_BYTES);
    memcpy(s->words[place], kept, WORD_BYTES);
}

static void move(const ls_step *step)
{
    shelf *s = step->state;
    char word[WORD_BYTES] = "";
    uint32_t number = sound_inputs(step);
    for (uint32_t i = 0; i < number % (WORD_BYTES - 1); i++) {
        word[i] = (char)('a' + (number >> i) % 26);
    }
    put_in_order(s, word);
    errno = 0;
    s->sum += (uint32_t)strtoul(number % 2 ? "99999999999999999999999" : "31", NULL, 10);
    s->overflows += errno == ERANGE;
}

SOUND_PLUGIN("sound_library", move, sizeof(shelf), .fields = fields, .init = init)

#endif

/* ==== sound_thread ==== */

/* A thread that is started when the plug-in is loaded and works for every step, as the runtimes of
 * Go and .NET have them: a copy of a process that has loaded it has no such thread. */
#ifdef GAME_IS_SOUND_THREAD

typedef struct sums_state {
    uint64_t sum;
} sums_state;

/* Of all blocks; a step has the whole of it for itself. */
static struct desk {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_asked;
    uint64_t value;
} desk = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void *serve(void *user)
{
    (void)user;
    pthread_mutex_lock(&desk.lock);
    for (;;) {
        while (!desk.is_asked) {
            pthread_cond_wait(&desk.changed, &desk.lock);
        }
        desk.value = desk.value * 31 + 7;
        desk.is_asked = false;
        pthread_cond_broadcast(&desk.changed);
    }
    return NULL;
}

__attribute__((constructor)) static void start(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, serve, NULL) == 0) {
        pthread_detach(thread);
    }
}

static void add(const ls_step *step)
{
    sums_state *state = step->state;
    pthread_mutex_lock(&desk.lock);
    desk.value = state->sum + sound_inputs(step);
    desk.is_asked = true;
    pthread_cond_broadcast(&desk.changed);
    while (desk.is_asked) {
        pthread_cond_wait(&desk.changed, &desk.lock);
    }
    state->sum = desk.value;
    pthread_mutex_unlock(&desk.lock);
}

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    return ls_fields_copy(&LS_FIELD_OF(sums_state, sum, LS_FIELD_U64, ""), 1, out, capacity);
}

static ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    (void)config;
    (void)state;
    return LS_OK;
}

SOUND_PLUGIN("sound_thread", add, sizeof(sums_state), .fields = fields, .init = init)

#endif

/* ==== sound_workers ==== */

/* Worker threads, each with a place of its own by index; the sums are added up in their order. */
#ifdef GAME_IS_SOUND_WORKERS

#define PARTS 8u
#define CELLS 512u

typedef struct field_state {
    double heat[CELLS];
    double sums[PARTS];
    double sum;
} field_state;

typedef struct part {
    pthread_t thread;
    field_state *state;
    uint32_t first; /* of the parts, and in steps of `stride` */
    uint32_t stride;
    uint32_t inputs;
} part;

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    const ls_field list[] = {LS_FIELD_ARRAY_OF(field_state, heat, CELLS, LS_FIELD_F64, "K"),
                             LS_FIELD_ARRAY_OF(field_state, sums, PARTS, LS_FIELD_F64, "K"),
                             LS_FIELD_OF(field_state, sum, LS_FIELD_F64, "K")};
    return ls_fields_copy(list, sizeof list / sizeof list[0], out, capacity);
}

static ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    (void)config;
    (void)state;
    return LS_OK;
}

static void *work(void *user)
{
    const part *self = user;
    for (uint32_t p = self->first; p < PARTS; p += self->stride) {
        double sum = 0.0;
        for (uint32_t i = p * (CELLS / PARTS); i < (p + 1) * (CELLS / PARTS); i++) {
            self->state->heat[i] = self->state->heat[i] * 0.75 + (self->inputs + i) % 100 / 3.0;
            sum += self->state->heat[i];
        }
        self->state->sums[p] = sum;
    }
    return NULL;
}

static void warm(const ls_step *step)
{
    field_state *state = step->state;
    part parts[PARTS] = {{0}};
    bool is_started[PARTS] = {false};
    uint32_t count = step->tuning->workers;
    for (uint32_t i = 0; i < count; i++) {
        parts[i] = (part){
            .state = state, .first = i, .stride = count, .inputs = sound_inputs(step) % 1000};
        is_started[i] = i > 0 && pthread_create(&parts[i].thread, NULL, work, &parts[i]) == 0;
        if (!is_started[i]) {
            work(&parts[i]);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        if (is_started[i]) {
            pthread_join(parts[i].thread, NULL);
        }
    }
    state->sum = 0.0;
    for (uint32_t p = 0; p < PARTS; p++) {
        state->sum += state->sums[p];
    }
}

SOUND_PLUGIN("sound_workers", warm, sizeof(field_state), .fields = fields, .init = init,
             .workers_max = PARTS)

#endif

/* ==== sound_engine ==== */

/* A wrapped engine: a list of nodes from malloc behind a handle, with hash, save and load of its
 * own. Nodes are visited by their number, never by their address. */
#ifdef GAME_IS_SOUND_ENGINE

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

#endif
