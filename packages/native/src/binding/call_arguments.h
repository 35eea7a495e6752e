#pragma once

#include <napi.h>

#include <string>

#include "wire/types.h"

namespace sheaf::binding {

// Arguments are read without converting them. JavaScript passes the right types, and conversion
// fails in a thread that is being terminated, in which case the C++ wrapper would end the process.
inline std::uint64_t number_argument(const Napi::CallbackInfo& info, std::size_t index) {
  double value = 0;
  napi_get_value_double(info.Env(), info[index], &value);
  return value > 0 ? static_cast<std::uint64_t>(value) : 0;
}

// Returns the empty text for anything else.
inline std::string text_value(const Napi::Value& value) {
  std::size_t size = 0;
  napi_get_value_string_utf8(value.Env(), value, nullptr, 0, &size);
  std::string text(size + 1, '\0');
  napi_get_value_string_utf8(value.Env(), value, text.data(), text.size(), &size);
  text.resize(size);
  return text;
}

inline std::string text_argument(const Napi::CallbackInfo& info, std::size_t index) {
  return text_value(info[index]);
}

// Reads a field of an object. A missing or negative one is 0.
inline std::uint64_t number(const Napi::Object& object, const char* name) {
  const double value = object.Get(name).ToNumber().DoubleValue();
  return value > 0 ? static_cast<std::uint64_t>(value) : 0;
}

inline std::string text(const Napi::Object& object, const char* name) {
  return object.Get(name).ToString();
}

// Returns false when the argument is missing.
inline bool flag_argument(const Napi::CallbackInfo& info, std::size_t index) {
  bool value = false;
  napi_get_value_bool(info.Env(), info[index], &value);
  return value;
}

// Reads the second argument, which names the stream or session of a call.
inline quic::StreamId stream_argument(const Napi::CallbackInfo& info) {
  return {number_argument(info, 1)};
}

}  // namespace sheaf::binding
