#include "congestion/controller.h"

#include "congestion/bbr/bbr.h"
#include "congestion/bbr_v1/bbr_v1.h"
#include "congestion/cubic.h"
#include "congestion/new_reno.h"
#include "congestion/olia.h"
#include "congestion/outside_rate.h"
#include "congestion/unlimited.h"

namespace sheaf::quic {

std::unique_ptr<CongestionController> make_congestion_controller(const CongestionConfig& config) {
  switch (config.algorithm) {
    case CongestionAlgorithm::kNewReno:
      return std::make_unique<NewReno>(config);
    case CongestionAlgorithm::kCubic:
      return std::make_unique<Cubic>(config);
    case CongestionAlgorithm::kBbr:
      return std::make_unique<Bbr>(config);
    case CongestionAlgorithm::kBbrV1:
      return std::make_unique<BbrV1>(config);
    case CongestionAlgorithm::kOlia:
      return std::make_unique<Olia>(config);
    case CongestionAlgorithm::kOutsideRate:
      return std::make_unique<OutsideRate>(config);
    case CongestionAlgorithm::kNone:
      break;
  }
  return std::make_unique<Unlimited>();
}

}  // namespace sheaf::quic
