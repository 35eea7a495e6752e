#pragma once

#include <sys/stat.h>

#include <compare>
#include <cstddef>
#include <map>
#include <memory>

namespace sheaf::switchboard {

class SharedFiles;

// An open file in one state. Any number of responses reads it through one descriptor.
class SharedFile {
 public:
  // What says that two descriptors lead to the same bytes. The time of the last change of the inode
  // would not serve: it changes when a new file takes the name.
  struct State {
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = 0;
    time_t seconds = 0;  // of the last modification
    long nanoseconds = 0;
    auto operator<=>(const State&) const = default;
  };

  // Takes the descriptor. `files` outlives this object.
  SharedFile(SharedFiles& files, const State& state, int descriptor)
      : files_(files), state_(state), descriptor_(descriptor) {}
  ~SharedFile();
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;

  int descriptor() const { return descriptor_; }
  // Returns whether nobody has changed the file since it was opened here.
  bool unchanged() const;

 private:
  SharedFiles& files_;
  State state_;
  int descriptor_;
};

// The files that responses read, each opened once. The process needs descriptors for its clients,
// too, so that the files have a quarter of those that the system permits.
class SharedFiles {
 public:
  SharedFiles();
  explicit SharedFiles(std::size_t most) : most_(most) {}

  // Duplicates `descriptor`, which stays the caller's, or returns the same file that is open
  // already. Returns null when as many are open as may be, or it is no file.
  std::shared_ptr<SharedFile> open(int descriptor);
  std::size_t count() const { return open_.size(); }

 private:
  friend SharedFile;

  std::size_t most_;
  std::map<SharedFile::State, std::weak_ptr<SharedFile>> open_;
};

}  // namespace sheaf::switchboard
