#include "lockstep/common/diagnosis/desync_class.h"

#include "lockstep/common/base/language.h"

#include <inttypes.h>
#include <string.h>

/* ---- surroundings ---- */

/* The kinds by which this item of a fingerprint was made equal; 0: it cannot be. */
static uint32_t surroundings_of_item(ls_fingerprint_item item)
{
    switch (item) {
    case LS_PRINT_CPU_FEATURES:
        return LS_SURROUNDING_BIT(LS_SURROUNDING_CPU_FEATURES);
    case LS_PRINT_CORES:
        return LS_SURROUNDING_BIT(LS_SURROUNDING_CORES);
    case LS_PRINT_DIRECTORY:
    case LS_PRINT_FILES: /* those with a relative path are not there any more */
        return LS_SURROUNDING_BIT(LS_SURROUNDING_DIRECTORY);
    case LS_PRINT_VARIABLES: /* some of them set the language, the time zone and CPU features */
        return LS_SURROUNDING_BIT(LS_SURROUNDING_VARIABLES) |
               LS_SURROUNDING_BIT(LS_SURROUNDING_LOCALE) |
               LS_SURROUNDING_BIT(LS_SURROUNDING_CPU_FEATURES);
    case LS_PRINT_LOCALE:
        return LS_SURROUNDING_BIT(LS_SURROUNDING_LOCALE);
    default:
        return 0;
    }
}

/* ---- ticks ---- */

ls_text ls_desync_since(const ls_sim_instance *instance, uint32_t interval_ticks, ls_tick tick)
{
    ls_text since = {{0}};
    ls_tick whole = ls_sim_instance_whole_before(instance, interval_ticks, tick);
    if (tick - whole > interval_ticks) {
        ls_text_set(&since, "between tick %" PRIu32 " and tick %" PRIu32, whole, tick);
    } else {
        ls_text_set(&since, "from tick %" PRIu32 " on", tick);
    }
    return since;
}

/* ---- classes ---- */

#define CASE_WORD(name, word, text, next) LS_CASE(LS_DESYNC_CLASS_##name, word)
#define CASE_MEANING(name, word, text, next) LS_CASE(LS_DESYNC_CLASS_##name, text)
#define CASE_NEXT(name, word, text, next) LS_CASE(LS_DESYNC_CLASS_##name, next)

LS_CASE_FUNCTION(const char *, ls_desync_class_word, ls_desync_class, LS_DESYNC_CLASS_MAP,
                 CASE_WORD, "unknown")

LS_CASE_FUNCTION(const char *, ls_desync_class_text, ls_desync_class, LS_DESYNC_CLASS_MAP,
                 CASE_MEANING, "unknown")

LS_CASE_FUNCTION(const char *, ls_desync_class_next, ls_desync_class, LS_DESYNC_CLASS_MAP,
                 CASE_NEXT, "")

/* A word of a command line, in quotes where a shell would take it for something else. */
static void add_word(const char *word, ls_text *out)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "/._-+:=@%,";
    const char *quote = word[0] == '\0' || word[strspn(word, plain)] != '\0' ? "'" : "";
    ls_text_add(out, " %s", quote);
    for (const char *at = word; *at != '\0'; at++) {
        if (*at == '\'') {
            ls_text_add(out, "'\\''");
        } else {
            ls_text_add(out, "%c", *at);
        }
    }
    ls_text_add(out, "%s", quote);
}

ls_text ls_desync_bundle_name(const char *label, const ls_simulation *simulation, ls_tick tick,
                              uint32_t slot, bool is_spectator)
{
    ls_text name = {{0}};
    ls_text_set(&name, "desync-%s%s%s-tick%" PRIu32 "-", label, label[0] != '\0' ? "-" : "",
                simulation->name, tick);
    if (is_spectator) {
        ls_text_add(&name, "spectator.bundle");
    } else {
        ls_text_add(&name, "slot%" PRIu32 ".bundle", slot);
    }
    return name;
}

