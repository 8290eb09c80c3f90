/* Faults that no other test has, live: a server and three clients over a link of 100 ms and with 5
 * % loss. Each is named with its first bad tick, its pass, its field and its class, or the class is
 * unknown and says why; it is never a wrong one. */
#include "lockstep/server/investigation/desync_finding.h"
#include "lockstep/tests/match/match_test.h"
#include "lockstep/tests/support/unseen_machine.h"

enum {
    MACHINES = 4, /* the server, and three clients */
    TICKS = 420,
    FROM = 101,
    COMES = 150,
    LARGER_WORDS = 64 << 10,
    SERVER = 1u << 0,
    FIRST = 1u << 1,
    NEXT = 1u << 2,
    THIRD = 1u << 3,
    CLIENTS = FIRST | NEXT | THIRD,
    ALL = SERVER | CLIENTS,
};

typedef enum print_change {
    SAME_PRINT,
    OTHER_BUILD,
    OTHER_VARIABLES,
    OTHER_LOCALE,
    OTHER_FILES,
    OTHER_FLOAT,
} print_change;

static const ls_fingerprint_item changed_items[] = {
    [OTHER_BUILD] = LS_PRINT_SIMULATION, [OTHER_VARIABLES] = LS_PRINT_VARIABLES,
    [OTHER_LOCALE] = LS_PRINT_LOCALE,    [OTHER_FILES] = LS_PRINT_FILES,
    [OTHER_FLOAT] = LS_PRINT_FLOAT,
};

/* How the case is played, and what the report says of it. */
typedef struct unseen_case {
    const char *name;
    unseen_fault fault;
    uint32_t faulty;     /* machines that have the fault, as bits */
    uint32_t part[2];    /* the server's, and that of the first client */
    print_change change; /* of the faulty clients, or of the server where it alone is */
    ls_tick from;        /* 0: FROM */
    ls_tick lasts;       /* ticks; 0: to the end */
    bool is_late;        /* the third client comes when the match runs */
    bool is_back;        /* the first client has lost its link before, and is back */
    bool is_flip;        /* `fault` is none: a bit of the first client's state is flipped */
    bool is_healed;      /* likewise, and it is healed before the fault begins */
    bool is_passing;     /* states that are compared seldom do not show it */
    const char *pass;    /* NULL: none is named */
    const char *field;   /* the first that is listed */
    ls_desync_class kind;
    const char *says; /* what the report says as well; NULL: nothing of order */
} unseen_case;

#define BUILD LS_DESYNC_CLASS_BUILD
#define ONE_OFF LS_DESYNC_CLASS_ONE_OFF
#define OUTSIDE LS_DESYNC_CLASS_OUTSIDE
#define UNSTABLE LS_DESYNC_CLASS_UNSTABLE
#define ENVIRONMENT LS_DESYNC_CLASS_ENVIRONMENT
#define PROCESS LS_DESYNC_CLASS_PROCESS
#define UNKNOWN LS_DESYNC_CLASS_UNKNOWN

#define OF_BUILD .faulty = FIRST, .change = OTHER_BUILD, .kind = BUILD
#define SPREAD .pass = "spread"
#define IN(field_) .field = (field_)

