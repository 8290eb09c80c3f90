#include "lockstep/tests/lab/faultsim/scenario.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *faultsim_fault_class_key(faultsim_fault_class fault)
{
    static const char *const keys[] = {
#define KEY(name, key, text) #key,
        FAULTSIM_FAULT_CLASS_MAP(KEY)
#undef KEY
    };
    return keys[fault];
}

const char *faultsim_fault_class_text(faultsim_fault_class fault)
{
    static const char *const texts[] = {
#define TEXT(name, key, text) text,
        FAULTSIM_FAULT_CLASS_MAP(TEXT)
#undef TEXT
    };
    return texts[fault];
}

const char *faultsim_hostility_name(faultsim_hostility hostility)
{
    static const char *const names[FAULTSIM_HOSTILITY_COUNT] = {
        "nothing", "garbage", "replayed packets", "bent packets", "lies", "a flood", "silence"};
    return names[hostility];
}

const char *faultsim_visitor_name(faultsim_visitor_kind kind)
{
    static const char *const names[FAULTSIM_VISITOR_KIND_COUNT] = {
        "comes back for a state",
        "comes anew for a state",
        "comes to watch for a state",
        "takes nothing of its state",
        "watches and takes nothing of its state",
        "takes a seat without a word",
        "sends large messages",
        "lies about its states"};
    return names[kind];
}

const char *faultsim_action_name(faultsim_action_kind kind)
{
    static const char *const names[] = {"the links change",
                                        "the links alter bits",
                                        "stands still",
                                        "goes on",
                                        "its clock jumps",
                                        "vanishes",
                                        "leaves",
                                        "hangs up",
                                        "turns hostile",
                                        "wants another input delay",
                                        "is given another input delay",
                                        "comes",
                                        "comes from another address",
                                        "its link is cut",
                                        "the server stands still",
                                        "the server goes on",
                                        "the server's clock jumps",
                                        "the server dies",
                                        "the disk changes",
                                        "hostile datagrams come"};
    return names[kind];
}

/* Text that grows until its room is used up. */
typedef struct writer {
    char *text;
    size_t capacity;
    size_t size;
} writer;

