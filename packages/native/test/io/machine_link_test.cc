#include "io/machine_link.h"

#include <gtest/gtest.h>

#include <thread>

#include "crypto/server_secrets.h"
#include "io/monotonic_clock.h"
#include "io/socket_address.h"

namespace sheaf::io {
namespace {

using quic::DatagramHeader;
using quic::Owner;
using quic::RoutableIds;

constexpr quic::Duration k_patience = std::chrono::seconds(30);

// A machine of a fleet, as its survivors know it
class FleetMachine {
 public:
  explicit FleetMachine(std::uint8_t number, std::uint8_t secret = 1)
      : number_(number), secret_(secret) {
    open(*parse_address("127.0.0.1", 0));
  }
  void open(const quic::Address& listen) {
    MachineLinkConfig config;
    config.listen = listen;
    config.server = {.id = {number_}};
    config.secrets = {quic::server_secret(secret_)};
    config.between_queries = std::chrono::milliseconds(5);
    config.client_addresses = {*parse_address("127.0.0.1", 443)};
    group_->join(0, [this] { woken_ = true; });
    auto made = MachineLink::open(group_, std::move(config));
    ASSERT_TRUE(made);
    link = std::move(*made);
  }
  machines::Machine described(bool missing = false) const {
    return {.server_id = {number_},
            .address = link->local_address(),
            .opens = !missing,
            .missing = missing,
            .reset_scope = "listener"};
  }
  // Where this machine sees a datagram of a connection of `other`
  Owner owner_of(const FleetMachine& other, bool first = false) {
    RoutableIds ids({.id = {other.number_}}, quic::server_secret(1), 1,
                    std::make_shared<RoutableIds::Nonces>());
    const quic::ConnectionId id = ids.make(random_);
    std::vector<std::uint8_t> bytes(60, 0x55);
    const DatagramHeader header{
        .kind = first ? DatagramHeader::Kind::kLong : DatagramHeader::Kind::kShort,
        .first_byte = 0xc0,
        .version = quic::k_version_1,
        .destination = id.view()};
    quic::Datagram datagram{bytes, {}, {}};
    datagram.path.remote = *parse_address("127.0.0.1", 50000);
    return link->pass_on(datagram, header);
  }

  // Runs its worker, if others have something for it.
  void run_worker() {
    if (hangs || !woken_.exchange(false)) return;
    group_->take(0, [&](const quic::Datagram&, quic::Origin origin) {
      taken += origin == quic::Origin::kNetwork ? 1 : 0;
    });
  }

  std::unique_ptr<MachineLink> link;
  bool hangs = false;
  std::size_t taken = 0;  // datagrams that its worker is to ask about again

