/* One bit of one packet altered on its way, each bit of the header in turn, in both directions:
 * no player is lost, none stands still for longer than it takes the next packet to mend it, and a
 * packet that only acknowledges leaves no state that differs. Bits of inputs cost no more than
 * inputs. */
#include "lockstep/protocol/wire/message.h"
#include "lockstep/protocol/wire/tick_packet.h"
#include "lockstep/tests/match/match_test.h"

enum {
    TICKS = 200,
    ALTERED_FROM_TICK = 70,
    CUT_TICKS = 13,
    KIND_BITS = 6, /* the kind itself is no part of the header */
};

#define RTT_NS (60 * MS)

/* Between a transport and its reader: alters one bit of one packet of a kind. */
typedef struct alteration {
    ls_transport_operations operations;
    int (*next_event)(ls_transport *transport, ls_transport_event *event);
    uint32_t kind;
    ls_peer_id peer; /* from whom; 0: anybody */
    ls_late_rule late_rule;
    bool has_report; /* of a packet that carries health, or one of the others */
    bool is_content; /* bits of what stands behind the header, not of the header */
    size_t bit;
    bool is_armed;
    bool is_done;
    bool is_beyond; /* the header has fewer bits */
    uint8_t bytes[LS_PACKET_BYTES_MAX];
} alteration;

static alteration here;

/* Bits of a packet that come into question, *first is where they begin; 0 when it is not one that
 * is meant. */
static size_t bits_of(const ls_transport_event *event, size_t *first)
{
    if (event->kind != LS_TRANSPORT_RECEIVED || (here.peer != 0 && event->peer != here.peer) ||
        ls_message_peek(event->bytes, event->size) != here.kind) {
        return 0;
    }
    ls_bit_stream stream = ls_bit_reader(event->bytes, event->size);
    ls_inputs_header inputs = {0};
    ls_ticks_header ticks = {0};
    if (here.kind == LS_MESSAGE_INPUTS) {
        ls_inputs_header_bits(&stream, &inputs, ALTERED_FROM_TICK);
    } else {
        ls_ticks_header_bits(&stream, &ticks, ALTERED_FROM_TICK);
    }
    bool has_report = inputs.has_health || ticks.has_uplink;
    *first = here.is_content ? stream.position_bits : 0;
    size_t bits = here.is_content ? 8 * event->size - stream.position_bits : stream.position_bits;
    return has_report == here.has_report ? bits : 0;
}

static int next_event(ls_transport *transport, ls_transport_event *event)
{
    int has_event = here.next_event(transport, event);
    size_t first = 0;
    size_t bits = has_event && here.is_armed && !here.is_done ? bits_of(event, &first) : 0;
    if (bits == 0) {
        return has_event;
    }
    here.is_done = true;
    here.is_beyond = here.bit >= bits;
    if (here.is_beyond) {
        return has_event;
    }
    memcpy(here.bytes, event->bytes, event->size);
    size_t bit = first + here.bit;
    here.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    event->bytes = here.bytes;
    return has_event;
}

static void stand_before(ls_transport *transport)
{
    here.next_event = transport->operations->next_event;
    here.operations = *transport->operations;
    here.operations.next_event = next_event;
    transport->operations = &here.operations;
}

/* The longest time in which this client received no closed tick, until it had all. */
static uint64_t run_and_watch(virtual_match *run, const virtual_client *client)
{
    uint64_t longest_ns = 0;
    uint64_t since_ns = run->now_ns;
    ls_tick confirmed = report_of(client).confirmed;
    while (confirmed < TICKS && !virtual_match_is_over(run)) {
        virtual_match_run(run, MS);
        if (report_of(client).confirmed != confirmed) {
            confirmed = report_of(client).confirmed;
            since_ns = run->now_ns;
        }
        longest_ns = run->now_ns - since_ns > longest_ns ? run->now_ns - since_ns : longest_ns;
    }
    virtual_match_run_to_end(run);
    return longest_ns;
}

