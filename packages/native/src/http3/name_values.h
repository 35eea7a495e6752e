#pragma once

#include <nghttp3/nghttp3.h>

#include <vector>

#include "http3/field_section.h"

namespace sheaf::http3 {

inline const std::uint8_t* bytes_of_text(std::string_view text) {
  return reinterpret_cast<const std::uint8_t*>(text.data());
}

// Returns fields in the form that nghttp3 takes. They refer to the section.
inline std::vector<nghttp3_nv> name_values_of(const FieldSection& fields) {
  std::vector<nghttp3_nv> values;
  values.reserve(fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const Field field = fields[i];
    values.push_back({bytes_of_text(field.name), bytes_of_text(field.value), field.name.size(),
                      field.value.size(),
                      static_cast<std::uint8_t>(field.sensitive ? NGHTTP3_NV_FLAG_NEVER_INDEX
                                                                : NGHTTP3_NV_FLAG_NONE)});
  }
  return values;
}

}  // namespace sheaf::http3
