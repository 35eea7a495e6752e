// Tests that no pair of key and nonce is used twice when backends seal with keys that a gateway
// lends them. As in nonce_reuse_test.cc, the first 16 bytes of a sealed payload of zeroes are the
// keystream, which a pair determines.
#include <gtest/gtest.h>

#include <set>
#include <variant>

#include "crypto/key_peer.h"
#include "crypto/run_packets.h"

namespace sheaf::quic {
namespace {

using Outcome = OpenedPacket::Outcome;

constexpr PathId k_lent_path{0};
constexpr std::size_t k_backends = 3;
constexpr std::size_t k_lent_operations = 500;

struct GrantMessage {
  std::uint64_t process = 0;  // the one that may accept it
  std::uint64_t grant = 0;
  PhaseKeys keys;
};
struct RunMessage {
  std::uint64_t grant = 0;
  PacketNumber first = 0;
  std::uint32_t count = 0;
  std::uint8_t phase_name = 0;
};
using Message = std::variant<GrantMessage, RunMessage, PhaseKeys>;

// What a backend keeps in memory. A grant is accepted once, by the process that it is sealed to.
struct Process {
  std::uint64_t id = 0;
  std::set<std::uint64_t> accepted = {};
  std::map<std::uint64_t, BoundedSealer> sealers = {};
};

struct Totals {
  std::size_t sealed_by_gateway = 0;
  std::size_t sealed_by_backends = 0;
  std::size_t opened_by_client = 0;
  std::size_t refused_runs = 0;
  std::size_t restarts = 0;
  std::uint64_t updates = 0;
  std::size_t repeated_keystreams = 0;
};

enum class Grants { kAcceptedOnce, kAcceptedAgain };

// Runs a client, a gateway and three backends. Every message to a backend may be lost, and may come
// any number of times and in any order, also to later processes of the backend.
class LentKeysWorld {
 public:
  LentKeysWorld(KeyMode mode, std::uint64_t seed, Grants grants, Totals& totals)
      : pair_(mode), random_(seed), grants_(grants), totals_(totals) {
    for (Process& process : processes_) process.id = ++last_id_;
  }

  void run() {
    send_own();
    for (std::size_t i = 0; i < k_lent_operations; ++i) step();
    totals_.updates += pair_.server.keys.updates();
  }

 private:
  void step() {
    const std::size_t backend = random_.below(k_backends);
    switch (random_.below(16)) {
      case 0:
        return update();
      case 1:
        return grant(backend);
      case 2:
        if (random_.below(4) == 0) restart(backend);
        return;
      case 3:
      case 4:
        return send_own();
      case 5:
      case 6:
      case 7:
      case 8:
        return order_run(backend);
      default:
        return deliver(backend);
    }
  }

  KeyPeer& gateway() { return pair_.server; }
  PacketNumber& next_number() { return gateway().next_number[k_lent_path.value]; }

  // A new key phase, by the client or by the gateway. Backends hear of it unless the message is
  // lost.
  void update() {
    now_ += random_.below(8) * k_pto;
    KeyPeer& initiator = random_.below(2) == 0 ? pair_.client : gateway();
    initiator.keys.initiate_update(k_lent_path, now_, k_pto);
    send_own();
    tell_phase();
  }

  void tell_phase() {
    const PhaseKeys keys = *gateway().keys.phase_for_sending(k_lent_path);
    if (keys.generation == told_) return;
    told_ = keys.generation;
    for (auto& messages : sent_) messages.push_back(keys);
  }

  void grant(std::size_t backend) {
    const PhaseKeys keys = *gateway().keys.phase_for_sending(k_lent_path);
    const std::uint64_t id = ++last_id_;
    grants_of_[backend].push_back(id);
    sent_[backend].push_back(
        GrantMessage{.process = processes_[backend].id, .grant = id, .keys = keys});
    if (random_.below(4) != 0) receive(backend, Message(sent_[backend].back()));
  }

  void order_run(std::size_t backend) {
    tell_phase();
    if (grants_of_[backend].empty()) return grant(backend);
    next_number() += random_.below(8) == 0 ? 1 : 0;  // a hole
    const std::vector<std::uint64_t>& grants = grants_of_[backend];
    const std::size_t age = random_.below(std::min<std::size_t>(grants.size(), 3));
    RunMessage run{.grant = grants[grants.size() - 1 - age],
                   .first = next_number(),
                   .count = static_cast<std::uint32_t>(1 + random_.below(6))};
    run.phase_name = gateway().keys.phase_for_sending(k_lent_path)->phase_name();
    ASSERT_TRUE(gateway().keys.note_numbered_elsewhere(k_lent_path, run.first, run.count));
    next_number() += run.count;
    sent_[backend].push_back(run);
    if (random_.below(2) == 0) receive(backend, Message(run));
  }

  // Delivers a message that was sent at any time, for the first time or again.
  void deliver(std::size_t backend) {
    const std::vector<Message>& messages = sent_[backend];
    if (messages.empty()) return;
    const std::size_t recent = std::min<std::size_t>(messages.size(), 12);
    const std::size_t age =
        random_.below(4) == 0 ? random_.below(messages.size()) : random_.below(recent);
    receive(backend, messages[messages.size() - 1 - age]);
  }

  void restart(std::size_t backend) {
    processes_[backend] = {.id = ++last_id_};
    ++totals_.restarts;
  }