static const unseen_case cases[] = {
    {"another constant", UNSEEN_CONSTANT, OF_BUILD, .part = {0, 6}, SPREAD, IN("wrong")},
    {"a conversion out of range", UNSEEN_CONVERSION, OF_BUILD, .from = 119, SPREAD, IN("wrong")},
    {"a fused operation", UNSEEN_FUSED, OF_BUILD, SPREAD, IN("score")},
    {"an array written past its end", UNSEEN_PAST_END, OF_BUILD, SPREAD, IN("tail")},
    {"one of 64 players", UNSEEN_BITFIELD, OF_BUILD, SPREAD, IN("players")},
    {"the order of a table", UNSEEN_ORDER, OF_BUILD, SPREAD, IN("cells[10]"),
     .says = "their order alone"},
    {"two faults at once", UNSEEN_TWO_PASSES, OF_BUILD, .pass = "gather", IN("spare")},
    {"from the first steps on", UNSEEN_FUSED, OF_BUILD, .from = 1, SPREAD, IN("score")},
    {"in one step", UNSEEN_FUSED, OF_BUILD, .lasts = 1, SPREAD, IN("score")},
    {"gone before the next hash", UNSEEN_CONSTANT, OF_BUILD, .part = {0, 6}, .lasts = 1,
     .is_passing = true, SPREAD, IN("wrong")},
    {"one who is back", UNSEEN_FUSED, OF_BUILD, .from = 250, .is_back = true, SPREAD, IN("score")},
    {"one who was healed", UNSEEN_FUSED, OF_BUILD, .from = 301, .lasts = 1, .is_healed = true,
     SPREAD, IN("score")},
    {"two of three clients", UNSEEN_FUSED, FIRST | NEXT, .change = OTHER_BUILD, SPREAD, IN("score"),
     BUILD},
    {"the server alone", UNSEEN_FUSED, SERVER, .change = OTHER_BUILD, SPREAD, IN("score"), BUILD},
    {"a build that comes late", UNSEEN_FUSED, THIRD, .change = OTHER_BUILD, .is_late = true, SPREAD,
     IN("score"), BUILD},
    {"a frame counter, and one comes late", UNSEEN_COUNTER, ALL, .is_late = true, SPREAD,
     IN("wrong"), OUTSIDE},
    {"a random stream, and one comes late", UNSEEN_STREAM, ALL, .is_late = true, SPREAD,
     IN("wrong"), OUTSIDE},
    {"a flipped bit", UNSEEN_NONE, .is_flip = true, IN("shadow"), ONE_OFF},
    {"300 damaged values", UNSEEN_DAMAGE, FIRST, .lasts = 1, SPREAD, IN("cells[0]"), UNKNOWN},
    {"300 damaged values of the server", UNSEEN_DAMAGE, SERVER, .lasts = 1, SPREAD, IN("cells[0]"),
     UNKNOWN},
    {"a cache that something else has warmed", UNSEEN_CACHE, FIRST, .part = {0, 0x5a5a5a5a}, SPREAD,
     IN("score"), UNKNOWN},
    {"a cache for many values", UNSEEN_WIDE_CACHE, FIRST, .part = {0, 0x5a5a5a5a}, SPREAD,
     IN("cells[0]"), UNKNOWN},
    {"a mode that a callback has left", UNSEEN_MODE_LEFT, FIRST, .part = {0, 0x3c3c3c3c}, SPREAD,
     IN("score"), UNKNOWN},
    {"a lost update", UNSEEN_RACE, FIRST, .lasts = 1, SPREAD, IN("score"), ONE_OFF},
    {"drawing", UNSEEN_DRAW, FIRST, IN("shadow"), ONE_OFF},
    {"drawing, on the server", UNSEEN_DRAW, SERVER, IN("shadow"), ONE_OFF},
    {"an input applied late", UNSEEN_LATE_INPUT, FIRST, .lasts = 1, .pass = "gather", IN("sum"),
     UNKNOWN},
    {"a stack that is not set",
     UNSEEN_STACK,
     ALL,
     {0x1234567, 0x89abcde},
     SPREAD,
     IN("wrong"),
     UNSTABLE},
    {"the order of pointers", UNSEEN_ADDRESS, ALL, {1, 2}, SPREAD, IN("wrong"), PROCESS},
    {"the time", UNSEEN_CLOCK, ALL, {100, 200}, SPREAD, IN("wrong"), PROCESS},
    {"a variable", UNSEEN_VARIABLE, ALL, {3, 4}, OTHER_VARIABLES, SPREAD, IN("wrong"), ENVIRONMENT},
    {"the language", UNSEEN_LOCALE, ALL, {5, 6}, OTHER_LOCALE, SPREAD, IN("wrong"), ENVIRONMENT},
    {"a file", UNSEEN_FILE, ALL, {7, 8}, OTHER_FILES, SPREAD, IN("wrong"), ENVIRONMENT},
    {"denormals that a library flushes",
     UNSEEN_DENORMALS,
     ALL,
     {9, 10},
     OTHER_FLOAT,
     SPREAD,
     IN("wrong"),
     ENVIRONMENT},
    {"a file that the plug-in does not name",
     UNSEEN_FILE,
     ALL,
     {7, 8},
     SPREAD,
     IN("wrong"),
     ENVIRONMENT},
};

/* One who comes when the match runs, and differs in its first steps. */
#define LATE .is_late = true
#define OF_LATE_BUILD .faulty = THIRD, .change = OTHER_BUILD, LATE, .kind = BUILD

