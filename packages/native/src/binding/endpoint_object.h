#pragma once

#include <napi.h>

#include <cstdio>
#include <type_traits>
#include <vector>

#include "binding/endpoint_parts.h"

namespace sheaf::binding {

// Implements `NativeEndpoint` of lib/addon.ts: UDP sockets and their connections. JavaScript
// receives the events of a turn of the loop as one array, so that no packet costs a call of its
// own.
class EndpointObject final : public Napi::ObjectWrap<EndpointObject>,
                             public io::EndpointLoop::Listener {
 public:
  static Napi::Function define(Napi::Env env);
  explicit EndpointObject(const Napi::CallbackInfo& info);
  ~EndpointObject() override;

 private:
  // --- io::EndpointLoop::Listener -----------------------------------------------------------
  void on_active(quic::ConnectionDriver& driver, quic::Time now) override;
  void on_turn_end() override;
  void on_flushed(quic::Time now) override;
  void on_removed(quic::ConnectionDriver& driver) override;

  // --- called by JavaScript -----------------------------------------------------------------
  Napi::Value bind(const Napi::CallbackInfo& info);
  void close(const Napi::CallbackInfo& info);
  // Runs one of the functions of endpoint_calls.h.
  template <auto function>
  Napi::Value call(const Napi::CallbackInfo& info) {
    if constexpr (std::is_void_v<decltype(function(parts_, info))>) {
      function(parts_, info);
      return {};
    } else {
      return function(parts_, info);
    }
  }

  template <auto function>
  static auto method(const char* name) {
    return InstanceMethod<&EndpointObject::call<function>>(name);
  }

  static void add_session_methods(std::vector<PropertyDescriptor>& methods);
  static void add_return_methods(std::vector<PropertyDescriptor>& methods);
  static void add_channel_methods(std::vector<PropertyDescriptor>& methods);
  // `first` is true until the endpoint is bound to an address.
  std::optional<io::SocketError> listen_on(const quic::Address& address, bool first);
  void note_bound();
  void write_key_log(std::string_view line);
  // Runs when the environment (a worker thread or the process) ends while the endpoint may be open.
  static void on_environment_end(napi_async_cleanup_hook_handle hook, void* object);
  void end_tunnels();
  void stop_loop();

  EndpointParts parts_;
  Napi::FunctionReference on_events_;
  Napi::AsyncContext async_context_;
  std::FILE* key_log_ = nullptr;
  napi_async_cleanup_hook_handle cleanup_hook_ = nullptr;
};

}  // namespace sheaf::binding
