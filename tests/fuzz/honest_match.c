#include "lockstep/tests/fuzz/honest_match.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"

#include <string.h>

#define STEP_NS (10 * LS_NS_PER_MS)
#define SILENCE_STEP_NS (400 * LS_NS_PER_MS)

static const ls_simulation *find_simulation(void *user, const char *name)
{
    const honest_match *here = user;
    (void)name;
    return here->simulation;
}

static uint32_t make_input(void *user, const ls_sim_instance *instance, uint32_t slot, ls_tick tick,
                           uint8_t *bytes)
{
    honest_match *here = user;
    (void)tick;
    return ls_bot_input(&here->bot, instance, slot, bytes);
}

static void open_session(honest_match *here, const ls_allocator *allocator)
{
    ls_session_config config = ls_session_config_default();
    config.find_simulation = find_simulation;
    config.make_input = make_input;
    config.user = here;
    ls_packet_sink sink = ls_transport_sink(here->client_transport);
    ls_status status = ls_session_create(&config, &sink, allocator, &here->session, NULL);
    LS_ASSERT(status == LS_OK);
}

void honest_match_open(honest_match *here, const ls_match_config *config,
                       const ls_allocator *allocator)
{
    memset(here, 0, sizeof *here);
    here->simulation = config->simulation;
    here->bot = ls_bot_make(1);
    here->now_ns = LS_NS_PER_SECOND;
    ls_status status = ls_memory_network_create(1, allocator, &here->network);
    LS_ASSERT(status == LS_OK);
    ls_memory_network_set_time(here->network, here->now_ns);
    status = ls_memory_server_create(here->network, &here->server_transport);
    LS_ASSERT(status == LS_OK);
    status =
        ls_memory_client_create(here->network, here->server_transport, &here->client_transport);
    LS_ASSERT(status == LS_OK);
    ls_packet_sink sink = ls_transport_sink(here->server_transport);
    status = ls_match_create(config, &sink, allocator, &here->match, NULL);
    LS_ASSERT(status == LS_OK);
    open_session(here, allocator);
}

void honest_match_close(honest_match *here)
{
    ls_session_destroy(here->session);
    ls_match_destroy(here->match);
    ls_memory_network_destroy(here->network);
}

static void turn_server(honest_match *here)
{
    ls_transport_event event;
    ls_match_event said;
    while (ls_transport_next_event(here->server_transport, &event)) {
        ls_match_receive_event(here->match, &event, here->now_ns);
    }
    ls_match_advance(here->match, here->now_ns);
    while (ls_match_next_event(here->match, &said)) {
    }
}

static void turn_client(honest_match *here)
{
    ls_transport_event event;
    while (ls_transport_next_event(here->client_transport, &event)) {
        ls_session_receive_event(here->session, &event, here->now_ns);
    }
    ls_session_frame(here->session, here->now_ns);
}

bool honest_match_is_over(const honest_match *here)
{
    return ls_match_state_of(here->match) == LS_MATCH_OVER &&
           ls_session_state_of(here->session) == LS_SESSION_OVER;
}

/* Where nothing is left but to wait for the hostile peers, a long step is as good as many. */
static uint64_t step_ns(const honest_match *here)
{
    bool is_waiting = ls_match_state_of(here->match) == LS_MATCH_ENDING &&
                      ls_session_state_of(here->session) == LS_SESSION_FINISHED;
    return is_waiting ? SILENCE_STEP_NS : STEP_NS;
}

void honest_match_run(honest_match *here, uint64_t ns)
{
    uint64_t end_ns = here->now_ns + ns;
    while (here->now_ns < end_ns && !honest_match_is_over(here)) {
        here->now_ns += step_ns(here);
        ls_memory_network_set_time(here->network, here->now_ns);
        turn_server(here);
        turn_client(here);
    }
}
