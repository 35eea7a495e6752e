#include <napi.h>

#include "binding/endpoint_object.h"
#include "binding/link_relay_object.h"
#include "crypto/library_check.h"

namespace {

Napi::Object initialize(Napi::Env env, Napi::Object exports) {
  if (const auto problem = sheaf::quic::check_libraries()) {
    Napi::Error::New(env, *problem).ThrowAsJavaScriptException();
    return exports;
  }
  exports.Set("Endpoint", sheaf::binding::EndpointObject::define(env));
  exports.Set("LinkRelay", sheaf::binding::LinkRelayObject::define(env));
  return exports;
}

}  // namespace

NODE_API_MODULE(sheaf, initialize)
