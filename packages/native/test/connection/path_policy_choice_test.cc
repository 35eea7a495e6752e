#include "connection/path_policy_choice.h"

#include <gtest/gtest.h>

#include <vector>

#include "connection/connection_extension.h"
#include "connection/raw_peer.h"

namespace sheaf::quic {
namespace {

class QuietPolicy final : public PathPolicy {
 public:
  void on_abandoned(PathEntry&, Time) override {}
};

// An extension to which peers agree or do not
class ChosenFactory final : public PathPolicyFactory {
 public:
  ChosenFactory(std::uint32_t highest, bool agrees) : highest_(highest), agrees_(agrees) {}
  void offer(TransportParameters& own) const override { own.initial_max_path_id = highest_; }
  std::unique_ptr<PathPolicy> agree(ConnectionExtension,
                                    const TransportParameters&) const override {
    ++asked;
    return agrees_ ? std::make_unique<QuietPolicy>() : nullptr;
  }
  mutable int asked = 0;

 private:
  std::uint32_t highest_;
  bool agrees_;
};

RawPeer peer_with(const PathPolicyFactory& factory) {
  RawPeer::Options options;
  options.multipath = true;
  options.config.path_policy = &factory;
  return RawPeer(options);
}

TEST(PathPolicyChoice, TakesTheFirstToWhichThePeerAgrees) {
  const ChosenFactory refused(7, false), agreed(3, true), second(1, true);
  const PathPolicyChoice choice(refused, agreed);
  RawPeer peer = peer_with(choice);
  EXPECT_EQ(peer.server.local_parameters().initial_max_path_id, 7u);
  EXPECT_NE(peer.server.extension().policy(), nullptr);
  EXPECT_EQ(refused.asked, 1);
  EXPECT_EQ(agreed.asked, 1);
  const PathPolicyChoice preferred(agreed, second);
  RawPeer other = peer_with(preferred);
  EXPECT_EQ(second.asked, 0);
}

TEST(PathPolicyChoice, LeavesAPeerThatAgreesToNoneAlone) {
  const ChosenFactory one(1, false), other(3, false);
  const PathPolicyChoice choice(one, other);
  RawPeer peer = peer_with(choice);
  EXPECT_EQ(peer.server.extension().policy(), nullptr);
}

}  // namespace
}  // namespace sheaf::quic
