/* Nasty state: a struct with everything that makes a schema hard to write: holes, structs without
 * names, arrays in arrays, enums of both signs, a union, an array without a length.
 * Used by the tests of lockstep-schema. */
#ifndef LOCKSTEP_TESTS_SCHEMA_NASTY_STATE_H
#define LOCKSTEP_TESTS_SCHEMA_NASTY_STATE_H

#include "lockstep/common/simulation/simulation.h"

#define NASTY_UNITS 5u

typedef enum nasty_mood {
    NASTY_GLAD,
    NASTY_SAD
} nasty_mood;

enum nasty_side {
    NASTY_LEFT = -1,
    NASTY_RIGHT = 1
};

typedef struct nasty_slot {
    uint8_t kind; /* a hole of 3 behind it */
    uint32_t uses;
} nasty_slot;

typedef struct nasty_unit {
    ls_vec2 position;
    ls_angle facing;
    int16_t path[3][2];
    uint8_t flags[4];
    nasty_slot slots[2];
    bool is_alive; /* a hole behind it */
} nasty_unit;

struct nasty_team { /* only a tag */
    char name[7];
    int8_t bonus;
    nasty_mood mood;
};

typedef struct nasty_state {
    uint64_t serial;
    const volatile uint16_t rules;
    uint8_t padding[2];
    enum nasty_side side;
    float heat;
    double grid[3][4];
    struct {
        int32_t deep;
        struct {
            ls_fixed wage;
        } inner;
    };
    union {
        uint8_t code[4];
        uint32_t number;
    } either;
    struct {
        struct nasty_team teams[2][3];
    } league;
    struct {
        uint16_t a;
        uint8_t b; /* a hole behind it */
    } nameless[3];
    nasty_slot few[2];
    ls_rng rng;
    nasty_unit units[];
} nasty_state;

#endif
