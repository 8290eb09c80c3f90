/* Steps simulations by lockstep.h, many in one call, to compare other languages' processor time
 * with. usage: step_rate NAME|FILE.so [COUNT] STEPS; prints the hash of the first one. */
#include "lockstep/tools/liblockstep/lockstep.h"

#include <stdio.h>
#include <stdlib.h>

#define COUNT_MAX 1024
#define INPUT_BYTES_MAX 1024 /* of all slots of one */

int main(int argc, char **argv)
{
    static unsigned char inputs[COUNT_MAX * INPUT_BYTES_MAX];
    static lockstep *sims[COUNT_MAX];
    long count = argc > 3 ? strtol(argv[2], NULL, 10) : 1;
    for (long i = 0; i < count && i < COUNT_MAX; i++) {
        sims[i] = lockstep_create(LOCKSTEP_SIM, NULL);
        if (argc < 3 || lockstep_set(sims[i], "sim", argv[1]) < 0 || lockstep_start(sims[i]) < 0) {
            fprintf(stderr, "step_rate: %s\n", lockstep_error(sims[i]));
            return 1;
        }
    }
    long steps = strtol(argv[argc - 1], NULL, 10);
    for (long i = 0; i < steps; i++) {
        inputs[0] = (unsigned char)(i & 3);
        lockstep_step(sims, (size_t)count, inputs, NULL);
    }
    printf("hash %016llx\n", (unsigned long long)lockstep_hash(sims[0]));
    for (long i = 0; i < count; i++) {
        lockstep_close(sims[i]);
    }
    return 0;
}
