#pragma once

#include "crypto/packet_mac.h"

namespace sheaf::quic {

// GMAC by IPsec-MB. Null for a processor without AES instructions, and if the library is not built
// in.
std::unique_ptr<PacketMac> make_ipsec_mb_mac();

}  // namespace sheaf::quic
