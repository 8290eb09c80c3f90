#include "lockstep/tools/synctest/diagnosis.h"

#include "lockstep/tools/synctest/tape.h"

#include <inttypes.h>

typedef struct cause {
    const char *class;
    const char *words;
} cause;

#define HOLD_THE_MODE                                                                              \
    "run init and every pass through ls_strict_double_init and ls_strict_double_pass "             \
    "(lockstep/detail/common/simulation/strict_double.h)"

/* The cause of a difference that one perturbation shows, when nothing else is known. */
static const cause causes[SYNCTEST_PERTURBATION_COUNT] = {
    [SYNCTEST_PERTURBATION_STILL] =
        {"run to run",
         "nothing was changed and it differs, in the same way each time: a bot() that "
         "changes something, or an address of the stack that got into the state"},
    [SYNCTEST_PERTURBATION_FRESH] =
        {"random stream",
         "a step draws from the C library's random numbers (rand, random, drand48), "
         "whose hidden state every part of a process moves on: keep an ls_rng in "
         "the state"},
    [SYNCTEST_PERTURBATION_AGAIN] =
        {"left from the last match",
         "a static or heap variable keeps a value from the match before: init must "
         "set everything, or better, it belongs in the state"},
    [SYNCTEST_PERTURBATION_SAVE] =
        {"outside the saved state",
         "a step reads something that is not in the state block: a static cache, or "
         "memory that the state points to"},
    [SYNCTEST_PERTURBATION_JOIN] =
        {"outside the saved state",
         "a step reads something that a save does not hold (a static cache, a list "
         "made by earlier steps): who joins late does not have it"},
    [SYNCTEST_PERTURBATION_ROLLBACK] =
        {"outside the saved state",
         "a step reads something that loading a save does not take back: a "
         "static, a cache, or memory that the state points to"},
    [SYNCTEST_PERTURBATION_STACK] =
        {"uninitialised memory",
         "a local variable is read before it is written (half-filled structs and "
         "padding that is copied count as well)"},
    [SYNCTEST_PERTURBATION_HEAP] =
        {"uninitialised memory",
         "memory from malloc is read before it is written, or after it was freed"},
    [SYNCTEST_PERTURBATION_SCRATCH] =
        {"uninitialised memory", "scratch memory is read before it was written in the same step"},
    [SYNCTEST_PERTURBATION_ADDRESSES] =
        {"order of addresses",
         "something is ordered, hashed or compared by its address (a table "
         "keyed by pointers), or an address got into the state, perhaps from a "
         "variable that was never written: use ids"},
    [SYNCTEST_PERTURBATION_BOUNDS] =
        {"out of bounds", "a step reads or writes before the beginning or past the end of the "
                          "state, its scratch, an input or the slots: what is there is other in "
                          "every process"},
    [SYNCTEST_PERTURBATION_CPU] =
        {"processor", "functions of the C library (sin, pow, exp and their kin) give other last "
                      "bits with FMA than without: include lockstep/strict_libm.h, which has them "
                      "with the same bits everywhere, or use fixed point; or the code asks for "
                      "features of the processor (__builtin_cpu_supports), or has functions in "
                      "several variants (target_clones, ifunc), which lint names"},
    [SYNCTEST_PERTURBATION_LIBRARY] =
        {"open in C", "a step depends on what the C language leaves to its library: memcpy of "
                      "memory that overlaps, how much memcmp or strcmp return, or an errno or "
                      "floating-point flag that earlier code left"},
    [SYNCTEST_PERTURBATION_CORES] =
        {"outside world", "a step or init asks how many processor cores there are: make it a "
                          "parameter, and give each part of the work its place by index"},
    [SYNCTEST_PERTURBATION_FLUSH] =
        {"flush to zero", "values become so small that they are denormal, and a library that was "
                          "built for speed (-ffast-math) has these flushed to zero: " HOLD_THE_MODE
                          ", round small values to 0, or use fixed point"},
    [SYNCTEST_PERTURBATION_ENVIRONMENT] =
        {"outside world", "a step or init reads the environment: a variable, the locale (a "
                          "decimal comma), the time zone or a file of the current folder"},
    [SYNCTEST_PERTURBATION_CLOCK] = {"outside world",
                                     "a step or init reads the clock: count ticks instead"},
    [SYNCTEST_PERTURBATION_ROUNDING] =
        {"rounding mode", "floating point is rounded as the machine happens to be set: right as "
                          "long as no library (audio, graphics) leaves another mode; to depend on "
                          "none, " HOLD_THE_MODE},
    [SYNCTEST_PERTURBATION_TIES] = {"order of ties",
                                    "qsort leaves elements that compare equal in any order: "
                                    "use ls_stable_sort, and end ties by id"},
    [SYNCTEST_PERTURBATION_DRAW] =
        {"drawing", "draw, sounds or bot changes what steps or the hash read: the frame rate "
                    "decides"},
    [SYNCTEST_PERTURBATION_WORKERS] =
        {"race", "the result depends on how many threads share the work or who is first: "
                 "add up in a fixed order"},
    [SYNCTEST_PERTURBATION_LOG] =
        {"log level", "what is printed decides what is computed: a value is only refreshed when it "
                      "is logged"},
    [SYNCTEST_PERTURBATION_AGAINST] =
        {"build differs", "the two builds compute differently: an order of evaluation that the "
                          "language leaves open, contraction, or undefined behaviour"},
};

