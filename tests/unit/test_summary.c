/* The names of players, and the summary of a match. */
#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/program/player_name.h"
#include "lockstep/common/program/summary.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ==== player_name ==== */

/* A player's name is taken as its owner wrote it, and told apart from what nobody could read. */

static void assert_read(const char *text, const char *expected)
{
    char name[LS_PLAYER_NAME_BYTES_MAX];
    ls_text why = {{0}};
    cr_assert_eq(ls_player_name_read(text, name, &why), LS_OK, "%s: %s", text, why.bytes);
    cr_assert_str_eq(name, expected);
}

static void assert_refused(const char *text, const char *sentence)
{
    char name[LS_PLAYER_NAME_BYTES_MAX];
    ls_text why = {{0}};
    cr_assert_eq(ls_player_name_read(text, name, &why), LS_BAD_ARGUMENT, "%s", text);
    cr_assert(strstr(why.bytes, sentence), "%s", why.bytes);
}

Test(player_name, every_script_is_read)
{
    assert_read("player-1", "player-1");
    assert_read("Zo\u00eb", "Zo\u00eb");
    assert_read("\u4e2d\u6587 \U0001f3ae", "\u4e2d\u6587 \U0001f3ae");
    assert_read("\u1019\u103c\u1014\u103a\u1019\u102c", "\u1019\u103c\u1014\u103a\u1019\u102c");
}

/* Of any width, too: a name is in normalisation form KC. */
Test(player_name, equal_names_have_equal_bytes)
{
    assert_read("Zoe\u0308", "Zo\u00eb");
    assert_read("\uff21\uff4e\uff4e", "Ann");
    assert_read("\uff76\uff9e", "\u30ac");
}

Test(player_name, spaces_around_it_are_not_its_part_and_those_within_are_single)
{
    assert_read("  two words\u00a0", "two words");
    assert_read("\u00a0two \u3000\u1680 words\u2003", "two words");
}

