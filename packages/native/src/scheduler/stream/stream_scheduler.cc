#include "scheduler/stream/stream_scheduler.h"

#include <algorithm>
#include <iterator>

#include "scheduler/stream/burst_round_robin.h"
#include "scheduler/stream/critical_first.h"
#include "scheduler/stream/data_size_round_robin.h"
#include "scheduler/stream/extensible_priority.h"
#include "scheduler/stream/first_come_first_served.h"
#include "scheduler/stream/scattered_round_robin.h"
#include "scheduler/stream/stream_aware_ecf.h"
#include "scheduler/stream/stream_round_robin.h"
#include "scheduler/stream/weighted_round_robin.h"

namespace sheaf::quic {

std::optional<StreamSchedulerKind> stream_scheduler_named(std::string_view name) {
  const auto found = std::ranges::find(k_all_stream_schedulers, name, &NamedStreamScheduler::name);
  if (found == std::end(k_all_stream_schedulers)) return std::nullopt;
  return found->kind;
}

std::unique_ptr<StreamScheduler> make_stream_scheduler(StreamSchedulerKind kind) {
  switch (kind) {
    case StreamSchedulerKind::kFcfs:
      return std::make_unique<FirstComeFirstServed>();
    case StreamSchedulerKind::kRoundRobin:
      return std::make_unique<StreamRoundRobin>();
    case StreamSchedulerKind::kWeighted:
      return std::make_unique<WeightedRoundRobin>();
    case StreamSchedulerKind::kWeightedBurst:
      return std::make_unique<BurstRoundRobin>();
    case StreamSchedulerKind::kScattered:
      return std::make_unique<ScatteredRoundRobin>();
    case StreamSchedulerKind::kScatteredReleased:
      return std::make_unique<ScatteredRoundRobinReleased>();
    case StreamSchedulerKind::kDataSize:
      return std::make_unique<DataSizeRoundRobin>();
    case StreamSchedulerKind::kDataSizeRootOnly:
      return std::make_unique<BurstRoundRobinBySize>();
    case StreamSchedulerKind::kStreamAwareEcf:
      return std::make_unique<StreamAwareEcf>();
    case StreamSchedulerKind::kStreamAwareEcfReleased:
      return std::make_unique<StreamAwareEcfReleased>();
    case StreamSchedulerKind::kCriticalFirst:
      return std::make_unique<CriticalFirst>();
    case StreamSchedulerKind::kExtensible:
      break;
  }
  return std::make_unique<ExtensiblePriorityScheduler>();
}

}  // namespace sheaf::quic