ls_text ls_desync_command(const char *bundle, const char *plugin, const ls_simulation *simulation)
{
    ls_text command = {{0}};
    ls_text_set(&command, "lockstep-desync explain");
    add_word(bundle, &command);
    if (plugin) {
        ls_text_add(&command, " --sim");
        /* A copy in memory is no file that anybody could name. */
        bool is_copy = strncmp(plugin, "/proc/", 6) == 0;
        add_word(is_copy ? "GAME.so" : plugin, &command);
    }
    for (uint32_t i = 0; i < simulation->param_count; i++) {
        if (simulation->params[i].kind == LS_PARAM_FILE) {
            ls_text_add(&command, " --param %s=FILE", simulation->params[i].name);
        }
    }
    if (strlen(command.bytes) + 1 == sizeof command.bytes) { /* it was cut */
        command.bytes[0] = '\0';
    }
    return command;
}

const char *ls_desync_culprit_word(ls_desync_culprit culprit)
{
    switch (culprit) {
    case LS_DESYNC_CULPRIT_CLIENT:
        return "client";
    case LS_DESYNC_CULPRIT_SERVER:
        return "server";
    case LS_DESYNC_CULPRIT_BOTH:
        return "both";
    default:
        return "unknown";
    }
}

/* ---- one machine by itself ---- */

/* A symptom that a machine's own figures show, whatever the other machine has. */
typedef struct symptom {
    ls_desync_class kind; /* UNKNOWN: consistent with itself */
    const char *text;
} symptom;

static bool knows(const ls_rerun_figures *figures, uint32_t which)
{
    return (figures->known & which) == which;
}

/* It does not give one result, and ended before it was repeated: that something is wrong shows, and
 * not what. */
static bool is_cut_short(const ls_rerun_figures *figures)
{
    bool is_unstable = knows(figures, LS_RERUN_AGAIN) && figures->again != figures->fresh;
    bool is_race = knows(figures, LS_RERUN_RACES);
    return !is_race && !knows(figures, LS_RERUN_RELOADED) &&
           (figures->strayed < figures->tick || is_unstable);
}

#define RACE_TEXT(seen)                                                                            \
    "processes that begin alike gave different states for the same ticks from the same snapshot; " \
    "another result was seen " seen " of 4 times"

/* By how often. */
static const char *const race_texts[LS_RERUN_TIMES] = {RACE_TEXT("some"), RACE_TEXT("1"),
                                                       RACE_TEXT("2"), RACE_TEXT("3")};

/* From the surest evidence to the weakest. */
static symptom symptom_of(const ls_rerun_figures *figures)
{
    bool is_unstable = knows(figures, LS_RERUN_AGAIN) && figures->again != figures->fresh;
    if (knows(figures, LS_RERUN_RACES)) {
        return (symptom){LS_DESYNC_CLASS_RACE, race_texts[figures->apart % LS_RERUN_TIMES]};
    }
    if (knows(figures, LS_RERUN_APART) && figures->apart != figures->fresh) {
        return (symptom){LS_DESYNC_CLASS_PROCESS,
                         "two processes gave different states for the same ticks from the same "
                         "snapshot"};
    }
    if (is_cut_short(figures)) {
        return (symptom){LS_DESYNC_CLASS_UNKNOWN, ""};
    }
    if (is_unstable && knows(figures, LS_RERUN_REPEATED)) {
        return (symptom){LS_DESYNC_CLASS_UNSTABLE,
                         "runs of the same ticks from the same snapshot gave different states "
                         "with other bytes in memory that was not set, and only then"};
    }
    if (figures->strayed < figures->tick) {
        return (symptom){LS_DESYNC_CLASS_OUTSIDE,
                         "after loading the last agreed snapshot it does not even repeat ticks on "
                         "which both machines had agreed"};
    }
    if (is_unstable && knows(figures, LS_RERUN_CHANGED)) {
        return (symptom){LS_DESYNC_CLASS_OUTSIDE,
                         "the same ticks from the same snapshot give another state when they are "
                         "run once more in one process"};
    }
    if (is_unstable) {
        return (symptom){LS_DESYNC_CLASS_UNSTABLE,
                         "two runs of the same ticks from the same snapshot gave different states"};
    }
    if (knows(figures, LS_RERUN_RELOADED) && figures->reloaded != figures->fresh) {
        return (symptom){LS_DESYNC_CLASS_OUTSIDE,
                         "it differs only when the state is saved and loaded, with other scratch, "
                         "after every tick"};
    }
    return (symptom){LS_DESYNC_CLASS_UNKNOWN, ""};
}

/* ---- the two together ---- */

