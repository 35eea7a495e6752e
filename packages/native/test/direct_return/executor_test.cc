#include "direct_return/executor.h"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <set>

#include "direct_return/held_payload.h"
#include "direct_return/messages.h"
#include "wire/frame_codec.h"

namespace sheaf::quic {
namespace {

constexpr std::uint32_t k_session = 5;
constexpr std::size_t k_payload = 1000;
constexpr std::uint64_t k_first_offset = 0x100;

std::uint8_t byte_at(std::uint64_t offset) { return static_cast<std::uint8_t>(offset * 7 + 3); }

// The client's end of the connection, for what backends send
struct Opener {
  explicit Opener(const PhaseKeys& keys)
      : aead(make_aead(keys.suite, keys.packet, CryptoProvider::kAutomatic)),
        header(make_header_protection(keys.suite, keys.header, CryptoProvider::kAutomatic)) {}

  struct Opened {
    std::uint8_t first_byte = 0;
    PacketNumber number = 0;
    std::vector<std::uint8_t> payload;
  };
  // Numbers of the tests fit into the 4 bytes.
  std::optional<Opened> open(MutableBytes packet, std::size_t id_length) {
    const auto unprotected = remove_header_protection(*header, packet, 1 + id_length);
    if (!unprotected || unprotected->packet_number_length != 4) return std::nullopt;
    const std::size_t header_length = 1 + id_length + 4;
    const MutableBytes payload = packet.subspan(header_length);
    if (!aead->open_in_place(packet.first(header_length), payload, {},
                             unprotected->truncated_packet_number)) {
      return std::nullopt;
    }
    return Opened{packet[0],
                  unprotected->truncated_packet_number,
                  {payload.begin(), payload.end() - k_aead_tag_length}};
  }

  std::unique_ptr<Aead> aead;
  std::unique_ptr<HeaderProtection> header;
};

std::uint8_t phase_name(std::uint64_t generation) {
  PhaseKeys keys;
  keys.generation = generation;
  return keys.phase_name();
}

class ExecutorTest : public ::testing::Test {
 protected:
  ExecutorTest() : random_(1), executor_(config(), random_, now_) {
    grant_.first_offset = k_first_offset;
    grant_.limit = 1 << 20;
    grant_.keys.first_number = 0;
  }

  static ExecutorConfig config() {
    return {.session = k_session,
            .process = example_grant().process,
            .sources = {example_grant().addresses.local},
            .max_grants = 3,
            .max_runs = 8};
  }

  HeldPayload* accept(std::size_t bytes = 100'000) {
    auto source = std::make_unique<HeldPayload>(k_first_offset);
    HeldPayload* held = source.get();
    std::vector<std::uint8_t> content(bytes);
    for (std::size_t i = 0; i < bytes; ++i) content[i] = byte_at(k_first_offset + i);
    held->append(content);
    EXPECT_TRUE(executor_.accept(grant_, std::move(source), now_));
    return held;
  }

  RunMessage run(PacketNumber first, std::uint64_t offset = k_first_offset) const {
    return {.grant = grant_.id,
            .first = first,
            .offset = offset,
            .bytes = k_payload,
            .packets = 4,
            .phase_name = grant_.keys.phase_name(),
            .ecn = Ecn::kEct0,
            .fin = false,
            .wait = {},
            .lifetime = 10ms};
  }

  bool say(RunMessages messages) {
    const bool runs = std::holds_alternative<std::vector<RunMessage>>(messages);
    return say_as(runs ? next_datagram_++ : 0, std::move(messages));
  }
  bool say_as(std::uint64_t number, RunMessages messages) {
    return executor_.receive(encode_run_datagram({k_session, std::move(messages), number}), now_);
  }

  // Sends what is due. Returns the numbers of the packets.
  std::vector<PacketNumber> send() {
    std::vector<PacketNumber> numbers;
    TransmitBatch batch;
    batch.buffer = buffer_;
    Opener opener(grant_.keys);
    while (executor_.poll_transmit(batch, now_)) {
      last_path_ = batch.path;
      last_ecn_ = batch.ecn;
      for (std::size_t at = 0; at < batch.size; at += batch.segment_size) {
        const auto opened =
            opener.open(batch.buffer.subspan(at, batch.segment_size), grant_.client_id.length);
        if (!opened) {
          ADD_FAILURE() << "a packet does not open";
          continue;
        }
        numbers.push_back(opened->number);
        opened_.push_back(*opened);
      }
    }
    return numbers;
  }

