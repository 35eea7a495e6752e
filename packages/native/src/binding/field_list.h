#pragma once

#include <napi.h>

#include <string>
#include <string_view>

#include "http3/field_section.h"

namespace sheaf::binding {

// Converts fields to [name, value, name, value …].
inline Napi::Array to_array(Napi::Env env, const http3::FieldSection& fields) {
  Napi::Array out = Napi::Array::New(env, 2 * fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const http3::Field field = fields[i];
    const auto index = static_cast<std::uint32_t>(2 * i);
    out.Set(index, Napi::String::New(env, field.name.data(), field.name.size()));
    // RFC 9110 §5.5: field values are octets, which JavaScript represents as Latin-1.
    napi_value value;
    napi_create_string_latin1(env, field.value.data(), field.value.size(), &value);
    out.Set(index + 1, value);
  }
  return out;
}

// Copies the octets of a Latin-1 string into `room`, which grows when it is too small.
inline std::string_view latin1(napi_env env, napi_value text, std::string& room) {
  std::size_t length = 0;
  napi_get_value_string_latin1(env, text, room.data(), room.size(), &length);
  if (length + 1 >= room.size()) {  // the string may have been cut off
    napi_get_value_string_latin1(env, text, nullptr, 0, &length);
    room.resize(length + 2);
    napi_get_value_string_latin1(env, text, room.data(), room.size(), &length);
  }
  return {room.data(), length};
}

// Fields with another value in each message. In a compression table they would push out those that
// come again. A grant has keys, too (RFC 9204 §7.1.3).
inline bool stays_out_of_tables(std::string_view name) {
  return name == "sheaf-grant" || name == "server-timing";
}

// Converts [name, value, name, value …] to fields. Every response passes here, so each string costs
// at most two calls into the JavaScript engine.
inline http3::FieldSection to_fields(const Napi::Array& list) {
  http3::FieldSection fields;
  std::string name(128, '\0');
  std::string value(512, '\0');
  const napi_env env = list.Env();
  const std::uint32_t length = list.Length();
  for (std::uint32_t i = 0; i + 1 < length; i += 2) {
    napi_value strings[2]{};
    napi_get_element(env, list, i, &strings[0]);
    napi_get_element(env, list, i + 1, &strings[1]);
    const std::string_view key = latin1(env, strings[0], name);
    fields.add({key, latin1(env, strings[1], value), stays_out_of_tables(key)});
  }
  return fields;
}

}  // namespace sheaf::binding