Test(player_name, what_nobody_can_read_is_refused)
{
    assert_refused("", "not blanks");
    assert_refused(" \u3000 ", "not blanks");
    assert_refused("a\tb", "U+0009");
    assert_refused("a\u202e"
                   "b",
                   "U+202E");
    assert_refused("a\u200b", "U+200B");
    assert_refused("ab\xff", "byte 3");
    char endless[1000];
    memset(endless, 'n', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    assert_refused(endless, "up to 31 bytes of UTF-8");
    assert_refused("12345678901234567890123456789012", "up to 31 bytes of UTF-8");
}

/* Unassigned or private characters are letters to nobody, and of the others these have no ink. */
static const char *const unseen[] = {
    "\u3164", "\u2800", "\u115f",     "\u1160", "\u17b4",     "\u17b5",     "\u034f",     "\uffa0",
    "\u00ad", "\u061c", "\u180b",     "\u180e", "\u2060",     "\u2064",     "\ufe00",     "\ufe0e",
    "\ufeff", "\ufffc", "\U0001d159", "\ue000", "\U000e0061", "\U000e0100", "\U0001d173",
};

Test(player_name, a_letter_that_nobody_sees_is_refused_wherever_it_stands)
{
    for (size_t i = 0; i < sizeof unseen / sizeof unseen[0]; i++) {
        static const char *const places[] = {"%s", "%sadmin", "admin%s", "ad%smin",
                                             "\u0627%s\u0628"};
        for (size_t k = 0; k < sizeof places / sizeof places[0]; k++) {
            char text[64];
            ls_text why = {{0}};
            char name[LS_PLAYER_NAME_BYTES_MAX] = "untouched";
            snprintf(text, sizeof text, places[k], unseen[i]);
            cr_expect_eq(ls_player_name_read(text, name, &why), LS_BAD_ARGUMENT, "row %zu", i);
            cr_expect_str_eq(name, "untouched");
        }
    }
}

Test(player_name, emoji_may_be_sequences)
{
    static const char *const names[] = {
        "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466", /* family */
        "\U0001f469\U0001f3fd\u200d\U0001f680",                       /* astronaut */
        "\u2764\ufe0f\u200d\U0001f525",
        "\U0001f441\ufe0f\u200d\U0001f5e8\ufe0f",
        "\U0001f3f4\u200d\u2620\ufe0f", /* pirates */
        "\U0001f3f3\ufe0f\u200d\U0001f308",
        "\U0001f1eb\U0001f1f7",
        "7\ufe0f\u20e3 Ann",
        "\U0001f44d\U0001f3fb",
        "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f", /* Scotland */
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_read(names[i], names[i]);
    }
    assert_refused("a\u200d\U0001f680", "U+200D");
    assert_refused("\U0001f469\u200d", "U+200D");
    assert_refused("\U0001f469\u200d\u200d\U0001f680", "U+200D");
    assert_read("a\ufe0f7\ufe0f", "a7");
    assert_read("\u2122\ufe0f", "TM");
    assert_read("K\ufe0f\u0323", "\u1e32");
    assert_refused("\U0001f3f4\U000e0067\U000e0062\U000e0078\U000e007f", "U+E0067");
    assert_refused("\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074", "U+E0067");
}

/* RFC 5892, appendix A. */
Test(player_name, some_characters_stand_in_their_context_alone)
{
    assert_read("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
                "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645");     /* Persian */
    assert_read("\u0915\u094d\u200d\u0937", "\u0915\u094d\u200d\u0937"); /* behind a virama */
    assert_read("\u0915\u094d\u200c\u0937", "\u0915\u094d\u200c\u0937");
    assert_refused("ad\u200cmin", "U+200C");
    assert_refused("ad\u200dmin", "U+200D");
    assert_refused("\u200c\u0645", "U+200C");
    assert_refused("\u0627\u200c\u0628", "U+200C"); /* alef does not join what follows */
    assert_read("col\u00b7lega", "col\u00b7lega");
    assert_refused("a\u00b7b", "in their place, and U+00B7 is not");
    assert_read("\u0375\u03b1", "\u0375\u03b1");
    assert_refused("\u0375a", "U+0375");
    assert_read("\u05d2\u05f3", "\u05d2\u05f3");
    assert_refused("a\u05f4", "U+05F4");
    assert_read("\u30a2\u30fb\u30a2", "\u30a2\u30fb\u30a2");
    assert_refused("a\u30fbb", "U+30FB");
    assert_read("\u0661\u0662", "\u0661\u0662");
    assert_refused("\u0661\u06f2", "U+0661");
}

Test(player_name, a_mark_stands_on_a_letter_with_no_more_than_four)
{
    assert_read("e\u0301\u0323\u0325\u0330", "\u1eb9\u0325\u0330\u0301");
    assert_refused("\u0301a", "U+0301");
    assert_refused("a \u0301", "U+0301");
    assert_refused("\u00a8", "U+0308");      /* a space and a mark */
    assert_refused("admin\u1039", "U+1039"); /* stack letters of their scripts, without ink */
    assert_refused("admin\u17d2", "U+17D2");
    assert_refused("\u0430\U0001bc9d", "U+1BC9D");
    assert_read("\u0438\u0306\u0483", "\u0439\u0483");
    assert_read("\u1780\u17d2\u1781", "\u1780\u17d2\u1781");
    assert_refused("x\u0316\u0317\u0318\u0319\u031c", "U+031C");
}

/* ---- what a server makes of any name ---- */

static void assert_cleaned(const char *text, const char *expected)
{
    char name[LS_PLAYER_NAME_BYTES_MAX];
    snprintf(name, sizeof name, "%s", text);
    ls_player_name_clean(name, LS_NAME_AS_GIVEN);
    cr_assert_str_eq(name, expected, "%s: %s", text, name);
}

Test(player_name, is_cleaned_of_what_may_not_stand_in_one)
{
    assert_cleaned("Ann", "Ann");
    assert_cleaned("", "player");
    assert_cleaned("\u3164", "player");
    assert_cleaned("\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308\u0309", "player");
    assert_cleaned("\u00a0admin", "admin");
    assert_cleaned("a\u2800dm\u034fin\u17b4", "admin");
    assert_cleaned("e\u2800\u0301", "\u00e9");
    assert_cleaned("a\u200d\u200d\U0001f680", "a\U0001f680");
    assert_cleaned("\ufdfa",
                   "\u0635\u0644\u0649 \u0627\u0644\u0644\u0647 "
                   "\u0639\u0644\u064a\u0647 \u0648\u0633\u0644"); /* becomes 33 bytes, is cut */
    for (size_t i = 0; i < sizeof unseen / sizeof unseen[0]; i++) {
        char text[LS_PLAYER_NAME_BYTES_MAX];
        snprintf(text, sizeof text, "%sad%smin%s", unseen[i], unseen[i], unseen[i]);
        assert_cleaned(text, "admin");
    }
}

static void assert_numbered(const char *text, uint32_t number, const char *expected)
{
    char name[LS_PLAYER_NAME_BYTES_MAX];
    snprintf(name, sizeof name, "%s", text);
    ls_player_name_clean(name, number);
    cr_expect_str_eq(name, expected, "%s, %u: %s", text, (unsigned)number, name);
}

Test(player_name, a_number_behind_it_is_of_the_server_alone)
{
    static const char *const typed[] = {
        "Admin (1)",
        "Admin (2)",
        "Admin(1)",
        "Admin (12) (3)",
        "Admin ( 1 )",
        "Admin (1) ",
        "Admin \u2474",                 /* a parenthesised digit one */
        "Admin \uff08\uff11\uff09",     /* wide */
        "Admin \u2768l\u2769",          /* ornaments, and a small l */
        "Admin (\u0661)",               /* Arabic */
        "Admin (\u096b)",               /* Devanagari, like no digit of Europe */
        "Admin (1\u0301)\u0332",        /* with marks on it */
        "Admin (1\ufe0f\u20e3)",        /* a key's cap */
        "Admin (\U0001d7cf\U0001d7d8)", /* bold */
    };
    for (size_t i = 0; i < sizeof typed / sizeof typed[0]; i++) {
        assert_numbered(typed[i], 1, "Admin");
        assert_numbered(typed[i], 7, "Admin (7)");
    }
    assert_numbered("Admin", LS_NAME_AS_GIVEN, "Admin");
    assert_numbered("Admin (7)", LS_NAME_AS_GIVEN, "Admin (7)");
    assert_numbered("(1)", 1, "player");
    assert_numbered("(1)", 2, "player (2)");
}

Test(player_name, what_is_no_number_behind_it_stays)
{
    static const char *const names[] = {
        "Admin 1", "Admin (one)", "Admin ()", "(1) Admin", "Admin (1) x", "1)", "Admin (1.5)",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_numbered(names[i], 1, names[i]);
    }
}

/* A name is cut so that its number fits, and what is left does not end in another one. */
Test(player_name, a_number_fits_behind_the_longest)
{
    assert_numbered("1234567890123456789012345678901", 65536, "12345678901234567890123 (65536)");
    assert_numbered("12345678901234567890123 (9) 890", 3, "12345678901234567890123 (3)");
}

static bool are_alike(const char *text, const char *other)
{
    char name[LS_PLAYER_NAME_BYTES_MAX], second[LS_PLAYER_NAME_BYTES_MAX];
    snprintf(name, sizeof name, "%s", text);
    snprintf(second, sizeof second, "%s", other);
    const ls_name_look look = ls_player_name_clean(name, LS_NAME_AS_GIVEN);
    const ls_name_look other_look = ls_player_name_clean(second, LS_NAME_AS_GIVEN);
    cr_assert_eq(ls_name_look_is_like(&look, &other_look),
                 ls_name_look_is_like(&other_look, &look));
    return ls_name_look_is_like(&look, &other_look);
}

Test(player_name, names_that_a_reader_takes_for_each_other_are_alike)
{
    static const char *const pairs[][2] = {
        {"admin", "admin"},
        {"admin", "ADMIN"},
        {"admin", "\uff21dmin"},      /* wide */
        {"admin", "\u0430dmin"},      /* Cyrillic */
        {"admin", "\u0410DM\u0406N"}, /* likewise */
        {"admin", "ADMlN"},           /* a small l */
        {"admin", "AdmlN"},           /* likewise */
        {"admin", "adm1n"},
        {"admin", "adrnin"},
        {"admin", "ad\u2800min"},
        {"admin", "admin\u3164"},
        {"paypal", "PaypaI"}, /* a capital i */
        {"Otto", "0tto"},
        {"\u03bf\u03c1", "op"}, /* Greek */
        {"stra\u00dfe", "STRASSE"},
        {"\U0001f468\u200d\U0001f469", "\U0001f468\U0001f469"},
        {"\u0645\u06cc\u200c\u062e", "\u0645\u06cc\u062e"},
        {"a'b", "a\u2019b"},
        {"x-y", "x\u2010y"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        cr_expect(are_alike(pairs[i][0], pairs[i][1]), "row %zu", i);
    }
}

Test(player_name, names_that_differ_to_a_reader_are_not_alike)
{
    static const char *const names[] = {
        "ann",        "anna",     "Zoe",      "Zo\u00eb",     "admin (2)",    "admin",
        "admin (20)", "player-1", "player-2", "player-10",    "\u4e2d\u6587", "\u4e2d\u56fd",
        "Dan",        "Dav",      "gus",      "gys",          "\U0001f600",   "\U0001f601",
        "nan",        "van",      "\u05d0",   "\u0627\u0628",
    };
    size_t count = sizeof names / sizeof names[0];
    for (size_t i = 0; i < count; i++) {
        for (size_t k = i + 1; k < count; k++) {
            cr_expect_not(are_alike(names[i], names[k]), "%s, %s", names[i], names[k]);
        }
    }
}

Test(player_name, columns_of_a_table_line_up)
{
    static const char *const names[] = {"abc", "Zo\xc3\xab", "e\xcc\x81lan"};
    static const size_t bytes[] = {16, 17, 18};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char line[64];
        snprintf(line, sizeof line, "%-*s", ls_player_name_width(names[i]), names[i]);
        cr_assert_eq(strlen(line), bytes[i], "%s", names[i]);
    }
    cr_assert_eq(ls_player_name_width("\xe4\xb8\xad"), 17); /* 3 bytes, 2 columns */
}

/* ==== summary ==== */

static void add_desyncs(ls_summary *summary)
{
    summary->desyncs[0] =
        (ls_summary_desync){.tick = 77,
                            .slot = 1,
                            .server_hash = 1,
                            .client_hash = UINT64_C(0xffffffffffffffff),
                            .has_cause = true,
                            .first_tick = 75,
                            .first_tick_min = 75,
                            .first_tick_max = 75,
                            .times = 2,
                            .healed = 1,
                            .elements = 40,
                            .is_lower_bound = true,
                            .pass = "move",
                            .values_after_pass = "move",
                            .class_word = "build",
                            .culprit = "both",
                            .why = "each side repeats its own result",
                            .inputs = "slot 0: 2 bytes 01e8; slot 1: nothing",
                            .circumstances = "other clients",
                            .next = {"explain it"},
                            .values_ms = 120.25,
                            .found_ms = 250.5,
                            .place_count = 1,
                            .places = {{"ships", "ships[3].x", "1.5 m", "2.5 m", "m"}}};
    summary->firsts[0] = (ls_summary_desync){.tick = 12, .slot = 1, .bundle = "a.bundle"};
}

static const ls_summary_network network = {
    .dropped = {.count = 2, .rows = {{"forged", 5}, {"limited", 0}}},
    .clients_refused = {.count = 1, .rows = {{"full", 6}}},
};

static ls_summary example(void)
{
    ls_summary summary = {.program = "lockstep-server",
                          .status = "OK",
                          .ticks = 1200,
                          .sim = "arena",
                          .seed = UINT64_MAX,
                          .tick_rate_hz = 60,
                          .final_tick = 1200,
                          .final_hash = 0xab,
                          .has_comparison = true,
                          .hashes_compared = 2402,
                          .packets_rejected = 3,
                          .has_spectators = true,
                          .spectators = 12,
                          .journal = {.file = "arena.journal",
                                      .bytes = 5000000001,
                                      .records = 81,
                                      .failures = 2,
                                      .ticks_missing = 7},
                          .player_count = 2,
                          .desync_count = 1};
    summary.players[0] = (ls_summary_player){.slot = 0,
                                             .name = "Ada \"q\"",
                                             .status = "OK",
                                             .has_server_figures = true,
                                             .hashes_compared = 1201,
                                             .inputs_on_time = 1190,
                                             .inputs_late = 4,
                                             .inputs_substituted = 10,
                                             .input_delay_ticks = 1,
                                             .joined_tick = 77,
                                             .rejoins = 2,
                                             .lag = {.cause = "uplink",
                                                     .text = {"uplink loses 4.8 %"},
                                                     .lost_ms = 250,
                                                     .late_share = 0.0625,
                                                     .uplink_loss = 0.5,
                                                     .uplink_jitter_ms = 1.5,
                                                     .downlink_loss = 0.25,
                                                     .downlink_jitter_ms = 2.5,
                                                     .longest_frame_ms = 20,
                                                     .suggested_input_delay_ticks = 3},
                                             .has_client_figures = true,
                                             .stalled_ticks = 2,
                                             .rtt_ms = 20.5,
                                             .confirm_latency_p50_ms = 25.25,
                                             .confirm_latency_p99_ms = 42,
                                             .confirm_latency_max_ms = 50,
                                             .frames = 4800,
                                             .wakes_per_s = 64.5,
                                             .prediction = {.ticks = 8,
                                                            .rollbacks = 40,
                                                            .rollbacks_per_s = 2,
                                                            .depth_mean = 2.5,
                                                            .depth_p99 = 5,
                                                            .depth_max = 6,
                                                            .resimulated_ticks = 100,
                                                            .steps_per_tick = 1.125},
                                             .bytes_up = 5000000000,
                                             .bytes_down = 7};
    summary.players[1] = (ls_summary_player){
        .slot = 1, .name = "Bo", .status = "TIMED_OUT", .why = "no answer for 10 s"};
    add_desyncs(&summary);
    summary.network = &network;
    return summary;
}

/* The keys are a contract with scripts; 64-bit values are strings; what is not known is null.
 * Quotes are single ones here, and there is no white space. */
static const char expected[] =
    "{'program':'lockstep-server','status':'OK','ticks':1200,'sim':'arena',"
    "'seed':'18446744073709551615','tick_rate_hz':60,'final_tick':1200,"
    "'final_hash':'00000000000000ab','hashes_compared':2402,'packets_rejected':3,'spectators':12,"
    "'journal':{'file':'arena.journal','bytes':5000000001,'records':81,'failures':2,"
    "'ticks_missing':7},"
    "'network':{'datagrams_dropped':{'forged':5,'limited':0},'clients_refused':{'full':6},"
    "'tokens_refused':null},"
    "'players':[{'slot':0,'name':'Ada \\'q\\'','status':'OK','why':null,'hashes_compared':1201,"
    "'inputs_on_time':1190,'inputs_late':4,'inputs_substituted':10,'input_delay_ticks':1,"
    "'joined_tick':77,'rejoins':2,"
    "'lag':{'cause':'uplink','text':'uplink loses 4.8 "
    "%','lost_ms':250,'late_share':0.0625,'uplink_loss':0.5,"
    "'uplink_jitter_ms':1.5,'downlink_loss':0.25,'downlink_jitter_ms':2.5,'longest_frame_ms':20,"
    "'suggested_input_delay_ticks':3},"
    "'stalled_ticks':2,'rtt_ms':20.5,"
    "'confirm_latency_ms':{'p50':25.25,'p99':42,'max':50},"
    "'frames':4800,'wakes_per_s':64.5,"
    "'prediction':{'ticks':8,'rollbacks':40,'rollbacks_per_s':2,"
    "'depth_ticks':{'mean':2.5,'p99':5,'max':6},"
    "'resimulated_ticks':100,'steps_per_tick':1.125},"
    "'bytes_up':5000000000,'bytes_down':7},"
    "{'slot':1,'name':'Bo','status':'TIMED_OUT','why':'no answer for 10 "
    "s','hashes_compared':null,'inputs_on_time':null,"
    "'inputs_late':null,'inputs_substituted':null,'input_delay_ticks':null,'joined_tick':null,"
    "'rejoins':null,'lag':null,'stalled_ticks':null,'rtt_ms':null,"
    "'confirm_latency_ms':{'p50':null,'p99':null,'max':null},"
    "'frames':null,'wakes_per_s':null,'prediction':null,'bytes_up':0,'bytes_down':0}],"
    "'desyncs':[{'tick':77,'slot':1,'server_hash':'0000000000000001',"
    "'client_hash':'ffffffffffffffff','clients_against_server':0,'first_tick':75,'first_tick_min':"
    "75,'first_tick_max':75,'part':'ships',"
    "'field':'ships[3].x','server_value':'1.5 m','client_value':'2.5 m','unit':'m',"
    "'differing':40,'differing_is_lower_bound':true,"
    "'fields':[{'part':'ships','field':'ships[3].x','server_value':'1.5 m',"
    "'client_value':'2.5 m','unit':'m'}],"
    "'pass':'move','values_after_pass':'move','class':'build','culprit':'both','why':'each side "
    "repeats its own result',"
    "'inputs':'slot 0: 2 bytes 01e8; slot 1: "
    "nothing','circumstances':'other "
    "clients','bundle':null,'next':'explain it','values_ms':120.25,'found_ms':250.5,'times':2,"
    "'healed':1,"
    "'first':{'tick':12,'slot':1,'server_hash':'0000000000000000',"
    "'client_hash':'0000000000000000','clients_against_server':0,'first_tick':null,'first_tick_min'"
    ":null,'first_tick_max':null,'part':null,'"
    "field':null,"
    "'server_"
    "value':null,"
    "'client_value':null,'unit':null,'differing':null,'differing_is_lower_bound':null,"
    "'fields':[],'pass':null,'values_after_pass':null,'class':null,'culprit':null,'why':null,'"
    "inputs':null,'circumstances':null,"
    "'bundle':'a.bundle','next':null,'values_ms':null,'found_ms':null,'times':null,'healed':null}}]"
    "}";

static char directory[256];
static char path[300];
static char text[16384];
static ls_text why;

static void make_directory(void)
{
    const char *base = getenv("TMPDIR");
    snprintf(directory, sizeof directory, "%s/summary-XXXXXX", base ? base : "/tmp");
    cr_assert_not_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/summary.json", directory);
}

static void remove_directory(void)
{
    unlink(path);
    cr_assert_eq(rmdir(directory), 0);
}

TestSuite(summary, .init = make_directory, .fini = remove_directory);

static void read_text(void)
{
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
}

/* The file's text. */
static const char *write_text(const ls_summary *summary)
{
    cr_assert_eq(ls_summary_write(summary, path, &why), LS_OK);
    read_text();
    return text;
}

/* Without the white space between its parts, and with single quotes. */
static const char *plain(const char *json)
{
    static char bare[8192];
    size_t size = 0;
    cr_assert_lt(strlen(json), sizeof bare);
    for (const char *at = json; *at != '\0'; at++) {
        bool is_space = *at == '\t' || *at == '\n' || (*at == ' ' && at[-1] == ',' && at[1] == '{');
        if (!is_space) {
            bare[size++] = *at == '"' ? '\'' : *at;
        }
    }
    bare[size] = '\0';
    return bare;
}

Test(summary, every_key_is_written_to_a_file)
{
    ls_summary summary = example();
    write_text(&summary);
    cr_assert_str_eq(plain(text), expected);
    cr_assert_eq(strstr(text, "{\n\t\"program\":\t\"lockstep-server\",\n\t\"status\":\t"), text);
    cr_assert_str_eq(text + strlen(text) - 7, "\t\t}]\n}\n", "indented, and a line's end");
}

Test(summary, a_summary_replaces_the_one_in_the_file)
{
    ls_summary summary = example();
    write_text(&summary);
    summary.player_count = 0;
    summary.desync_count = 0;
    cr_assert_not_null(strstr(write_text(&summary), "\"players\":\t[],\n\t\"desyncs\":\t[]\n}\n"));
}

Test(summary, a_dash_is_standard_output, .init = cr_redirect_stdout)
{
    ls_summary summary = example();
    cr_assert_eq(ls_summary_write(&summary, "-", &why), LS_OK);
    cr_assert_stdout_eq_str(write_text(&summary));
}

Test(summary, a_path_that_cannot_be_written_is_named)
{
    ls_summary summary = example();
    cr_assert_eq(ls_summary_write(&summary, "/nonexistent/summary.json", &why), LS_IO);
    cr_assert_not_null(strstr(why.bytes, "/nonexistent/summary.json"));
    cr_assert_not_null(strstr(why.bytes, "No such file"));
}

Test(summary, a_full_disk_is_noticed)
{
    if (access("/dev/full", W_OK) != 0) {
        cr_skip("no /dev/full here");
    }
    ls_summary summary = example();
    cr_assert_eq(ls_summary_write(&summary, "/dev/full", &why), LS_IO);
    cr_assert_not_null(strstr(why.bytes, "No space left"));
}

Test(summary, without_a_match_everything_about_it_is_null)
{
    static const char *const lines[] = {"\"status\":\t\"REFUSED\"",  "\"sim\":\tnull",
                                        "\"seed\":\tnull",           "\"tick_rate_hz\":\tnull",
                                        "\"final_tick\":\tnull",     "\"final_hash\":\tnull",
                                        "\"hashes_compared\":\tnull"};
    ls_summary summary = {.program = "lockstep-client", .status = "REFUSED", .seed = 5};
    write_text(&summary);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        cr_assert_not_null(strstr(text, lines[i]), "%s in %s", lines[i], text);
    }
}

Test(summary, several_matches_stand_in_one_array_below_their_worst_status)
{
    ls_summary summaries[] = {example(), example(), example()};
    summaries[0].status = "OK";
    summaries[1].status = "DESYNCED";
    summaries[2].status = "OK";
    summaries[2].final_tick = 77777;
    cr_assert_eq(ls_summary_write_matches(summaries, 3, NULL, path, &why), LS_OK);
    read_text();
    char head[128];
    snprintf(head, sizeof head,
             "{\n\t\"program\":\t\"%s\",\n\t\"status\":\t\"DESYNCED\",\n\t\"network\":\tnull,"
             "\n\t\"matches\":\t[{",
             summaries[0].program);
    cr_assert_eq(strncmp(text, head, strlen(head)), 0, "%s", text);
    const char *last = strstr(text, "\"final_tick\":\t77777");
    cr_assert_not_null(last);
    cr_assert_null(strstr(last, "\"final_tick\":\t1"), "it stands last");
}
