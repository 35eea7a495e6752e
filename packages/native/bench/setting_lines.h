#pragma once

#include <istream>
#include <map>
#include <optional>
#include <sstream>
#include <string>

namespace sheaf::quic {

// Maps the first word of a line to a function that reads the rest of it.
template <typename Setting>
using LineReaders = std::map<std::string, void (*)(std::istream&, Setting&)>;

// Reads the setting of an experiment from the program's input. Returns a line that no reader
// understands.
template <typename Setting>
std::optional<std::string> read_lines(std::istream& lines, const LineReaders<Setting>& readers,
                                      Setting& setting) {
  for (std::string line; std::getline(lines, line);) {
    std::istringstream in(line);
    std::string word;
    in >> word;
    const auto reader = readers.find(word);
    if (reader == readers.end()) return line;
    reader->second(in, setting);
    if (in.fail()) return line;
  }
  return std::nullopt;
}

}  // namespace sheaf::quic
