#include <napi.h>

#include "binding/endpoint_object.h"
#include "binding/link_relay_object.h"
#include "crypto/library_check.h"
#include "io/tcp_socket.h"

namespace {

// Descriptor, bytes.
Napi::Value limit_unsent(const Napi::CallbackInfo& info) {
  const int descriptor = info[0].As<Napi::Number>().Int32Value();
  const auto bytes = info[1].As<Napi::Number>().Uint32Value();
  return Napi::Boolean::New(info.Env(), sheaf::io::limit_unsent(descriptor, bytes));
}

Napi::Object initialize(Napi::Env env, Napi::Object exports) {
  if (const auto problem = sheaf::quic::check_libraries()) {
    Napi::Error::New(env, *problem).ThrowAsJavaScriptException();
    return exports;
  }
  exports.Set("Endpoint", sheaf::binding::EndpointObject::define(env));
  exports.Set("LinkRelay", sheaf::binding::LinkRelayObject::define(env));
  exports.Set("limitUnsent", Napi::Function::New<limit_unsent>(env, "limitUnsent"));
  return exports;
}

}  // namespace

NODE_API_MODULE(sheaf, initialize)
