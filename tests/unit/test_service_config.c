#define _GNU_SOURCE
#include "lockstep/common/base/allocator.h"
#include "lockstep/common/program/key_file.h"
#include "lockstep/common/program/server_identity.h"
#include "lockstep/common/program/systemd.h"
#include "lockstep/server/service/service_config.h"

#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* ==== service_config ==== */

static ls_service_config config;
static ls_service_faults faults;

static const char *fault(uint32_t index)
{
    return faults.rows[index].text.bytes;
}

/* How many faults there are. */
static uint32_t parse(const char *text)
{
    memset(&faults, 0, sizeof faults);
    ls_service_config_parse(text, strlen(text), &config, &faults);
    return faults.count;
}

static void expect_refused(const char *text, const char *words)
{
    cr_expect_eq(parse(text), 1, "%u faults: %s", faults.count, text);
    cr_expect(strstr(fault(0), words), "no \"%s\" in: %s", words, fault(0));
}

Test(service_config, an_empty_file_is_all_defaults)
{
    cr_assert_eq(parse(""), 0, "%s", fault(0));
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
                       "[upload]\ncommand = \"rclone copy {} far:\"\nkeep-mib = 100\nparallel = 8\n"
                       "[metrics]\nrooms = \"none\"\n"
                       "[match]\nlate = \"wait\"\nfind-causes = false\nparams = {speed = 2}\n"
                       "[[rooms]]\nname = \"a\"\nopen = 4\nsim = \"arena\"\nplayers = 4\n"
                       "tick-rate = 59.7275\nparams = {size = 3, walls = true}\n"
                       "[[rooms]]\nname = \"b\"\nprivate = true\n"),
                 0, "%s", fault(0));
    cr_assert_eq(config.workers, 3);
    cr_assert_eq(config.drain_timeout_s, 0);
    cr_assert_str_eq(config.log_format, "json");
    cr_assert_str_eq(ls_room_settings_find(&config.server, "port"), "7000");
    cr_assert_str_eq(ls_room_settings_find(&config.server, "invite-only"), "on");
    cr_assert_eq(config.http_port, 0);
    cr_assert_str_eq(config.http_hosts, "a.example, b.example");
    cr_assert_str_eq(config.upload_command, "rclone copy {} far:");
    cr_assert_eq(config.journals_keep_mib, 100);
    cr_assert_eq(config.upload_parallel, 8);
    cr_assert_str_eq(config.metrics_rooms, "none");
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
    expect_refused("[match]\nplayers = 129\n", "--players takes a number from 1 to 128, not '129'");
    expect_refused("[match]\nlate = \"never\"\n", "--late");
    expect_refused("[match]\nlate = 1979-05-27\n", "takes a text, a number, true or false");
    expect_refused("[[rooms]]\nname = \"a\"\nplayers = [1, 2]\n", "takes a text, a number");
}

Test(service_config, a_certificate_and_its_key_belong_together)
{
    cr_assert_eq(parse("[http]\ntls-certificate = \"c\"\ntls-key = \"k\"\noperators = \"o\"\n"), 0,
                 "%s", fault(0));
    cr_expect_str_eq(config.http_certificate, "c");
    cr_expect_str_eq(config.http_key, "k");
    cr_expect_str_eq(config.http_operators, "o");
    expect_refused("[http]\ntls-key = \"k\"\n", "tls-certificate and tls-key, or none of them");
    expect_refused("[http]\ntls-certificate = \"\"\n", "tls-certificate is empty");
}

Test(service_config, limits_of_an_address_have_their_defaults)
{
    cr_assert_eq(parse("[limits]\naddress-joins = 0\n"), 0, "%s", fault(0));
    cr_expect_eq(config.address_connections, 64);
    cr_expect_eq(config.address_joins, 0);
    cr_expect_eq(config.address_rooms, 24);
    expect_refused("[limits]\naddress-join = 1\n", "did you mean 'address-joins'?");
}

#define DIGEST "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

