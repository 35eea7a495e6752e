#pragma once

#include <napi.h>

#include <memory>
#include <string>

#include "channel_node/source_node.h"
#include "io/system_random.h"

namespace sheaf::binding {

// Implements `NativeChannelSource` of lib/addon.ts: a channel that this process is the source of.
class ChannelSourceObject final : public Napi::ObjectWrap<ChannelSourceObject> {
 public:
  static Napi::Function define(Napi::Env env);
  explicit ChannelSourceObject(const Napi::CallbackInfo& info);
  ~ChannelSourceObject() override;

  // `value` may also be the name of a channel that another thread shares. Returns null for any
  // other value, and for a channel that is closed.
  static std::shared_ptr<channel_node::SourceNode> node_of(const Napi::Value& value);
  // Arguments: name of a shared channel, address of a client. Returns as `heldDownMs`, or -1 when
  // there is no such channel.
  static Napi::Value shared_held_down_ms(const Napi::CallbackInfo& info);

 private:
  Napi::Value open_group(const Napi::CallbackInfo& info);
  Napi::Value write(const Napi::CallbackInfo& info);
  Napi::Value end_group(const Napi::CallbackInfo& info);
  Napi::Value reset_group(const Napi::CallbackInfo& info);
  Napi::Value held_down_ms(const Napi::CallbackInfo& info);
  Napi::Value status(const Napi::CallbackInfo& info);
  void close(const Napi::CallbackInfo& info);
  void tell_room();
  static void on_environment_end(napi_async_cleanup_hook_handle hook, void* object);
  void stop();

  io::SystemRandom random_;  // other threads use it no more once the channel is closed
  std::string shared_as_;    // empty: receivers are of this thread alone
  std::shared_ptr<channel_node::SourceNode> node_;  // null when the constructor threw
  Napi::FunctionReference on_room_;
  Napi::AsyncContext async_context_;
  napi_async_cleanup_hook_handle cleanup_hook_ = nullptr;
};

}  // namespace sheaf::binding
