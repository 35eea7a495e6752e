#include "direct_return/run_messages.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "direct_return/messages.h"
#include "util/random.h"

namespace sheaf::quic {
namespace {

constexpr std::uint32_t k_long_session = 0xa1a2a3a4;
constexpr std::uint64_t k_number = 0x515253545556;  // of each datagram
constexpr std::uint64_t k_48_bits = (std::uint64_t{1} << 48) - 1;

RunMessage a_run() {
  return {.grant = 0x01020304,
          .first = 0x111213141516,
          .offset = 0x212223242526,
          .bytes = 1400,
          .packets = 32,
          .phase_name = 5,
          .ecn = Ecn::kEct0,
          .fin = true,
          .wait = 16us * 3,
          .lifetime = 16us * 0x0102};
}

Progress a_progress() {
  Progress progress{.grant = 1,
                    .available = 2,
                    .executed_end = 3,
                    .generation = 4,
                    .address = 5,
                    .refused = 9,
                    .newest_refused = {}};
  for (const int first : {64, 96, 128, 160}) {
    progress.newest_refused.push_back(static_cast<PacketNumber>(first));
  }
  return progress;
}

PhaseChange a_phase() {
  PhaseChange change{.connection = 1, .generation = 2, .first_number = 3, .sealed = {}};
  change.sealed.fill(0xaa);
  return change;
}

AddressChange an_address() {
  return {.connection = 1,
          .number = 6,
          .addresses = {ipv4(7, 443), ipv4(99, 50000)},
          .client_id = ConnectionId(std::vector<std::uint8_t>{0xc1}),
          .paused = true};
}

GrantEnded an_end(GrantEnd end) { return {.end = end, .grant = 1, .code = 0x10c}; }

std::vector<RunMessages> one_of_each() {
  return {std::vector{a_run()},
          std::vector{a_progress()},
          std::vector{Acknowledged{1, 2, 3}},
          std::vector{a_phase()},
          std::vector{an_address()},
          std::vector{an_end(GrantEnd::kReset)},
          std::vector{an_end(GrantEnd::kRevoke)},
          std::vector{Ping{0x3132333435363738}},
          std::vector{VoidRuns{0x414243444546}}};
}

std::vector<std::uint8_t> encode(RunMessages messages) {
  return encode_run_datagram({k_long_session, std::move(messages), k_number});
}

std::optional<RunMessageFault> message_fault_of(Bytes bytes) {
  const auto datagram = decode_run_datagram(bytes);
  return datagram ? std::nullopt : std::optional(datagram.error());
}

TEST(RunMessages, HaveKnownBytes) {
  const std::string session = "a1a2a3a4";
  const std::vector<std::string> known = {
      "01"
      "01020304"
      "111213141516"
      "212223242526"
      "0578"
      "20"
      "35"
      "0003"
      "0102",
      "02"
      "00000001"
      "000000000002"
      "000000000003"
      "00000004"
      "00000005"
      "0009"
      "04"
      "000000000040"
      "000000000060"
      "000000000080"
      "0000000000a0",
      "03"
      "00000001"
      "000000000002"
      "000000000003",
      "04"
      "0000000000000001"
      "00000002"
      "000000000003"
      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
      "05"
      "0000000000000001"
      "00000006"
      "00000000000000000000ffffcb00710701bb"
      "00000000000000000000ffffcb007163c350"
      "01c1"
      "00000000000000000000000000000000000000"
      "01",
      "06"
      "00000001"
      "000000000000010c",
      "07"
      "00000001"
      "000000000000010c",
      "08"
      "3132333435363738",
      "0c"
      "414243444546",
  };
  const auto messages = one_of_each();
  ASSERT_EQ(messages.size(), known.size());
  for (std::size_t i = 0; i < known.size(); ++i) {
    EXPECT_EQ(hex(encode(messages[i])),
              session + known[i].substr(0, 2) + "515253545556" + known[i].substr(2));
  }
}

TEST(RunMessages, ComeBackAsTheyWere) {
  for (const RunMessages& messages : one_of_each()) {
    const auto bytes = encode(messages);
    const auto datagram = decode_run_datagram(bytes);
    ASSERT_TRUE(datagram);
    EXPECT_EQ(datagram->session, k_long_session);
    EXPECT_EQ(datagram->messages.index(), messages.index());
    EXPECT_EQ(encode_run_datagram(*datagram), bytes);
  }
  const auto runs = decode_run_datagram(encode(std::vector{a_run()}));
  EXPECT_EQ(runs->number, k_number);
  EXPECT_EQ(std::get<std::vector<RunMessage>>(runs->messages).front(), a_run());
  const auto addresses = decode_run_datagram(encode(std::vector{an_address()}));
  EXPECT_EQ(std::get<std::vector<AddressChange>>(addresses->messages).front(), an_address());
  for (const GrantEnd end : {GrantEnd::kReset, GrantEnd::kRevoke}) {
    const auto ends = decode_run_datagram(encode(std::vector{an_end(end)}));
    EXPECT_EQ(std::get<std::vector<GrantEnded>>(ends->messages).front(), an_end(end));
  }
}

TEST(RunMessages, FillADatagram) {
  const std::size_t most = most_in_datagram(std::vector<RunMessage>());
  EXPECT_GE(most, 47u);
  std::vector<RunMessage> runs;
  for (std::uint32_t i = 0; i < most; ++i) {
    runs.push_back(a_run());
    runs.back().first = i * 32;
  }
  const auto bytes = encode(runs);
  EXPECT_LE(bytes.size(), k_max_run_datagram);
  const auto datagram = decode_run_datagram(bytes);
  ASSERT_TRUE(datagram);
  EXPECT_EQ(std::get<std::vector<RunMessage>>(datagram->messages), runs);
  for (const RunMessages& messages : one_of_each()) {
    const RunMessages full = std::visit(
        [&](const auto& list) {
          return RunMessages(
              std::decay_t<decltype(list)>(most_in_datagram(messages), list.front()));
        },
        messages);
    EXPECT_LE(encode(full).size(), k_max_run_datagram);
    EXPECT_FALSE(message_fault_of(encode(full)));
  }
}

TEST(RunMessages, AreRefusedWhenCutOrLonger) {
  for (const RunMessages& messages : one_of_each()) {
    auto bytes = encode(messages);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_EQ(message_fault_of(Bytes(bytes).first(size)), RunMessageFault::kMalformed) << size;
    }
    bytes.push_back(0);
    EXPECT_EQ(message_fault_of(bytes), RunMessageFault::kMalformed);
    bytes.resize(k_max_run_datagram + 1);
    EXPECT_EQ(message_fault_of(bytes), RunMessageFault::kMalformed);
  }
}

TEST(RunMessages, AreRefusedOfAnUnknownKind) {
  auto bytes = encode(std::vector{Ping{1}});
  for (const std::uint8_t kind : std::to_array<std::uint8_t>({0, 13, 255})) {
    bytes[4] = kind;
    EXPECT_EQ(message_fault_of(bytes), RunMessageFault::kUnknownKind);
  }
}

TEST(RunMessages, RefuseRunsThatNoGatewayOrders) {
  const std::vector<std::function<void(RunMessage&)>> changes = {
      [](RunMessage& run) { run.packets = 0; },
      [](RunMessage& run) { run.packets = 33; },
      [](RunMessage& run) { run.bytes = 0; },
      [](RunMessage& run) { run.bytes = 0, run.packets = 1, run.fin = false; },
      [](RunMessage& run) { run.first = k_48_bits - 30; },
      [](RunMessage& run) { run.offset = k_48_bits; },
      [](RunMessage& run) { run.ecn = Ecn::kCe; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    RunMessage run = a_run();
    changes[i](run);
    EXPECT_EQ(message_fault_of(encode(std::vector{run})), RunMessageFault::kOutOfRange) << i;
  }
  auto flags = encode(std::vector{a_run()});
  for (const int unknown : {0x40, 0x80}) {
    flags[11 + 19] = static_cast<std::uint8_t>(0x35 | unknown);
    EXPECT_EQ(message_fault_of(flags), RunMessageFault::kOutOfRange);
  }
  RunMessage end = a_run();
  end.bytes = 0;
  end.packets = 1;
  EXPECT_FALSE(message_fault_of(encode(std::vector{end})));
}

TEST(RunMessages, RefuseOtherValuesThatNoNodeWrites) {
  auto progress = encode(std::vector{a_progress()});
  progress[11 + 26] = 5;
  EXPECT_EQ(message_fault_of(progress), RunMessageFault::kOutOfRange);
  Progress fewer = a_progress();
  fewer.refused = 3;
  EXPECT_EQ(message_fault_of(encode(std::vector{fewer})), RunMessageFault::kOutOfRange);
  EXPECT_EQ(message_fault_of(encode(std::vector{Acknowledged{1, 3, 2}})),
            RunMessageFault::kOutOfRange);
  PhaseChange first = a_phase();
  first.generation = 0;
  EXPECT_EQ(message_fault_of(encode(std::vector{first})), RunMessageFault::kOutOfRange);
  AddressChange many = an_address();
  many.addresses.remote.ip = {255, 255, 255, 255};
  EXPECT_EQ(message_fault_of(encode(std::vector{many})), RunMessageFault::kOutOfRange);
  auto id = encode(std::vector{an_address()});
  id[11 + 48] = 21;
  EXPECT_EQ(message_fault_of(id), RunMessageFault::kOutOfRange);
  AddressChange zeroth = an_address();
  zeroth.number = 0;
  EXPECT_EQ(message_fault_of(encode(std::vector{zeroth})), RunMessageFault::kOutOfRange);
  GrantEnded code = an_end(GrantEnd::kReset);
  code.code = std::uint64_t{1} << 62;
  EXPECT_EQ(message_fault_of(encode(std::vector{code})), RunMessageFault::kOutOfRange);
}

TEST(RunMessages, BoundDurationsAndRoundThemDown) {
  RunMessage run = a_run();
  run.wait = 47us;
  run.lifetime = 2s;
  const auto datagram = decode_run_datagram(encode(std::vector{run}));
  const RunMessage& read = std::get<std::vector<RunMessage>>(datagram->messages).front();
  EXPECT_EQ(read.wait, 32us);
  EXPECT_EQ(read.lifetime, RunMessage::k_max_duration);
}

TEST(RunMessages, DamagedAtRandomAreRefusedOrReadAsSomething) {
  SeededRandom random(6);
  const auto messages = one_of_each();
  for (int round = 0; round < 20'000; ++round) {
    auto bytes = encode(messages[random.below(messages.size())]);
    for (std::uint64_t hits = 1 + random.below(3); hits > 0; --hits) {
      bytes[random.below(bytes.size())] = static_cast<std::uint8_t>(random.next());
    }
    if (const auto datagram = decode_run_datagram(bytes)) {
      EXPECT_EQ(encode_run_datagram(*datagram), bytes);
    }
  }
}

}  // namespace
}  // namespace sheaf::quic