static void conclude(ls_desync_verdict *out, ls_desync_class kind, ls_desync_culprit culprit)
{
    out->kind = kind;
    out->culprit = culprit;
    ls_text_set(&out->why, "%s: ", ls_desync_class_text(kind));
}

static void conclude_symptom(ls_desync_verdict *out, symptom server, symptom client)
{
    bool is_server = server.kind != LS_DESYNC_CLASS_UNKNOWN;
    bool is_client = client.kind != LS_DESYNC_CLASS_UNKNOWN;
    bool is_servers_race =
        server.kind == LS_DESYNC_CLASS_RACE && client.kind != LS_DESYNC_CLASS_RACE;
    symptom shown = is_client && !is_servers_race ? client : server;
    conclude(out, shown.kind,
             is_server && is_client ? LS_DESYNC_CULPRIT_BOTH
             : is_client            ? LS_DESYNC_CULPRIT_CLIENT
                                    : LS_DESYNC_CULPRIT_SERVER);
    ls_text_add(&out->why, "on %s, %s",
                is_server && is_client ? "both sides"
                : is_client            ? "the client"
                                       : "the server",
                shown.text);
}

/* Bit i: item i, if it is known and not the same. */
static uint32_t differences(const ls_build_fingerprint *a, const ls_build_fingerprint *b,
                            ls_fingerprint_kind kind)
{
    uint32_t items = 0;
    for (uint32_t i = 0; a && b && i < LS_PRINT_ITEM_COUNT; i++) {
        ls_fingerprint_item item = (ls_fingerprint_item)i;
        bool is_of_kind = ls_fingerprint_item_kind(item) == kind;
        items |=
            is_of_kind && ls_build_fingerprint_differs(a, b, item) ? UINT32_C(1) << i : UINT32_C(0);
    }
    return items;
}

static void add_items(ls_text *why, const char *before, uint32_t items)
{
    const char *separator = before;
    for (uint32_t i = 0; i < LS_PRINT_ITEM_COUNT; i++) {
        if (items & UINT32_C(1) << i) {
            ls_text_add(why, "%s%s", separator, ls_fingerprint_item_name((ls_fingerprint_item)i));
            separator = ", ";
        }
    }
}

/* Those of the items that one of these surroundings stands for. */
static uint32_t items_of(uint32_t items, uint32_t surroundings)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < LS_PRINT_ITEM_COUNT; i++) {
        if (surroundings_of_item((ls_fingerprint_item)i) & surroundings) {
            found |= items & UINT32_C(1) << i;
        }
    }
    return found;
}

/* Making a surrounding equal clears the items that it stands for, but not files: those with an
 * absolute path stay what they are. */
static uint32_t items_cleared(uint32_t items, uint32_t surroundings)
{
    return items_of(items, surroundings) & ~(UINT32_C(1) << LS_PRINT_FILES);
}

static bool repeats_apart(const ls_rerun_figures *figures)
{
    return knows(figures, LS_RERUN_APART) && figures->apart == figures->fresh;
}

/* The same file gave two results that each machine repeats. An item that differs is to blame when
 * making it equal changes the result of one machine, or when nobody could make it equal. */
