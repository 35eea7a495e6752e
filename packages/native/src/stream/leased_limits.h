#pragma once

#include "stream/stream_set_config.h"

namespace sheaf::quic {

struct StreamParts;

// Presents a lease of the connection's limits, within which a backend's streams work
// (docs/internals/multi-end.md). The primary keeps managing the limits themselves.
class LeasedLimits {
 public:
  explicit LeasedLimits(StreamParts& parts) : parts_(parts) {}

  void start(const StreamLease& lease);
  // Returns the number of bytes that may still be sent.
  std::uint64_t credit() const;
  // Returns whether some stream waits for credit of the connection rather than of the stream.
  bool needs_credit() const;
  void extend_credit(std::uint64_t bytes);
  // Gives up unused credit of at most `bytes`. Returns the amount.
  std::uint64_t give_up_credit(std::uint64_t bytes);

  std::uint64_t ids_left(Directionality directionality) const;
  // Returns false and does nothing while some of the earlier ids are left.
  bool replace_ids(Directionality directionality, const StreamLease::Ids& ids);

  // These count for the report to the primary: the largest MAX_DATA that has arrived, the bytes
  // that the application has read, and the client's bidirectional streams that have closed.
  std::uint64_t told_max_data() const;
  std::uint64_t consumed() const;
  std::uint64_t streams_closed() const;
  // Returns whether a stream is open here.
  bool in_use() const;
  // Frees the memory kept for future streams.
  void trim_memory();

 private:
  StreamParts& parts_;
};

}  // namespace sheaf::quic
