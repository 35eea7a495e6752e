#include "crypto/server_secret.h"

#include <gnutls/crypto.h>

#include <cstdlib>

namespace sheaf::quic {

void derive_key(const ServerSecret& secret, std::string_view label, MutableBytes key) {
  const gnutls_datum_t input{const_cast<unsigned char*>(secret.bytes.data()),
                             static_cast<unsigned>(secret.bytes.size())};
  const gnutls_datum_t info{reinterpret_cast<unsigned char*>(const_cast<char*>(label.data())),
                            static_cast<unsigned>(label.size())};
  if (gnutls_hkdf_expand(GNUTLS_MAC_SHA256, &input, &info, key.data(), key.size()) != 0)
    std::abort();
}

}  // namespace sheaf::quic
