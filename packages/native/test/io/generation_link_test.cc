#include "io/generation_link.h"

#include <gtest/gtest.h>

#include "io/socket_address.h"

namespace sheaf::io {
namespace {

using quic::ConnectionId;
using quic::DatagramHeader;

struct LinkedProcesses {
  LinkedProcesses() {
    uv_loop_init(&loop);
    // An inlet keeps no loop alive, and a loop without anything that does polls nothing.
    uv_idle_init(&loop, &alive);
    uv_idle_start(&alive, [](uv_idle_t*) {});
    auto ends = std::move(*make_generation_link());
    send_recent_ids(ends[0], {in_handshake});
    inlet = std::move(*SuccessorInlet::open(&loop, std::move(ends[0]), before));
    after.add(std::move(ends[1]));
    before->join(0, [] {});
  }
  ~LinkedProcesses() {
    inlet.reset();
    uv_close(reinterpret_cast<uv_handle_t*>(&alive), nullptr);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_loop_close(&loop);
  }
  bool pass_on(std::vector<std::uint8_t> bytes, const ConnectionId& id, bool first) {
    const DatagramHeader header{
        .kind = first ? DatagramHeader::Kind::kLong : DatagramHeader::Kind::kShort,
        .first_byte = 0xc0,
        .version = quic::k_version_1,
        .destination = id.view()};
    quic::AddressPair path;
    path.local = *parse_address("127.0.0.1", 443);
    path.remote = *parse_address("2001:db8::1", 50000);
    return after.pass_on({bytes, path, quic::Ecn::kEct0}, header) == quic::Owner::kAnother;
  }
  // Returns the sizes of what the process before has got.
  std::vector<std::size_t> got() {
    uv_run(&loop, UV_RUN_NOWAIT);
    std::vector<std::size_t> sizes;
    before->take(0, [&](const quic::Datagram& datagram, quic::Origin) {
      sizes.push_back(datagram.payload.size());
      EXPECT_EQ(datagram.path.remote, *parse_address("2001:db8::1", 50000));
      EXPECT_EQ(datagram.path.local, *parse_address("127.0.0.1", 443));
      EXPECT_EQ(datagram.ecn, quic::Ecn::kEct0);
    });
    return sizes;
  }

  ConnectionId in_handshake{std::vector<std::uint8_t>(8, 7)};
  ConnectionId other{std::vector<std::uint8_t>(8, 8)};
  uv_loop_t loop{};
  uv_idle_t alive{};
  std::shared_ptr<workers::WorkerGroup> before =
      std::make_shared<workers::WorkerGroup>(quic::Steering(1, 8, {}));
  std::unique_ptr<SuccessorInlet> inlet;
  Predecessors after;
};

TEST(GenerationLink, CarriesWhatOpensNoConnection) {
  LinkedProcesses processes;
  EXPECT_TRUE(processes.pass_on(std::vector<std::uint8_t>(1200, 1), processes.other, false));
  EXPECT_TRUE(processes.pass_on(std::vector<std::uint8_t>(60'000, 1), processes.other, false));
  EXPECT_FALSE(processes.pass_on(std::vector<std::uint8_t>(1300, 1), processes.other, true));
  EXPECT_EQ(processes.got(), (std::vector<std::size_t>{1200, 60'000}));
}

TEST(GenerationLink, AHandshakeGoesOnWhereItBegan) {
  LinkedProcesses processes;
  EXPECT_TRUE(processes.pass_on(std::vector<std::uint8_t>(1200, 1), processes.in_handshake, true));
  EXPECT_EQ(processes.got(), (std::vector<std::size_t>{1200}));
}

TEST(GenerationLink, AProcessThatHasEndedGetsNothing) {
  LinkedProcesses processes;
  EXPECT_EQ(processes.after.links().size(), 1u);
  processes.inlet->close({});
  for (int turn = 0; turn < 3; ++turn) uv_run(&processes.loop, UV_RUN_NOWAIT);
  EXPECT_FALSE(processes.pass_on(std::vector<std::uint8_t>(50, 1), processes.other, false));
  EXPECT_TRUE(processes.after.links().empty());
}

TEST(GenerationLink, AFullLinkLosesDatagramsAndStays) {
  LinkedProcesses processes;
  for (int i = 0; i < 20'000; ++i)
    ASSERT_TRUE(processes.pass_on(std::vector<std::uint8_t>(1200, 1), processes.other, false));
  EXPECT_FALSE(processes.got().empty());
}

}  // namespace
}  // namespace sheaf::io
