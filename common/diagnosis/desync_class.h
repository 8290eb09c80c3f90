/* Desync class: what kind of fault made two machines differ, concluded from what each got when it
 * simulated the same ticks again. Only compares numbers and texts; never runs anything.
 * Called by the arbiter of a match and by tools. */
#ifndef LOCKSTEP_COMMON_DIAGNOSIS_DESYNC_CLASS_H
#define LOCKSTEP_COMMON_DIAGNOSIS_DESYNC_CLASS_H

#include "lockstep/common/base/build_fingerprint.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/diagnosis/rerun.h"

LS_C_BEGIN

/* ---- Surroundings: what lies around a process and can be changed for ticks that are run
 * again: each kind is made equal on every machine, and whether the result changes tells
 * what it depends on. Names and numbers only; rerun_apart makes the processes ---- */

/* X(NAME): CPU features that the C library goes by off, one core, the directory /, no variables but
 * those of language and linker, the language C and UTC. New ones are added at the end: bundles and
 * messages hold bits of them. */
#define LS_SURROUNDING_MAP(X)                                                                      \
    X(CPU_FEATURES)                                                                                \
    X(CORES)                                                                                       \
    X(DIRECTORY)                                                                                   \
    X(VARIABLES)                                                                                   \
    X(LOCALE)

typedef enum ls_surrounding {
#define LS_SURROUNDING_ENUM(name) LS_SURROUNDING_##name,
    LS_SURROUNDING_MAP(LS_SURROUNDING_ENUM)
#undef LS_SURROUNDING_ENUM
    LS_SURROUNDING_COUNT,
} ls_surrounding;

#define LS_SURROUNDING_BIT(kind) (1u << (kind))
#define LS_SURROUNDINGS_ALL ((1u << LS_SURROUNDING_COUNT) - 1)

/* A variable for a process whose C library goes by no CPU features. Names that it does not know are
 * passed over. */
#define LS_SURROUNDING_NO_CPU_FEATURES                                                             \
    "GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F,-AVX2,-FMA,-FMA4,-AVX,-SSE4_2,-SSE4_1"

/* ---- ticks ---- */

/* Since when a state differs that does so at this tick: "from tick 120 on", or, where the match
 * trusts what its simulation says it writes, "between tick 60 and tick 120". */
ls_text ls_desync_since(const ls_sim_instance *instance, uint32_t interval_ticks, ls_tick tick);

/* ---- classes ---- */

/* X(NAME, the word in reports and JSON, what it means, what to do next). New ones are added at the
 * end: bundles and messages hold their numbers. */
#define LS_DESYNC_CLASS_MAP(X)                                                                     \
    X(UNKNOWN, "unknown", "not enough is known",                                                   \
      "run lockstep-desync explain on the bundle; both sides need --find-causes on; slow "         \
      "machines "                                                                                  \
      "need a longer --investigation-timeout of the server")                                       \
    X(BUILD, "build", "the builds differ",                                                         \
      "give both sides the same file, or compare the two: lockstep-synctest A.so --against B.so")  \
    X(ONE_OFF, "one-off", "one-off: memory or a race",                                             \
      "run lockstep-synctest GAME.so --only still,workers,draw; if it happens on one machine "     \
      "only, test its memory")                                                                     \
    X(OUTSIDE, "outside-state", "state outside the saved block",                                   \
      "run lockstep-synctest GAME.so --only save,join,rollback,again,scratch, and move what it "   \
      "names into the state")                                                                      \
    X(UNSTABLE, "run-to-run", "uninitialised or shared memory",                                    \
      "run lockstep-synctest GAME.so --only stack,heap,scratch,addresses, and set what it names")  \
    X(SILENT, "no-answer", "the client did not answer",                                            \
      "let it run with --find-causes on, and look whether it hangs or its link fails")             \
    X(CONTRADICTION, "contradiction", "the client contradicts itself",                             \
      "look at this client: it is another program, or its memory is being written to")             \
    X(ENVIRONMENT, "environment", "the machines or their settings differ",                         \
      "make them equal one by one to see which it is, and run lockstep-synctest GAME.so; put "     \
      "what the step reads there into parameters")                                                 \
    X(PROCESS, "process", "statics, threads, addresses or time",                                   \
      "run lockstep-synctest GAME.so: it changes them, and time and random seeds, one by one")     \
    X(RACE, "race", "a race between threads, or chance",                                           \
      "run lockstep-synctest GAME.so --only still,workers, build the game with "                   \
      "-fsanitize=thread, and draw no numbers from the system, the clock or a process id")