/* Of an engine, whose state block is a handle. */
static const cause engine_causes[SYNCTEST_PERTURBATION_COUNT] = {
    [SYNCTEST_PERTURBATION_SAVE] =
        {"outside the saved state",
         "a step reads something that is not in what `save` returns: a static, a "
         "cache, or a part of the engine that its save leaves out"},
    [SYNCTEST_PERTURBATION_ROLLBACK] =
        {"outside the saved state",
         "a step reads something that `load` does not take back: a static, a cache, "
         "or a part of the engine that is not in what `save` returns"},
};

/* Of `library`, when it is known which part of it was the one. */
static const cause library_causes[SYNCTEST_LIBRARY_PARTS] = {
    [SYNCTEST_LIBRARY_COPIES] = {"overlapping copy",
                                 "memcpy is called with memory that overlaps, and every processor "
                                 "copies in another order: use memmove"},
    [SYNCTEST_LIBRARY_COMPARISONS] = {"size of a comparison",
                                      "how much memcmp, strcmp or strncmp return is used: only "
                                      "whether it is below, at or above 0 is the same everywhere"},
    [SYNCTEST_LIBRARY_LEFTOVERS] = {"left by other code",
                                    "a step reads errno or the floating-point flags "
                                    "(fetestexcept), and finds what earlier code of the process "
                                    "left there: clear them first, in the same step"},
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
    [SYNCTEST_FAULT_UNNAMED] =
        {"unnamed write", "the simulation says that it names what its passes write (names_writes), "
                          "and this changes in a piece of the state that no pass of the step "
                          "named: call ls_step_wrote for it"},
    [SYNCTEST_FAULT_ROUNDING] =
        {"rounding mode", "a pass leaves another floating-point rounding mode than it found, "
                          "itself or by a library that it calls: set it back"},
    [SYNCTEST_FAULT_SAVE] = {"save", "the simulation's own save or load fails"},
    [SYNCTEST_FAULT_ROUND_TRIP] =
        {"save", "a state that is saved and loaded is another one: save leaves something out, or "
                 "load does not put it back"},
    [SYNCTEST_FAULT_LAYOUT] =
        {"build differs",
         "it has another state size, other passes or other players here: something "
         "outside its parameters decides"},
};

/* Those that play the match again from something that was kept. */
#define REPEATS                                                                                    \
    (1u << SYNCTEST_PERTURBATION_AGAIN | 1u << SYNCTEST_PERTURBATION_SAVE |                        \
     1u << SYNCTEST_PERTURBATION_JOIN | 1u << SYNCTEST_PERTURBATION_ROLLBACK |                     \
     1u << SYNCTEST_PERTURBATION_BOUNDS)

