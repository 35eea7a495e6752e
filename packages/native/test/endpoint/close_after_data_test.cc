// A peer writes and closes at once. The data that arrived before its CONNECTION_CLOSE is read, and
// what it has itself is acknowledged.
#include <gtest/gtest.h>

#include "endpoint/transfer.h"

namespace sheaf::quic {
namespace {

constexpr std::size_t k_size = 1000;

class CloseAfterData : public testing::Test {
 protected:
  CloseAfterData() : client_(pair_.connect()) {
    EXPECT_TRUE(pair_.run_until_confirmed());
    EXPECT_TRUE(pair_.run_until([&] {
      return !pair_.accepted.empty() &&
             pair_.count<HandshakeConfirmedEvent>(*pair_.accepted[0]) > 0;
    }));
    server_ = pair_.accepted[0];
  }
  // The client writes a whole stream and closes; runs until the server has received both.
  void write_and_close() {
    const auto opened =
        client_.connection().streams().writer().open(Directionality::kUnidirectional);
    ASSERT_TRUE(opened);
    stream_ = *opened;
    const auto bytes = pattern(stream_, 0, k_size);
    ASSERT_TRUE(
        client_.connection().streams().writer().write(stream_, SendChunk::copy_of(bytes), true));
    client_.close(42, "done", pair_.now);
    pair_.wake(client_);
    ASSERT_TRUE(pair_.run_until(
        [&] { return server_->connection().state() == Connection::State::kDraining; }));
  }
  bool happened(ConnectionDriver& driver, StreamEvent::Kind kind, StreamId stream) {
    return std::ranges::any_of(pair_.events(driver), [&](const Event& event) {
      const auto* one = std::get_if<StreamEvent>(&event);
      return one && one->kind == kind && one->stream == stream;
    });
  }
  EndpointPair pair_;
  ConnectionDriver& client_;
  ConnectionDriver* server_ = nullptr;
  StreamId stream_{};
};

TEST_F(CloseAfterData, TheDataIsReadBeforeTheCloseIsTold) {
  write_and_close();
  EXPECT_EQ(pair_.closed(server_), nullptr);
  std::array<std::uint8_t, k_size> room;
  const auto first = server_->connection().streams().reader().read(
      stream_, MutableBytes(room).first(400), pair_.now);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->bytes, 400u);
  pair_.wake(*server_);
  pair_.run_until([] { return true; });
  EXPECT_EQ(pair_.closed(server_), nullptr) << "there is more";
  const auto rest = server_->connection().streams().reader().read(
      stream_, MutableBytes(room).subspan(400), pair_.now);
  ASSERT_TRUE(rest);
  EXPECT_TRUE(rest->finished);
  EXPECT_TRUE(std::ranges::equal(room, pattern(stream_, 0, k_size)));
  pair_.wake(*server_);
  pair_.run_until([] { return true; });
  ASSERT_NE(pair_.closed(server_), nullptr);
  EXPECT_EQ(pair_.closed(server_)->error, 42u);
  EXPECT_EQ(pair_.closed(server_)->reason, "done");
}

TEST_F(CloseAfterData, WhoReadsNothingIsToldWhenTheConnectionIsGone) {
  write_and_close();
  EXPECT_EQ(pair_.closed(server_), nullptr);
  EXPECT_TRUE(pair_.run_until([&] { return pair_.closed(server_) != nullptr; }, 5s));
  EXPECT_EQ(pair_.closed(server_)->error, 42u);
  EXPECT_TRUE(pair_.run_until([&] { return pair_.server->connection_count() == 0; }, 5s));
}

TEST_F(CloseAfterData, WhoClosesAcknowledgesWhatItHas) {
  auto& writer = server_->connection().streams().writer();
  const auto opened = writer.open(Directionality::kUnidirectional);
  ASSERT_TRUE(opened);
  ASSERT_TRUE(writer.write(*opened, SendChunk::copy_of(pattern(*opened, 0, k_size)), true));
  pair_.wake(*server_);
  ASSERT_TRUE(
      pair_.run_until([&] { return happened(client_, StreamEvent::Kind::kReadable, *opened); }));
  ASSERT_FALSE(happened(*server_, StreamEvent::Kind::kClosed, *opened))
      << "the client acknowledges later";
  client_.close(42, "done", pair_.now);
  pair_.wake(client_);
  ASSERT_TRUE(pair_.run_until(
      [&] { return server_->connection().state() == Connection::State::kDraining; }));
  EXPECT_TRUE(happened(*server_, StreamEvent::Kind::kClosed, *opened));
}

}  // namespace
}  // namespace sheaf::quic
