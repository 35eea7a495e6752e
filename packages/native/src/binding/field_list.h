#pragma once

#include <napi.h>

#include "http3/field_section.h"

namespace sheaf::binding {

// [name, value, name, value …]
inline Napi::Array to_array(Napi::Env env, const http3::FieldSection& fields) {
  Napi::Array out = Napi::Array::New(env, 2 * fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const http3::Field field = fields[i];
    const auto index = static_cast<std::uint32_t>(2 * i);
    out.Set(index, Napi::String::New(env, field.name.data(), field.name.size()));
    // Field values are octets (RFC 9110 §5.5), which JavaScript shows as Latin-1.
    napi_value value;
    napi_create_string_latin1(env, field.value.data(), field.value.size(), &value);
    out.Set(index + 1, value);
  }
  return out;
}

inline http3::FieldSection to_fields(const Napi::Array& list) {
  http3::FieldSection fields;
  for (std::uint32_t i = 0; i + 1 < list.Length(); i += 2) {
    const std::string name = list.Get(i).ToString();
    const Napi::String text = list.Get(i + 1).ToString();
    std::size_t length = 0;
    napi_get_value_string_latin1(list.Env(), text, nullptr, 0, &length);
    std::string value(length, '\0');
    napi_get_value_string_latin1(list.Env(), text, value.data(), length + 1, &length);
    fields.add({name, value});
  }
  return fields;
}

}  // namespace sheaf::binding
