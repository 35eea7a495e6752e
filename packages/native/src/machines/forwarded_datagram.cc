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

// What a datagram between machines is
constexpr std::uint8_t k_datagram = 1;
constexpr std::uint8_t k_query = 2;
constexpr std::uint8_t k_answer = 3;
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

std::optional<ForwardOpener::Opened> read_datagram(MutableBytes clear) {
  quic::Reader reader(clear);
  quic::Datagram out;
  out.path.remote = quic::fixed::read_address(reader);
  out.ecn = static_cast<quic::Ecn>(reader.read_u8() & k_ecn_bits);
  if (!reader.ok()) return std::nullopt;
  out.payload = clear.last(reader.remaining());
  return out;
}

std::optional<ForwardOpener::Opened> read_query(Bytes clear) {
  Nonce nonce;
  if (clear.size() != nonce.size()) return std::nullopt;
  std::ranges::copy(clear, nonce.begin());
  return nonce;
}

}  // namespace

std::array<std::uint8_t, k_answer_length> write_answer(const Nonce& nonce) {
  std::array<std::uint8_t, k_answer_length> out{k_answer};
  std::ranges::copy(nonce, out.begin() + 1);
  return out;
}

std::optional<Nonce> read_answer(Bytes datagram) {
  if (datagram.size() != k_answer_length || datagram.front() != k_answer) return std::nullopt;
  Nonce nonce;
  std::ranges::copy(datagram.subspan(1), nonce.begin());
  return nonce;
}

// --- ForwardSealer ------------------------------------------------------------------------------

ForwardSealer::ForwardSealer(const quic::ServerSecret& secret, Bytes receiver, quic::Random& random)
    : secret_number_(secret.number) {
  random.fill(salt_);
  aead_ = forwarding_key(secret, salt_, receiver);
}

void ForwardSealer::begin(quic::Writer& writer, std::uint8_t format) {
  writer.write_u8(format);
  writer.write_u8(secret_number_);
  writer.write_bytes(salt_);
  quic::fixed::write_u64(writer, ++counter_);
}

std::size_t ForwardSealer::seal(const quic::Datagram& datagram, MutableBytes out) {
  quic::Writer writer(out);
  begin(writer, k_datagram);
  quic::fixed::write_address(writer, datagram.path.remote);
  writer.write_u8(static_cast<std::uint8_t>(datagram.ecn));
  writer.write_bytes(datagram.payload);
  return finish(writer, out);
}

std::size_t ForwardSealer::seal_query(const Nonce& nonce, MutableBytes out) {
  quic::Writer writer(out);
  begin(writer, k_query);
  writer.write_bytes(nonce);
  return finish(writer, out);
}

std::size_t ForwardSealer::finish(const quic::Writer& writer, MutableBytes out) {
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

std::optional<ForwardOpener::Opened> ForwardOpener::open(MutableBytes sealed, quic::Time now) {
  if (sealed.size() < k_header_length + quic::k_aead_tag_length) return std::nullopt;
  quic::Reader reader(sealed);
  const std::uint8_t format = reader.read_u8();
  if (format != k_datagram && format != k_query) return std::nullopt;
  const std::uint8_t number = reader.read_u8();
  const Bytes salt = reader.read_bytes(k_salt_length);
  const quic::PacketNumber counter = quic::fixed::read_u64(reader);
  const auto known = std::ranges::find_if(senders_, [&](const Sender& sender) {
    return sender.secret_number == number && std::ranges::equal(sender.salt, salt);
  });
  if (known != senders_.end()) {
    senders_.splice(senders_.begin(), senders_, known);
    return open_with(senders_.front(), sealed, counter);
  }
  if (!new_salts_.take(now)) return std::nullopt;
  Sender sender{
      .secret_number = number, .salt = {}, .aead = make_key(number, salt), .next_query = 0};
  if (!sender.aead) return std::nullopt;
  std::ranges::copy(salt, sender.salt.begin());
  const auto opened = open_with(sender, sealed, counter);
  if (!opened) return std::nullopt;
  senders_.push_front(std::move(sender));
  if (senders_.size() > k_max_senders) senders_.pop_back();
  return opened;
}

std::optional<ForwardOpener::Opened> ForwardOpener::open_with(Sender& sender, MutableBytes sealed,
                                                              quic::PacketNumber counter) {
  const bool is_query = sealed.front() == k_query;
  if (is_query && counter < sender.next_query) return std::nullopt;
  const MutableBytes payload = sealed.subspan(k_header_length);
  if (!sender.aead->open_in_place(sealed.first(k_header_length), payload, {}, counter))
    return std::nullopt;
  const MutableBytes clear = payload.first(payload.size() - quic::k_aead_tag_length);
  if (!is_query) return read_datagram(clear);
  sender.next_query = counter + 1;
  return read_query(clear);
}

}  // namespace sheaf::machines