static const unseen_case late_cases[] = {
    {"a late constant", UNSEEN_CONSTANT, OF_LATE_BUILD, .part = {0, 6}, SPREAD, IN("wrong")},
    {"a late fused operation", UNSEEN_FUSED, OF_LATE_BUILD, SPREAD, IN("score")},
    {"a late write past an end", UNSEEN_PAST_END, OF_LATE_BUILD, SPREAD, IN("tail")},
    {"a late bit field", UNSEEN_BITFIELD, OF_LATE_BUILD, SPREAD, IN("players")},
    {"two late faults", UNSEEN_TWO_PASSES, OF_LATE_BUILD, .pass = "gather", IN("spare")},
    {"a late frame counter", UNSEEN_COUNTER, ALL, LATE, SPREAD, IN("wrong"), OUTSIDE},
    {"a late random stream", UNSEEN_STREAM, ALL, LATE, SPREAD, IN("wrong"), OUTSIDE},
    {"a cache that is cold late", UNSEEN_CACHE, ALL, {77, 0}, LATE, SPREAD, IN("score"), OUTSIDE},
    {"a wide cache that is cold late",
     UNSEEN_WIDE_CACHE,
     ALL,
     {77, 0},
     LATE,
     SPREAD,
     IN("cells[0]"),
     OUTSIDE},
    {"a late stack that is not set",
     UNSEEN_STACK,
     ALL,
     {0x1234567, 0x89abcde},
     LATE,
     SPREAD,
     IN("wrong"),
     UNSTABLE},
    {"a late order of pointers", UNSEEN_ADDRESS, ALL, {1, 2}, LATE, SPREAD, IN("wrong"), PROCESS},
    {"a late clock", UNSEEN_CLOCK, ALL, {100, 200}, LATE, SPREAD, IN("wrong"), PROCESS},
    {"a late variable",
     UNSEEN_VARIABLE,
     ALL,
     {3, 4},
     OTHER_VARIABLES,
     LATE,
     SPREAD,
     IN("wrong"),
     ENVIRONMENT},
    {"a late file", UNSEEN_FILE, ALL, {7, 8}, OTHER_FILES, LATE, SPREAD, IN("wrong"), ENVIRONMENT},
};

/* ---- playing ---- */

static unseen_machine machines[MACHINES];
static uint32_t ballast_words;

static bool has_fault(const unseen_case *what, uint32_t machine)
{
    return what->faulty >> machine & 1u;
}

/* The client whose difference is looked at. */
static uint32_t judged(const unseen_case *what)
{
    return what->is_late ? 2 : 0;
}

static void prepare(const unseen_case *what, uint32_t index)
{
    unseen_machine *machine = &machines[index];
    /* Of several clients one differs from the server, or all would outvote it. */
    bool is_like_server = index == 0 || (what->faulty == ALL && index != judged(what) + 1);
    bool is_changed =
        what->faulty == SERVER ? index == 0 : !is_like_server && has_fault(what, index);
    uint32_t own = what->part[!is_like_server];
    unseen_machine_init(machine);
    machine->fault = has_fault(what, index) ? what->fault : UNSEEN_NONE;
    machine->from = what->from != 0 ? what->from : FROM;
    machine->until = what->lasts > 0 ? machine->from + what->lasts : 0;
    machine->part = own;
    machine->ballast_words = ballast_words;
    machine->live = (unseen_process){
        .cache = own, .address = own, .clock = own, .variable = own, .locale = own};
    if (is_changed && what->change != SAME_PRINT) {
        ls_build_fingerprint_set(&machine->print, changed_items[what->change], "another");
    }
}

static virtual_client *add_machine(virtual_match *run, uint32_t index, bool is_late)
{
    virtual_client_setup client = virtual_client_setup_default(run);
    client.simulation = &machines[index].simulation;
    client.session.rerun_host = &machines[index].host;
    client.session.print = &machines[index].print;
    client.comes_later = is_late;
    return virtual_match_add_client(run, &client);
}

