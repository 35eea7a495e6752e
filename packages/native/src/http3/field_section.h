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
  bool sensitive = false;  // must not enter a compression table (RFC 9204 §7.1.3)
};

// Holds the fields of a header or trailer section in order, pseudo-header fields included (RFC 9114
// §4.2). All text lies in one buffer, so that a section costs two allocations however many fields
// it has.
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
  // Returns a field, whose views are valid until the section changes.
  Field operator[](std::size_t index) const {
    const Entry& entry = entries_[index];
    const std::string_view text = text_;
    return {text.substr(entry.offset, entry.name_length),
            text.substr(entry.offset + entry.name_length, entry.value_length), entry.sensitive};
  }
  // Returns the value of the first field with this name, or an empty view when there is none.
  std::string_view find(std::string_view name) const {
    for (std::size_t i = 0; i < size(); ++i) {
      if ((*this)[i].name == name) return (*this)[i].value;
    }
    return {};
  }
  // Returns the size, in bytes, that SETTINGS_MAX_FIELD_SECTION_SIZE counts (RFC 9114 §4.2.2).
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

// Returns the value of Content-Length (RFC 9110 §8.6), or nothing when it is absent or no number.
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
