#include "qlog/qlog_directory.h"

#include <unistd.h>

#include <cerrno>

namespace sheaf::qlog {
namespace {

// Bound on files of one name; only an attacker would cause more.
constexpr int k_max_same_name = 16;

}  // namespace

std::string hex_text(const quic::ConnectionId& id) {
  std::string out;
  char digits[3];
  for (const std::uint8_t byte : id.view()) {
    std::snprintf(digits, sizeof digits, "%02x", byte);
    out += digits;
  }
  return out;
}

std::unique_ptr<QlogFile> QlogDirectory::create(const QlogFile::Trace& trace) {
  if (open_ >= limits_.max_open) return nullptr;
  std::FILE* file = open(path_ + "/" + hex_text(trace.original_destination));
  if (!file) return nullptr;
  ++open_;
  while (kept_.size() > limits_.max_kept) {
    unlink(kept_.front().c_str());
    kept_.pop_front();
  }
  return std::make_unique<QlogFile>(file, trace);
}

void QlogDirectory::release(std::unique_ptr<QlogFile> log) {
  if (log) --open_;
}

std::FILE* QlogDirectory::open(const std::string& name) {
  for (int number = 0; number < k_max_same_name; ++number) {
    std::string path = name + (number == 0 ? "" : "-" + std::to_string(number)) + ".sqlog";
    if (std::FILE* file = std::fopen(path.c_str(), "wxe")) {
      kept_.push_back(std::move(path));
      return file;
    }
    if (errno != EEXIST) return nullptr;
  }
  return nullptr;
}

}  // namespace sheaf::qlog
