#pragma once

#include <napi.h>

#include <memory>

#include "io/machine_link.h"

namespace sheaf::binding {

// Implements `NativeMachineLink` of lib/addon.ts. The object keeps itself alive until `close`.
class MachineLinkObject final : public Napi::ObjectWrap<MachineLinkObject> {
 public:
  static Napi::Function define(Napi::Env env);
  explicit MachineLinkObject(const Napi::CallbackInfo& info);
  ~MachineLinkObject() override;

 private:
  Napi::Value address(const Napi::CallbackInfo& info);
  void set_machines(const Napi::CallbackInfo& info);
  void set_secrets(const Napi::CallbackInfo& info);
  Napi::Value counts(const Napi::CallbackInfo& info);
  Napi::Value lost_machines(const Napi::CallbackInfo& info);
  void close(const Napi::CallbackInfo& info);

  static void on_environment_end(napi_async_cleanup_hook_handle, void* object);
  void stop();

  std::unique_ptr<io::MachineLink> link_;  // null when the constructor threw, and after `close`
  napi_async_cleanup_hook_handle cleanup_hook_ = nullptr;
};

}  // namespace sheaf::binding