static void conclude_around(const ls_desync_evidence *server, const ls_desync_evidence *client,
                            uint32_t around, ls_desync_verdict *out)
{
    const ls_rerun_figures *s = &server->figures;
    const ls_rerun_figures *c = &client->figures;
    uint32_t moving = items_of(around, s->moved | c->moved);
    /* The result depends on it, and the other machine has it as it was made. */
    uint32_t hidden = items_of(UINT32_MAX, (s->moved ^ c->moved) & s->tried & c->tried);
    uint32_t untried = around & ~items_cleared(around, s->tried & c->tried);
    /* All the others were made equal. */
    uint32_t open = LS_SURROUNDINGS_ALL & ~(s->tried & c->tried);
    open = open == LS_SURROUNDING_BIT(LS_SURROUNDING_CPU_FEATURES) ? open : 0;
    bool is_around = moving != 0 || hidden != 0 || untried != 0;
    /* Nothing that a process has of its own: it is around them, and not among the items. */
    bool is_elsewhere = !is_around && repeats_apart(s) && repeats_apart(c);
    conclude(out, is_around || is_elsewhere ? LS_DESYNC_CLASS_ENVIRONMENT : LS_DESYNC_CLASS_PROCESS,
             LS_DESYNC_CULPRIT_BOTH);
    ls_text_add(&out->why, "each side repeats its own result");
    if (moving != 0) {
        add_items(&out->why, "; they differ in ", moving);
        ls_text_add(&out->why, ", and making that equal changes the result");
    } else if (hidden != 0) {
        add_items(&out->why, "; on one of them alone the result changes with its ", hidden);
    } else if (untried != 0) {
        add_items(&out->why, "; they differ in ", untried);
        if (items_of(untried, open)) {
            ls_text_add(&out->why, ", which could not be made equal: its code goes by the "
                                   "processor in a way of its own (cpuid), or its names were "
                                   "stripped");
        }
    } else if (around != 0) {
        ls_text_add(&out->why, ", with the same file");
        add_items(&out->why, "; they differ in ", around);
        ls_text_add(&out->why, ", but making that equal changes nothing");
    } else {
        ls_text_add(&out->why, ", with the same file on the same kind of machine");
    }
    if (is_elsewhere) {
        ls_text_add(&out->why,
                    "; in other processes as well: look for what is not compared, such "
                    "as the command line, the user, the host's name, limits, the date, files");
    }
}

/* Each machine repeats its own result: then what the two are tells the class. */
static void conclude_repeated(const ls_desync_evidence *server, const ls_desync_evidence *client,
                              ls_desync_verdict *out)
{
    const ls_build_fingerprint *a = server->print;
    const ls_build_fingerprint *b = client->print;
    uint32_t builds = differences(a, b, LS_FINGERPRINT_OF_BUILD);
    uint32_t around = differences(a, b, LS_FINGERPRINT_OF_ENVIRONMENT);
    bool are_known = a && b;
    bool are_files = are_known && a->items[LS_PRINT_SIMULATION][0] != '\0' &&
                     b->items[LS_PRINT_SIMULATION][0] != '\0';
    bool is_open = are_known && builds == 0; /* code that was made at run time is in no file */
    if (is_open && are_files) {
        conclude_around(server, client, around, out);
        return;
    }
    conclude(out, is_open ? LS_DESYNC_CLASS_UNKNOWN : LS_DESYNC_CLASS_BUILD,
             LS_DESYNC_CULPRIT_BOTH);
    ls_text_add(&out->why, "each side repeats its own result%s",
                is_open     ? "; whether both have the same build is not known"
                : are_known ? ""
                            : "; what the two machines are is not known");
    add_items(&out->why, "; they differ in ", builds | around);
}

static void conclude_cut_short(ls_desync_verdict *out, ls_desync_culprit culprit)
{
    conclude(out, LS_DESYNC_CLASS_UNKNOWN, culprit);
    ls_text_add(
        &out->why,
        "from the saved state the %s does not give one result, and there was no time to run "
        "it more often: a race, memory that is not set, or state outside the saved block",
        ls_desync_culprit_word(culprit));
}

static void conclude_third(ls_desync_verdict *out, const ls_rerun_figures *figures,
                           ls_desync_culprit culprit)
{
    if (!knows(figures, LS_RERUN_RELOADED)) {
        conclude_cut_short(out, culprit);
        return;
    }
    conclude(out, LS_DESYNC_CLASS_OUTSIDE, culprit);
    ls_text_add(&out->why, "from the saved state the %s gets a result that neither side had",
                ls_desync_culprit_word(culprit));
}

/* A machine's result of the match does not come again out of the saved state. Chance hits one
 * machine and few values: a result that others had as well, or that changes much, is no chance. */
