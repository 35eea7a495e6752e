#pragma once

#include "crypto/batch_hasher.h"

namespace sheaf::quic {

// Hashes up to 16 messages at once by IPsec-MB. Null for a processor that it does not suit, and if
// the library is not built in.
std::unique_ptr<BatchHasher> make_ipsec_mb_hasher();

}  // namespace sheaf::quic