static bool has_failed(const synctest_evidence *evidence, synctest_perturbation_id perturbation)
{
    return (evidence->failed >> perturbation & 1) != 0;
}

static cause plain_cause(synctest_perturbation_id perturbation, const synctest_evidence *evidence)
{
    bool is_engines = evidence->is_engine && engine_causes[perturbation].class;
    return is_engines ? engine_causes[perturbation] : causes[perturbation];
}

/* The true cause, where a perturbation also finds what another one is for. */
static cause refine(synctest_perturbation_id perturbation, const synctest_evidence *evidence)
{
    bool is_repeat = REPEATS >> perturbation & 1u;
    if (perturbation != SYNCTEST_PERTURBATION_STILL &&
        has_failed(evidence, SYNCTEST_PERTURBATION_STILL)) {
        return (cause){causes[SYNCTEST_PERTURBATION_STILL].class,
                       "it also differs when nothing is changed (see still)"};
    }
    if (is_repeat && has_failed(evidence, SYNCTEST_PERTURBATION_FRESH)) {
        return causes[SYNCTEST_PERTURBATION_FRESH];
    }
    if (is_repeat && has_failed(evidence, SYNCTEST_PERTURBATION_ADDRESSES)) {
        return causes[SYNCTEST_PERTURBATION_ADDRESSES]; /* another instance lies elsewhere */
    }
    if (perturbation == SYNCTEST_PERTURBATION_AGAIN &&
        has_failed(evidence, SYNCTEST_PERTURBATION_ROLLBACK)) {
        return plain_cause(SYNCTEST_PERTURBATION_ROLLBACK, evidence);
    }
    if (perturbation == SYNCTEST_PERTURBATION_AGAINST && evidence->has_fused_multiply) {
        return (cause){"build differs",
                       "one build fuses multiply and add into one rounding, the other does not: "
                       "build with -ffp-contract=off"};
    }
    return plain_cause(perturbation, evidence);
}

/* Whether the difference that a perturbation finds is likely to come from a variable outside the
 * state. */
static bool is_about_statics(synctest_perturbation_id perturbation,
                             const synctest_evidence *evidence)
{
    bool is_one = (REPEATS | 1u << SYNCTEST_PERTURBATION_LOG) >> perturbation & 1u;
    return is_one && !has_failed(evidence, SYNCTEST_PERTURBATION_STILL) &&
           !has_failed(evidence, SYNCTEST_PERTURBATION_FRESH) &&
           !has_failed(evidence, SYNCTEST_PERTURBATION_ADDRESSES);
}

/* ---- races ---- */

static const cause race = {"race",
                           "a race between threads, or chance (random numbers of the "
                           "system, a time stamp, a process id, an address that the system gives)"};

static bool is_reference_steady(const synctest_outcome *outcome)
{
    return outcome->repeats.steady == outcome->repeats.controls;
}

/* A reference whose recordings are alike, and all of whose replays differ from them, is no race. */
bool synctest_diagnosis_is_race(const synctest_outcome *outcome)
{
    const synctest_repeats *repeats = &outcome->repeats;
    bool is_reference_odd = !is_reference_steady(outcome) &&
                            (repeats->steady > 0 || repeats->recorded_alike < repeats->recordings);
    return repeats->alike < repeats->played || is_reference_odd;
}

/* How often it was seen, of how many times. Where the reference was the odd one, every run differs
 * from it, and the one recording is what was seen. */
static void add_times(const synctest_outcome *outcome, ls_text *out)
{
    const synctest_repeats *repeats = &outcome->repeats;
    if (!is_reference_steady(outcome) && repeats->alike == repeats->played) {
        ls_text_add(out,
                    "; rare: seen %" PRIu32 " of %" PRIu32 ", in the reference, and not when that "
                    "is played again",
                    1 + repeats->steady + repeats->recorded_alike,
                    1 + repeats->controls + repeats->recordings);
    } else if (repeats->differing < repeats->played) {
        ls_text_add(out, "; rare: seen %" PRIu32 " of %" PRIu32 " times that the same was played",
                    repeats->differing, repeats->played);
    } else {
        ls_text_add(out, "; seen %" PRIu32 " of %" PRIu32 " times, and not the same each time",
                    repeats->differing, repeats->played);
    }
}