 private:
  std::uint8_t number_;
  std::uint8_t secret_;
  std::atomic<bool> woken_ = false;
  quic::SeededRandom random_{1};
  std::shared_ptr<workers::WorkerGroup> group_ =
      std::make_shared<workers::WorkerGroup>(quic::Steering(1, 11, {}));
};

class MachineLinkTest : public testing::Test {
 protected:
  bool run_until(const std::function<bool()>& done) {
    const quic::Time end = monotonic_now() + k_patience;
    while (!done() && monotonic_now() < end) {
      if (missed) survivor.link->set_machines({*missed});
      survivor.run_worker();
      other.run_worker();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return done();
  }
  // Longer than a machine that does not answer needs to be silent
  void pass_time() {
    const quic::Time end = monotonic_now() + std::chrono::milliseconds(150);
    run_until([&] { return monotonic_now() >= end; });
  }
  // Lets the survivor hear that the other machine is there, and answers.
  void introduce() {
    survivor.link->set_machines({other.described()});
    pass_time();
  }
  // The survivor hears all the time that others miss the machine.
  void miss(const machines::Machine& machine) {
    missed = machine;
    survivor.link->set_machines({machine});
  }
  // Ends the other machine. Returns what others say of it.
  machines::Machine kill() {
    const machines::Machine gone = other.described(true);
    other.link.reset();
    return gone;
  }
  bool is_lost() { return survivor.owner_of(other) == Owner::kLost; }

  FleetMachine survivor{1};
  FleetMachine other{2};
  std::optional<machines::Machine> missed;
};

TEST_F(MachineLinkTest, AMachineIsLostWhenNeitherOthersNorThisOneHearOfIt) {
  introduce();
  const auto gone = kill();
  pass_time();
  // Its heartbeats arrive, so only the way to it has failed.
  EXPECT_EQ(survivor.owner_of(other), Owner::kAnother);
  EXPECT_EQ(survivor.link->lost_machines(), 0u);
  EXPECT_EQ(survivor.link->scope_of_lost(gone.server_id), std::nullopt);
  miss(gone);
  EXPECT_TRUE(run_until([&] { return is_lost(); }));
  EXPECT_EQ(survivor.link->lost_machines(), 1u);
  EXPECT_EQ(survivor.link->scope_of_lost(gone.server_id), "listener");
  // Somebody else's connections are none of its.
  EXPECT_EQ(survivor.owner_of(survivor), Owner::kNobody);
  EXPECT_EQ(survivor.owner_of(other, true), Owner::kNobody);
}

// A client that waits for a response would ask again much later.
TEST_F(MachineLinkTest, WhoAskedBeforeTheLossIsAnsweredWithIt) {
  introduce();
  const auto gone = kill();
  pass_time();
  // Nobody else misses the machine yet.
  EXPECT_EQ(survivor.owner_of(other), Owner::kAnother);
  EXPECT_EQ(survivor.owner_of(other), Owner::kAnother);  // from the same address
  EXPECT_EQ(survivor.owner_of(other, true), Owner::kAnother);
  pass_time();
  EXPECT_EQ(survivor.taken, 0u);
  miss(gone);
  ASSERT_TRUE(run_until([&] { return survivor.taken > 0; }));
  pass_time();
  EXPECT_EQ(survivor.taken, 1u);
}

// RFC 9000 §21.11: a reset of a living machine's connection would give its token away.
TEST_F(MachineLinkTest, AMachineThatIsCutOffFromTheRegistryAloneIsNotLost) {
  introduce();
  miss(other.described(true));
  pass_time();
  EXPECT_EQ(survivor.owner_of(other), Owner::kAnother);
  EXPECT_EQ(survivor.link->lost_machines(), 0u);
  EXPECT_EQ(survivor.link->counts().refused + other.link->counts().refused, 0u);
}

// Its thread for the link runs, and serves nobody.
TEST_F(MachineLinkTest, AMachineWhoseWorkersHangIsLostUntilOneRuns) {
  introduce();
  other.hangs = true;
  miss(other.described(true));
  EXPECT_TRUE(run_until([&] { return is_lost(); }));
  other.hangs = false;
  EXPECT_TRUE(run_until([&] { return !is_lost(); }));
}

// Its view of the registry is old then: a machine may be back that others missed.
TEST_F(MachineLinkTest, WhoHearsNothingOfOthersAnyMoreHoldsNoMachineForLost) {
  introduce();
  miss(kill());
  ASSERT_TRUE(run_until([&] { return is_lost(); }));
  const auto gone = std::exchange(missed, std::nullopt);
  EXPECT_TRUE(run_until([&] { return !is_lost(); }));
  EXPECT_EQ(survivor.link->lost_machines(), 0u);
  miss(*gone);
  EXPECT_TRUE(is_lost());
}

TEST_F(MachineLinkTest, AMachineThatNeverAnsweredIsNotLost) {
  miss(kill());
  pass_time();
  EXPECT_EQ(survivor.owner_of(other), Owner::kAnother);
}

TEST_F(MachineLinkTest, AMachineThatIsBackHasItsConnectionsAgain) {
  introduce();
  const auto gone = kill();
  miss(gone);
  ASSERT_TRUE(run_until([&] { return is_lost(); }));
  other.open(gone.address);
  EXPECT_TRUE(run_until([&] { return !is_lost(); }));
}

TEST_F(MachineLinkTest, ALostMachineStaysLostWhenTheSecretsAreRenewed) {
  introduce();
  miss(kill());
  ASSERT_TRUE(run_until([&] { return is_lost(); }));
  survivor.link->set_secrets({quic::server_secret(3), quic::server_secret(1)});
  survivor.link->set_machines({*missed});
  EXPECT_TRUE(is_lost());
}

// It cannot answer until it has the new secret.
TEST_F(MachineLinkTest, AMachineWithoutTheNewSecretIsNotLost) {
  introduce();
  survivor.link->set_secrets({quic::server_secret(3), quic::server_secret(1)});
  miss(other.described(true));
  pass_time();
  EXPECT_EQ(survivor.owner_of(other), Owner::kAnother);
  EXPECT_GT(other.link->counts().refused, 0u);
}

// A machine at another address is another one, of which nothing is known.
TEST_F(MachineLinkTest, AMachineThatMovedHasToAnswerFirst) {
  introduce();
  auto moved = kill();
  moved.address.port = 9;
  miss(moved);
  pass_time();
  EXPECT_EQ(survivor.owner_of(other), Owner::kAnother);
}

TEST_F(MachineLinkTest, OnlyWhoHasTheSecretAnswersForAMachine) {
  introduce();
  const auto gone = kill();
  FleetMachine impostor(2, 3);
  impostor.link.reset();
  impostor.open(gone.address);
  miss(gone);
  EXPECT_TRUE(run_until([&] { return is_lost(); }));
  EXPECT_GT(impostor.link->counts().refused, 0u);
}

}  // namespace
}  // namespace sheaf::io
