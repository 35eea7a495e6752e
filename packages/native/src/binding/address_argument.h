#pragma once

#include <napi.h>

#include <optional>
#include <string>

#include "binding/call_arguments.h"
#include "binding/system_error.h"
#include "io/socket_address.h"

namespace sheaf::binding {

// Reads a `NativeAddress` of lib/addon.ts. Returns nothing when its text is no IP address.
inline std::optional<quic::Address> address_argument(const Napi::Value& value) {
  const auto given = value.As<Napi::Object>();
  return io::parse_address(std::string(given.Get("address").ToString()),
                           static_cast<std::uint16_t>(given.Get("port").ToNumber().Uint32Value()));
}

inline Napi::Error address_error(Napi::Env env, const Napi::Value& value) {
  return not_an_address(env, value.As<Napi::Object>().Get("address").ToString());
}

}  // namespace sheaf::binding