Test(service_config, lists_of_folders_and_of_code_have_a_line_for_each)
{
    cr_assert_eq(parse("files = [\"/srv/a b\", \"maps\"]\ncode = [\"" DIGEST "\"]\n"
                       "[[rooms]]\nname = \"a\"\nparams = {map = \"/m\", size = 3}\n"),
                 0, "%s", fault(0));
    cr_expect_str_eq(config.files, "/srv/a b\nmaps\n");
    cr_expect_str_eq(config.code, DIGEST "\n");
    char *params = ls_service_config_params(&config);
    cr_expect(strstr(params, "map=/m\n") && strstr(params, "size=3\n"), "%s", params);
    ls_release(ls_allocator_heap(), params);
    cr_assert_eq(parse("files = []\n"), 0, "%s", fault(0));
    params = ls_service_config_params(&config);
    cr_expect_str_eq(params, "");
    ls_release(ls_allocator_heap(), params);
    expect_refused("files = \"/srv\"\n", "line 1:9: files takes a list of folders in quotes");
    expect_refused("files = [\"/srv\", 3]\n", "files takes a list of folders");
    expect_refused("files = [\"\"]\n", "files takes a list of folders");
    expect_refused("files = [\"/srv\\n/\"]\n", "files takes a list of folders");
    expect_refused("code = [\"" DIGEST "0\"]\n", "code takes a list of SHA-256 digests");
    expect_refused("journal = [\"j\"]\n", "journal takes a text in quotes");
    expect_refused("[match]\nlate = [\"wait\"]\n", "takes a text, a number, true or false");
}

