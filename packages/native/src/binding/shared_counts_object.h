#pragma once

#include <napi.h>

#include <memory>

#include "endpoint/shared_counts.h"

namespace sheaf::binding {

// Implements `NativeSharedCounts` of lib/addon.ts. What a thread holds is given back when its
// environment ends.
class SharedCountsObject final : public Napi::ObjectWrap<SharedCountsObject> {
 public:
  static Napi::Function define(Napi::Env env);
  explicit SharedCountsObject(const Napi::CallbackInfo& info);

 private:
  Napi::Value take(const Napi::CallbackInfo& info);
  void give(const Napi::CallbackInfo& info);
  Napi::Value take_turn(const Napi::CallbackInfo& info);

  quic::HeldCounts held_;
};

}  // namespace sheaf::binding
