#pragma once

#include <napi.h>

#include <memory>

#include "io/send_only_socket.h"

namespace sheaf::binding {

// Implements `NativeReturnSocket` of lib/addon.ts.
class ReturnSocketObject final : public Napi::ObjectWrap<ReturnSocketObject> {
 public:
  static Napi::Function define(Napi::Env env);
  explicit ReturnSocketObject(const Napi::CallbackInfo& info);

  // Returns null for any other value, and for a socket that is closed.
  static std::shared_ptr<io::SendOnlySocket> socket_of(const Napi::Value& value);

 private:
  Napi::Value send(const Napi::CallbackInfo& info);
  void close(const Napi::CallbackInfo& info);

  std::shared_ptr<io::SendOnlySocket> socket_;  // null when the constructor threw, and when closed
};

}  // namespace sheaf::binding
