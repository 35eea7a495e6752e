#pragma once

#include <napi.h>
#include <uv.h>

#include "io/udp_socket.h"

namespace sheaf::binding {

// With `code` ("EADDRINUSE") and `errno`, as Node's own errors carry them.
inline Napi::Error system_error(Napi::Env env, const io::SocketError& error) {
  Napi::Error out = Napi::Error::New(env, error.message);
  out.Set("code", uv_err_name(-error.number));
  out.Set("errno", Napi::Number::New(env, -error.number));
  return out;
}

}  // namespace sheaf::binding