static void conclude_one_off(ls_desync_verdict *out, ls_desync_culprit culprit,
                             const ls_desync_circumstances *circumstances)
{
    const char *word = ls_desync_culprit_word(culprit);
    uint32_t company = culprit == LS_DESYNC_CULPRIT_SERVER ? circumstances->with_server
                                                           : circumstances->with_client;
    bool is_many = circumstances->elements > LS_DESYNC_ONE_OFF_ELEMENTS_MAX;
    bool is_wide = circumstances->bits > LS_DESYNC_ONE_OFF_BITS_MAX;
    bool is_written =
        (circumstances->outside || circumstances->harmless) && circumstances->is_beyond_bit;
    if (company > 0) {
        conclude(out, LS_DESYNC_CLASS_OUTSIDE, LS_DESYNC_CULPRIT_BOTH);
        ls_text_add(&out->why,
                    "run again from the saved state, the %s gets the other side's result, though "
                    "%" PRIu32 " other client%s had the same as the %s in the match",
                    word, company, company == 1 ? "" : "s", word);
    } else if (is_many || is_wide || is_written) {
        conclude(out, circumstances->outside ? LS_DESYNC_CLASS_OUTSIDE : LS_DESYNC_CLASS_UNKNOWN,
                 culprit);
        ls_text_add(&out->why,
                    "run again from the saved state, the %s gets the other side's result, ", word);
        if (is_many) {
            ls_text_add(&out->why, "and %" PRIu64 " values differ, more than a flipped bit changes",
                        circumstances->elements);
        } else if (!is_wide) {
            ls_text_add(&out->why, "and no value differs by one flipped bit");
        } else {
            ls_text_add(&out->why,
                        "and values that a pass writes differ in %" PRIu32
                        " bits, more than damaged memory changes",
                        circumstances->bits);
        }
        if (!circumstances->outside) {
            ls_text_add(&out->why, ": a race, or something outside the saved state that a re-run "
                                   "does not bring back");
        }
    } else {
        conclude(out, LS_DESYNC_CLASS_ONE_OFF, culprit);
        ls_text_add(&out->why, "run again, the %s gets the other side's result", word);
    }
}

/* Both are consistent with themselves now: which of the two recorded results does each get? */
static void compare_results(const ls_desync_evidence *server, const ls_desync_evidence *client,
                            const ls_desync_circumstances *circumstances, ls_desync_verdict *out)
{
    const ls_rerun_figures *s = &server->figures;
    const ls_rerun_figures *c = &client->figures;
    if (is_cut_short(s) || is_cut_short(c)) {
        conclude_cut_short(out,
                           is_cut_short(s) ? LS_DESYNC_CULPRIT_SERVER : LS_DESYNC_CULPRIT_CLIENT);
    } else if (s->fresh != s->live && s->fresh != c->live) {
        conclude_third(out, s, LS_DESYNC_CULPRIT_SERVER);
    } else if (c->fresh != s->live && c->fresh != c->live) {
        conclude_third(out, c, LS_DESYNC_CULPRIT_CLIENT);
    } else if (s->fresh == s->live && c->fresh == c->live) {
        conclude_repeated(server, client, out);
    } else if (s->fresh == s->live) {
        conclude_one_off(out, LS_DESYNC_CULPRIT_CLIENT, circumstances);
    } else if (c->fresh == c->live) {
        conclude_one_off(out, LS_DESYNC_CULPRIT_SERVER, circumstances);
    } else {
        conclude(out, LS_DESYNC_CLASS_UNSTABLE, LS_DESYNC_CULPRIT_BOTH);
        ls_text_add(&out->why, "run again, each side gets the result that the other had");
    }
}

/* Of the other side the hash alone is known that it had in the match; 0: not even that. */
static void conclude_from_one(const ls_rerun_figures *known, uint64_t other_live,
                              ls_desync_culprit side, const ls_desync_circumstances *circumstances,
                              ls_desync_verdict *out)
{
    bool is_server = side == LS_DESYNC_CULPRIT_SERVER;
    const symptom none = {0};
    symptom found = symptom_of(known);
    if (found.kind != LS_DESYNC_CLASS_UNKNOWN) {
        conclude_symptom(out, is_server ? found : none, is_server ? none : found);
    } else if (is_cut_short(known)) {
        conclude_cut_short(out, side);
    } else if (known->fresh == known->live) {
        conclude(out, LS_DESYNC_CLASS_UNKNOWN, LS_DESYNC_CULPRIT_UNKNOWN);
        ls_text_add(&out->why, "the %s repeats its own result", ls_desync_culprit_word(side));
    } else if (other_live == 0) {
        conclude(out, LS_DESYNC_CLASS_UNKNOWN, side);
        ls_text_add(&out->why, "the %s does not repeat its own result",
                    ls_desync_culprit_word(side));
    } else if (known->fresh == other_live) {
        conclude_one_off(out, side, circumstances);
    } else {
        conclude_third(out, known, side);
    }
    ls_text_add(&out->why, "; the %s could not run the ticks again",
                is_server ? "client" : "server");
}

