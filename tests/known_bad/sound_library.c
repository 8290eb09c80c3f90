/* Words that are kept in order and copied with the C library: memmove for what overlaps, the sign
 * of a comparison, errno cleared before it is read. */
#include "lockstep/tests/known_bad/sound.h"

#include <errno.h>
#include <stdlib.h>

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
