/* Address limits: how many connections an address has and how often it may ask for one, and how
 * often its network and all addresses together may. An address is one of IPv4, or a /56 of IPv6; a
 * network is a /24 or a /48; ports do not count. Memory is fixed at create: when it is full, the
 * address without connections that asked longest ago is forgotten. Time is an argument. Only a
 * proven address gets memory of its own. */
#ifndef LOCKSTEP_PROTOCOL_SEALED_ADDRESS_LIMITS_H
#define LOCKSTEP_PROTOCOL_SEALED_ADDRESS_LIMITS_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/endpoint.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/base/status.h"

#include <stdbool.h>
#include <stdint.h>

LS_C_BEGIN

/* How often something may be done: so many times at once, and then once in each period. */
typedef struct ls_rate_limit {
    uint64_t period_ns;
    uint32_t at_once; /* 1 or more */
} ls_rate_limit;

/* Zeroed: nothing was done yet. Each time takes a period of time; some of it may lie ahead. */
typedef struct ls_rate_use {
    uint64_t spent_until_ns;
} ls_rate_use;

bool ls_rate_use_is_spent(const ls_rate_use *use, const ls_rate_limit *limit, uint64_t now_ns);
/* False, and nothing is taken, when it is spent. */
bool ls_rate_use_spend(ls_rate_use *use, const ls_rate_limit *limit, uint64_t now_ns);

/* Addresses without connections that are remembered. */
#define LS_ADDRESS_LIMITS_IDLE_MAX 4096u

typedef struct ls_address_limits_config {
    uint32_t connections_max; /* of all addresses */
    uint32_t per_address_max;
    uint64_t seed; /* random and secret: it decides where an address is found */
} ls_address_limits_config;

typedef struct ls_address_limits ls_address_limits;

/* NO_MEMORY. */
ls_status ls_address_limits_create(const ls_address_limits_config *config,
                                   const ls_allocator *allocator, ls_address_limits **out);
void ls_address_limits_destroy(ls_address_limits *limits);

/* Counts a request of an address that is not proven, and may be another one's; false when there are
 * too many from its network, or from all. */
bool ls_address_limits_count_request(ls_address_limits *limits, const ls_endpoint *address,
                                     uint64_t now_ns);

/* Counts a question of the address; false when it, its network or all together asked too often. A
 * part of what all may ask is for those that ask rarely. */
bool ls_address_limits_count_question(ls_address_limits *limits, const ls_endpoint *address,
                                      uint64_t now_ns);

/* Of an address that has asked: whether it may guess again at what lets it in, and a wrong guess.
 * So many at once, and one a second. */
bool ls_address_limits_may_guess(ls_address_limits *limits, const ls_endpoint *address,
                                 uint64_t now_ns);
void ls_address_limits_count_wrong_guess(ls_address_limits *limits, const ls_endpoint *address,
                                         uint64_t now_ns);

/* Counts a connection of the address; false when it has as many as it may. At most
 * connections_max are counted at a time. */
bool ls_address_limits_add_connection(ls_address_limits *limits, const ls_endpoint *address);
/* One that was counted has ended. */
void ls_address_limits_remove_connection(ls_address_limits *limits, const ls_endpoint *address);

LS_C_END

#endif