typedef enum ls_desync_class {
#define LS_DESYNC_CLASS_ENUM(name, word, text, next) LS_DESYNC_CLASS_##name,
    LS_DESYNC_CLASS_MAP(LS_DESYNC_CLASS_ENUM)
#undef LS_DESYNC_CLASS_ENUM
    LS_DESYNC_CLASS_COUNT,
} ls_desync_class;

const char *ls_desync_class_word(ls_desync_class kind);
const char *ls_desync_class_text(ls_desync_class kind);
const char *ls_desync_class_next(ls_desync_class kind);

/* The name of a bundle's file, which no folder and no number of a later one stands in. `label` is a
 * room's, or "". The slot of a spectator means nothing. */
ls_text ls_desync_bundle_name(const char *label, const ls_simulation *simulation, ls_tick tick,
                              uint32_t slot, bool is_spectator);

/* The command that prints the line of code at which the two sides part: for a shell, with the
 * bundle's path and the plug-in's (NULL: a built-in), and FILE for each file that a parameter
 * names. Empty when that is longer than a sentence. */
ls_text ls_desync_command(const char *bundle, const char *plugin, const ls_simulation *simulation);

/* In place of the class, and of why, where the values that differ are known already. */
#define LS_DESYNC_CLASS_OPEN "its class is still being looked for"

/* For a simulation that hashes by callback and does not save and load. */
#define LS_DESYNC_OF_HASH_ALONE                                                                    \
    "it only hashes, without save and load: its ticks cannot be run again (no class, no pass), "   \
    "its states cannot be compared (no bytes, no bundle) or sent (no healing)"

/* Which machine the figures point at. */
typedef enum ls_desync_culprit {
    LS_DESYNC_CULPRIT_UNKNOWN,
    LS_DESYNC_CULPRIT_CLIENT,
    LS_DESYNC_CULPRIT_SERVER,
    LS_DESYNC_CULPRIT_BOTH, /* each is consistent with itself, or both are not */
} ls_desync_culprit;

const char *ls_desync_culprit_word(ls_desync_culprit culprit);

/* One machine's evidence. */
typedef struct ls_desync_evidence {
    ls_rerun_figures figures;
    const ls_build_fingerprint *print; /* NULL: not known */
} ls_desync_evidence;

typedef struct ls_desync_verdict {
    ls_desync_class kind;
    ls_desync_culprit culprit;
    ls_text why; /* one sentence: what was observed and what follows; see ls_desync_class_next */
} ls_desync_verdict;

/* Facts beside the re-runs. All 0: none is known. */
typedef struct ls_desync_circumstances {
    uint64_t elements;    /* in which the first state that differs does; 0: not known */
    uint32_t bits;        /* of those that some pass writes; 0: none does, or it is not known */
    bool is_beyond_bit;   /* no value differs by a power of two, as one flipped bit makes it */
    uint32_t with_server; /* other clients that had the server's state in the match */
    uint32_t with_client; /* other clients that had this client's */
    const char *outside;  /* what writes to variables outside the state (rerun_host.h); NULL */
    const char *harmless; /* likewise, but no proof of a class: a log, a counter; NULL */
} ls_desync_circumstances;

/* A flipped bit of a state reaches no more elements than these in the step that finds it; and where
 * steps write a value anew, damage to memory is no more bits of it. */
#define LS_DESYNC_ONE_OFF_ELEMENTS_MAX 8u
#define LS_DESYNC_ONE_OFF_BITS_MAX 8u

/* A side that could not run the ticks again, or not to the same state, is left out, and the other
 * one concludes as far as it can. */
void ls_desync_classify(const ls_desync_evidence *server, const ls_desync_evidence *client,
                        const ls_desync_circumstances *circumstances, ls_desync_verdict *out);

LS_C_END

#endif
