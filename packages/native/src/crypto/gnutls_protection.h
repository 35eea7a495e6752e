#pragma once

#include "crypto/packet_keys.h"

namespace sheaf::quic {

// Implementations for all cipher suites, on every processor
std::unique_ptr<Aead> make_gnutls_aead(CipherSuite suite, const PacketKeys& keys);
std::unique_ptr<HeaderProtection> make_gnutls_header_protection(CipherSuite suite,
                                                                const PacketKeys& keys);

}  // namespace sheaf::quic