Test(service_config, a_rotation_is_a_list_of_matches)
{
    cr_assert_eq(parse("[[rooms]]\nname = \"a\"\nnext = \"vote\"\nturn = 2\n"
                       "rotation = [\"map=/m size=3\", \"map=b\"]\n"),
                 0, "%s", fault(0));
    const ls_room_settings *settings = &config.groups[0].settings;
    cr_assert_eq(settings->count, 4);
    cr_expect_str_eq(ls_room_settings_find(settings, "next"), "vote");
    cr_expect_str_eq(ls_room_settings_find(settings, "turn"), "2");
    cr_expect_str_eq(ls_room_settings_find(settings, "rotation"), "map=/m size=3");
    char *params = ls_service_config_params(&config); /* its files may be anywhere */
    cr_expect_str_eq(params, "map=/m\nsize=3\nmap=b\n");
    ls_release(ls_allocator_heap(), params);
    expect_refused("[[rooms]]\nname = \"a\"\nrotation = \"map=b\"\n",
                   "rotation takes a list of matches in quotes");
    expect_refused("[[rooms]]\nname = \"a\"\nrotations = 3\n", "did you mean 'rotation'?");
    expect_refused("[match]\nrotation = [\"map=b\"]\n", "takes a text");
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
    ls_service_config_read(LS_TEST_EXAMPLE, &example, &faults);
    cr_assert_eq(faults.count, 0, "%s", fault(0));
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

/* The library that reads TOML gives keys in the order of the alphabet. */
Test(service_config, every_fault_of_a_file_is_named_in_its_order)
{
    static const char *const expected[] = {
        "line 1:1: the top of the file has no 'wrkers'; did you mean 'workers'?",
        "line 3:8: port takes a number from 0 to 65535, not '70000'",
        "line 5:11: --players takes a number",
        "line 6:1: [match] has no 'latte'; did you mean 'late'?",
        "line 7:1: there is no table [sever]; did you mean [server]?",
        "line 10:1: [[rooms]] need a name",
        "line 11:8: open takes a number",
        "line 13:8: the name of rooms has",
        "line 14:11: private takes true or false, without quotes, not 'true'",
    };
    parse("wrkers = 2\n[http]\nport = 70000\n[match]\nplayers = 129\nlatte = \"wait\"\n"
          "[sever]\nport = 1\nbind = \"::\"\n[[rooms]]\nopen = -1\n[[rooms]]\nname = \"a b\"\n"
          "private = \"true\"\n");
    uint32_t count = sizeof expected / sizeof expected[0];
    cr_assert_eq(faults.count, count, "%u", faults.count);
    for (uint32_t i = 0; i < count; i++) {
        cr_expect(strstr(fault(i), expected[i]) == fault(i), "%s", fault(i));
    }
}

Test(service_config, the_first_faults_of_very_many_are_kept)
{
    static char text[8192];
    size_t size = 0;
    for (uint32_t i = 0; i < 100; i++) { /* the last line is the first of the alphabet */
        size += (size_t)snprintf(text + size, sizeof text - size, "a%03u = 1\n", 100 - i);
    }
    cr_assert_eq(parse(text), 100);
    for (uint32_t i = 0; i < LS_SERVICE_FAULTS_MAX; i++) {
        cr_assert_eq(faults.rows[i].at.line, i + 1);
    }
}

Test(service_config, rooms_beyond_the_limit_are_one_fault_each)
{
    static char text[8192];
    size_t size = 0;
    for (uint32_t i = 0; i <= LS_SERVICE_GROUPS_MAX; i++) {
        size += (size_t)snprintf(text + size, sizeof text - size,
                                 "[[rooms]]\nname = \"r%u\"\nopen = 1\n", i);
    }
    expect_refused(text, "line 193:1: there are 64 [[rooms]] at most");
}

/* A word in place of a truth value once made a room that was meant to be private a public one, and
 * a truth value in place of a file's name a file "on". */
Test(service_config, values_of_another_type_are_refused)
{
    static const char *const words[] = {"\"true\"", "\"on\"", "\"yes\"", "1", "[true]"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        char text[64];
        snprintf(text, sizeof text, "[[rooms]]\nname = \"a\"\nprivate = %s\n", words[i]);
        expect_refused(text, "line 3:11: private takes true or false, without quotes");
    }
    expect_refused("[server]\nidentity = true\n", "line 2:12: identity takes a text in quotes");
    expect_refused("[server]\ntoken-key = 1\n", "line 2:13: token-key takes a text in quotes");
    expect_refused("[[rooms]]\nname = \"a\"\nsim = true\n", "sim takes a text in quotes");
    expect_refused("[match]\nfind-causes = \"true\"\n", "line 2:15: --find-causes takes off");
}

/* ---- texts that are empty ---- */

static char source[1 << 16]; /* of the module, which alone has the list of its keys */

/* The next text in quotes, from *at on. */
static void read_quoted(const char **at, char out[48])
{
    const char *begin = strchr(*at, '"') + 1;
    const char *end = strchr(begin, '"');
    snprintf(out, 48, "%.*s", (int)(end - begin), begin);
    *at = end + 1;
}

static void expect_empty_refused(const char *table, const char *key)
{
    static const char *const empty[] = {"\"\"", "''", "\" \\t\"", "\"\\n\""};
    for (size_t i = 0; i < sizeof empty / sizeof empty[0]; i++) {
        char text[256];
        char words[128];
        bool has_table = table[0] != '\0';
        snprintf(text, sizeof text, "%s%s%s\n%s = %s\n", has_table ? "[" : "#", table,
                 has_table ? "]" : "", key, empty[i]);
        snprintf(words, sizeof words, "line 2:%zu: %s is empty", strlen(key) + 4, key);
        parse(text);
        cr_expect(faults.count > 0, "not refused: %s", text);
        bool is_told = false;
        for (uint32_t k = 0; k < faults.count; k++) {
            is_told = is_told || strstr(fault(k), words);
        }
        cr_expect(is_told, "no \"%s\" of: %s", words, text);
    }
}

/* "name", ... up to the brace. */
static uint32_t expect_list_refused(const char *table, const char *list)
{
    char key[48];
    uint32_t count = 0;
    const char *at = strstr(source, list);
    cr_assert(at, "%s", list);
    for (at = strchr(at, '{'); at[strcspn(at, "\"}")] == '"'; count++) {
        read_quoted(&at, key);
        expect_empty_refused(table, key);
    }
    return count;
}

/* An empty command once let journals be taken for uploaded without a word, and an empty key of
 * tokens was no key. */
Test(service_config, every_key_that_takes_a_text_refuses_an_empty_one)
{
    char table[48];
    char key[48];
    uint32_t count = 0;
    FILE *file = fopen(LS_TEST_SOURCE, "rb");
    cr_assert(file, "%s", LS_TEST_SOURCE);
    source[fread(source, 1, sizeof source - 1, file)] = '\0';
    fclose(file);
    for (const char *at = source; (at = strstr(at, "    TEXT_ROW(\"")); count++) {
        read_quoted(&at, table);
        read_quoted(&at, key);
        expect_empty_refused(table, key);
    }
    cr_assert_geq(count, 17);
    cr_assert_geq(expect_list_refused("server", "server_texts[] ="), 11);
    cr_assert_geq(expect_list_refused("relay", "relay_texts[] ="), 5);
    expect_refused("[[rooms]]\nname = \"a\"\nsim = \"\"\n", "line 3:7: sim is empty");
    expect_refused("[[rooms]]\nname = \"a\"\nsha256 = \"\"\n", "line 3:10: sha256 is empty");
    expect_refused("files = [\"\"]\n", "line 1:9: files takes a list of folders");
    expect_refused("files = [\"/maps\", \" \"]\n", "line 1:9: files takes a list of folders");
    expect_refused("code = [\"\"]\n", "line 1:8: code takes a list of SHA-256 digests");
}

/* ==== server_identity ==== */

static char folder[] = "/tmp/lockstep-identity-XXXXXX";

static void enter_folder(void)
{
    cr_assert_not_null(mkdtemp(folder));
    cr_assert_eq(chdir(folder), 0);
    unsetenv("STATE_DIRECTORY");
    unsetenv("XDG_STATE_HOME");
    setenv("HOME", folder, 1);
}

static void leave_folder(void)
{
    static const char *const files[] = {"identity", "lockstep/identity",
                                        ".local/state/lockstep/identity", "a:b/identity",
                                        "a/identity"};
    static const char *const folders[] = {"lockstep", ".local/state/lockstep", ".local/state",
                                          ".local", "a"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        remove(files[i]);
    }
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        rmdir(folders[i]);
    }
    cr_expect_eq(rmdir(folder), 0, "something was left in %s", folder);
}

