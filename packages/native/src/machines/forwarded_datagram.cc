#include "machines/forwarded_datagram.h"

#include <algorithm>
#include <string>

#include "crypto/wipe.h"
#include "wire/fixed_fields.h"

namespace sheaf::machines {

using quic::Address;
using quic::Bytes;
using quic::MutableBytes;

namespace {

// Version of the format
constexpr std::uint8_t k_format = 1;
// Format, number of the secret, salt, counter
constexpr std::size_t k_header_length = 1 + 1 + k_salt_length + 8;
constexpr std::uint8_t k_ecn_bits = 0x03;

std::unique_ptr<quic::Aead> forwarding_key(const quic::ServerSecret& secret, Bytes salt,
                                           Bytes receiver) {
  std::string label = "sheaf forward ";
  label.append(salt.begin(), salt.end());
  label.append(receiver.begin(), receiver.end());
  quic::TrafficSecret traffic;
  traffic.length = quic::secret_length(traffic.suite);
  quic::derive_key(secret, label, MutableBytes(traffic.bytes).first(traffic.length));
  return quic::make_aead(traffic);
}

}  // namespace

// --- ForwardSealer ------------------------------------------------------------------------------

ForwardSealer::ForwardSealer(const quic::ServerSecret& secret, Bytes receiver, quic::Random& random)
    : secret_number_(secret.number) {
  random.fill(salt_);
  aead_ = forwarding_key(secret, salt_, receiver);
}

std::size_t ForwardSealer::seal(const quic::Datagram& datagram, MutableBytes out) {
  quic::Writer writer(out);
  writer.write_u8(k_format);
  writer.write_u8(secret_number_);
  writer.write_bytes(salt_);
  quic::fixed::write_u64(writer, ++counter_);
  quic::fixed::write_address(writer, datagram.path.remote);
  writer.write_u8(static_cast<std::uint8_t>(datagram.ecn));
  writer.write_bytes(datagram.payload);
  const quic::SealJob job{
      .packet = out.data(),
      .payload_length = static_cast<std::uint32_t>(writer.size() - k_header_length),
      .header_length = static_cast<std::uint16_t>(k_header_length),
      .packet_number_length = 0,
      .path = {},
      .number = counter_};
  aead_->seal({&job, 1});
  return writer.size() + quic::k_aead_tag_length;
}

// --- ForwardOpener ------------------------------------------------------------------------------

ForwardOpener::ForwardOpener(quic::ServerSecrets secrets, std::vector<std::uint8_t> receiver)
    : secrets_(std::move(secrets)), receiver_(std::move(receiver)) {}

std::unique_ptr<quic::Aead> ForwardOpener::make_key(std::uint8_t secret_number, Bytes salt) const {
  const auto secret = std::ranges::find(secrets_, secret_number, &quic::ServerSecret::number);
  if (secret == secrets_.end()) return nullptr;
  return forwarding_key(*secret, salt, receiver_);
}

std::optional<quic::Datagram> ForwardOpener::open(MutableBytes sealed, quic::Time now) {
  if (sealed.size() < k_header_length + quic::k_aead_tag_length) return std::nullopt;
  quic::Reader reader(sealed);
  if (reader.read_u8() != k_format) return std::nullopt;
  const std::uint8_t number = reader.read_u8();
  const Bytes salt = reader.read_bytes(k_salt_length);
  const quic::PacketNumber counter = quic::fixed::read_u64(reader);
  const auto known = std::ranges::find_if(senders_, [&](const Sender& sender) {
    return sender.secret_number == number && std::ranges::equal(sender.salt, salt);
  });
  if (known != senders_.end()) {
    senders_.splice(senders_.begin(), senders_, known);
    return open_with(*senders_.front().aead, sealed, counter);
  }
  if (!new_salts_.take(now)) return std::nullopt;
  Sender sender{.secret_number = number, .salt = {}, .aead = make_key(number, salt)};
  if (!sender.aead) return std::nullopt;
  std::ranges::copy(salt, sender.salt.begin());
  const auto opened = open_with(*sender.aead, sealed, counter);
  if (!opened) return std::nullopt;
  senders_.push_front(std::move(sender));
  if (senders_.size() > k_max_senders) senders_.pop_back();
  return opened;
}

std::optional<quic::Datagram> ForwardOpener::open_with(quic::Aead& aead, MutableBytes sealed,
                                                       quic::PacketNumber counter) {
  const MutableBytes payload = sealed.subspan(k_header_length);
  if (!aead.open_in_place(sealed.first(k_header_length), payload, {}, counter)) return std::nullopt;
  const MutableBytes clear = payload.first(payload.size() - quic::k_aead_tag_length);
  quic::Reader reader(clear);
  quic::Datagram out;
  out.path.remote = quic::fixed::read_address(reader);
  out.ecn = static_cast<quic::Ecn>(reader.read_u8() & k_ecn_bits);
  if (!reader.ok()) return std::nullopt;
  out.payload = clear.last(reader.remaining());
  return out;
}

}  // namespace sheaf::machines
