#pragma once

#include <napi.h>

#include <memory>

#include "io/machine_link.h"

namespace sheaf::binding {

// Implements `NativeMachineLink` of lib/addon.ts. The object keeps itself alive until `close`, or
// until its environment ends.
class MachineLinkObject final : public Napi::ObjectWrap<MachineLinkObject> {
 public:
  static Napi::Function define(Napi::Env env);
  explicit MachineLinkObject(const Napi::CallbackInfo& info);

 private:
  Napi::Value address(const Napi::CallbackInfo& info);
  void set_machines(const Napi::CallbackInfo& info);
  void set_secrets(const Napi::CallbackInfo& info);
  Napi::Value counts(const Napi::CallbackInfo& info);
  Napi::Value lost_machines(const Napi::CallbackInfo& info);
  void close(const Napi::CallbackInfo& info);

  std::unique_ptr<io::MachineLink> link_;  // null when the constructor threw, and after `close`
};

}  // namespace sheaf::binding