static void conclude_from_both(const ls_desync_evidence *server, const ls_desync_evidence *client,
                               const ls_desync_circumstances *circumstances, ls_desync_verdict *out)
{
    const ls_rerun_figures *s = &server->figures;
    symptom on_server = symptom_of(s);
    symptom on_client = symptom_of(&client->figures);
    if (s->live == client->figures.live) {
        conclude(out, LS_DESYNC_CLASS_UNKNOWN, LS_DESYNC_CULPRIT_UNKNOWN);
        ls_text_add(&out->why, "both sides have the same state at tick %" PRIu32, s->tick);
    } else if (on_server.kind != LS_DESYNC_CLASS_UNKNOWN ||
               on_client.kind != LS_DESYNC_CLASS_UNKNOWN) {
        conclude_symptom(out, on_server, on_client);
    } else {
        compare_results(server, client, circumstances, out);
    }
}

/* Where it may be the reason: a static cannot make two builds differ. */
static void add_written(const char *written, ls_desync_verdict *out)
{
    const uint32_t kinds = 1u << LS_DESYNC_CLASS_OUTSIDE | 1u << LS_DESYNC_CLASS_ONE_OFF |
                           1u << LS_DESYNC_CLASS_PROCESS | 1u << LS_DESYNC_CLASS_UNSTABLE |
                           1u << LS_DESYNC_CLASS_UNKNOWN;
    if (written && (kinds >> out->kind & 1u)) {
        ls_text_add(&out->why, "; outside the state, %s", written);
    }
}

/* Either side may be wrong in what lies around it or what each process has of its own, but where
 * all others have the result of one of the two, the other one is by itself. */
static void use_company(const ls_desync_circumstances *circumstances, ls_desync_verdict *out)
{
    bool is_server = circumstances->with_server == 0;
    uint32_t others = is_server ? circumstances->with_client : circumstances->with_server;
    bool is_one_sided = circumstances->with_server == 0 || circumstances->with_client == 0;
    bool is_of_machine =
        out->kind == LS_DESYNC_CLASS_PROCESS || out->kind == LS_DESYNC_CLASS_ENVIRONMENT;
    if (!is_of_machine || out->culprit != LS_DESYNC_CULPRIT_BOTH || others == 0 || !is_one_sided) {
        return;
    }
    out->culprit = is_server ? LS_DESYNC_CULPRIT_SERVER : LS_DESYNC_CULPRIT_CLIENT;
    ls_text_add(&out->why, "; the %s differs from %" PRIu32 " other client%s, which ha%s the %s's",
                ls_desync_culprit_word(out->culprit), others, others == 1 ? "" : "s",
                others == 1 ? "s" : "ve", is_server ? "client" : "server");
}

void ls_desync_classify(const ls_desync_evidence *server, const ls_desync_evidence *client,
                        const ls_desync_circumstances *circumstances, ls_desync_verdict *out)
{
    const uint32_t needed = LS_RERUN_LIVE | LS_RERUN_FRESH;
    const ls_rerun_figures *s = &server->figures;
    const ls_rerun_figures *c = &client->figures;
    bool is_one_state = s->tick == c->tick;
    bool may_compare = is_one_state || s->tick == 0 || c->tick == 0;
    *out = (ls_desync_verdict){0};
    if (!knows(s, needed) && !knows(c, needed)) {
        conclude(out, LS_DESYNC_CLASS_UNKNOWN, LS_DESYNC_CULPRIT_UNKNOWN);
        ls_text_add(&out->why, "neither side could run the ticks again");
    } else if (!knows(c, needed) || (knows(s, needed) && !is_one_state)) {
        conclude_from_one(s, may_compare ? c->live : 0, LS_DESYNC_CULPRIT_SERVER, circumstances,
                          out);
    } else if (!knows(s, needed)) {
        conclude_from_one(c, may_compare ? s->live : 0, LS_DESYNC_CULPRIT_CLIENT, circumstances,
                          out);
    } else {
        conclude_from_both(server, client, circumstances, out);
    }
    use_company(circumstances, out);
    add_written(circumstances->outside, out);
    add_written(circumstances->harmless, out);
}
