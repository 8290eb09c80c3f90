#include "lockstep/server/service/service_config.h"

#include <criterion/criterion.h>
#include <string.h>

static ls_service_config config;
static ls_text why;

static ls_status parse(const char *text)
{
    why.bytes[0] = '\0';
    return ls_service_config_parse(text, strlen(text), &config, &why);
}

static void expect_refused(const char *text, const char *words)
{
    cr_expect_neq(parse(text), LS_OK, "%s", text);
    cr_expect(strstr(why.bytes, words), "no \"%s\" in: %s", words, why.bytes);
}

Test(service_config, an_empty_file_is_all_defaults)
{
    cr_assert_eq(parse(""), LS_OK, "%s", why.bytes);
    cr_assert_eq(config.workers, 0);
    cr_assert_eq(config.rooms_max, 256);
    cr_assert_str_eq(config.http_bind, "127.0.0.1");
    cr_assert_eq(config.group_count, 0);
}

Test(service_config, every_part_of_a_file_is_where_it_belongs)
{
    cr_assert_eq(parse("workers = 3\nrooms-max = 10\ndrain-timeout = 0\njournal = \"/j\"\n"
                       "bundle-dir = \"/b\"\nplug-ins = \"/p\"\nlog-format = \"json\"\n"
                       "[server]\nport = 7000\ninvite-only = true\ntoken-key = \"k\"\n"
                       "[http]\nbind = \"::1\"\nport = 0\ntoken-file = \"t\"\n"
                       "hosts = \"a.example, b.example\"\n"
                       "[upload]\ncommand = \"rclone copy {} far:\"\nkeep-mib = 100\n"
                       "[match]\nlate = \"wait\"\nfind-causes = false\nparams = {speed = 2}\n"
                       "[[rooms]]\nname = \"a\"\nopen = 4\nsim = \"arena\"\nplayers = 4\n"
                       "tick-rate = 59.7275\nparams = {size = 3, walls = true}\n"
                       "[[rooms]]\nname = \"b\"\nprivate = true\n"),
                 LS_OK, "%s", why.bytes);
    cr_assert_eq(config.workers, 3);
    cr_assert_eq(config.drain_timeout_s, 0);
    cr_assert_str_eq(config.log_format, "json");
    cr_assert_str_eq(ls_room_settings_find(&config.server, "port"), "7000");
    cr_assert_str_eq(ls_room_settings_find(&config.server, "invite-only"), "on");
    cr_assert_eq(config.http_port, 0);
    cr_assert_str_eq(config.http_hosts, "a.example, b.example");
    cr_assert_str_eq(config.upload_command, "rclone copy {} far:");
    cr_assert_eq(config.journals_keep_mib, 100);
    cr_assert_str_eq(ls_room_settings_find(&config.match, "late"), "wait");
    cr_assert_str_eq(ls_room_settings_find(&config.match, "find-causes"), "off");
    cr_assert_str_eq(ls_room_settings_find(&config.match, "param"), "speed=2");
    cr_assert_eq(config.group_count, 2);
    cr_assert_str_eq(config.groups[0].name, "a");
    cr_assert_eq(config.groups[0].open, 4);
    cr_assert_str_eq(ls_room_settings_find(&config.groups[0].settings, "tick-rate"), "59.7275");
    cr_assert_eq(config.groups[0].settings.count, 5);
    cr_assert_str_eq(ls_room_settings_find(&config.groups[1].settings, "private"), "on");
}

