#pragma once

#include "scheduler/path/path_scheduler.h"

namespace sheaf::quic {

// Uses one path at a time, the one with the lowest id. Others are used only when it fails.
class BackupOnly final : public PathScheduler {
 public:
  std::optional<std::size_t> select(std::span<const PathSnapshot> paths,
                                    const SendDemand&) override {
    return paths.front().can_send() ? std::optional<std::size_t>(0) : std::nullopt;
  }
};

}  // namespace sheaf::quic
