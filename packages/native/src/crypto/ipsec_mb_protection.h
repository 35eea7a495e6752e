#pragma once

#include "crypto/packet_keys.h"

namespace sheaf::quic {

// AES-GCM on x86-64 by IPsec-MB. Null for ChaCha20, for a processor without AES instructions, and
// if the library is not built in.
std::unique_ptr<Aead> make_ipsec_mb_aead(CipherSuite suite, const PacketKeys& keys);
std::unique_ptr<HeaderProtection> make_ipsec_mb_header_protection(CipherSuite suite,
                                                                  const PacketKeys& keys);

}  // namespace sheaf::quic
