#include "scheduler/stream/stream_scheduler.h"

#include "scheduler/stream/extensible_priority.h"

namespace sheaf::quic {

std::unique_ptr<StreamScheduler> make_stream_scheduler(StreamSchedulerKind kind) {
  switch (kind) {
    case StreamSchedulerKind::kExtensible:
      break;
  }
  return std::make_unique<ExtensiblePriorityScheduler>();
}

}  // namespace sheaf::quic
