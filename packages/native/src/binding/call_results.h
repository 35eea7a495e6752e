#pragma once

#include <napi.h>

#include "util/result.h"

namespace sheaf::binding {

// Encodes a refusal as one of the negative numbers of `Refusal`, `PathRefusal`, `BackendRefusal` or
// `ImportRefusal`
// in lib/addon.ts.
template <typename Refusal>
double refusal_code(Refusal refusal) {
  return -1.0 - static_cast<double>(refusal);
}

template <typename Refusal>
double outcome(const quic::Status<Refusal>& status) {
  return status ? 0 : refusal_code(status.error());
}

inline Napi::Value number_value(const Napi::CallbackInfo& info, double value) {
  return Napi::Number::New(info.Env(), value);
}

}  // namespace sheaf::binding