TestSuite(server_identity, .init = enter_folder, .fini = leave_folder);

static void open_identity(const char *path, ls_server_identity *out)
{
    ls_text why = {{0}};
    cr_assert_eq(ls_server_identity_open(path, out, &why), LS_OK, "%s", why.bytes);
}

Test(server_identity, is_made_once_and_stays)
{
    ls_server_identity first, again;
    struct stat found;
    ls_key_pair pair;
    open_identity("identity", &first);
    cr_assert(first.was_made);
    cr_assert_str_eq(first.path, "identity");
    cr_assert_eq(stat("identity", &found), 0);
    cr_assert_eq(found.st_mode & 07777, 0600);
    open_identity("identity", &again);
    cr_assert_not(again.was_made);
    cr_assert_arr_eq(&again.keys, &first.keys, sizeof first.keys);
    cr_assert_arr_eq(again.invite_secret, first.invite_secret, sizeof first.invite_secret);
    ls_key_pair_from_private(first.keys.private_key, &pair);
    cr_assert_arr_eq(pair.public_key, first.keys.public_key, sizeof pair.public_key);
}

Test(server_identity, no_two_servers_have_the_same)
{
    ls_server_identity first, second;
    open_identity("identity", &first);
    remove("identity");
    open_identity("identity", &second);
    cr_assert_neq(memcmp(&first.keys, &second.keys, sizeof first.keys), 0);
    cr_assert_neq(memcmp(first.invite_secret, second.invite_secret, LS_SECRET_BYTES), 0);
}

static void expect_path(const char *expected)
{
    ls_server_identity identity;
    ls_text path = {{0}};
    open_identity(NULL, &identity);
    ls_text_set(&path, "%s/%s", folder, expected);
    cr_expect_str_eq(identity.path, path.bytes);
    cr_expect(identity.was_made);
}

