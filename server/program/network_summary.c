#include "lockstep/server/program/network_summary.h"

#include "lockstep/protocol/udp/transport_udp.h"

#include <ctype.h>
#include <stdio.h>

#define NAME_OF(name, text) #name,

static const char *const sealed_names[LS_SEALED_REJECTION_COUNT] = {
    LS_SEALED_REJECTION_MAP(NAME_OF)};
static const char *const enet_names[LS_DATAGRAM_REJECTION_COUNT] = {
    LS_DATAGRAM_REJECTION_MAP(NAME_OF)};
static const char *const denial_names[LS_DENIAL_END] = {"NONE", LS_DENIAL_MAP(NAME_OF)};

static void add(ls_summary_counts *counts, const char *prefix, const char *name, uint64_t count)
{
    ls_summary_count *row = &counts->rows[counts->count++];
    snprintf(row->name, sizeof row->name, "%s%s", prefix, name);
    for (char *at = row->name; *at != '\0'; at++) {
        *at = (char)tolower((unsigned char)*at);
    }
    row->number = count;
}

void ls_network_summarize(const ls_transport *transport, const ls_token_gate *gate,
                          ls_summary_network *out)
{
    *out = (ls_summary_network){.has_tokens = gate != NULL};
    for (int i = 0; i < LS_SEALED_REJECTION_COUNT; i++) {
        add(&out->dropped, "", sealed_names[i],
            ls_transport_udp_rejections(transport, (ls_sealed_rejection)i));
    }
    for (int i = 0; i < LS_DATAGRAM_REJECTION_COUNT; i++) {
        add(&out->dropped, "enet_", enet_names[i],
            ls_transport_udp_enet_rejections(transport, (ls_datagram_rejection)i));
    }
    for (int i = LS_DENIAL_NONE + 1; i < LS_DENIAL_END; i++) {
        add(&out->clients_refused, "", denial_names[i],
            ls_transport_udp_denials(transport, (ls_denial)i));
    }
    for (int i = LS_TOKEN_REFUSAL_NONE + 1; gate && i < LS_TOKEN_REFUSAL_COUNT; i++) {
        add(&out->tokens_refused, "", ls_token_refusal_name((ls_token_refusal)i),
            ls_token_gate_count(gate, (ls_token_refusal)i));
    }
}
