#include "switchboard/shared_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <optional>

#include "io/descriptor_limit.h"

namespace sheaf::switchboard {

namespace {

std::optional<SharedFile::State> state_of(int descriptor) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) return std::nullopt;
  return SharedFile::State{.device = status.st_dev,
                           .inode = status.st_ino,
                           .size = status.st_size,
                           .seconds = status.st_mtim.tv_sec,
                           .nanoseconds = status.st_mtim.tv_nsec};
}

}  // namespace

SharedFile::~SharedFile() {
  files_.open_.erase(state_);
  close(descriptor_);
}

bool SharedFile::unchanged() const { return state_of(descriptor_) == state_; }

SharedFiles::SharedFiles() : SharedFiles(io::quarter_of_descriptors()) {}

std::shared_ptr<SharedFile> SharedFiles::open(int descriptor) {
  const auto state = state_of(descriptor);
  if (!state) return nullptr;
  if (const auto known = open_.find(*state); known != open_.end()) return known->second.lock();
  if (open_.size() >= most_) return nullptr;
  const int own = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (own < 0) return nullptr;
  auto file = std::make_shared<SharedFile>(*this, *state, own);
  open_.emplace(*state, file);
  return file;
}

}  // namespace sheaf::switchboard
