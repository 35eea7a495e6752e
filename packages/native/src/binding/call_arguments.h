#pragma once

#include <napi.h>

#include "http3/error.h"
#include "wire/types.h"

namespace sheaf::binding {

// Refusals are the negative numbers of `Refusal` in lib/addon.ts.
inline double refusal_code(http3::Refusal refusal) { return -1.0 - static_cast<double>(refusal); }

inline std::uint64_t number_argument(const Napi::CallbackInfo& info, std::size_t index) {
  const double value = info[index].ToNumber().DoubleValue();
  return value > 0 ? static_cast<std::uint64_t>(value) : 0;
}

// Calls about a stream or a session name it in their second argument.
inline quic::StreamId stream_argument(const Napi::CallbackInfo& info) {
  return {number_argument(info, 1)};
}

}  // namespace sheaf::binding
