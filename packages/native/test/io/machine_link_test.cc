#include "io/machine_link.h"

#include <gtest/gtest.h>

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
  FleetMachine(uv_loop_t* loop, std::uint8_t number, std::uint8_t secret = 1, bool shares = false)
      : number_(number), secret_(secret), shares_(shares) {
    open(loop, *parse_address("127.0.0.1", 0));
  }
  void open(uv_loop_t* loop, const quic::Address& listen) {
    MachineLinkConfig config;
    config.listen = listen;
    config.server = {.id = {number_}};
    config.secrets = {quic::server_secret(secret_)};
    config.shares_first = shares_;
    config.between_queries = std::chrono::milliseconds(5);
    config.client_addresses = {*parse_address("127.0.0.1", 443)};
    group_->join(0, [] {});
    auto made = MachineLink::open(loop, group_, std::move(config));
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

  // Returns how many datagrams wait for its worker, who is to ask about them again.
  std::size_t waiting() {
    std::size_t count = 0;
    group_->take(0, [&](const quic::Datagram&, quic::Origin origin) {
      EXPECT_EQ(origin, quic::Origin::kNetwork);
      ++count;
    });
    return count;
  }

  std::unique_ptr<MachineLink> link;

 private:
  std::uint8_t number_;
  std::uint8_t secret_;
  bool shares_;
  quic::SeededRandom random_{1};
  std::shared_ptr<workers::WorkerGroup> group_ =
      std::make_shared<workers::WorkerGroup>(quic::Steering(1, 11, {}));
};

class MachineLinkTest : public testing::Test {
 protected:
  bool run_until(const std::function<bool()>& done) {
    const quic::Time end = monotonic_now() + k_patience;
    while (!done() && monotonic_now() < end) uv_run(&loop, UV_RUN_ONCE);
    return done();
  }
  // Longer than a machine that does not answer needs to be silent
  void pass_time() {
    const quic::Time end = monotonic_now() + std::chrono::milliseconds(150);
    run_until([&] { return monotonic_now() >= end; });
  }
  void introduce(bool missing = false) { survivor.link->set_machines({other.described(missing)}); }
  bool is_lost() { return survivor.owner_of(other) == Owner::kLost; }

  // Ends after the machines.
  struct Loop {
    Loop() { uv_loop_init(&loop); }
    ~Loop() {
      uv_run(&loop, UV_RUN_DEFAULT);
      uv_loop_close(&loop);
    }
    uv_loop_t loop{};
  };
  Loop owned;
  uv_loop_t& loop = owned.loop;
  FleetMachine survivor{&loop, 1};
  FleetMachine other{&loop, 2};
};

TEST_F(MachineLinkTest, AMachineIsLostWhenNeitherOthersNorThisOneHearOfIt) {
  introduce();
  pass_time();
  const auto gone = other.described(true);
  other.link.reset();
  pass_time();
  // Its heartbeats arrive, so only the way to it has failed.
  EXPECT_EQ(survivor.owner_of(other), Owner::kAnother);
  EXPECT_EQ(survivor.link->lost_machines(), 0u);
  EXPECT_EQ(survivor.link->scope_of_lost(gone.server_id), std::nullopt);
  survivor.link->set_machines({gone});
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
  pass_time();
  const auto gone = other.described(true);
  other.link.reset();
  pass_time();
  // Nobody else misses the machine yet.
  EXPECT_EQ(survivor.owner_of(other), Owner::kAnother);
  EXPECT_EQ(survivor.owner_of(other), Owner::kAnother);  // from the same address
  EXPECT_EQ(survivor.owner_of(other, true), Owner::kAnother);
  survivor.link->set_machines({gone});
  EXPECT_EQ(survivor.waiting(), 0u);
  ASSERT_TRUE(run_until([&] { return survivor.link->lost_machines() == 1; }));
  pass_time();
  EXPECT_EQ(survivor.waiting(), 1u);
}

// RFC 9000 §21.11: a reset of a living machine's connection would give its token away.
TEST_F(MachineLinkTest, AMachineThatIsCutOffFromTheRegistryAloneIsNotLost) {
  introduce();
  pass_time();
  introduce(true);
  pass_time();
  EXPECT_EQ(survivor.owner_of(other), Owner::kAnother);
  EXPECT_EQ(survivor.link->lost_machines(), 0u);
  EXPECT_EQ(survivor.link->counts().refused + other.link->counts().refused, 0u);
}

TEST_F(MachineLinkTest, AMachineThatNeverAnsweredIsNotLost) {
  const auto gone = other.described(true);
  other.link.reset();
  survivor.link->set_machines({gone});
  pass_time();
  EXPECT_EQ(survivor.owner_of(other), Owner::kAnother);
}

TEST_F(MachineLinkTest, AMachineThatIsBackHasItsConnectionsAgain) {
  introduce();
  pass_time();
  const auto gone = other.described(true);
  other.link.reset();
  survivor.link->set_machines({gone});
  ASSERT_TRUE(run_until([&] { return is_lost(); }));
  uv_run(&loop, UV_RUN_NOWAIT);
  other.open(&loop, gone.address);
  EXPECT_TRUE(run_until([&] { return !is_lost(); }));
}

TEST_F(MachineLinkTest, ALostMachineStaysLostWhenTheSecretsAreRenewed) {
  introduce();
  pass_time();
  const auto gone = other.described(true);
  other.link.reset();
  survivor.link->set_machines({gone});
  ASSERT_TRUE(run_until([&] { return is_lost(); }));
  survivor.link->set_secrets({quic::server_secret(3), quic::server_secret(1)});
  EXPECT_TRUE(is_lost());
}

// It cannot answer until it has the new secret.
TEST_F(MachineLinkTest, AMachineWithoutTheNewSecretIsNotLost) {
  introduce();
  pass_time();
  survivor.link->set_secrets({quic::server_secret(3), quic::server_secret(1)});
  introduce(true);
  pass_time();
  EXPECT_EQ(survivor.owner_of(other), Owner::kAnother);
  EXPECT_GT(other.link->counts().refused, 0u);
}

// A machine at another address is another one, of which nothing is known.
TEST_F(MachineLinkTest, AMachineThatMovedHasToAnswerFirst) {
  introduce();
  pass_time();
  auto moved = other.described(true);
  other.link.reset();
  moved.address.port = 9;
  survivor.link->set_machines({moved});
  pass_time();
  EXPECT_EQ(survivor.owner_of(other), Owner::kAnother);
}

TEST_F(MachineLinkTest, OnlyWhoHasTheSecretAnswersForAMachine) {
  introduce();
  pass_time();
  const auto gone = other.described(true);
  other.link.reset();
  uv_run(&loop, UV_RUN_NOWAIT);
  FleetMachine impostor(&loop, 2, 3);
  impostor.link.reset();
  uv_run(&loop, UV_RUN_NOWAIT);
  impostor.open(&loop, gone.address);
  survivor.link->set_machines({gone});
  EXPECT_TRUE(run_until([&] { return is_lost(); }));
  EXPECT_GT(impostor.link->counts().refused, 0u);
}

}  // namespace
}  // namespace sheaf::io
