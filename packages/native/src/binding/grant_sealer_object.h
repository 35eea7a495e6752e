#pragma once

#include <napi.h>

#include <optional>

#include "direct_return/grant_sealer.h"

namespace sheaf::binding {

// Implements `NativeGrantSealer` of lib/addon.ts.
class GrantSealerObject final : public Napi::ObjectWrap<GrantSealerObject> {
 public:
  static Napi::Function define(Napi::Env env);
  explicit GrantSealerObject(const Napi::CallbackInfo& info);

 private:
  Napi::Value seal(const Napi::CallbackInfo& info);
  void close(const Napi::CallbackInfo& info);

  std::optional<quic::GrantSealer> sealer_;
};

}  // namespace sheaf::binding
