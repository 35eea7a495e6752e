#include "crypto/tls_context.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "crypto/test_certificates.h"

namespace sheaf::quic {
namespace {

TlsServerConfig good() {
  static const TestCertificate certificate = make_certificate();
  return {.certificate_pem = certificate.certificate_pem,
          .private_key_pem = certificate.private_key_pem,
          .alpn = {"h3"}};
}

std::string problem(const TlsServerConfig& config) {
  const auto made = make_tls_server_context(config);
  return made ? "" : made.error();
}
std::string problem(const TlsClientConfig& config) {
  const auto made = make_tls_client_context(config);
  return made ? "" : made.error();
}

TEST(TlsContext, SaysWhatIsWrong) {
  EXPECT_EQ(problem(good()), "");
  auto config = good();
  config.certificate_pem = "nonsense";
  EXPECT_NE(problem(config).find("certificate is not valid PEM"), std::string::npos);
  config = good();
  config.private_key_pem = "nonsense";
  EXPECT_NE(problem(config).find("private key is not valid PEM"), std::string::npos);
  config = good();
  config.private_key_pem = make_certificate().private_key_pem;
  EXPECT_NE(problem(config).find("does not belong to"), std::string::npos);
  config = good();
  config.alpn = {};
  EXPECT_NE(problem(config).find("ALPN"), std::string::npos);
  config.alpn = {std::string(33, 'x')};
  EXPECT_NE(problem(config).find("1 to 32 bytes"), std::string::npos);
  config.alpn = std::vector<std::string>(9, "h3");
  EXPECT_NE(problem(config).find("At most 8"), std::string::npos);

  EXPECT_NE(problem(TlsClientConfig{.alpn = {"h3"}, .certificate_authority_pem = "nonsense"})
                .find("certificate authority is not valid PEM"),
            std::string::npos);
  EXPECT_NE(problem(TlsClientConfig{}).find("ALPN"), std::string::npos);
  EXPECT_EQ(problem(TlsClientConfig{.alpn = {"h3"}, .insecure = true}), "");
}

TEST(TlsContext, TicketKeysDependOnTheirBinding) {
  auto made = make_tls_server_context(good());
  ASSERT_TRUE(made);
  const std::uint8_t a[] = {1};
  const std::uint8_t b[] = {2};
  const auto key = [](TlsContext& context, Bytes binding) {
    TicketKeys& keys = context.ticket_keys();
    return keys.key(*keys.current(tls_clock_now()), binding);
  };
  EXPECT_EQ(key(**made, a), key(**made, a));
  EXPECT_NE(key(**made, a), key(**made, b));
  auto other = make_tls_server_context(good());  // random master key
  ASSERT_TRUE(other);
  EXPECT_NE(key(**made, a), key(**other, a));
}

// GnuTLS refuses tickets from before the beginning of its record. A new record can only have an
// earlier beginning when the clock can be shifted.
TEST(EarlyDataGuard, RenewsItsRecordingOnlyWhereTheClockCanBeShifted) {
  for (const bool renews : {false, true}) {
    EarlyDataGuard guard(renews);
    ASSERT_EQ(guard.begin(), 0);
    const EarlyDataGuard::Recording first = guard.recording();
    const TlsClockShift later(std::chrono::hours(1));
    EXPECT_EQ(guard.recording() != first, renews);
  }
  EXPECT_TRUE(tls_clock_can_shift()) << "the GnuTLS that tests run with";
}

std::vector<std::uint8_t> replay_key(std::uint32_t identity) {
  std::vector<std::uint8_t> bytes(12 + 32);
  std::memcpy(bytes.data() + bytes.size() - sizeof identity, &identity, sizeof identity);
  return bytes;
}

TEST(ReplayRecord, KnowsWhatItHasSeenAndIsBounded) {
  constexpr std::size_t k_bytes = 64 << 10;
  constexpr std::chrono::nanoseconds k_begin = std::chrono::hours(1000);
  constexpr std::chrono::nanoseconds k_period = ReplayRecord::k_period;
  ReplayRecord record(k_bytes);
  EXPECT_TRUE(record.add(replay_key(5), k_begin));
  EXPECT_FALSE(record.add(replay_key(5), k_begin));
  EXPECT_TRUE(record.add(replay_key(6), k_begin));
  const auto end = k_begin + k_period - 1ns;
  for (std::uint32_t i = 100; record.size() < record.capacity(); ++i) {
    ASSERT_LT(i, 3 * record.capacity());
    record.add(replay_key(i), end);
  }
  EXPECT_FALSE(record.add(replay_key(7), end));             // full: rather none than twice
  EXPECT_FALSE(record.add(replay_key(5), end + k_period));  // a replay may be what begins a period
  EXPECT_TRUE(record.add(replay_key(7), end + k_period));
  EXPECT_EQ(record.size(), 1u);
  EXPECT_LE(record.memory_bytes(), 2 * k_bytes);
  EXPECT_FALSE(record.add(replay_key(6), k_begin)) << "the clock was set back";
  EXPECT_TRUE(record.add(replay_key(5), end + 2 * k_period));
  EXPECT_FALSE(record.add(std::vector<std::uint8_t>(5), end));
}

TEST(ReplayRecord, HoldsAThousandASecondForAsLongAsTicketsLive) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(ReplayRecord::k_period);
  EXPECT_GE(ReplayRecord().capacity(), 1000u * static_cast<std::uint64_t>(seconds.count()));
  // The reported memory is the memory in use.
  ReplayRecord record;
  std::uint32_t refused = 0;
  constexpr std::uint32_t k_many = 100'000;
  for (std::uint32_t i = 0; i < k_many; ++i) refused += !record.add(replay_key(i), {});
  EXPECT_LT(refused, k_many / 20);
  EXPECT_LT(record.memory_bytes(), 1u << 20);
}

TEST(ReplayRecord, OneNetworkLeavesRoomForOthers) {
  ReplayRecord record(64 << 10);
  const std::uint8_t greedy[] = {192, 0, 2, 1};
  const std::uint8_t other[] = {192, 0, 2, 2};
  for (std::uint32_t i = 0; i < 200'000; ++i) record.add(replay_key(i), {}, greedy);
  EXPECT_LE(record.size(), record.capacity() / 2 + 1);
  EXPECT_GT(record.size(), record.capacity() / 3);
  int accepted = 0;
  for (std::uint32_t i = 0; i < 100; ++i)
    accepted += record.add(replay_key(1'000'000 + i), {}, other);
  EXPECT_GT(accepted, 90);
}

TEST(SeenFilter, ForgetsAfterADayAndNotBefore) {
  SeenFilter filter(64 << 10);
  const std::uint8_t token[] = {1, 2, 3};
  Time now{std::chrono::hours(1000)};
  EXPECT_TRUE(filter.add(token, now));
  EXPECT_FALSE(filter.add(token, now));
  EXPECT_FALSE(filter.add(token, now + std::chrono::hours(24)));
  const std::uint8_t another[] = {1};
  EXPECT_TRUE(filter.add(another, now + std::chrono::hours(30)));
  EXPECT_TRUE(filter.add(token, now + std::chrono::hours(50)));
}

}  // namespace
}  // namespace sheaf::quic