static void add(writer *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(writer *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(out->text + out->size, out->capacity - out->size, format, arguments);
    va_end(arguments);
    out->size += size > 0 ? (size_t)size : 0;
    out->size = out->size < out->capacity ? out->size : out->capacity - 1;
}

static void add_link(writer *out, const char *way, const ls_link_config *link)
{
    add(out, " %s %.0f", way, (double)link->delay_ns / 1e6);
    if (link->jitter_ns > 0) {
        add(out, "+%.0f", (double)link->jitter_ns / 1e6);
    }
    add(out, " ms");
    if (link->loss_ppm > 0) {
        add(out, " loss %u %%", link->loss_ppm / 10000);
    }
    if (link->burst_ppm > 0) {
        add(out, " bursts %.1f %% of %.1f packets", link->burst_ppm / 1e4, link->burst_milli / 1e3);
    }
    if (link->duplicate_ppm > 0) {
        add(out, " twice %u %%", link->duplicate_ppm / 10000);
    }
    if (link->corrupt_ppm > 0) {
        add(out, " altered %.1f %%", link->corrupt_ppm / 1e4);
    }
    add(out, "%s", link->is_cut ? " cut" : "");
}

static void describe_client(writer *out, const faultsim_scenario *scenario, uint32_t index)
{
    const faultsim_scenario_client *client = &scenario->clients[index];
    add(out, "\nclient %u: %u Hz", index, client->setup.frame_hz);
    if (client->setup.frame_jitter_ns > 0) {
        add(out, " uneven");
    }
    add(out, ", drift %d ppm,", client->setup.drift_ppm);
    add_link(out, "up", &client->setup.up);
    add_link(out, ", down", &client->setup.down);
    if (client->setup.session.ticks > 0) {
        add(out, ", leaves after %u ticks", client->setup.session.ticks);
    }
    if (client->setup.session.predict_ticks > 0) {
        add(out, ", predicts %u ticks", client->setup.session.predict_ticks);
    }
    if (!client->setup.session.makes_inputs_between_frames) {
        add(out, ", inputs in frames");
    }
    if (client->flip_tick > 0) {
        add(out, ", a bit flips in state %u", client->flip_tick);
    }
    add(out, "%s%s", client->setup.session.is_spectator ? ", watches" : "",
        client->setup.comes_later ? ", comes later" : "");
    if (client->setup.session.reconnect_ms > 0) {
        add(out, ", comes back within %u ms", client->setup.session.reconnect_ms);
    }
    if (client->hostility != FAULTSIM_HOSTILITY_NONE) {
        add(out, ", turns to %s", faultsim_hostility_name(client->hostility));
    }
}

static void add_disk(writer *out, const virtual_disk_state *disk)
{
    add(out, ": %.0f to %.0f ms", (double)disk->delay_min_ns / 1e6,
        (double)disk->delay_max_ns / 1e6);
    if (disk->failing_ppm > 0) {
        add(out, ", %.0f %% of writes fail", disk->failing_ppm / 1e4);
    }
    add(out, "%s", disk->is_full ? ", full" : "");
}

static void describe_action(writer *out, const faultsim_action *action)
{
    bool is_servers = action->kind >= FAULTSIM_ACTION_PAUSE_SERVER;
    add(out, "\n%.3f s: ", (double)action->at_ns / 1e9);
    if (!is_servers) {
        add(out, "client %u ", action->client);
    }
    add(out, "%s", faultsim_action_name(action->kind));
    if (action->kind == FAULTSIM_ACTION_LINKS || action->kind == FAULTSIM_ACTION_ALTER ||
        action->kind == FAULTSIM_ACTION_CUT_LINK) {
        add_link(out, ": up", &action->up);
        add_link(out, ", down", &action->down);
    } else if (action->kind == FAULTSIM_ACTION_SET_DISK) {
        add_disk(out, &action->disk);
    } else if (action->kind == FAULTSIM_ACTION_FLOOD) {
        add(out, ": %u", action->ticks);
    } else if (action->ticks > 0) {
        add(out, ": %u ticks", action->ticks);
    } else if (action->ns > 0) {
        add(out, action->kind == FAULTSIM_ACTION_CRASH ? ", for %.0f ms" : " by %.0f ms",
            (double)action->ns / 1e6);
    }
}

void faultsim_scenario_describe(const faultsim_scenario *scenario, char *text, size_t capacity)
{
    static const char *const policies[] = {"report", "drop", "stop"};
    static const char *const rates[LS_SEND_RATE_COUNT] = {"", ", a packet every two ticks",
                                                          ", a packet a tick",
                                                          ", two packets a tick", ", few packets"};
    const ls_match_config *match = &scenario->setup.match;
    writer out = {text, capacity, 0};
    add(&out,
        "seed %" PRIu64 ": %s, %u players, %u ticks at %u Hz, rule %s, on desync %s, hashes every "
        "%u, input delay %u, timeout %u ms",
        scenario->seed, match->simulation->name, match->sim.players, match->ticks,
        match->sim.tick_rate_hz, match->late_rule == LS_LATE_WAIT ? "wait" : "repeat",
        policies[match->on_desync], match->hash_interval_ticks, match->input_delay_ticks,
        match->timeout_ms);
    add(&out, "%s%s", match->adapts_input_delay ? ", adapts the input delay" : "",
        rates[match->send_rate]);
    add(&out, "\nserver: drift %d ppm, loop %.1f ms, unknown peers %u", scenario->server_drift_ppm,
        (double)scenario->server_loop_ns / 1e6, scenario->unknown_peer_count);
    if (match->start_players > 0) {
        add(&out, ", starts with %u players", match->start_players);
    }
    add(&out, ", seats kept for %u ms", match->keep_seat_ms);
    if (scenario->setup.has_journal) {
        add(&out,
            "\njournal: blocks of %u ms, snapshots every %u ms, waits %u ms for who comes back",
            scenario->setup.block_ms, scenario->setup.snapshot_ms, match->resume_wait_ms);
        add_disk(&out, &scenario->setup.disk);
    }
    for (uint32_t i = 0; i < scenario->client_count; i++) {
        describe_client(&out, scenario, i);
    }
    for (uint32_t i = 0; i < scenario->visitor_count; i++) {
        const faultsim_scenario_visitor *visitor = &scenario->visitors[i];
        add(&out, "\nvisitor %u: %s, from %.3f s on, away for %.0f ms, link of %.0f ms", i,
            faultsim_visitor_name(visitor->kind), (double)visitor->from_ns / 1e9,
            (double)visitor->pause_ns / 1e6, (double)visitor->delay_ns / 1e6);
    }
    for (uint32_t i = 0; i < scenario->action_count; i++) {
        describe_action(&out, &scenario->actions[i]);
    }
}