  void receive(std::size_t backend, const Message& message) {
    Process& process = processes_[backend];
    if (const auto* given = std::get_if<GrantMessage>(&message)) {
      if (given->process != process.id) return;
      const bool again = !process.accepted.insert(given->grant).second;
      if (again && grants_ == Grants::kAcceptedOnce) return;
      process.sealers.insert_or_assign(given->grant, BoundedSealer(given->keys));
    } else if (const auto* phase = std::get_if<PhaseKeys>(&message)) {
      for (auto& [id, sealer] : process.sealers) static_cast<void>(sealer.follow(*phase));
    } else {
      execute(backend, std::get<RunMessage>(message));
    }
  }

  void execute(std::size_t backend, const RunMessage& run) {
    Process& process = processes_[backend];
    const auto found = process.sealers.find(run.grant);
    if (found == process.sealers.end()) return;
    BoundedSealer& sealer = found->second;
    if (!sealer.permit(run.first, run.count, run.phase_name)) {
      ++totals_.refused_runs;
      if (random_.below(2) == 0) return;  // otherwise tries nevertheless
    }
    // The process may end in the middle of the run.
    const bool crashes = random_.below(16) == 0;
    const std::size_t count = crashes ? random_.below(run.count) : run.count;
    RunPackets packets(k_lent_path, run.first, count, sealer.key_phase_bit());
    if (count > 0 && sealer.seal(packets.jobs)) {
      totals_.sealed_by_backends += count;
      for (const auto& packet : packets.packets) on_packet(packet);
    }
    if (crashes) restart(backend);
  }

  // Only the gateway acknowledges what the client sends.
  void send_own() {
    std::optional<PacketNumber> acknowledged;
    if (gateway().largest_received.contains(k_lent_path.value)) {
      acknowledged = gateway().largest_received[k_lent_path.value];
    }
    const std::vector<std::uint8_t> packet = gateway().seal(k_lent_path);
    ASSERT_FALSE(packet.empty());
    ++totals_.sealed_by_gateway;
    if (on_packet(packet) && acknowledged) {
      pair_.client.keys.on_acknowledged(k_lent_path, *acknowledged, now_);
    }
    // A number that others may use is no longer the gateway's.
    const PacketNumber saved = next_number();
    next_number() = random_.below(saved);
    EXPECT_TRUE(gateway().seal(k_lent_path).empty());
    next_number() = saved;
  }

  // Delivers a packet, and the client's acknowledgement of it. Returns false when it was lost.
  bool on_packet(const std::vector<std::uint8_t>& packet) {
    const auto begin = packet.begin() + RunPackets::k_header_length;
    if (!keystreams_.emplace(begin, begin + 16).second) ++totals_.repeated_keystreams;
    if (random_.below(4) == 0) return false;
    const OpenedPacket opened = pair_.client.open(packet, now_, k_lent_path);
    EXPECT_NE(opened.outcome, Outcome::kError) << static_cast<std::uint64_t>(opened.error);
    if (opened.outcome != Outcome::kOpened) return false;
    ++totals_.opened_by_client;
    const std::vector<std::uint8_t> answer = pair_.client.seal(k_lent_path);
    EXPECT_EQ(gateway().open(answer, now_, k_lent_path).outcome, Outcome::kOpened);
    gateway().keys.on_acknowledged(k_lent_path, opened.number, now_);
    tell_phase();
    return true;
  }

  KeyPair pair_;
  SeededRandom random_;
  Grants grants_;
  Totals& totals_;
  Process processes_[k_backends];
  std::vector<Message> sent_[k_backends];
  std::vector<std::uint64_t> grants_of_[k_backends];
  std::set<std::vector<std::uint8_t>> keystreams_;
  std::uint64_t last_id_ = 0;
  std::uint64_t told_ = 0;
  Time now_ = k_start;
};

class LentKeysNonceTest : public testing::TestWithParam<KeyMode> {};

INSTANTIATE_TEST_SUITE_P(KeyModes, LentKeysNonceTest,
                         testing::Values(KeyMode::kShared, KeyMode::kPerPath),
                         [](const auto& mode) {
                           return mode.param == KeyMode::kShared ? "Shared" : "PerPath";
                         });

TEST_P(LentKeysNonceTest, NoNodeRepeatsAKeystream) {
  constexpr std::uint64_t k_seeds = 200;
  Totals totals;
  for (std::uint64_t seed = 1; seed <= k_seeds; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    LentKeysWorld(GetParam(), seed, Grants::kAcceptedOnce, totals).run();
    ASSERT_EQ(totals.repeated_keystreams, 0u);
    if (HasFailure()) return;
  }
  // All of what the test is about did happen.
  EXPECT_GT(totals.sealed_by_gateway, 20 * k_seeds);
  EXPECT_GT(totals.sealed_by_backends, 50 * k_seeds);
  EXPECT_GT(totals.opened_by_client, 50 * k_seeds);
  EXPECT_GT(totals.refused_runs, 20 * k_seeds);
  EXPECT_GT(totals.restarts, 5 * k_seeds);
  EXPECT_GT(totals.updates, 2 * k_seeds);
}

// Tests the measure itself: a backend that makes a second sealer from one grant repeats keystreams.
TEST(LentKeysNonce, ARepetitionWouldBeSeen) {
  Totals totals;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    LentKeysWorld(KeyMode::kShared, seed, Grants::kAcceptedAgain, totals).run();
  }
  EXPECT_GT(totals.repeated_keystreams, 20u);
}

}  // namespace
}  // namespace sheaf::quic
