#pragma once

#include <napi.h>
#include <uv.h>

#include <cerrno>
#include <string>

#include "io/udp_socket.h"

namespace sheaf::binding {

// Makes an error with `code` ("EADDRINUSE") and `errno`, like the errors of Node.
inline Napi::Error system_error(Napi::Env env, const io::SocketError& error) {
  Napi::Error out = Napi::Error::New(env, error.message);
  out.Set("code", uv_err_name(-error.number));
  out.Set("errno", Napi::Number::New(env, -error.number));
  return out;
}

// Makes the error for a text that `io::parse_address` refused.
inline Napi::Error not_an_address(Napi::Env env, const std::string& text) {
  if (text.find('%') == std::string::npos)
    return Napi::Error::New(env, "not an IP address: " + text);
  return system_error(env, {EADDRNOTAVAIL, text + " is not a link-local address of an interface"});
}

}  // namespace sheaf::binding