static cause cause_of(synctest_perturbation_id perturbation, const synctest_outcome *outcome,
                      const synctest_evidence *evidence)
{
    switch ((synctest_outcome_kind)outcome->kind) {
    case SYNCTEST_OUTCOME_CRASHED:
        if (evidence->has_sanitizer_words) {
            return (cause){"undefined behaviour",
                           "the sanitizer that it was built with found what the language does not "
                           "define: each compiler and processor has its own answer"};
        }
        if (perturbation == SYNCTEST_PERTURBATION_BOUNDS ||
            has_failed(evidence, SYNCTEST_PERTURBATION_BOUNDS)) {
            return causes[SYNCTEST_PERTURBATION_BOUNDS];
        }
        return (cause){"crash",
                       "the simulation's own code ended the process: build it with -g "
                       "-fsanitize=address,undefined and run this again, which names the line"};
    case SYNCTEST_OUTCOME_HUNG:
        return (cause){"hang", "it made no progress: an endless loop, or waiting for something"};
    case SYNCTEST_OUTCOME_FAULT:
        return faults[outcome->fault < SYNCTEST_FAULT_COUNT ? outcome->fault
                                                            : SYNCTEST_FAULT_LAYOUT];
    default:
        break;
    }
    bool is_narrowed = perturbation == SYNCTEST_PERTURBATION_LIBRARY &&
                       outcome->part != SYNCTEST_LIBRARY_ALL &&
                       outcome->part < SYNCTEST_LIBRARY_PARTS &&
                       !has_failed(evidence, SYNCTEST_PERTURBATION_STILL);
    if (synctest_diagnosis_is_race(outcome)) {
        return perturbation == SYNCTEST_PERTURBATION_WORKERS && is_reference_steady(outcome)
                   ? causes[SYNCTEST_PERTURBATION_WORKERS]
                   : race;
    }
    if (!is_reference_steady(outcome) && perturbation != SYNCTEST_PERTURBATION_STILL &&
        !has_failed(evidence, SYNCTEST_PERTURBATION_STILL)) {
        return (cause){causes[SYNCTEST_PERTURBATION_STILL].class,
                       "it differs without this as well, in the same way each time; run it with "
                       "--only still"};
    }
    return is_narrowed ? library_causes[outcome->part] : refine(perturbation, evidence);
}

const char *synctest_diagnosis_class(synctest_perturbation_id perturbation,
                                     const synctest_outcome *outcome,
                                     const synctest_evidence *evidence)
{
    return cause_of(perturbation, outcome, evidence).class;
}

void synctest_diagnosis_cause(synctest_perturbation_id perturbation,
                              const synctest_outcome *outcome, const synctest_evidence *evidence,
                              ls_text *out)
{
    ls_text_set(out, "%s", cause_of(perturbation, outcome, evidence).words);
    bool is_difference = outcome->kind == SYNCTEST_OUTCOME_DIFFERS;
    if (synctest_diagnosis_is_race(outcome)) {
        add_times(outcome, out);
        return;
    }
    if (is_difference && outcome->oddity == SYNCTEST_ODDITY_NEGATIVE_ZERO) {
        ls_text_add(out, "; one of the values is -0: the sign of zero differs");
    } else if (is_difference && outcome->oddity == SYNCTEST_ODDITY_NAN) {
        ls_text_add(out, "; one of the values is not a number (NaN)");
    }
    if (is_difference && evidence->written_variable[0] != '\0' &&
        is_about_statics(perturbation, evidence)) {
        ls_text_add(out, "; pass %s writes to the %svariable %s", evidence->writing_pass,
                    evidence->is_written_thread_local ? "thread-local " : "",
                    evidence->written_variable);
    }
    if (evidence->uses_library_random && perturbation == SYNCTEST_PERTURBATION_FRESH) {
        ls_text_add(out, "; the plug-in does call one of them");
    }
}
