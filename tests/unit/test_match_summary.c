#include "lockstep/server/investigation/desync_finding.h"
#include "lockstep/server/rooms/match_summary.h"

#include <criterion/criterion.h>
#include <string.h>

static ls_text logged;

static void keep_line(void *user, ls_log_level level, const char *line)
{
    (void)user;
    (void)level;
    ls_text_add(&logged, "%s\n", line);
}

/* The state that differs first is state 40, which tick 39 made. */
static bool says_state(ls_tick values_tick, ls_differing_pass pass)
{
    const ls_log log = {.level = LS_LOG_INFO, .write = keep_line};
    const ls_desync_finding finding = {.tick = 40,
                                       .agreed_tick = 39,
                                       .first_tick = 40,
                                       .elements = 1,
                                       .place_count = 1,
                                       .pass = "move",
                                       .differing_pass = pass,
                                       .values_tick = values_tick};
    logged = (ls_text){{0}};
    ls_desync_report_log(&finding, "ann", NULL, NULL, &log);
    cr_expect_not_null(strstr(logged.bytes, "DESYNC of ann at tick 40"), "%s", logged.bytes);
    return strstr(logged.bytes, "the values are those of state 58") != NULL;
}

Test(match_summary, values_of_another_state_are_said_to_be_so_whatever_is_known_of_the_pass)
{
    for (ls_differing_pass pass = LS_PASS_UNKNOWN; pass <= LS_PASS_WRITES; pass++) {
        cr_expect(says_state(58, pass), "%d: %s", (int)pass, logged.bytes);
        cr_expect_not(says_state(40, pass), "%d: %s", (int)pass, logged.bytes);
    }
}
