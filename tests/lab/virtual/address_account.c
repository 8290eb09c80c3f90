#include "lockstep/tests/lab/virtual/address_account.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/hash.h"

address_account *address_account_of(address_accounts *accounts, const ls_endpoint *endpoint)
{
    uint64_t place = ls_hash_bytes(endpoint->address, sizeof endpoint->address, endpoint->port);
    for (;; place++) {
        address_account *at = &accounts->accounts[place % ADDRESS_ACCOUNTS_MAX];
        if (!at->is_used) {
            LS_ASSERT(accounts->used < ADDRESS_ACCOUNTS_MAX / 2);
            accounts->used++;
            at->is_used = true;
            at->endpoint = *endpoint;
            return at;
        }
        if (ls_endpoint_is_equal(&at->endpoint, endpoint)) {
            return at;
        }
    }
}
