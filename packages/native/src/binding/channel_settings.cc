#include "binding/channel_settings.h"

#include <algorithm>
#include <chrono>

#include "binding/address_argument.h"
#include "binding/javascript_buffer.h"

namespace sheaf::binding {

namespace {

quic::Duration milliseconds(const Napi::Object& options, const char* name) {
  constexpr std::uint64_t k_day = 24 * 3600 * 1000;
  return std::chrono::milliseconds(std::clamp<std::uint64_t>(number(options, name), 1, k_day));
}

// Returns 0 for an empty name.
quic::Result<unsigned, std::string> interface_of(const Napi::Object& options) {
  const std::string name = options.Get("interface").ToString();
  if (name.empty()) return 0U;
  const auto index = io::interface_named(name);
  if (!index) return "this host has no interface " + name;
  return *index;
}

quic::Result<quic::AuthenticationScheme, std::string> scheme_of(const Napi::Object& options) {
  using quic::AuthenticationScheme;
  const std::string name = options.Get("authentication").ToString();
  if (name == "none") return AuthenticationScheme::kNone;
  if (name == "signed") return AuthenticationScheme::kSigned;
  if (name == "timed") return AuthenticationScheme::kTimed;
  if (name == "per-packet") return AuthenticationScheme::kPacketSignatures;
  return "no authentication of channels is named " + name;
}

// Wipes the seed of the options. Returns false for one of another length.
bool take_seed(const Napi::Object& options, channel_node::SourceSettings& settings) {
  auto bytes = as_bytes(options.Get("seed"));
  if (!bytes) return true;
  auto& seed = settings.seed.emplace().value;
  const bool fits = bytes->ByteLength() == seed.size();
  if (fits) std::copy_n(bytes->Data(), seed.size(), seed.begin());
  quic::wipe(bytes->Data(), bytes->ByteLength());
  return fits;
}

}  // namespace

quic::Result<channel_node::SourceSettings, std::string> source_settings(
    const Napi::Object& options) {
  channel_node::SourceSettings settings;
  if (options.Get("group").IsObject()) {
    const auto group = address_argument(options.Get("group"));
    const auto source = io::parse_address(std::string(options.Get("source").ToString()), 0);
    if (!group || !source || group->family != source->family) {
      return std::string("source and group are no IP addresses of one family");
    }
    settings.group = *group;
    settings.source = *source;
  }
  if (options.Get("relay").IsObject()) {
    const auto relay = address_argument(options.Get("relay"));
    if (!relay) return std::string("the relay is no IP address");
    settings.relay = *relay;
  }
  const auto interface = interface_of(options);
  if (!interface) return interface.error();
  settings.interface = *interface;
  settings.hops = static_cast<int>(std::clamp<std::uint64_t>(number(options, "hops"), 1, 255));
  settings.packet_size = static_cast<std::uint16_t>(
      std::clamp<std::uint64_t>(number(options, "packetSize"), quic::k_min_channel_packet_size,
                                quic::ChannelLimits{}.max_packet_size));
  settings.rate =
      std::clamp<std::uint64_t>(number(options, "rate"), 1, quic::ChannelLimits{}.max_rate);
  settings.slowest_rate = number(options, "slowestRate");
  settings.copy_rate = std::max<std::uint64_t>(number(options, "copyRate"), 1);
  settings.reach = static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(number(options, "reach"), 64, quic::ChannelLimits{}.max_reach));
  settings.deadline = milliseconds(options, "deadlineMs");
  settings.report_interval =
      std::max(milliseconds(options, "reportIntervalMs"), quic::k_min_report_interval);
  settings.key_interval = milliseconds(options, "keyIntervalMs");
  settings.new_key_on_leaving = options.Get("keyOnLeaving").ToBoolean();
  settings.max_receivers = number(options, "maxReceivers");
  const auto scheme = scheme_of(options);
  if (!scheme) return scheme.error();
  settings.scheme = *scheme;
  settings.repairs = options.Get("repairs").ToBoolean();
  if (!take_seed(options, settings)) return std::string("a seed has 32 bytes");
  return settings;
}

quic::Result<channel_node::ReceiverSettings, std::string> receiver_settings(
    const Napi::Object& options) {
  channel_node::ReceiverSettings settings;
  settings.joins = options.Get("joins").ToBoolean();
  const auto interface = interface_of(options);
  if (!interface) return interface.error();
  settings.interface = *interface;
  const auto sources = options.Get("sources").As<Napi::Array>();
  for (std::uint32_t i = 0; i < sources.Length(); ++i) {
    const std::string text = sources.Get(i).ToString();
    const auto source = io::parse_address(text, 0);
    if (!source) return "not an IP address: " + text;
    settings.sources.push_back(*source);
  }
  return settings;
}

}  // namespace sheaf::binding
