#pragma once

#include <napi.h>

#include <memory>

#include "io/worker_sockets.h"

namespace sheaf::binding {

// Implements `NativeWorkerGroup` of lib/addon.ts: the sockets of the workers of one listener. With
// a successor, the object keeps itself alive until `close`.
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
  Napi::Value inheritance(const Napi::CallbackInfo& info);
  void pass_to(const Napi::CallbackInfo& info);
  void follow(const Napi::CallbackInfo& info);
  void read(const Napi::CallbackInfo& info);
  void close(const Napi::CallbackInfo& info);

  static void on_environment_end(napi_async_cleanup_hook_handle, void* object);
  void close_inlet();

  std::shared_ptr<io::WorkerSockets> sockets_;  // null when the constructor threw
  std::uint32_t number_ = 0;
  std::unique_ptr<io::SuccessorInlet> inlet_;  // once another process has taken over
  napi_async_cleanup_hook_handle cleanup_hook_ = nullptr;
};

}  // namespace sheaf::binding