Test(server_identity, is_where_the_system_keeps_such_things)
{
    struct stat found;
    ls_text places = {{0}};
    expect_path(".local/state/lockstep/identity");
    cr_assert_eq(stat(".local/state/lockstep", &found), 0);
    cr_assert_eq(found.st_mode & 07777, 0700);
    setenv("XDG_STATE_HOME", folder, 1);
    expect_path("lockstep/identity");
    ls_text_set(&places, "%s/a:%s/b", folder, folder);
    setenv("STATE_DIRECTORY", places.bytes, 1);
    cr_assert_eq(mkdir("a", 0700), 0);
    expect_path("a/identity");
}

Test(server_identity, a_place_that_is_no_path_from_the_root_is_passed_over)
{
    setenv("XDG_STATE_HOME", "here", 1);
    setenv("STATE_DIRECTORY", "", 1);
    expect_path(".local/state/lockstep/identity");
}

/* Not even root can make a directory there. */
Test(server_identity, at_a_place_that_cannot_be_written_the_option_is_named)
{
    ls_server_identity identity;
    ls_text why = {{0}};
    setenv("HOME", "/proc", 1);
    cr_assert_eq(ls_server_identity_open(NULL, &identity, &why), LS_IO);
    cr_assert(strstr(why.bytes, "cannot"), "%s", why.bytes);
    cr_assert(strstr(why.bytes, "--identity"), "%s", why.bytes);
    cr_assert_eq(ls_server_identity_open("/proc/identity", &identity, &why), LS_IO);
    cr_assert_not(strstr(why.bytes, "--identity"), "it was given: %s", why.bytes);
}

Test(server_identity, without_a_place_the_option_is_named)
{
    ls_server_identity identity;
    ls_text why = {{0}};
    unsetenv("HOME");
    cr_assert_eq(ls_server_identity_open(NULL, &identity, &why), LS_IO);
    cr_assert(strstr(why.bytes, "--identity"), "%s", why.bytes);
}

static void identity_expect_refused(const char *path, ls_status expected, const char *words)
{
    static ls_server_identity identity;
    ls_text why = {{0}};
    identity.was_made = true;
    cr_expect_eq(ls_server_identity_open(path, &identity, &why), expected);
    cr_expect(strstr(why.bytes, words), "%s", why.bytes);
    cr_expect(identity.was_made, "untouched");
}

Test(server_identity, that_others_could_have_read_or_that_is_none_is_refused)
{
    ls_server_identity identity;
    open_identity("identity", &identity);
    cr_assert_eq(chmod("identity", 0644), 0);
    identity_expect_refused("identity", LS_IO, "chmod 600");
    cr_assert_eq(chmod("identity", 0600), 0);
    cr_assert_eq(truncate("identity", 120), 0);
    identity_expect_refused("identity", LS_MALFORMED, "cut short");
    remove("identity");
    cr_assert_eq(ls_token_key_make("identity", NULL, NULL), LS_OK);
    identity_expect_refused("identity", LS_MALFORMED, "no lockstep server identity");
    identity_expect_refused("/nowhere/identity", LS_IO, "No such file or directory");
}

/* As when a machine starts several servers at once. */
Test(server_identity, servers_that_start_together_have_one)
{
    enum {
        SERVERS = 8
    };
    pid_t children[SERVERS];
    int pipes[2];
    cr_assert_eq(pipe(pipes), 0);
    for (uint32_t i = 0; i < SERVERS; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            ls_server_identity own;
            bool is_open = ls_server_identity_open("identity", &own, NULL) == LS_OK;
            ssize_t put = write(pipes[1], own.keys.public_key, LS_CIPHER_KEY_BYTES);
            _exit(is_open && put == LS_CIPHER_KEY_BYTES ? 0 : 1);
        }
    }
    ls_server_identity identity;
    uint8_t key[LS_CIPHER_KEY_BYTES];
    for (uint32_t i = 0; i < SERVERS; i++) {
        int status = 0;
        cr_assert_eq(waitpid(children[i], &status, 0), children[i]);
        cr_assert_eq(status, 0);
    }
    open_identity("identity", &identity);
    for (uint32_t i = 0; i < SERVERS; i++) {
        cr_assert_eq(read(pipes[0], key, sizeof key), (ssize_t)sizeof key);
        cr_assert_arr_eq(key, identity.keys.public_key, sizeof key);
    }
}