  // Takes what the backend says now.
  template <typename Message>
  std::vector<Message> heard() {
    std::vector<Message> all;
    for (auto bytes = executor_.poll_message(now_); !bytes.empty();
         bytes = executor_.poll_message(now_)) {
      const auto datagram = decode_run_datagram(bytes);
      EXPECT_TRUE(datagram);
      EXPECT_EQ(datagram->session, k_session);
      if (const auto* list = std::get_if<std::vector<Message>>(&datagram->messages)) {
        all.insert(all.end(), list->begin(), list->end());
      }
    }
    return all;
  }

  std::uint64_t refused(RunRefusal reason) const {
    return executor_.stats().refused[static_cast<std::size_t>(reason)];
  }

  Time now_{1s};
  SeededRandom random_;
  Grant grant_ = example_grant();
  Executor executor_;
  std::uint64_t next_datagram_ = 0;  // with runs
  std::vector<std::uint8_t> buffer_ = std::vector<std::uint8_t>(64 << 10);
  std::vector<Opener::Opened> opened_;
  AddressPair last_path_;
  Ecn last_ecn_ = Ecn::kNotEct;
};

TEST_F(ExecutorTest, SendsARunAsItIsTold) {
  accept();
  RunMessage last = run(1'000);
  last.fin = true;
  ASSERT_TRUE(say(std::vector{last}));
  EXPECT_EQ(send(), (std::vector<PacketNumber>{1'000, 1'001, 1'002, 1'003}));
  EXPECT_EQ(last_path_, grant_.addresses);
  EXPECT_EQ(last_ecn_, Ecn::kEct0);
  for (std::size_t i = 0; i < 4; ++i) {
    const Opener::Opened& packet = opened_[i];
    EXPECT_EQ(packet.first_byte & 0x9f, (grant_.keys.key_phase_bit() | 3)) << i;
    Reader reader(packet.payload);
    EXPECT_EQ(reader.read_varint(), i == 3 ? 0x0du : 0x0cu);  // RFC 9000 §19.8
    EXPECT_EQ(reader.read_varint(), grant_.stream.value);
    EXPECT_EQ(reader.position()[0] >> 6, 3) << "an offset of 8 bytes";
    EXPECT_EQ(reader.read_varint(), k_first_offset + i * k_payload);
    const Bytes data = reader.read_rest();
    ASSERT_EQ(data.size(), k_payload);
    for (std::size_t j = 0; j < data.size(); ++j) {
      ASSERT_EQ(data[j], byte_at(k_first_offset + i * k_payload + j));
    }
  }
}

TEST_F(ExecutorTest, GreasesTheFixedBitOnlyWhereTheClientAllowsIt) {
  for (const bool allowed : {false, true}) {
    grant_.grease_fixed_bit = allowed;
    grant_.connection = allowed;
    grant_.id = allowed;
    opened_.clear();
    accept();
    for (PacketNumber first = 0; first < 80; first += 4) {
      say(std::vector{run(first)});
      send();
    }
    std::set<int> fixed;
    std::set<int> spin;
    for (const Opener::Opened& packet : opened_) {
      fixed.insert(packet.first_byte & 0x40);
      spin.insert(packet.first_byte & 0x20);
    }
    EXPECT_EQ(fixed.size(), allowed ? 2u : 1u);
    EXPECT_EQ(spin.size(), 2u);
  }
}

TEST_F(ExecutorTest, WaitsAndKeepsTheOrderOfNumbers) {
  accept();
  RunMessage far = run(100);
  far.wait = 4ms;
  RunMessage near = run(200);
  near.wait = 1ms;
  say(std::vector{far, near});
  EXPECT_TRUE(send().empty());
  EXPECT_LE(executor_.next_timeout(), now_) << "PROGRESS is due";
  heard<Progress>();
  EXPECT_EQ(executor_.next_timeout(), now_ + 4ms);
  now_ += 3ms;
  EXPECT_TRUE(send().empty());
  now_ += 1ms;
  EXPECT_EQ(send().size(), 8u);
}

TEST_F(ExecutorTest, RefusesWhatIsLateLowForeignOrOutOfBounds) {
  HeldPayload* source = accept();
  const auto expect_refused = [&](RunRefusal reason, const RunMessage& message) {
    const std::uint64_t before = refused(reason);
    say(std::vector{message});
    EXPECT_TRUE(send().empty());
    EXPECT_EQ(refused(reason), before + 1);
  };
  say(std::vector{run(1'000)});
  EXPECT_EQ(send().size(), 4u);
  expect_refused(RunRefusal::kLow, run(996));
  expect_refused(RunRefusal::kLow, run(1'002));
  RunMessage other = run(2'000);
  other.phase_name = phase_name(grant_.keys.generation + 2);
  expect_refused(RunRefusal::kOtherPhase, other);
  RunMessage large = run(2'100);
  large.bytes = grant_.max_datagram;
  expect_refused(RunRefusal::kOutOfBounds, large);
  expect_refused(RunRefusal::kOutOfBounds, run(2'200, k_first_offset - 1));
  expect_refused(RunRefusal::kOutOfBounds, run(2'300, grant_.limit - 4 * k_payload + 1));
  expect_refused(RunRefusal::kNoData, run(2'400, source->available() - 4 * k_payload + 1));
  RunMessage late = run(2'500);
  late.lifetime = 16us;
  say(std::vector{late});
  now_ += 16us;
  EXPECT_TRUE(send().empty());
  EXPECT_EQ(refused(RunRefusal::kLate), 1u);
  // All that is reported, in messages of up to four.
  std::vector<PacketNumber> reported;
  for (const Progress& progress : heard<Progress>()) {
    EXPECT_EQ(progress.executed_end, 1'004u);
    EXPECT_EQ(progress.refused, 8u);
    const auto listed = progress.newest_refused.view();
    reported.insert(reported.end(), listed.begin(), listed.end());
  }
  EXPECT_EQ(reported,
            (std::vector<PacketNumber>{996, 1'002, 2'000, 2'100, 2'200, 2'300, 2'400, 2'500}));
  RunMessage foreign = run(3'000);
  foreign.grant = 77;
  say(std::vector{foreign});
  EXPECT_TRUE(send().empty());
  const auto ended = heard<GrantEnded>();
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].grant, 77u);
  EXPECT_EQ(ended[0].end, GrantEnd::kRevoke);
}

TEST_F(ExecutorTest, BoundsTheRunsThatWait) {
  accept();
  std::vector<RunMessage> runs;
  for (PacketNumber first = 0; first < 40; first += 4) runs.push_back(run(first));
  say(runs);
  EXPECT_EQ(executor_.waiting_runs(), 8u);
  EXPECT_EQ(refused(RunRefusal::kTooMany), 2u);
  EXPECT_EQ(send().size(), 32u);
}

// The gateway takes an ACK of a refused run for a violation of the client.
TEST_F(ExecutorTest, NeverSendsWhatItRefusedNorRefusesWhatItSent) {
  accept();
  say(std::vector{run(100), run(100)});
  EXPECT_EQ(send().size(), 4u);
  say(std::vector{run(100)});
  EXPECT_TRUE(send().empty());
  RunMessage late = run(200);
  late.lifetime = 0ms;
  say(std::vector{late, run(200)});
  EXPECT_TRUE(send().empty());
  EXPECT_EQ(executor_.stats().repeated, 3u);
  const auto progress = heard<Progress>();
  ASSERT_EQ(progress.size(), 1u);
  EXPECT_EQ(progress[0].refused, 1u);
  EXPECT_EQ(progress[0].newest_refused.view()[0], 200u);
}

TEST_F(ExecutorTest, TellsWhichDatagramsAreVoidAndCarriesThemOutNeverAfter) {
  accept();
  say_as(0, std::vector{run(100)});
  say_as(4, std::vector{run(500)});
  EXPECT_EQ(send().size(), 8u);
  EXPECT_TRUE(heard<VoidRuns>().empty());
  say_as(2, std::vector{run(600)});  // late, but not too late
  EXPECT_EQ(send().size(), 4u);
  EXPECT_LE(executor_.next_timeout(), now_ + RunArrivals::k_patience);
  now_ += RunArrivals::k_patience;
  executor_.on_timeout(now_);
  const std::vector<VoidRuns> lost{{1}, {3}};
  EXPECT_EQ(heard<VoidRuns>(), lost);
  say_as(1, std::vector{run(700)});
  say_as(3, std::vector{run(800)});
  say_as(4, std::vector{run(900)});
  EXPECT_TRUE(send().empty());
  EXPECT_EQ(executor_.stats().unwanted, 3u);
  EXPECT_EQ(executor_.waiting_runs(), 0u);
}

TEST_F(ExecutorTest, TellsARefusedRunSeveralTimes) {
  accept();
  say(std::vector{run(100)});
  EXPECT_EQ(send().size(), 4u);
  say(std::vector{run(50)});
  EXPECT_TRUE(send().empty());
  for (int i = 0; i < Executor::k_tellings; ++i) {
    const auto progress = heard<Progress>();
    ASSERT_EQ(progress.size(), 1u);
    EXPECT_EQ(progress[0].refused, 1u);
    EXPECT_EQ(progress[0].newest_refused.view()[0], 50u);
    EXPECT_TRUE(heard<Progress>().empty());
    now_ += Executor::k_progress_interval;
  }
  EXPECT_TRUE(heard<Progress>().empty());
}

TEST_F(ExecutorTest, LearnsFromAnyMessageThatRunsAreMissing) {
  accept();
  say_as(0, std::vector{run(100)});
  say_as(2, std::vector{Ping{1}});
  now_ += RunArrivals::k_patience;
  EXPECT_EQ(heard<VoidRuns>(), std::vector{VoidRuns{1}});
  say_as(2, std::vector{run(200)});
  EXPECT_EQ(send().size(), 8u);
}

TEST_F(ExecutorTest, FollowsTheGatewayToNewKeys) {
  accept();
  say(std::vector{run(100)});
  EXPECT_EQ(send().size(), 4u);
  PhaseKeys next = grant_.keys;
  ++next.generation;
  next.first_number = 200;
  next.packet.key[0] = 0x99;
  const PhaseChange change = PhaseSealer(grant_.keys).seal(grant_.connection, next);
  PhaseChange forged = change;
  ++forged.generation;
  say(std::vector{forged});
  EXPECT_EQ(executor_.stats().foreign, 1u);
  const RunMessage old = run(150);
  say(std::vector{change});
  say(std::vector{change});
  say(std::vector{old});
  grant_.keys.packet = next.packet;
  ++grant_.keys.generation;
  EXPECT_TRUE(send().empty());
  EXPECT_EQ(refused(RunRefusal::kLow), 1u);
  RunMessage of_old_phase = run(250);
  of_old_phase.phase_name = phase_name(grant_.keys.generation - 1);
  say(std::vector{of_old_phase});
  EXPECT_TRUE(send().empty());
  EXPECT_EQ(refused(RunRefusal::kOtherPhase), 1u);
  say(std::vector{run(300)});
  EXPECT_EQ(send().size(), 4u);
}

TEST_F(ExecutorTest, FollowsTheClientAndPauses) {
  accept();
  AddressChange change{.connection = grant_.connection,
                       .number = 1,
                       .addresses = {grant_.addresses.local, ipv4(123, 4711)},
                       .client_id = ConnectionId(std::vector<std::uint8_t>{9, 8, 7}),
                       .paused = true};
  say(std::vector{change});
  say(std::vector{run(100)});
  EXPECT_TRUE(send().empty());
  EXPECT_EQ(refused(RunRefusal::kPaused), 1u);
  const AddressChange pause = change;
  change.number = 2;
  change.paused = false;
  say(std::vector{change});
  say(std::vector{pause});  // late
  say(std::vector{run(200)});
  grant_.client_id = change.client_id;
  EXPECT_EQ(send().size(), 4u);
  EXPECT_EQ(last_path_, change.addresses);
  EXPECT_EQ(heard<Progress>().back().address, 2u);
  // Each is confirmed, since the confirmation may have been lost.
  now_ += 5ms;
  say(std::vector{change});
  EXPECT_EQ(heard<Progress>().size(), 1u);
}

TEST_F(ExecutorTest, EndsWhereItMustNotSendFromTheNewAddress) {
  accept();
  const AddressChange change{.connection = grant_.connection,
                             .number = 1,
                             .addresses = {ipv4(8, 443), grant_.addresses.remote},
                             .client_id = grant_.client_id};
  say(std::vector{change});
  say(std::vector{run(300)});
  EXPECT_TRUE(send().empty());
  EXPECT_EQ(heard<GrantEnded>(),
            std::vector{(GrantEnded{.end = GrantEnd::kRevoke, .grant = grant_.id})});
}

TEST_F(ExecutorTest, ReleasesWhatTheClientHasAndMayThenSendMore) {
  HeldPayload* source = accept();
  grant_.limit = k_first_offset + 4 * k_payload;
  executor_.receive(encode_run_datagram({k_session, std::vector{GrantEnded{.end = GrantEnd::kRevoke,
                                                                           .grant = grant_.id}}}),
                    now_);
  source = accept();
  const std::size_t room = source->room();
  say(std::vector{run(100, k_first_offset + k_payload)});
  EXPECT_TRUE(send().empty());
  say(std::vector{
      Acknowledged{grant_.id, k_first_offset + k_payload, k_first_offset + 5 * k_payload}});
  EXPECT_EQ(source->room(), room + k_payload);
  say(std::vector{run(200, k_first_offset + k_payload)});
  EXPECT_EQ(send().size(), 4u);
  say(std::vector{run(300, k_first_offset)});  // the bytes are gone
  EXPECT_TRUE(send().empty());
  EXPECT_EQ(refused(RunRefusal::kNoData), 1u);
}

TEST_F(ExecutorTest, AcceptsOnlyGrantsThatItMayUse) {
  const auto fault = [&](const std::function<void(Grant&)>& change) {
    Grant grant = grant_;
    change(grant);
    const auto status = executor_.accept(grant, std::make_unique<HeldPayload>(0), now_);
    return status ? std::nullopt : std::optional(status.error());
  };
  accept();
  EXPECT_EQ(fault([](Grant& grant) { ++grant.process; }), GrantRefusal::kForeignProcess);
  EXPECT_EQ(fault([](Grant& grant) { ++grant.addresses.local.port; }),
            GrantRefusal::kForeignSource);
  EXPECT_EQ(fault([](Grant&) {}), GrantRefusal::kTaken);
  EXPECT_EQ(fault([](Grant& grant) {
              ++grant.id;
              grant.keys.suite = CipherSuite::kChacha20Poly1305Sha256;
              grant.keys.packet.key_length = grant.keys.header.key_length = 32;
            }),
            GrantRefusal::kUnfit);
  EXPECT_FALSE(fault([](Grant& grant) { grant.id += 1; }));
  EXPECT_FALSE(fault([](Grant& grant) { grant.id += 2; }));
  EXPECT_EQ(fault([](Grant& grant) { grant.id += 3; }), GrantRefusal::kTooMany);
  EXPECT_EQ(executor_.grants(), 3u);
}

class BrokenPayload final : public PayloadSource {
 public:
  std::uint64_t available() const override { return 1 << 20; }
  [[nodiscard]] PayloadRead read(std::uint64_t, MutableBytes) override {
    return PayloadRead::kBroken;
  }
  void release(std::uint64_t) override {}
};

// Runs that are refused for a time are ordered again, which would never end here.
TEST_F(ExecutorTest, EndsAResponseWhoseBytesCanNeverBeRead) {
  ASSERT_TRUE(executor_.accept(grant_, std::make_unique<BrokenPayload>(), now_));
  say(std::vector{run(100), run(104)});
  EXPECT_TRUE(send().empty());
  EXPECT_EQ(executor_.grants(), 0u);
  EXPECT_EQ(refused(RunRefusal::kBroken), 1u);
  const auto ended = heard<GrantEnded>();
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].end, GrantEnd::kReset);
  EXPECT_EQ(ended[0].code, 0x102u);
}

// Two streams of one connection share its numbers.
TEST_F(ExecutorTest, SealsNoNumberTwiceForTwoGrantsOfAConnection) {
  accept();
  const GrantId first = grant_.id;
  grant_.id = first + 1;
  accept();
  say(std::vector{run(100)});
  EXPECT_EQ(send().size(), 4u);
  grant_.id = first;
  say(std::vector{run(102)});
  EXPECT_TRUE(send().empty());
  EXPECT_EQ(refused(RunRefusal::kLow), 1u);
}

TEST_F(ExecutorTest, StopsWhenItIsTold) {
  accept();
  say(std::vector{run(100)});
  EXPECT_EQ(send().size(), 4u);
  say(std::vector{GrantEnded{.end = GrantEnd::kRevoke, .grant = grant_.id}});
  EXPECT_EQ(executor_.grants(), 0u);
  say(std::vector{run(200)});
  EXPECT_TRUE(send().empty());
  EXPECT_EQ(heard<GrantEnded>().size(), 1u);
}

// The gateway counts the packets of these runs as sent.
TEST_F(ExecutorTest, SendsWhatWaitsWhenItIsToldToStop) {
  accept();
  say(std::vector{run(100), run(104)});
  say(std::vector{GrantEnded{.end = GrantEnd::kRevoke, .grant = grant_.id}});
  say(std::vector{run(200)});
  EXPECT_EQ(send().size(), 8u);
  EXPECT_EQ(executor_.grants(), 0u);
  EXPECT_EQ(executor_.waiting_runs(), 0u);
  EXPECT_EQ(heard<GrantEnded>().size(), 1u);
}

TEST_F(ExecutorTest, ForgetsAGrantWhoseLastRunsAreTooLate) {
  accept();
  say(std::vector{run(100)});
  say(std::vector{GrantEnded{.end = GrantEnd::kRevoke, .grant = grant_.id}});
  now_ += 1s;
  EXPECT_TRUE(send().empty());
  EXPECT_EQ(executor_.grants(), 0u);
}

// What it said the first time may be lost.
TEST_F(ExecutorTest, AnswersForAGrantThatItDoesNotHave) {
  accept();
  executor_.fail(grant_.id, 0x102);
  heard<GrantEnded>();
  say(std::vector{Acknowledged{grant_.id, 0, 1}, Acknowledged{grant_.id + 1, 0, 1}});
  say(std::vector{Acknowledged{grant_.id, 0, 1}});
  EXPECT_EQ(heard<GrantEnded>(),
            (std::vector{GrantEnded{.end = GrantEnd::kReset, .grant = grant_.id, .code = 0x102},
                         GrantEnded{.end = GrantEnd::kRevoke, .grant = grant_.id + 1}}));
}

// A REVOKE may be lost, or come before the grant.
TEST_F(ExecutorTest, SpeaksOfEachGrantUntilItIsRevoked) {
  say(std::vector{GrantEnded{.end = GrantEnd::kRevoke, .grant = grant_.id}});
  accept();
  EXPECT_EQ(heard<Progress>().size(), 1u);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(executor_.next_timeout(), now_ + 200ms);
    now_ += 200ms;
    say(std::vector{Ping{1}});
    executor_.on_timeout(now_);
    ASSERT_EQ(heard<Progress>().size(), 1u);
  }
  say(std::vector{GrantEnded{.end = GrantEnd::kRevoke, .grant = grant_.id}});
  EXPECT_EQ(executor_.grants(), 0u);
  EXPECT_EQ(executor_.next_timeout(), k_never);
}

TEST_F(ExecutorTest, SaysWhenAResponseFails) {
  accept();
  executor_.fail(grant_.id, 0x102);
  EXPECT_EQ(executor_.grants(), 0u);
  const auto ended = heard<GrantEnded>();
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].end, GrantEnd::kReset);
  EXPECT_EQ(ended[0].code, 0x102u);
}

TEST_F(ExecutorTest, ForgetsItsGrantsOneSecondAfterTheLastWord) {
  accept();
  now_ += 999ms;
  EXPECT_TRUE(say(std::vector{Ping{1}}));
  now_ += 999ms;
  executor_.on_timeout(now_);
  EXPECT_EQ(executor_.grants(), 1u);
  while (!executor_.poll_message(now_).empty()) continue;
  EXPECT_EQ(executor_.next_timeout(), now_ + 1ms);
  now_ += 1ms;
  executor_.on_timeout(now_);
  EXPECT_EQ(executor_.next_timeout(), now_ + 10ms) << "what has come may not be read yet";
  now_ += 10ms;
  executor_.on_timeout(now_);
  EXPECT_EQ(executor_.grants(), 0u);
  EXPECT_EQ(executor_.stats().expired, 1u);
  say(std::vector{run(100)});
  EXPECT_TRUE(send().empty());
}

// Its timers ring before its sockets are read.
TEST_F(ExecutorTest, KeepsItsGrantsWhenItWasNotScheduled) {
  accept();
  for (int i = 0; i < 3; ++i) {
    now_ += 5s;
    executor_.on_timeout(now_);
    EXPECT_TRUE(say(std::vector{Ping{1}}));
    now_ += 10ms;
    executor_.on_timeout(now_);
    EXPECT_EQ(executor_.grants(), 1u);
  }
}

TEST_F(ExecutorTest, IgnoresWhatIsNotOfThisSession) {
  accept();
  EXPECT_FALSE(
      executor_.receive(encode_run_datagram({k_session + 1, std::vector{run(100)}}), now_));
  EXPECT_FALSE(executor_.receive(std::vector<std::uint8_t>{1, 2, 3}, now_));
  EXPECT_FALSE(say(std::vector{Progress{.grant = grant_.id, .newest_refused = {}}}));
  EXPECT_TRUE(send().empty());
  now_ += 1s;
  executor_.on_timeout(now_);
  now_ += 10ms;
  executor_.on_timeout(now_);
  EXPECT_EQ(executor_.grants(), 0u) << "it took these for words of the gateway";
}

TEST_F(ExecutorTest, ReportsProgressAtMostEvery5MsAndAtLeastEvery200Ms) {
  HeldPayload* source = accept(10);
  auto progress = heard<Progress>();
  ASSERT_EQ(progress.size(), 1u);
  EXPECT_EQ(progress[0].available, k_first_offset + 10);
  EXPECT_EQ(progress[0].executed_end, 0u);
  source->append(std::vector<std::uint8_t>(10));
  executor_.on_available(grant_.id);
  EXPECT_TRUE(heard<Progress>().empty());
  EXPECT_EQ(executor_.next_timeout(), now_ + 5ms);
  now_ += 5ms;
  progress = heard<Progress>();
  ASSERT_EQ(progress.size(), 1u);
  EXPECT_EQ(progress[0].available, k_first_offset + 20);
  now_ += 195ms;
  executor_.on_timeout(now_);
  EXPECT_TRUE(heard<Progress>().empty());
  EXPECT_EQ(executor_.next_timeout(), now_ + 5ms);
  now_ += 5ms;
  executor_.on_timeout(now_);
  EXPECT_EQ(heard<Progress>().size(), 1u);
}

// What the others say meanwhile may fill the queue of their connection.
TEST_F(ExecutorTest, SpreadsWhatItSaysOverTime) {
  ExecutorConfig many = config();
  many.max_grants = 2'000;
  Executor executor(many, random_, now_);
  for (GrantId id = 0; id < 2'000; ++id) {
    grant_.id = id;
    auto source = std::make_unique<HeldPayload>(k_first_offset);
    source->append(std::vector<std::uint8_t>(10));
    ASSERT_TRUE(executor.accept(grant_, std::move(source), now_));
  }
  std::size_t rounds = 0;
  for (std::size_t datagrams = 1; datagrams > 0; ++rounds) {
    for (datagrams = 0; !executor.poll_message(now_).empty(); ++datagrams) continue;
    EXPECT_LE(datagrams, 16u);
    now_ += 5ms;
  }
  EXPECT_GT(rounds, 2u);
  EXPECT_LT(rounds, 20u);
}

}  // namespace
}  // namespace sheaf::quic