static virtual_match *play(const unseen_case *what, uint32_t interval, uint64_t seed)
{
    for (uint32_t i = 0; i < MACHINES; i++) {
        prepare(what, i);
    }
    virtual_setup setup = virtual_setup_default(&machines[0].simulation, 3, TICKS);
    setup.clients = 0;
    setup.seed = seed;
    setup.link = (ls_link_config){.delay_ns = 50 * MS, .loss_ppm = 50000};
    setup.match.start_players = what->is_late ? 2 : 3;
    setup.match.hash_interval_ticks = interval;
    setup.match.on_desync = what->is_healed ? LS_ON_DESYNC_HEAL : LS_ON_DESYNC_REPORT;
    setup.match.rerun_host = &machines[0].host;
    setup.match.print = &machines[0].print;
    virtual_match *run = checked_match_create(&setup);
    for (uint32_t i = 1; i < MACHINES; i++) {
        add_machine(run, i, what->is_late && i == 3);
    }
    if (what->is_flip || what->is_healed) {
        flip_bit(run->clients[0], FROM + 1, offsetof(unseen_state, shadow));
    }
    if (what->is_late) {
        virtual_match_run_to_tick(run, COMES);
        virtual_client_come(run->clients[2]);
    }
    if (what->is_back) {
        virtual_match_run_to_tick(run, FROM);
        cut_link(run->clients[0], true);
        virtual_match_run(run, SECOND);
        cut_link(run->clients[0], false);
    }
    virtual_match_run_to_end(run);
    return run;
}

/* The first tick that differs of one who comes late is that of its first step. */
static ls_tick first_tick(const virtual_match *run, const unseen_case *what, uint32_t slot)
{
    const virtual_event *joining = virtual_match_find_slot(run, LS_MATCH_PLAYER_JOINING, slot);
    if (what->is_late) {
        cr_assert_not_null(joining);
        return joining->event.tick + 1;
    }
    return (what->from != 0 ? what->from : FROM) + 1;
}

static void check_case(const unseen_case *what, uint32_t interval, uint64_t seed)
{
    virtual_match *run = play(what, interval, seed);
    uint32_t slot = report_of(run->clients[judged(what)]).slot;
    const ls_desync_finding *finding = ls_match_desync_of(run->match, slot);
    ls_text about;
    ls_text_set(&about, "%s, hashed every %u ticks", what->name, interval);
    if (what->is_passing && interval > 1) {
        cr_assert_null(finding, "%s", about.bytes);
        virtual_match_destroy(run);
        return;
    }
    cr_assert_not_null(finding, "%s", about.bytes);
    ls_text_add(&about, ": %s", finding->verdict.why.bytes);
    cr_expect_eq(finding->first_tick, first_tick(run, what, slot), "%s: tick %u", about.bytes,
                 finding->first_tick);
    cr_expect_str_eq(finding->pass ? finding->pass : "", what->pass ? what->pass : "", "%s",
                     about.bytes);
    cr_assert_gt(finding->place_count, 0, "%s", about.bytes);
    cr_expect_str_eq(finding->places[0].name, what->field, "%s", about.bytes);
    cr_expect_eq(finding->verdict.kind, what->kind, "%s", about.bytes);
    const char *says = what->says ? what->says : "order alone";
    cr_expect_eq(strstr(finding->verdict.why.bytes, says) != NULL, what->says != NULL, "%s",
                 about.bytes);
    cr_expect_gt(strlen(finding->verdict.why.bytes),
                 strlen(ls_desync_class_text(finding->verdict.kind)) + 2, "%s", about.bytes);
    cr_expect_leq(finding->took_ns, 3 * SECOND, "%s", about.bytes);
    for (uint32_t other = 0; other < 3; other++) {
        bool is_bad = other == judged(what) || has_fault(what, other + 1) || what->faulty == SERVER;
        uint32_t its = report_of(run->clients[other]).slot;
        cr_expect(is_bad || virtual_match_count(run, LS_MATCH_DESYNC, its) == 0,
                  "%s: client %u is innocent", about.bytes, other);
    }
    virtual_match_destroy(run);
}

Test(unseen, faults_are_named_when_every_state_is_compared)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_case(&cases[i], 1, i + 1);
    }
}

Test(unseen, faults_are_named_when_states_are_compared_seldom)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_case(&cases[i], i % 2 == 0 ? 8 : 30, i + 1);
    }
}

static void check_late_joiners(uint32_t words, uint32_t interval)
{
    ballast_words = words;
    for (size_t i = 0; i < sizeof late_cases / sizeof late_cases[0]; i++) {
        check_case(&late_cases[i], interval, i + 1);
    }
    ballast_words = 0;
}

Test(unseen, faults_of_a_late_joiner_are_named_in_its_first_steps)
{
    check_late_joiners(0, 1);
    check_late_joiners(0, 8);
}

/* Its states are not all kept: not even that before the first one that differs. */
Test(unseen, faults_of_a_late_joiner_with_a_larger_state_are_named_in_its_first_steps)
{
    check_late_joiners(LARGER_WORDS, 16);
}
