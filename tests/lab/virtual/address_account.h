/* Address account: bytes that a server has received from each address and sent to it, and whether
 * the address has shown that it hears of the server. Called by sealed_network. */
#ifndef LOCKSTEP_TESTS_LAB_VIRTUAL_ADDRESS_ACCOUNT_H
#define LOCKSTEP_TESTS_LAB_VIRTUAL_ADDRESS_ACCOUNT_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/protocol/transport/endpoint.h"

#define ADDRESS_ACCOUNTS_MAX 16384u /* a power of two; half of it is used at most */

typedef struct address_account {
    ls_endpoint endpoint;
    bool is_used;
    bool is_reached; /* a datagram of the server's has come there */
    bool is_proven;  /* and one has come from there since */
    uint64_t in_bytes;
    uint64_t out_bytes;
} address_account;

typedef struct address_accounts {
    address_account *accounts; /* ADDRESS_ACCOUNTS_MAX of them, the owner's */
    uint32_t used;
} address_accounts;

/* Of this address; a new one when it has none yet. */
address_account *address_account_of(address_accounts *accounts, const ls_endpoint *endpoint);

#endif
