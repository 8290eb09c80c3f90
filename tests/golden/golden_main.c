/* The golden program: prints its lines, or writes or reads saves to exchange between machines. */
#include "lockstep/tests/golden/golden.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void golden_line(const char *name, uint64_t value)
{
    printf("%s %016" PRIx64 "\n", name, value);
}

void golden_line_of(const char *subject, const char *what, uint64_t value)
{
    printf("%s.%s %016" PRIx64 "\n", subject, what, value);
}

void golden_fail(const char *what, const char *why)
{
    fflush(stdout);
    fprintf(stderr, "golden: %s: %s\n", what, why);
    exit(1);
}

int main(int argc, char **argv)
{
    const char *command = argc == 2 ? argv[1] : "";
    if (argc == 1) {
        golden_arithmetic();
        golden_strict_math();
        golden_schema();
        golden_simulations();
    } else if (strcmp(command, "save") == 0) {
        golden_save(stdout);
    } else if (strcmp(command, "load") == 0) {
        golden_load(stdin);
    } else {
        fprintf(stderr, "usage: golden [save >FILE | load <FILE]\n");
        return 2;
    }
    if (fflush(stdout) != 0) {
        golden_fail("standard output", "cannot be written");
    }
    return 0;
}
