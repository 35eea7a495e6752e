#pragma once

#include "stream/stream_set_config.h"

namespace sheaf::quic {

struct StreamParts;

// The limits of a backend's streams (docs/internals/multi-end.md): a lease of the connection's,
// which stay the affair of the primary.
class LeasedLimits {
 public:
  explicit LeasedLimits(StreamParts& parts) : parts_(parts) {}

  void start(const StreamLease& lease);
  // In bytes: what is left to send.
  std::uint64_t credit() const;
  // Some stream waits for credit of the connection, not for that of the stream.
  bool needs_credit() const;
  void extend_credit(std::uint64_t bytes);
  // Gives up credit that is not used, at most so many bytes; returns how many.
  std::uint64_t give_up_credit(std::uint64_t bytes);

  std::uint64_t ids_left(Directionality directionality) const;
  // False, and nothing happens, while some of the earlier ids are left.
  bool replace_ids(Directionality directionality, const StreamLease::Ids& ids);

  // For the report to the primary: the largest MAX_DATA that arrived here, bytes that the
  // application read, and bidirectional streams of the client that are closed.
  std::uint64_t told_max_data() const;
  std::uint64_t consumed() const;
  std::uint64_t streams_closed() const;
  // Some stream is open here.
  bool in_use() const;
  // Frees what is kept for streams to come.
  void trim_memory();

 private:
  StreamParts& parts_;
};

}  // namespace sheaf::quic