Test(service_config, what_is_not_known_is_refused_with_its_line_and_the_nearest_word)
{
    expect_refused("\nworker = 2\n", "line 2:1: the top of the file has no 'worker'; did you mean "
                                     "'workers'?");
    expect_refused("[http]\nprot = 1\n", "line 2:1: [http] has no 'prot'; did you mean 'port'?");
    expect_refused("[match]\nplayer = 2\n", "did you mean 'players'?");
    expect_refused("[[rooms]]\nname = \"a\"\nopne = 2\n", "[[rooms]] has no 'opne'");
    expect_refused("[[room]]\nname = \"a\"\n", "did you mean [[rooms]]?");
    expect_refused("[rooms]\nname = \"a\"\n", "did you mean [[rooms]]?");
    expect_refused("[servr]\nport = 1\n", "did you mean [server]?");
    expect_refused("[server]\nmatches = 2\n", "[server] has no 'matches'");
    expect_refused("[[rooms]]\nname = \"a\"\nparameters = {size = 3}\n", "params = {name = value}");
}

Test(service_config, values_out_of_their_ranges_are_refused_when_the_file_is_read)
{
    expect_refused("workers = 17\n", "workers takes a number from 0 to 16, not '17'");
    expect_refused("workers = -1\n", "workers takes a number");
    expect_refused("workers = 1.5\n", "workers takes a number");
    expect_refused("workers = \"2\"\n", "workers takes a number");
    expect_refused("workers = 99999999999999999999\n", "line 1:31"); /* where it ends */
    expect_refused("journal = 3\n", "journal takes a text in quotes");
    expect_refused("log-format = \"xml\"\n", "log-format is text, json or journald");
    expect_refused("[match]\nplayers = 33\n", "--players takes a number from 1 to 32, not '33'");
    expect_refused("[match]\nlate = \"never\"\n", "--late");
    expect_refused("[match]\nlate = 1979-05-27\n", "takes a text, a number, true or false");
    expect_refused("[[rooms]]\nname = \"a\"\nplayers = [1, 2]\n", "takes a text, a number");
}

Test(service_config, rooms_need_names_that_are_good_and_their_own)
{
    expect_refused("[[rooms]]\nopen = 1\n", "need a name");
    expect_refused("[[rooms]]\nname = \"a b\"\n", "letters, digits");
    expect_refused("[[rooms]]\nname = \"\"\n", "letters, digits");
    expect_refused("[[rooms]]\nname = \"a\"\n[[rooms]]\nname = \"a\"\n", "already");
    expect_refused("[[rooms]]\nname = \"0123456789012345678901234567890123456\"\n", "1 to 36");
}

Test(service_config, text_that_is_no_toml_is_refused_with_its_line)
{
    expect_refused("workers = 1\nworkers = 2\n", "line 2:");
    expect_refused("workers =\n", "line 1:");
    expect_refused("[server\n", "line 1:");
    expect_refused("\xff\xfe = 1\n", "line 1:1");
}

Test(service_config, the_packaged_example_is_read)
{
    static ls_service_config example;
    cr_assert_eq(ls_service_config_read(LS_TEST_EXAMPLE, &example, &why), LS_OK, "%s", why.bytes);
    cr_assert_eq(example.group_count, 1);
    cr_assert_str_eq(example.groups[0].name, "arena");
    cr_assert_eq(example.drain_timeout_s, 30, "15 s below TimeoutStopSec of the unit at least");
    cr_assert_str_eq(ls_room_settings_find(&example.server, "port"), "7300");
}

/* Of the key when that is wrong, else of the value; in characters, not in bytes. */
Test(service_config, a_refusal_says_in_which_column)
{
    expect_refused("  [http]\n    bind = 3\n", "line 2:12: bind takes a text");
    expect_refused("[http]\n  port = 70000\n", "line 2:10: port takes a number");
    expect_refused("[match]\n\tplayrs = 2\n", "line 2:2: [match] has no 'playrs'");
    expect_refused("[[rooms]]\nname = \"a\"\nparams = {a = 1, b = [2]}\n", "line 3:22: b takes a");
    expect_refused("[[rooms]]\nname = \"\xc3\xa4\"; x\n", "line 2:11: ");
    expect_refused("[[rooms]]\nname = \"a b\"\n", "line 2:8: the name of rooms");
    expect_refused("\n [sever]\nport = 1\n", "line 2:2: there is no table [sever]");
}
