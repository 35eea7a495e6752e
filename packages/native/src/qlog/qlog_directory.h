#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>

#include "qlog/qlog_file.h"

namespace sheaf::qlog {

// How many logs an endpoint writes at one time, and leaves behind: peers decide how many
// connections there are.
struct QlogLimits {
  std::size_t max_open = 256;
  std::size_t max_kept = 4096;  // the oldest make room
};

// Where the logs of an endpoint's connections go. It outlives them.
class QlogDirectory {
 public:
  explicit QlogDirectory(std::string path, const QlogLimits& limits = {})
      : path_(std::move(path)), limits_(limits) {}

  // Creates `<original destination id>.sqlog`, with a number when a file has that name already: the
  // client chose it. Null when it cannot be written, or too many are open: a connection does not
  // fail for want of a log.
  std::unique_ptr<QlogFile> create(const QlogFile::Trace& trace);
  // A log that `create` returned is closed.
  void release(std::unique_ptr<QlogFile> log);

 private:
  std::FILE* open(const std::string& name);

  std::string path_;
  QlogLimits limits_;
  std::size_t open_ = 0;
  std::deque<std::string> kept_;  // paths, oldest first
};

// Lower-case hexadecimal digits.
std::string hex_text(const quic::ConnectionId& id);

}  // namespace sheaf::qlog
