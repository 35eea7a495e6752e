#pragma once

#include <napi.h>

#include <memory>

#include "io/link_relay.h"

namespace sheaf::binding {

// Implements `NativeLinkRelay` of lib/addon.ts. The object keeps itself alive from `bind` to
// `close`.
class LinkRelayObject final : public Napi::ObjectWrap<LinkRelayObject> {
 public:
  static Napi::Function define(Napi::Env env);
  explicit LinkRelayObject(const Napi::CallbackInfo& info);
  ~LinkRelayObject() override;

 private:
  Napi::Value bind(const Napi::CallbackInfo& info);
  void set_config(const Napi::CallbackInfo& info);
  void set_down(const Napi::CallbackInfo& info);
  Napi::Value stats(const Napi::CallbackInfo& info);
  void close(const Napi::CallbackInfo& info);

  // Closes the handles of libuv, which must be gone before the environment is.
  static void on_environment_end(napi_async_cleanup_hook_handle, void* object);
  void stop();

  std::unique_ptr<io::LinkRelay> relay_;  // null when the constructor threw
  bool bound_ = false;
  napi_async_cleanup_hook_handle cleanup_hook_ = nullptr;
};

}  // namespace sheaf::binding
