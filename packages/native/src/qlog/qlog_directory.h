#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>

#include "qlog/qlog_file.h"

namespace sheaf::qlog {

// Bounds the logs that an endpoint has open and leaves behind, because peers decide how many
// connections there are.
struct QlogLimits {
  std::size_t max_open = 256;
  std::size_t max_kept = 4096;  // beyond it, the oldest are deleted
};

// Manages the log files of an endpoint's connections. It must outlive them.
class QlogDirectory {
 public:
  explicit QlogDirectory(std::string path, const QlogLimits& limits = {})
      : path_(std::move(path)), limits_(limits) {}

  // Creates `<original destination id>.sqlog`, with a number when that file exists, since the
  // client chose the id. Returns null when the file cannot be written, or when too many are open: a
  // connection does not fail for want of a log.
  std::unique_ptr<QlogFile> create(const QlogFile::Trace& trace);
  // Closes a log that `create` returned.
  void release(std::unique_ptr<QlogFile> log);

 private:
  std::FILE* open(const std::string& name);

  std::string path_;
  QlogLimits limits_;
  std::size_t open_ = 0;
  std::deque<std::string> kept_;  // paths, oldest first
};

// Returns lower-case hexadecimal digits.
std::string hex_text(const quic::ConnectionId& id);

}  // namespace sheaf::qlog
