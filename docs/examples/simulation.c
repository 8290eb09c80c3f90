/* Steps simulations by themselves, as a training program does: a thousand arenas in one call a
 * tick; then one is taken back by a save, and has to come to the same state again. */
#include <lockstep.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    COUNT = 1000,
    PLAYERS = 2,
    TICKS = 60,
    SAVED_BYTES_MAX = 1 << 16
};

int main(void)
{
    static lockstep *sims[COUNT];
    static unsigned char inputs[COUNT * PLAYERS * LOCKSTEP_INPUT_BYTES_MAX];
    static unsigned char saved[SAVED_BYTES_MAX];
    lockstep_info info = {.size = sizeof info};
    char seed[16];
    for (int i = 0; i < COUNT; i++) {
        sims[i] = lockstep_create(LOCKSTEP_SIM, NULL);
        snprintf(seed, sizeof seed, "%d", i);
        if (lockstep_set(sims[i], "sim", "arena") < 0 ||
            lockstep_set(sims[i], "players", "2") < 0 || lockstep_set(sims[i], "seed", seed) < 0 ||
            lockstep_start(sims[i]) < 0) {
            fprintf(stderr, "simulation: %s\n", lockstep_error(sims[i]));
            return 1;
        }
    }
    lockstep_get_info(sims[0], &info);
    long long size = lockstep_save(sims[0], saved, sizeof saved);
    for (int tick = 0; tick < TICKS; tick++) {
        memset(inputs, tick, COUNT * PLAYERS * info.input_bytes);
        lockstep_step(sims, COUNT, inputs, NULL);
    }
    unsigned long long hash = lockstep_hash(sims[0]);
    lockstep_load(sims[0], saved, (size_t)size, 0);
    for (int tick = 0; tick < TICKS; tick++) {
        memset(inputs, tick, COUNT * PLAYERS * info.input_bytes);
        lockstep_step(sims, 1, inputs, NULL);
    }
    lockstep_field field;
    for (unsigned i = 0; lockstep_find_field(sims[0], NULL, i, &field) == 0; i++) {
        printf("%s: %u of type %u, %zu bytes from the start\n", field.path, field.count, field.type,
               field.offset);
    }
    printf("hash %016llx, and again %016llx\n", hash, (unsigned long long)lockstep_hash(sims[0]));
    int result = hash == lockstep_hash(sims[0]) ? 0 : 1;
    for (int i = 0; i < COUNT; i++) {
        lockstep_close(sims[i]);
    }
    return result;
}
