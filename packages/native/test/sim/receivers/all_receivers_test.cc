#include "sim/receivers/all_receivers.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "sim/receivers/receiving.h"
#include "util/random.h"

namespace sheaf::quic {
namespace {

// Under loss, reordering and duplication: nothing is accepted twice, and ACKs report only what was
// accepted, in ranges that are apart.
TEST(AllReceivers, ReportWhatTheyAccepted) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    for (const auto& client : all_receivers(40ms)) {
      SCOPED_TRACE(std::string(client->name()) + ", seed " + std::to_string(seed));
      SeededRandom random(seed);
      std::set<PacketNumber> accepted;
      PacketNumber next = 0;
      Time now{};
      for (int step = 0; step < 2000; ++step, now += 1ms) {
        next += random.below(20) == 0 ? 2 : 1;
        const PacketNumber number =
            random.below(5) == 0 ? next - random.below(std::min<std::uint64_t>(next, 30)) : next;
        if (client->receive(number, random.below(4) != 0, now)) {
          ASSERT_TRUE(accepted.insert(number).second) << number;
        }
        if (client->ack_deadline() > now) continue;
        const auto reported = client->acknowledge(now);
        ASSERT_EQ(client->ack_deadline(), k_never);
        PacketNumber above = UINT64_MAX;
        for (const AckRange& range : reported) {
          ASSERT_LT(range.last, above - 1);
          for (PacketNumber each = range.first; each <= range.last; ++each) {
            ASSERT_TRUE(accepted.contains(each)) << each;
          }
          above = range.first;
        }
        if (random.below(20) == 0 && client->receive(++next, false, now)) {
          accepted.insert(next);
          client->on_ack_acknowledged(reported);
        }
      }
      EXPECT_FALSE(client->closed());
    }
  }
}

}  // namespace
}  // namespace sheaf::quic