/* The bits that say what a packet holds, and not what has come: wrong, they put inputs of one tick
 * in the place of another's. Only the network's own checksum can find that. */
static bool is_content(size_t bit)
{
    return here.kind == LS_MESSAGE_TICKS && bit >= 12 && bit < 28; /* first */
}

/* When nothing is altered: ticks for which the others stand still, the longest time without a tick.
 */
static uint64_t others_stalled;
static uint64_t unaltered_ns;

static uint64_t count_stalled(const virtual_match *run, const virtual_client *altered)
{
    uint64_t stalled = 0;
    for (uint32_t i = 0; i < run->client_count; i++) {
        stalled += run->clients[i] != altered ? report_of(run->clients[i]).stalled_ticks : 0;
    }
    return stalled;
}

static void check_others(virtual_match *run, const virtual_client *altered)
{
    bool is_waiting = run->setup.match.late_rule == LS_LATE_WAIT;
    cr_assert(is_waiting || count_stalled(run, altered) == others_stalled);
    for (uint32_t i = 0; i < run->client_count; i++) {
        const virtual_client *client = run->clients[i];
        check_played_to_the_end(run, client);
        if (client != altered) {
            cr_assert_eq(seat_of(client).inputs_substituted, 0);
        }
    }
}

static void check_mended(const virtual_client *client, uint64_t longest_ns, uint32_t cut_ticks)
{
    ls_match_slot slot = seat_of(client);
    cr_assert_eq(slot.left_status, LS_OK, "bit %zu", here.bit);
    cr_assert_not(slot.is_desynced, "bit %zu", here.bit);
    cr_assert_leq(longest_ns, unaltered_ns + RTT_NS + 2 * DT_NS, "bit %zu: %lu ms without a tick",
                  here.bit, (unsigned long)(longest_ns / MS));
    cr_assert_leq(slot.inputs_substituted, cut_ticks + 6, "bit %zu: %lu", here.bit,
                  (unsigned long)slot.inputs_substituted);
}

/* Alters the packet while nothing comes of what it acknowledges, so that an acknowledgement that is
 * too high hides something. */
static void alter_in_a_cut(virtual_match *run, virtual_client *client, bool is_up)
{
    ls_link_config open = run->setup.link;
    ls_link_config cut = {.is_cut = true};
    ls_memory_client_set_links(client->transport, is_up ? &open : &cut, is_up ? &cut : &open);
    virtual_match_run(run, (CUT_TICKS - 2) * DT_NS);
    here.is_armed = true;
    while (!here.is_done) {
        virtual_match_run(run, MS);
    }
    virtual_match_run(run, DT_NS / 2);
    virtual_client_set_links(client, &open);
}

/* Gives the client whose packet it will be. */
static virtual_client *open_match_to_alter(ls_late_rule late_rule)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 3, TICKS);
    setup.link.delay_ns = RTT_NS / 2;
    setup.match.late_rule = late_rule;
    virtual_client *client = checked_match_create(&setup)->clients[1];
    client_check_of(client)->is_fed_wrong = true;
    return client;
}

/* False when the header has no such bit. */
static bool alter(const alteration *asked, size_t bit)
{
    bool is_up = asked->kind == LS_MESSAGE_INPUTS;
    virtual_client *client = open_match_to_alter(asked->late_rule);
    virtual_match *run = client->run;
    here = *asked;
    here.bit = bit;
    virtual_match_run_to_tick(run, ALTERED_FROM_TICK);
    here.peer = is_up ? seat_of(client).peer : 0;
    stand_before(is_up ? run->network->server : client->transport);
    alter_in_a_cut(run, client, is_up);
    uint32_t cut_ticks = ls_match_tick(run->match) - ALTERED_FROM_TICK;
    uint64_t longest_ns = run_and_watch(run, client);
    check_sound(run);
    if (here.is_beyond) {
        others_stalled = count_stalled(run, client);
        unaltered_ns = longest_ns;
    } else if (!is_content(bit)) {
        check_mended(client, longest_ns, cut_ticks);
        check_others(run, client);
    } else if (asked->late_rule == LS_LATE_REPEAT) {
        cr_assert_eq(seat_of(client).left_status, LS_OK, "bit %zu", bit);
    }
    virtual_match_destroy(run);
    return !here.is_beyond;
}

