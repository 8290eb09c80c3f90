#include "lockstep/server/control/http_metrics.h"
#include "lockstep/tests/support/fake_service.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static char *written(fake_service *fake)
{
    ls_http_text text = {0};
    ls_http_metrics_write(fake_service_view(fake), &text);
    cr_assert(!text.is_cut);
    ls_http_text_add_bytes(&text, "", 1);
    return text.bytes;
}

static double value_of(const char *text, const char *series)
{
    char start[128];
    snprintf(start, sizeof start, "\n%s ", series);
    const char *at = strstr(text, start);
    cr_assert(at, "%s is missing", series);
    return strtod(at + strlen(start), NULL);
}

Test(http_metrics, rooms_have_lines_and_the_service_has_their_sums)
{
    fake_service *fake = fake_service_create();
    char *text = written(fake);
    cr_assert_eq(value_of(text, "lockstep_room_ticks_total{room=\"arena-1\"}"), 1000);
    cr_assert_eq(value_of(text, "lockstep_ticks_total"), 2000);
    cr_assert_eq(value_of(text, "lockstep_players"), 4);
    cr_assert_eq(value_of(text, "lockstep_inputs_total{result=\"late\"}"), 20);
    cr_assert_eq(value_of(text, "lockstep_rooms{state=\"running\"}"), 2);
    cr_assert_eq(value_of(text, "lockstep_room_desyncs_total{room=\"arena-2\",class=\"one-off\"}"),
                 1);
    cr_assert_eq(value_of(text, "lockstep_worker_cpu_seconds_total{worker=\"1\"}"), 1.5);
    free(text);
    fake_service_destroy(fake);
}

Test(http_metrics, histograms_are_in_seconds_and_summed_up)
{
    fake_service *fake = fake_service_create();
    char *text = written(fake);
    cr_assert_eq(value_of(text, "lockstep_tick_lateness_seconds_bucket{le=\"0.00025\"}"), 1800);
    cr_assert_eq(value_of(text, "lockstep_tick_lateness_seconds_bucket{le=\"0.0005\"}"), 1980);
    cr_assert_eq(value_of(text, "lockstep_tick_lateness_seconds_bucket{le=\"+Inf\"}"), 2000);
    cr_assert_float_eq(value_of(text, "lockstep_tick_lateness_seconds_sum"), 0.6, 1e-9);
    free(text);
    fake_service_destroy(fake);
}

Test(http_metrics, totals_keep_what_rooms_that_are_gone_counted)
{
    fake_service *fake = fake_service_create();
    fake_service_end_room(fake, "arena-1");
    char *text = written(fake);
    cr_assert_eq(value_of(text, "lockstep_ticks_total"), 2000);
    cr_assert_eq(value_of(text, "lockstep_rooms_ended_total"), 1);
    cr_assert_eq(value_of(text, "lockstep_players"), 2);
    cr_assert_null(strstr(text, "room=\"arena-1\""));
    free(text);
    fake_service_destroy(fake);
}

static uint32_t count_lines(const char *text, const char *word)
{
    uint32_t count = 0;
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) {
        count++;
    }
    return count;
}

Test(http_metrics, a_summary_has_twenty_lines_a_room_and_none_has_none)
{
    fake_service *fake = fake_service_create();
    ls_service_view view = *fake_service_view(fake);
    ls_http_text text = {0};
    view.room_metrics = "summary";
    ls_http_metrics_write(&view, &text);
    ls_http_text_add_bytes(&text, "", 1);
    cr_assert_eq(count_lines(text.bytes, "{room=\"arena-1\""), 20);
    cr_assert_eq(value_of(text.bytes, "lockstep_room_desyncs_total{room=\"arena-1\"}"), 1);
    cr_assert_eq(
        value_of(text.bytes, "lockstep_room_tick_lateness_seconds_count{room=\"arena-1\"}"), 1000);
    cr_assert_eq(value_of(text.bytes, "lockstep_tick_lateness_seconds_bucket{le=\"0.0005\"}"), 1980,
                 "the service has its bins");
    ls_http_text_deinit(&text);
    view.room_metrics = "none";
    ls_http_metrics_write(&view, &text);
    ls_http_text_add_bytes(&text, "", 1);
    cr_assert_null(strstr(text.bytes, "lockstep_room_"));
    cr_assert_eq(value_of(text.bytes, "lockstep_ticks_total"), 2000);
    ls_http_text_deinit(&text);
    fake_service_destroy(fake);
}

Test(http_metrics, rooms_beyond_the_limit_are_one)
{
    fake_service *fake = fake_service_create();
    for (uint32_t i = 0; i < LS_HTTP_METRICS_ROOMS_MAX; i++) {
        char name[24];
        snprintf(name, sizeof name, "z-%03u", i);
        fake_service_add_room(fake, name)->counters.ticks = 5;
    }
    char *text = written(fake);
    cr_assert_eq(value_of(text, "lockstep_room_ticks_total{room=\"_others\"}"), 10);
    cr_assert_eq(value_of(text, "lockstep_room_ticks_total{room=\"z-253\"}"), 5);
    cr_assert_null(strstr(text, "z-254"));
    cr_assert_eq(value_of(text, "lockstep_ticks_total"), 2000 + 5 * LS_HTTP_METRICS_ROOMS_MAX);
    free(text);
    fake_service_destroy(fake);
}

Test(http_metrics, text_that_is_too_large_is_cut_and_says_so)
{
    ls_http_text text = {0};
    static const char piece[1 << 20];
    for (uint32_t i = 0; i < 32; i++) {
        ls_http_text_add_bytes(&text, piece, sizeof piece);
    }
    cr_assert(!text.is_cut);
    cr_assert_eq(text.size, LS_HTTP_TEXT_BYTES_MAX);
    ls_http_text_add(&text, "x");
    cr_assert(text.is_cut);
    cr_assert_eq(text.size, LS_HTTP_TEXT_BYTES_MAX);
    ls_http_text_deinit(&text);
}
