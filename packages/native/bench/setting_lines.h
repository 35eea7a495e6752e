#pragma once

#include <istream>
#include <map>
#include <optional>
#include <sstream>
#include <string>

namespace sheaf::quic {

// By the first word of a line: takes the rest of it.
template <typename Setting>
using LineReaders = std::map<std::string, void (*)(std::istream&, Setting&)>;

// The setting of an experiment, as the program is given it. A line that nobody understands comes
// back.
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
