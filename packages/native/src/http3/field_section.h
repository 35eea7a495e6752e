#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf::http3 {

struct Field {
  std::string_view name;
  std::string_view value;
  bool sensitive = false;  // never put into a compression table (RFC 9204 §7.1.3)
};

// A list of header or trailer fields, pseudo-headers included, in their order (RFC 9114 §4.2).
// The text lies in one piece, so a section costs two allocations however many fields it has.
class FieldSection {
 public:
  FieldSection() = default;
  FieldSection(std::initializer_list<Field> fields) {
    for (const Field& field : fields) add(field);
  }

  void add(const Field& field) {
    entries_.push_back({static_cast<std::uint32_t>(text_.size()),
                        static_cast<std::uint32_t>(field.name.size()),
                        static_cast<std::uint32_t>(field.value.size()), field.sensitive});
    text_.append(field.name).append(field.value);
  }
  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  // The views live until the section changes.
  Field operator[](std::size_t index) const {
    const Entry& entry = entries_[index];
    const std::string_view text = text_;
    return {text.substr(entry.offset, entry.name_length),
            text.substr(entry.offset + entry.name_length, entry.value_length), entry.sensitive};
  }
  // Value of the first field with this name; empty when there is none.
  std::string_view find(std::string_view name) const {
    for (std::size_t i = 0; i < size(); ++i) {
      if ((*this)[i].name == name) return (*this)[i].value;
    }
    return {};
  }
  // RFC 9114 §4.2.2: what SETTINGS_MAX_FIELD_SECTION_SIZE counts.
  std::uint64_t section_size() const { return text_.size() + 32 * entries_.size(); }

 private:
  struct Entry {
    std::uint32_t offset;
    std::uint32_t name_length;
    std::uint32_t value_length;
    bool sensitive;
  };
  std::string text_;
  std::vector<Entry> entries_;
};

// Nothing when there is none, or none that is a number (RFC 9110 §8.6).
inline std::optional<std::uint64_t> content_length(const FieldSection& fields) {
  const std::string_view text = fields.find("content-length");
  std::uint64_t length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return length;
}

// Returns whether these are the fields of a 1xx response (RFC 9110 §15.2).
inline bool is_interim(const FieldSection& fields) {
  return fields.find(":status").starts_with('1');
}

}  // namespace sheaf::http3
