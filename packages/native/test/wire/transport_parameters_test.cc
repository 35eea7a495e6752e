#include "wire/transport_parameters.h"

#include <gtest/gtest.h>

#include "wire/hex.h"

namespace sheaf::quic {
namespace {

constexpr const char* k_all_parameters =
    "01 04 80007530"  // max_idle_timeout 30 s
    "02 10 000102030405060708090a0b0c0d0e0f"
    "03 02 45ac"      // max_udp_payload_size 1452
    "04 04 80100000"  // initial_max_data 1 MiB
    "05 02 7fff"
    "06 02 7ffe"
    "07 02 7ffd"
    "08 02 4064"  // initial_max_streams_bidi 100
    "09 01 03"
    "0a 01 0a"
    "0b 01 19"
    "0c 00"
    "0d 2d c0000201 1151 20010db8000000000000000000000001 1152"
    "   04 01020304 f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"
    "0e 01 08"
    "0f 01 aa"
    "20 04 8000ffff"
    "3e 01 02"
    "6ab2 00"
    "c0000000ff04de1b 02 43e8"
    "1d 00"
    "80005ea0 01 03"   // multi_end, both key modes
    "80005ea2 01 08"   // return_paths
    "4d12 03 010203";  // nobody's

TransportErrorCode parameters_error(const char* hex) {
  const auto parameters = decode_transport_parameters(from_hex(hex));
  return parameters ? TransportErrorCode::kNoError : parameters.error().code;
}

TEST(TransportParameters, DecodesAllOfThem) {
  const auto parameters = decode_transport_parameters(from_hex(k_all_parameters));
  ASSERT_TRUE(parameters) << parameters.error().reason;
  EXPECT_EQ(parameters->max_idle_timeout, std::chrono::seconds(30));
  EXPECT_EQ(parameters->max_udp_payload_size, 1452u);
  EXPECT_EQ(parameters->initial_max_data, 1u << 20);
  EXPECT_EQ(parameters->initial_max_stream_data_bidi_local, 0x3fffu);
  EXPECT_EQ(parameters->initial_max_stream_data_bidi_remote, 0x3ffeu);
  EXPECT_EQ(parameters->initial_max_stream_data_uni, 0x3ffdu);
  EXPECT_EQ(parameters->initial_max_streams_bidi, 100u);
  EXPECT_EQ(parameters->initial_max_streams_uni, 3u);
  EXPECT_EQ(parameters->ack_delay_exponent, 10);
  EXPECT_EQ(parameters->max_ack_delay, std::chrono::milliseconds(25));
  EXPECT_TRUE(parameters->disable_active_migration);
  EXPECT_EQ(parameters->active_connection_id_limit, 8u);
  EXPECT_EQ(parameters->max_datagram_frame_size, 65535u);
  EXPECT_TRUE(parameters->grease_quic_bit);
  EXPECT_TRUE(parameters->reset_stream_at);
  EXPECT_EQ(parameters->initial_max_path_id, 2u);
  EXPECT_EQ(parameters->multi_end, BackendKeyModes::k_shared | BackendKeyModes::k_per_path);
  EXPECT_EQ(parameters->return_paths, 8u);
  ASSERT_TRUE(parameters->stateless_reset_token);
  EXPECT_EQ(parameters->stateless_reset_token->back(), 0x0f);
  ASSERT_TRUE(parameters->preferred_address);
  EXPECT_EQ(parameters->preferred_address->ipv4, (std::array<std::uint8_t, 4>{192, 0, 2, 1}));
  EXPECT_EQ(parameters->preferred_address->ipv4_port, 0x1151);
  EXPECT_EQ(parameters->preferred_address->ipv6[15], 1);
  EXPECT_EQ(parameters->preferred_address->ipv6_port, 0x1152);
  EXPECT_EQ(parameters->preferred_address->id, ConnectionId(from_hex("01020304")));
  EXPECT_EQ(parameters->preferred_address->reset_token[0], 0xf0);
}

TEST(TransportParameters, HasDefaults) {
  const auto parameters = decode_transport_parameters({});
  ASSERT_TRUE(parameters);
  EXPECT_EQ(parameters->max_udp_payload_size, 65527u);
  EXPECT_EQ(parameters->ack_delay_exponent, 3);
  EXPECT_EQ(parameters->max_ack_delay, std::chrono::milliseconds(25));
  EXPECT_EQ(parameters->active_connection_id_limit, 2u);
  EXPECT_FALSE(parameters->initial_max_path_id);
  EXPECT_FALSE(parameters->reset_stream_at);
}

TEST(TransportParameters, EveryTruncationIsRefusedOrEndsBetweenTwoParameters) {
  const std::vector<std::uint8_t> whole = from_hex(k_all_parameters);
  int accepted = 0;
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const auto parameters = decode_transport_parameters(Bytes(whole).first(length));
    if (parameters) {
      ++accepted;
    } else {
      EXPECT_EQ(parameters.error().code, TransportErrorCode::kTransportParameterError);
    }
  }
  EXPECT_EQ(accepted, 23);  // before each of the parameters
}

TEST(TransportParameters, RefusesValuesOutsideTheirRange) {
  constexpr auto k_error = TransportErrorCode::kTransportParameterError;
  EXPECT_EQ(parameters_error("03 02 44af"), k_error);              // max_udp_payload_size 1199
  EXPECT_EQ(parameters_error("08 08 d000000000000001"), k_error);  // 2^60 + 1 streams
  EXPECT_EQ(parameters_error("09 08 d000000000000001"), k_error);
  EXPECT_EQ(parameters_error("0a 01 15"), k_error);                // ack_delay_exponent 21
  EXPECT_EQ(parameters_error("0b 04 80004000"), k_error);          // max_ack_delay 2^14
  EXPECT_EQ(parameters_error("0e 01 01"), k_error);                // active_connection_id_limit 1
  EXPECT_EQ(parameters_error("3e 08 c000000100000000"), k_error);  // initial_max_path_id 2^32
  EXPECT_EQ(parameters_error("10 15 000000000000000000000000000000000000000000"), k_error);
}

TEST(TransportParameters, AcceptsTheLimits) {
  EXPECT_EQ(parameters_error("03 02 44b0"), TransportErrorCode::kNoError);
  EXPECT_EQ(parameters_error("08 08 d000000000000000"), TransportErrorCode::kNoError);
  EXPECT_EQ(parameters_error("0a 01 14"), TransportErrorCode::kNoError);
  EXPECT_EQ(parameters_error("0b 02 7fff"), TransportErrorCode::kNoError);
  EXPECT_EQ(parameters_error("3e 08 c0000000ffffffff"), TransportErrorCode::kNoError);
}

TEST(TransportParameters, RefusesBackendsWithoutAKeyModeOrWithoutPaths) {
  constexpr auto k_error = TransportErrorCode::kTransportParameterError;
  EXPECT_EQ(parameters_error("3e 01 02 80005ea0 01 00"), k_error);
  EXPECT_EQ(parameters_error("80005ea0 01 01"), k_error);
  EXPECT_EQ(parameters_error("80005ea0 01 01 3e 01 02"),
            TransportErrorCode::kNoError);  // in any order
  EXPECT_EQ(parameters_error("3e 01 02 80005ea0 01 04"),
            TransportErrorCode::kNoError);  // one to come
}

TEST(TransportParameters, RefusesWrongLengths) {
  constexpr auto k_error = TransportErrorCode::kTransportParameterError;
  EXPECT_EQ(parameters_error("04 02 25"), k_error);
  EXPECT_EQ(parameters_error("04 02 2500"), k_error);  // a varint of one byte, and one byte more
  EXPECT_EQ(parameters_error("0c 01 00"), k_error);
  EXPECT_EQ(parameters_error("6ab2 01 00"), k_error);
  EXPECT_EQ(parameters_error("1d 01 00"), k_error);
  EXPECT_EQ(parameters_error("c017f7586d2cb571 01 00"), k_error);
  EXPECT_EQ(parameters_error("02 0f 000102030405060708090a0b0c0d0e"), k_error);
  EXPECT_EQ(parameters_error("04 00"), k_error);
}

TEST(TransportParameters, RefusesAPreferredAddressWithoutConnectionId) {
  EXPECT_EQ(parameters_error("0d 29 c0000201 1151 20010db8000000000000000000000001 1152 00"
                             "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"),
            TransportErrorCode::kTransportParameterError);
}

TEST(TransportParameters, RefusesRepetitions) {
  EXPECT_EQ(parameters_error("04 01 01 05 01 01 04 01 01"),
            TransportErrorCode::kTransportParameterError);
  EXPECT_EQ(parameters_error("4d12 00 4d12 00"), TransportErrorCode::kTransportParameterError);
}

TEST(TransportParameters, BoundsTheIdleTimeout) {
  const auto parameters = decode_transport_parameters(from_hex("01 08 ffffffffffffffff"));
  ASSERT_TRUE(parameters);
  EXPECT_GT(parameters->max_idle_timeout, std::chrono::hours(24));
  EXPECT_LT(parameters->max_idle_timeout, std::chrono::hours(24 * 366));
}

TEST(TransportParameters, AppendsResetStreamAtWithBothOfItsNumbers) {
  std::vector<std::uint8_t> out;
  TransportParameters parameters;
  parameters.reset_stream_at = true;
  append_extension_parameters(out, parameters);
  EXPECT_EQ(out, from_hex("1d 00 c017f7586d2cb571 00"));
  const auto older = decode_transport_parameters(from_hex("c017f7586d2cb571 00"));
  ASSERT_TRUE(older);
  EXPECT_TRUE(older->reset_stream_at);
}

// draft-ietf-quic-ack-frequency-11 §3, and draft-iyengar-quic-delayed-ack-02 §3.
constexpr const char* k_min_ack_delays =
    "c0000000ff04de1b 02 43e8"   // 1 ms
    "c0000000ff02de1a 02 47d0";  // 2 ms

TEST(TransportParameters, AppendsTheDelaysOfAcknowledgements) {
  TransportParameters parameters;
  std::vector<std::uint8_t> out;
  append_extension_parameters(out, parameters);
  EXPECT_TRUE(out.empty());
  parameters.min_ack_delay = std::chrono::milliseconds(1);
  parameters.first_min_ack_delay = std::chrono::milliseconds(2);
  append_extension_parameters(out, parameters);
  EXPECT_EQ(out, from_hex(k_min_ack_delays));
}

TEST(TransportParameters, ReadsTheDelaysOfAcknowledgements) {
  const auto both = decode_transport_parameters(from_hex(k_min_ack_delays));
  ASSERT_TRUE(both);
  EXPECT_EQ(both->min_ack_delay, std::chrono::milliseconds(1));
  EXPECT_EQ(both->first_min_ack_delay, std::chrono::milliseconds(2));
  EXPECT_FALSE(decode_transport_parameters({})->min_ack_delay);
  EXPECT_FALSE(decode_transport_parameters({})->first_min_ack_delay);
}

TEST(TransportParameters, RefusesAMinAckDelayAboveTheLargestDelay) {
  constexpr auto k_fault = TransportErrorCode::kTransportParameterError;
  EXPECT_EQ(parameters_error("c0000000ff04de1b 04 800061a8"),
            TransportErrorCode::kNoError);  // 25 ms
  EXPECT_EQ(parameters_error("c0000000ff04de1b 04 800061a9"), k_fault);
  EXPECT_EQ(parameters_error("c0000000ff04de1b 04 800061a8 0b 01 18"), k_fault);  // of 24 ms
  EXPECT_EQ(parameters_error("c0000000ff04de1b 08 ffffffffffffffff"), k_fault);
  // The first form is a draft that has expired.
  const auto ignored = decode_transport_parameters(from_hex("c0000000ff02de1a 04 800061a9"));
  ASSERT_TRUE(ignored);
  EXPECT_FALSE(ignored->first_min_ack_delay);
}

TEST(TransportParameters, AppendsTheOnesOfMultipath) {
  std::vector<std::uint8_t> out{0xaa};
  TransportParameters parameters;
  append_extension_parameters(out, parameters);
  EXPECT_EQ(out.size(), 1u);
  parameters.initial_max_path_id = 300;
  append_extension_parameters(out, parameters);
  EXPECT_EQ(out, from_hex("aa 3e 02 412c"));
  parameters.multi_end = BackendKeyModes::k_per_path;
  out.clear();
  append_extension_parameters(out, parameters);
  EXPECT_EQ(out, from_hex("3e 02 412c 80005ea0 01 02"));
  parameters.multi_end.reset();
  parameters.return_paths = 8;
  out.clear();
  append_extension_parameters(out, parameters);
  EXPECT_EQ(out, from_hex("3e 02 412c 80005ea2 01 08"));
  out.clear();
  parameters = {};
  parameters.tunnel_reports = true;
  append_extension_parameters(out, parameters);
  EXPECT_EQ(out, from_hex("80005ea1 00"));
  EXPECT_TRUE(decode_transport_parameters(out)->tunnel_reports);
}

// Up to eight of them, on a connection with several paths
TEST(TransportParameters, IgnoresReturnPathsThatNobodyOfThisProtocolOffers) {
  const auto return_paths = [](const char* bytes) {
    const auto parameters = decode_transport_parameters(from_hex(bytes));
    EXPECT_TRUE(parameters) << bytes;
    return parameters ? parameters->return_paths : std::nullopt;
  };
  EXPECT_EQ(return_paths("3e 01 0f 80005ea2 01 01"), 1u);
  EXPECT_EQ(return_paths("3e 01 0f 80005ea2 01 08"), 8u);
  EXPECT_EQ(return_paths("3e 01 0f 80005ea2 01 00"), std::nullopt);
  EXPECT_EQ(return_paths("3e 01 0f 80005ea2 01 09"), std::nullopt);
  EXPECT_EQ(return_paths("80005ea2 01 08"), std::nullopt);
}

}  // namespace
}  // namespace sheaf::quic
