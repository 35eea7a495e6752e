#pragma once

#include <napi.h>

#include <memory>

#include "io/worker_sockets.h"

namespace sheaf::binding {

// Implements `NativeWorkerGroup` of lib/addon.ts: the sockets of the workers of one listener.
class WorkerGroupObject final : public Napi::ObjectWrap<WorkerGroupObject> {
 public:
  static Napi::Function define(Napi::Env env);
  explicit WorkerGroupObject(const Napi::CallbackInfo& info);
  ~WorkerGroupObject() override;

 private:
  Napi::Value number(const Napi::CallbackInfo& info);
  Napi::Value addresses(const Napi::CallbackInfo& info);
  Napi::Value steered(const Napi::CallbackInfo& info);
  Napi::Value counts(const Napi::CallbackInfo& info);
  void close(const Napi::CallbackInfo& info);

  std::shared_ptr<io::WorkerSockets> sockets_;  // null when the constructor threw
  std::uint32_t number_ = 0;
};

}  // namespace sheaf::binding
