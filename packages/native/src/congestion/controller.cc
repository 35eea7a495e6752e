#include "congestion/controller.h"

#include "congestion/cubic.h"
#include "congestion/new_reno.h"
#include "congestion/unlimited.h"

namespace sheaf::quic {

std::unique_ptr<CongestionController> make_congestion_controller(const CongestionConfig& config) {
  switch (config.algorithm) {
    case CongestionAlgorithm::kNewReno:
      return std::make_unique<NewReno>(config);
    case CongestionAlgorithm::kCubic:
      return std::make_unique<Cubic>(config);
    case CongestionAlgorithm::kNone:
      break;
  }
  return std::make_unique<Unlimited>();
}

}  // namespace sheaf::quic
