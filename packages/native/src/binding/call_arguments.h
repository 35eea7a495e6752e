#pragma once

#include <napi.h>

#include "http3/error.h"
#include "wire/types.h"

namespace sheaf::binding {

// Encodes a refusal as one of the negative numbers of `Refusal` in lib/addon.ts.
inline double refusal_code(http3::Refusal refusal) { return -1.0 - static_cast<double>(refusal); }

// Arguments are read without converting them. JavaScript passes the right types, and conversion
// fails in a thread that is being terminated, in which case the C++ wrapper would end the process.
inline std::uint64_t number_argument(const Napi::CallbackInfo& info, std::size_t index) {
  double value = 0;
  napi_get_value_double(info.Env(), info[index], &value);
  return value > 0 ? static_cast<std::uint64_t>(value) : 0;
}

// Returns false when the argument is missing.
inline bool flag_argument(const Napi::CallbackInfo& info, std::size_t index) {
  bool value = false;
  napi_get_value_bool(info.Env(), info[index], &value);
  return value;
}

// Reads the second argument, which names the stream or session of a call.
inline quic::StreamId stream_argument(const Napi::CallbackInfo& info) {
  return {number_argument(info, 1)};
}

}  // namespace sheaf::binding