static size_t alter_every_bit(uint32_t kind, ls_late_rule late_rule, bool has_report)
{
    alteration asked = {.kind = kind, .late_rule = late_rule, .has_report = has_report};
    size_t bit = KIND_BITS;
    cr_assert_not(alter(&asked, 8 * LS_PACKET_BYTES_MAX));
    while (alter(&asked, bit)) {
        bit++;
    }
    return bit;
}

static void alter_headers(uint32_t kind, ls_late_rule late_rule)
{
    size_t bits = alter_every_bit(kind, late_rule, false);
    cr_assert_gt(bits, 50, "only %zu", bits);
    cr_assert_gt(alter_every_bit(kind, late_rule, true), bits + 10);
}

Test(altered, no_bit_of_a_header_of_inputs_costs_anybody_the_match)
{
    alter_headers(LS_MESSAGE_INPUTS, LS_LATE_REPEAT);
}

Test(altered, no_bit_of_a_header_of_ticks_costs_anybody_the_match)
{
    alter_headers(LS_MESSAGE_TICKS, LS_LATE_REPEAT);
}

Test(altered, nobody_waits_for_long_because_of_a_bit_of_a_header_of_inputs)
{
    alter_headers(LS_MESSAGE_INPUTS, LS_LATE_WAIT);
}

Test(altered, nobody_waits_for_long_because_of_a_bit_of_a_header_of_ticks)
{
    alter_headers(LS_MESSAGE_TICKS, LS_LATE_WAIT);
}

/* ---- what stands behind the header ---- */

enum {
    SETTLED_TICKS = 60, /* after the altered packet everything is as if there had been none */
};

/* Ticks that were closed with another input than the client made for them. */
static uint32_t count_wrong(const virtual_match *run, const virtual_client *client, ls_tick from)
{
    uint32_t slot = report_of(client).slot;
    uint32_t wrong = 0;
    for (ls_tick tick = from; tick < check_of(run)->tick_count; tick++) {
        wrong += check_of(run)->ticks[tick].inputs[slot] != client_check_of(client)->made[tick];
    }
    return wrong;
}

/* False when the packet has no such bit. */
static bool alter_content(ls_late_rule late_rule, size_t bit, uint32_t *wrong)
{
    virtual_client *client = open_match_to_alter(late_rule);
    virtual_match *run = client->run;
    here = (alteration){.kind = LS_MESSAGE_INPUTS, .is_content = true, .bit = bit};
    virtual_match_run_to_tick(run, ALTERED_FROM_TICK);
    here.peer = seat_of(client).peer;
    here.is_armed = true;
    stand_before(run->network->server);
    virtual_match_run_to_end(run);
    cr_assert(here.is_done);
    for (uint32_t i = 0; i < run->client_count; i++) {
        check_played_to_the_end(run, run->clients[i]);
    }
    cr_assert_eq(count_wrong(run, client, ALTERED_FROM_TICK + SETTLED_TICKS), 0, "bit %zu", bit);
    *wrong += count_wrong(run, client, 0);
    close_run(run);
    return !here.is_beyond;
}

static void alter_contents(ls_late_rule late_rule)
{
    uint32_t wrong = 0;
    size_t bit = 0;
    while (alter_content(late_rule, bit, &wrong)) {
        bit++;
    }
    cr_assert_gt(bit, 50, "only %zu", bit);
    cr_assert_gt(wrong, 0, "no input was altered");
}

Test(altered, no_bit_of_an_input_costs_more_than_inputs_of_its_time)
{
    alter_contents(LS_LATE_REPEAT);
}

Test(altered, nobody_is_waited_for_in_vain_because_of_a_bit_of_an_input)
{
    alter_contents(LS_LATE_WAIT);
}
