#include "lockstep/tools/synctest/diagnosis.h"

#include "lockstep/tools/synctest/compare.h"

typedef struct cause {
    const char *class;
    const char *words;
} cause;

/* Of a difference in a world, when nothing else is known. */
static const cause causes[SYNCTEST_WORLD_COUNT] = {
    [SYNCTEST_WORLD_STILL] =
        {"run to run", "nothing was changed and it differs: a race between threads, a source of "
                       "real chance, or a bot() that changes something"},
    [SYNCTEST_WORLD_FRESH] =
        {"random stream",
         "a step draws from the C library's random numbers (rand, random, drand48), "
         "whose hidden state every part of a process moves on: keep an ls_rng in "
         "the state"},
    [SYNCTEST_WORLD_AGAIN] =
        {"left from the last match",
         "a static or heap variable keeps a value from the match before: init must "
         "set everything, or better, it belongs in the state"},
    [SYNCTEST_WORLD_SAVE] =
        {"outside the saved state",
         "a step reads something that is not in the state block: a static cache, or "
         "memory that the state points to"},
    [SYNCTEST_WORLD_JOIN] =
        {"outside the saved state",
         "a step reads something that a save does not hold (a static cache, a list "
         "made by earlier steps): who joins late does not have it"},
    [SYNCTEST_WORLD_ROLLBACK] = {"outside the saved state",
                                 "a step reads something that loading a save does not take back: a "
                                 "static, a cache, or memory that the state points to"},
    [SYNCTEST_WORLD_STACK] =
        {"uninitialised memory",
         "a local variable is read before it is written (half-filled structs and "
         "padding that is copied count as well)"},
    [SYNCTEST_WORLD_HEAP] =
        {"uninitialised memory",
         "memory from malloc is read before it is written, or after it was freed"},
    [SYNCTEST_WORLD_SCRATCH] = {"uninitialised memory",
                                "scratch memory is read before it was written in the same step"},
    [SYNCTEST_WORLD_ADDRESSES] =
        {"order of addresses",
         "something is ordered, hashed or compared by its address (a table "
         "keyed by pointers), or an address got into the state, perhaps from a "
         "variable that was never written: use ids"},
    [SYNCTEST_WORLD_ENVIRONMENT] =
        {"outside world", "a step or init reads the environment: a variable, the locale, the "
                          "time zone or a file of the current folder"},
    [SYNCTEST_WORLD_CLOCK] = {"outside world",
                              "a step or init reads the clock: count ticks instead"},
    [SYNCTEST_WORLD_ROUNDING] =
        {"rounding mode", "floating point is rounded as the machine happens to be set: a library "
                          "(audio, graphics) that changes the mode makes this machine differ; set "
                          "the mode at the start of each step, or use fixed point"},
    [SYNCTEST_WORLD_TIES] =
        {"order of ties",
         "qsort leaves elements that compare equal in any order: use ls_stable_sort, "
         "and end ties by id"},
    [SYNCTEST_WORLD_DRAW] =
        {"drawing", "draw or bot changes something that steps or the hash read: the frame rate "
                    "decides"},
    [SYNCTEST_WORLD_WORKERS] =
        {"race", "the result depends on how many threads share the work or who is first: "
                 "add up in a fixed order"},
    [SYNCTEST_WORLD_LOG] =
        {"log level", "what is printed decides what is computed: a value is only refreshed when it "
                      "is logged"},
    [SYNCTEST_WORLD_AGAINST] =
        {"build differs", "the two builds compute differently: an order of evaluation that the "
                          "language leaves open, contraction, or undefined behaviour"},
};

static const cause faults[SYNCTEST_FAULT_COUNT] = {
    [SYNCTEST_FAULT_WRITE] = {"drawing",
                              "what may only look at the state changes it: only a step may"},
    [SYNCTEST_FAULT_PADDING] =
        {"padding", "a step writes to bytes that the schema declares as padding, which must "
                    "stay zero: give them a field, or copy members one by one"},
    [SYNCTEST_FAULT_NAN] = {"not a number",
                            "the state holds a value that is not a number (NaN: 0/0, the root of a "
                            "negative number); which bits it has is each processor's own choice"},
    [SYNCTEST_FAULT_ROUNDING] =
        {"rounding mode", "a pass leaves another floating-point rounding mode than it found, "
                          "itself or by a library that it calls: set it back"},
    [SYNCTEST_FAULT_SAVE] = {"save", "the simulation's own save or load fails"},
    [SYNCTEST_FAULT_LAYOUT] =
        {"build differs",
         "it has another state size, other passes or other players here: something "
         "outside its parameters decides"},
};

