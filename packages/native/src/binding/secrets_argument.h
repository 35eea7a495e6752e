#pragma once

#include <napi.h>

#include <algorithm>

#include "binding/call_arguments.h"
#include "crypto/server_secret.h"

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

}  // namespace sheaf::binding