/* ---- service_notify ---- */

static int listener = -1;

/* Stands in for systemd: an abstract socket whose name nobody else has. */
static void open_listener(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char name[64];
    int length = snprintf(name, sizeof name, "@lockstep-notify-%ld", (long)getpid());
    memcpy(address.sun_path, name, (size_t)length);
    address.sun_path[0] = '\0';
    listener = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)length);
    cr_assert_eq(bind(listener, (struct sockaddr *)&address, bytes), 0);
    setenv("NOTIFY_SOCKET", name, 1);
}

static void close_listener(void)
{
    close(listener);
}

static void expect(const char *message)
{
    char heard[512] = "";
    ssize_t bytes = recv(listener, heard, sizeof heard - 1, 0);
    cr_assert_gt(bytes, 0, "'%s' has not come", message);
    cr_assert_str_eq(heard, message);
}

TestSuite(service_notify, .init = open_listener, .fini = close_listener);

Test(service_notify, states_are_told)
{
    ls_service_notify_ready();
    expect("READY=1");
    ls_service_notify_alive();
    expect("WATCHDOG=1");
    ls_service_notify_stopping();
    expect("STOPPING=1");
}

Test(service_notify, a_status_is_one_line)
{
    ls_service_notify_status("4 rooms\nMAINPID=1");
    expect("STATUS=4 rooms MAINPID=1");
    char sentence[1000] = "";
    char wanted[512] = "STATUS=";
    memset(sentence, 'x', sizeof sentence - 1);
    ls_service_notify_status(sentence);
    memset(wanted + strlen(wanted), 'x', 255);
    expect(wanted);
}

Test(service_notify, without_systemd_nothing_is_sent)
{
    unsetenv("NOTIFY_SOCKET");
    ls_service_notify_ready();
    char heard[16];
    cr_assert_lt(recv(listener, heard, sizeof heard, 0), 0);
    setenv("NOTIFY_SOCKET", "/nowhere/at/all", 1);
    ls_service_notify_status("the socket is gone"); /* and nothing else happens */
}

/* ---- service_sockets ---- */

enum {
    FIRST = 3, /* the descriptor that systemd begins with */
    HIGH = 60, /* above those that are handed over */
    COUNT_MAX = 20,
};

typedef struct outcome {
    ls_status status;
    ls_service_sockets sockets;
    ls_text why;
    uint32_t open; /* of those that were handed over */
} outcome;

static int given[COUNT_MAX];
static uint32_t given_count;
static outcome *seen;

static void open_memory(void)
{
    seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(seen, MAP_FAILED);
    given_count = 0;
}

static void close_all(void)
{
    for (uint32_t i = 0; i < given_count; i++) {
        close(given[i]);
    }
    munmap(seen, sizeof *seen);
}

TestSuite(service_sockets, .init = open_memory, .fini = close_all);

static void give(int family, int type)
{
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int descriptor = socket(family, type, 0);
    cr_assert_geq(descriptor, 0);
    if (family == AF_INET) {
        cr_assert_eq(bind(descriptor, (struct sockaddr *)&here, sizeof here), 0);
    }
    given[given_count++] = descriptor;
}

static void give_listening(void)
{
    give(AF_INET, SOCK_STREAM);
    cr_assert_eq(listen(given[given_count - 1], 1), 0);
}