static bool has_failed(const synctest_evidence *evidence, synctest_world_id world)
{
    return (evidence->failed >> world & 1) != 0;
}

/* What a world finds when the true cause is another one. */
static cause refine(synctest_world_id world, const synctest_evidence *evidence)
{
    bool is_repeat = world == SYNCTEST_WORLD_AGAIN || world == SYNCTEST_WORLD_SAVE ||
                     world == SYNCTEST_WORLD_JOIN || world == SYNCTEST_WORLD_ROLLBACK;
    if (world != SYNCTEST_WORLD_STILL && has_failed(evidence, SYNCTEST_WORLD_STILL)) {
        return (cause){causes[SYNCTEST_WORLD_STILL].class,
                       "it also differs when nothing is changed (see still)"};
    }
    if (is_repeat && has_failed(evidence, SYNCTEST_WORLD_FRESH)) {
        return causes[SYNCTEST_WORLD_FRESH];
    }
    if (is_repeat && has_failed(evidence, SYNCTEST_WORLD_ADDRESSES)) {
        return causes[SYNCTEST_WORLD_ADDRESSES]; /* another instance lies elsewhere */
    }
    if (world == SYNCTEST_WORLD_AGAIN && has_failed(evidence, SYNCTEST_WORLD_ROLLBACK)) {
        return causes[SYNCTEST_WORLD_ROLLBACK];
    }
    if (world == SYNCTEST_WORLD_AGAINST && evidence->has_fused_multiply) {
        return (cause){"build differs",
                       "one build fuses multiply and add into one rounding, the other does not: "
                       "build with -ffp-contract=off"};
    }
    return causes[world];
}

/* Whether what a world finds is likely to stand in a variable outside the state. */
static bool is_about_statics(synctest_world_id world, const synctest_evidence *evidence)
{
    static const synctest_world_id worlds[] = {SYNCTEST_WORLD_AGAIN, SYNCTEST_WORLD_SAVE,
                                               SYNCTEST_WORLD_JOIN, SYNCTEST_WORLD_ROLLBACK,
                                               SYNCTEST_WORLD_LOG};
    bool is_one = false;
    for (size_t i = 0; i < sizeof worlds / sizeof worlds[0]; i++) {
        is_one = is_one || worlds[i] == world;
    }
    return is_one && !has_failed(evidence, SYNCTEST_WORLD_STILL) &&
           !has_failed(evidence, SYNCTEST_WORLD_FRESH) &&
           !has_failed(evidence, SYNCTEST_WORLD_ADDRESSES);
}

static cause cause_of(synctest_world_id world, const synctest_outcome *outcome,
                      const synctest_evidence *evidence)
{
    switch ((synctest_outcome_kind)outcome->kind) {
    case SYNCTEST_OUTCOME_CRASHED:
        if (evidence->has_sanitizer_words) {
            return (cause){"undefined behaviour",
                           "the sanitizer that it was built with found what the language does not "
                           "define: each compiler and processor has its own answer"};
        }
        return (cause){"crash", "the simulation's own code ended the process"};
    case SYNCTEST_OUTCOME_HUNG:
        return (cause){"hang", "it made no progress: an endless loop, or waiting for something"};
    case SYNCTEST_OUTCOME_FAULT:
        return faults[outcome->fault < SYNCTEST_FAULT_COUNT ? outcome->fault
                                                            : SYNCTEST_FAULT_LAYOUT];
    default:
        return refine(world, evidence);
    }
}

const char *synctest_diagnosis_class(synctest_world_id world, const synctest_outcome *outcome,
                                     const synctest_evidence *evidence)
{
    return cause_of(world, outcome, evidence).class;
}

void synctest_diagnosis_cause(synctest_world_id world, const synctest_outcome *outcome,
                              const synctest_evidence *evidence, ls_text *out)
{
    ls_text_set(out, "%s", cause_of(world, outcome, evidence).words);
    bool is_difference = outcome->kind == SYNCTEST_OUTCOME_DIFFERS;
    if (is_difference && outcome->oddity == SYNCTEST_ODDITY_NEGATIVE_ZERO) {
        ls_text_add(out, "; one of the values is -0: the sign of zero differs");
    } else if (is_difference && outcome->oddity == SYNCTEST_ODDITY_NAN) {
        ls_text_add(out, "; one of the values is not a number (NaN)");
    }
    if (is_difference && evidence->written_variable[0] != '\0' &&
        is_about_statics(world, evidence)) {
        ls_text_add(out, "; pass %s writes to the variable %s", evidence->writing_pass,
                    evidence->written_variable);
    }
    if (evidence->uses_library_random && world == SYNCTEST_WORLD_FRESH) {
        ls_text_add(out, "; the plug-in does call one of them");
    }
}
