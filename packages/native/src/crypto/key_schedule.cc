#include "crypto/key_schedule.h"

#include <gnutls/crypto.h>

#include <array>
#include <cassert>
#include <cstdlib>

namespace sheaf::quic {

void expand_label(const TrafficSecret& secret, std::string_view label, Bytes context,
                  MutableBytes out) {
  constexpr std::string_view k_prefix = "tls13 ";
  constexpr std::size_t k_max_label = 32;
  constexpr std::size_t k_max_context = 32;
  assert(label.size() <= k_max_label && context.size() <= k_max_context);

  // RFC 8446 §7.1: struct HkdfLabel { uint16 length; opaque label<7..255>; opaque context<0..255>;
  // }
  std::array<std::uint8_t, 2 + 1 + k_prefix.size() + k_max_label + 1 + k_max_context> buffer;
  Writer info{buffer};
  info.write_u16(static_cast<std::uint16_t>(out.size()));
  info.write_u8(static_cast<std::uint8_t>(k_prefix.size() + label.size()));
  for (char character : k_prefix) info.write_u8(static_cast<std::uint8_t>(character));
  for (char character : label) info.write_u8(static_cast<std::uint8_t>(character));
  info.write_u8(static_cast<std::uint8_t>(context.size()));
  info.write_bytes(context);

  const auto hash =
      secret.suite == CipherSuite::kAes256GcmSha384 ? GNUTLS_MAC_SHA384 : GNUTLS_MAC_SHA256;
  const gnutls_datum_t key{const_cast<std::uint8_t*>(secret.bytes.data()), secret.length};
  const gnutls_datum_t info_datum{buffer.data(), static_cast<unsigned>(info.size())};
  // This fails only for lengths that cannot occur here. Keys that were not derived must never be
  // used.
  if (gnutls_hkdf_expand(hash, &key, &info_datum, out.data(), out.size()) != 0) std::abort();
}

TrafficSecret next_generation(const TrafficSecret& secret) {
  TrafficSecret next = secret;
  expand_label(secret, secret.version == k_version_2 ? "quicv2 ku" : "quic ku", {},
               MutableBytes(next.bytes).first(next.length));
  return next;
}

TrafficSecret path_secret(const TrafficSecret& secret, PathId path) {
  std::array<std::uint8_t, 4> context;
  Writer(context).write_u32(path.value);
  TrafficSecret derived = secret;
  expand_label(secret, "sheaf path", context, MutableBytes(derived.bytes).first(derived.length));
  return derived;
}

}  // namespace sheaf::quic
