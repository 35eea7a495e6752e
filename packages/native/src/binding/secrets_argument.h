#pragma once

#include <napi.h>

#include <algorithm>
#include <optional>

#include "binding/call_arguments.h"
#include "connection/routable_ids.h"
#include "crypto/server_secret.h"
#include "io/monotonic_clock.h"

namespace sheaf::binding {

// Reads the secrets that lib/server_secrets.ts has checked.
inline quic::ServerSecrets secrets_argument(const Napi::Array& list) {
  quic::ServerSecrets out;
  for (std::uint32_t i = 0; i < list.Length(); ++i) {
    const auto each = list.Get(i).As<Napi::Object>();
    const auto bytes = each.Get("secret").As<Napi::Uint8Array>();
    quic::ServerSecret& secret = out.emplace_back();
    secret.number = static_cast<std::uint8_t>(number(each, "number"));
    std::copy_n(bytes.Data(), std::min(bytes.ByteLength(), secret.bytes.size()),
                secret.bytes.begin());
  }
  return out;
}

// Reads what stands in connection ids; nothing when the ids are random.
inline std::optional<quic::RoutableIds::Server> server_id(const Napi::Object& object,
                                                          quic::Duration shared_clock) {
  const auto bytes = object.Get("id").As<Napi::Uint8Array>();
  if (bytes.ByteLength() == 0) return std::nullopt;
  const quic::Time by_shared_clock = io::monotonic_now() + shared_clock;
  return quic::RoutableIds::Server{
      .id = {bytes.Data(), bytes.Data() + bytes.ByteLength()},
      .encrypted = object.Get("encrypted").As<Napi::Boolean>(),
      .first_nonce = static_cast<std::uint64_t>(by_shared_clock.time_since_epoch().count())};
}

}  // namespace sheaf::binding
