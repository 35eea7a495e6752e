#include "scheduler/path/path_scheduler.h"

#include <algorithm>

#include "scheduler/path/backup_only.h"
#include "scheduler/path/blest.h"
#include "scheduler/path/earliest_completion_first.h"
#include "scheduler/path/minimum_rtt.h"
#include "scheduler/path/redundant.h"
#include "scheduler/path/round_robin.h"
#include "scheduler/path/weighted.h"

namespace sheaf::quic {

std::unique_ptr<PathScheduler> make_path_scheduler(PathSchedulerKind kind) {
  switch (kind) {
    case PathSchedulerKind::kMinRtt:
      return std::make_unique<MinimumRtt>();
    case PathSchedulerKind::kRoundRobin:
      return std::make_unique<RoundRobin>();
    case PathSchedulerKind::kWeighted:
      return std::make_unique<Weighted>();
    case PathSchedulerKind::kBlest:
      return std::make_unique<Blest>();
    case PathSchedulerKind::kRedundant:
      return std::make_unique<Redundant>();
    case PathSchedulerKind::kBackupOnly:
      return std::make_unique<BackupOnly>();
    case PathSchedulerKind::kEcf:
      break;
  }
  return std::make_unique<EarliestCompletionFirst>();
}

std::size_t usable_paths(std::span<PathSnapshot> paths) {
  // A working backup comes before a silent available path.
  const auto rank = [](const PathSnapshot& path) {
    return (path.suspect ? 2 : 0) + (path.backup ? 1 : 0);
  };
  int best = 3;
  for (const PathSnapshot& path : paths) best = std::min(best, rank(path));
  std::size_t count = 0;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (rank(paths[i]) == best) std::swap(paths[count++], paths[i]);
  }
  return count;
}

}  // namespace sheaf::quic
