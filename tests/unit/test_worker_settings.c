#include "lockstep/common/program/json.h"
#include "lockstep/server/service/worker_message.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const ls_worker_settings closed = {
    .worker = 1,
    .workers = 2,
    .rooms_max = 256,
    .log_level = 3,
    .log_format = 1,
    .bind_host = "::",
    .admission = {.identity_path = "/srv/a \"b\"/\xe9\n",
                  .invite_host = "--insecure",
                  .is_invite_only = true,
                  .token_key_path = "key",
                  .token_servers = "a:1,[::1]:2",
                  .token_protocol_id = UINT64_C(0xfedcba9876543210)},
    .relay = "play.example",
    .public_name = "Friday",
    .page = "http://localhost/play",
    .bundle_mib_max = 7,
    .journal_dir = "journals",
    .has_broadcast = true,
    .files = {.folders = "/srv/a\n/srv/b\n", .named = "map=/m\n", .code = ""},
    .door = "00ff",
};

Test(worker_settings, worker_has_them_as_the_supervisor_has_them)
{
    ls_worker_settings read;
    ls_json *texts = NULL;
    char *line = ls_worker_settings_write(&closed);
    cr_assert_not_null(line);
    cr_assert_null(strchr(line, '\n'));
    cr_assert_eq(ls_worker_settings_read(line, strlen(line), &read, &texts), LS_OK, "%s", line);
    ls_json_release_line(line);
    cr_expect_eq(read.worker, 1);
    cr_expect_eq(read.workers, 2);
    cr_expect_eq(read.rooms_max, 256);
    cr_expect_eq(read.log_level, 3);
    cr_expect_eq(read.log_format, 1);
    cr_expect_str_eq(read.bind_host, "::");
    cr_expect_str_eq(read.admission.identity_path, closed.admission.identity_path);
    cr_expect_str_eq(read.admission.invite_host, "--insecure");
    cr_expect(read.admission.is_invite_only && !read.admission.is_insecure);
    cr_expect_str_eq(read.admission.token_key_path, "key");
    cr_expect_str_eq(read.admission.token_servers, closed.admission.token_servers);
    cr_expect_eq(read.admission.token_protocol_id, closed.admission.token_protocol_id);
    cr_expect_str_eq(read.relay, "play.example");
    cr_expect_null(read.relay_key);
    cr_expect_str_eq(read.public_name, "Friday");
    cr_expect_null(read.region);
    cr_expect_str_eq(read.page, "http://localhost/play");
    cr_expect_null(read.bundle_dir);
    cr_expect_eq(read.bundle_mib_max, 7);
    cr_expect_str_eq(read.journal_dir, "journals");
    cr_expect(read.has_broadcast);
    cr_expect_null(read.plugin_dir);
    cr_expect_str_eq(read.files.folders, closed.files.folders);
    cr_expect_str_eq(read.files.named, closed.files.named);
    cr_expect_str_eq(read.files.code, "");
    cr_expect_str_eq(read.door, "00ff");
    ls_json_destroy(texts);
}

/* A member that was left out would be a door that stands open. */
Test(worker_settings, line_that_lacks_a_member_is_refused)
{
    char *line = ls_worker_settings_write(&closed);
    ls_json *whole = ls_json_parse(line, strlen(line));
    uint32_t members = 0;
    for (const ls_json *member = ls_json_first(whole); member; member = ls_json_next(member)) {
        char other[4096];
        ls_worker_settings read;
        ls_json *texts = NULL;
        snprintf(other, sizeof other, "%s", line);
        char *key = strstr(other, ls_json_key(member));
        cr_assert_not_null(key);
        *key = '?';
        cr_expect_eq(ls_worker_settings_read(other, strlen(other), &read, &texts), LS_MALFORMED,
                     "without %s", ls_json_key(member));
        cr_expect_null(texts);
        members++;
    }
    cr_expect_eq(members, 28);
    ls_json_destroy(whole);
    ls_json_release_line(line);
}

Test(worker_settings, value_of_another_type_is_refused)
{
    static const char *const changes[][2] = {{"true", "\"true\""}, {"\"key\"", "1"}, {"256", "-1"}};
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        char other[4096];
        ls_worker_settings read;
        ls_json *texts = NULL;
        char *line = ls_worker_settings_write(&closed);
        char *place = strstr(line, changes[i][0]);
        cr_assert_not_null(place);
        snprintf(other, sizeof other, "%.*s%s%s", (int)(place - line), line, changes[i][1],
                 place + strlen(changes[i][0]));
        cr_expect_eq(ls_worker_settings_read(other, strlen(other), &read, &texts), LS_MALFORMED,
                     "%s", other);
        ls_json_release_line(line);
    }
}