/* A child process takes them, with the descriptors where systemd puts them. */
static void handle(bool is_for_it)
{
    char number[32];
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        for (uint32_t i = 0; i < given_count; i++) {
            dup2(given[i], HIGH + (int)i);
        }
        for (uint32_t i = 0; i < given_count; i++) {
            dup2(HIGH + (int)i, FIRST + (int)i);
        }
        snprintf(number, sizeof number, "%u", given_count);
        setenv("LISTEN_FDS", number, 1);
        snprintf(number, sizeof number, "%ld", is_for_it ? (long)getpid() : 1L);
        setenv("LISTEN_PID", number, 1);
        seen->status = ls_service_sockets_take(&seen->sockets, &seen->why);
        for (uint32_t i = 0; i < given_count; i++) {
            struct sockaddr_storage own;
            socklen_t bytes = sizeof own;
            seen->open +=
                getsockname(FIRST + (int)i, (struct sockaddr *)&own, &bytes) == 0 ? 1u : 0;
        }
        _exit(getenv("LISTEN_FDS") ? 1 : 0);
    }
    int code = 0;
    cr_assert_eq(waitpid(child, &code, 0), child);
    cr_assert_eq(code, 0, "its children would take the sockets for theirs");
}

static void systemd_expect_refused(const char *words)
{
    handle(true);
    cr_assert_eq(seen->status, LS_BAD_ARGUMENT);
    cr_assert(strstr(seen->why.bytes, words), "%s", seen->why.bytes);
    cr_assert_eq(seen->sockets.datagram_count, 0);
    cr_assert_eq(seen->sockets.stream, -1);
    cr_assert_eq(seen->open, 0, "they are closed");
}

Test(service_sockets, are_taken_by_their_kinds)
{
    give(AF_INET, SOCK_DGRAM);
    give_listening();
    give(AF_INET, SOCK_DGRAM);
    handle(true);
    cr_assert_eq(seen->status, LS_OK, "%s", seen->why.bytes);
    cr_assert_eq(seen->sockets.datagram_count, 2);
    cr_assert_eq(seen->sockets.datagrams[0], FIRST);
    cr_assert_eq(seen->sockets.datagrams[1], FIRST + 2);
    cr_assert_eq(seen->sockets.stream, FIRST + 1);
    cr_assert_eq(seen->open, 3);
}

Test(service_sockets, are_none_without_systemd_and_for_another_process)
{
    ls_service_sockets sockets;
    cr_assert_eq(ls_service_sockets_take(&sockets, NULL), LS_OK);
    cr_assert_eq(sockets.datagram_count, 0);
    cr_assert_eq(sockets.stream, -1);
    give(AF_INET, SOCK_DGRAM);
    handle(false);
    cr_assert_eq(seen->status, LS_OK);
    cr_assert_eq(seen->sockets.datagram_count, 0);
    cr_assert_eq(seen->open, 1);
}

Test(service_sockets, that_are_not_there_are_refused)
{
    static const char *const counts[] = {"many", "-1", "999"};
    ls_service_sockets sockets;
    ls_text why = {{0}};
    char pid[32];
    snprintf(pid, sizeof pid, "%ld", (long)getpid());
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        setenv("LISTEN_PID", pid, 1);
        setenv("LISTEN_FDS", counts[i], 1);
        cr_assert_eq(ls_service_sockets_take(&sockets, &why), LS_BAD_ARGUMENT, "%s", counts[i]);
        cr_assert(strstr(why.bytes, "LISTEN_FDS"), "%s", why.bytes);
        cr_assert_eq(sockets.datagram_count, 0);
        cr_assert_eq(sockets.stream, -1);
    }
}

Test(service_sockets, of_no_use_are_refused)
{
    give(AF_INET, SOCK_DGRAM);
    give(AF_UNIX, SOCK_STREAM);
    systemd_expect_refused("descriptor 4");
}

Test(service_sockets, that_do_not_listen_are_refused)
{
    give(AF_INET, SOCK_STREAM);
    systemd_expect_refused("descriptor 3");
}

Test(service_sockets, two_for_http_are_refused)
{
    give_listening();
    give_listening();
    systemd_expect_refused("one ListenStream");
}

Test(service_sockets, more_than_there_are_workers_are_refused)
{
    for (uint32_t i = 0; i <= LS_SERVICE_DATAGRAM_SOCKETS_MAX; i++) {
        give(AF_INET, SOCK_DGRAM);
    }
    systemd_expect_refused("more UDP sockets");
}
