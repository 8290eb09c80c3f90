#include "lockstep/tests/unit/player_link_fixture.h"

player_link_fixture here;

void open_table(void)
{
    memset(&here, 0, sizeof here);
    ls_player_link_init(&here.link, 0, INPUT_BYTES);
    cr_assert_eq(ls_player_link_open(&here.link, ls_allocator_heap()), LS_OK);
    ls_lag_meter_init(&here.link.figures.lag.meter, DT_NS);
    here.match.now_ns = LS_NS_PER_SECOND;
    here.match.dt_ns = DT_NS;
    here.match.log = &here.log;
    here.log.ticks = here.ticks;
    here.log.coded = here.coded;
    here.log.coded_count = LS_WINDOW_TICKS;
    here.log.large = here.large;
    const ls_input_buffer_config closed = {
        .slots = 1, .input_bytes_max = INPUT_BYTES, .window_ticks = LS_WINDOW_TICKS};
    cr_assert_eq(ls_input_buffer_create(&closed, ls_allocator_heap(), &here.log.closed), LS_OK);
    here.log.next_due_ns = LS_NS_PER_SECOND + DT_NS;
}

void close_table(void)
{
    ls_player_link_close(&here.link);
    ls_input_buffer_destroy(here.log.closed);
}

uint32_t close_to(ls_tick tick)
{
    uint32_t on_time = 0;
    while (here.log.next < tick) {
        bool is_on_time = false;
        here.match.now_ns = here.log.next_due_ns;
        here.ticks[here.log.next % LS_WINDOW_TICKS].closed_ns = here.match.now_ns;
        ls_slot_input used =
            ls_player_link_close_input(&here.link, here.log.next, &here.held, &is_on_time);
        if (here.log.next >= LS_WINDOW_TICKS) {
            ls_input_buffer_forget_before(here.log.closed, here.log.next + 1 - LS_WINDOW_TICKS);
        }
        ls_input_buffer_put(here.log.closed, here.log.next, 0, used.bytes, used.size, 0);
        on_time += is_on_time;
        here.log.next++;
        here.log.next_due_ns += DT_NS;
    }
    return on_time;
}

ls_slot_input input_of(ls_tick tick, uint8_t bytes[INPUT_BYTES])
{
    for (uint32_t i = 0; i < INPUT_BYTES; i++) {
        bytes[i] = (uint8_t)(tick * (i + 3));
    }
    return (ls_slot_input){bytes, tick % (INPUT_BYTES + 1), 0};
}

packet write_inputs(ls_inputs_header header, uint32_t count)
{
    packet made = {.size = 0};
    uint8_t bytes[2][INPUT_BYTES];
    ls_slot_input before = {NULL, 0, 0};
    if (header.has_base) {
        before = input_of(header.first - header.base_gap - 1, bytes[1]);
    }
    ls_bit_stream stream = ls_bit_writer(made.bytes, sizeof made.bytes);
    ls_inputs_header_bits(&stream, &header, 0);
    for (uint32_t i = 0; i < count; i++) {
        ls_slot_input input = input_of(header.first + i, bytes[i % 2]);
        cr_assert(ls_inputs_write_tick(&stream, &before, &input));
        before = input;
    }
    ls_tick_packet_write_end(&stream);
    made.size = ls_bits_size_bytes(&stream);
    return made;
}

ls_status receive(const packet *sent, size_t size)
{
    ls_inputs_header header = {0};
    ls_bit_stream stream = ls_bit_reader(sent->bytes, size);
    ls_inputs_header_bits(&stream, &header, here.link.peer.downlink.next);
    if (stream.is_failed) {
        return LS_MALFORMED; /* as the match does before it asks the seat */
    }
    here.match.arrived_ns = here.match.now_ns;
    return ls_player_link_read_inputs(&here.link, &here.match, &header, &stream, &here.cursor);
}

ls_status deliver(ls_inputs_header header, uint32_t count)
{
    header.sequence = here.sequence++;
    packet sent = write_inputs(header, count);
    return receive(&sent, sent.size);
}
