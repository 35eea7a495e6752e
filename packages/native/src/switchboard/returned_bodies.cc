#include "switchboard/returned_bodies.h"

#include <algorithm>
#include <utility>

namespace sheaf::switchboard {

namespace {

// Room that is worth a call of the application
constexpr std::size_t k_enough_room = quic::HeldPayload::k_max_held / 4;

}  // namespace

// What the executor has of a body
class ReturnedBodies::Source final : public quic::PayloadSource {
 public:
  // References into an unordered map stay valid.
  Source(ReturnedBodies& owner, Number number, Body& body,
         std::unique_ptr<quic::PayloadSource> inner)
      : owner_(owner), number_(number), body_(body), inner_(std::move(inner)) {}
  ~Source() override {
    owner_.held_ -= body_.most_held;
    const Event event{.body = number_, .over = true, .sent = body_.sent};
    owner_.bodies_.erase(number_);
    owner_.report(event);
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  std::uint64_t begin() const override { return body_.place.start; }
  std::optional<std::uint64_t> end() const override {
    return body_.place.start + body_.place.length;
  }
  std::uint64_t available() const override { return inner_->available(); }
  [[nodiscard]] quic::PayloadRead read(std::uint64_t offset, quic::MutableBytes out) override {
    const quic::PayloadRead outcome = inner_->read(offset, out);
    if (outcome == quic::PayloadRead::kDone) {
      body_.sent = std::max(body_.sent, offset + out.size() - body_.place.start);
    }
    return outcome;
  }
  void release(std::uint64_t offset) override {
    inner_->release(offset);
    if (!body_.awaited || body_.held->room() < k_enough_room) return;
    body_.awaited = false;
    owner_.report({.body = number_});
  }

 private:
  ReturnedBodies& owner_;
  Number number_;
  Body& body_;
  std::unique_ptr<quic::PayloadSource> inner_;
};

ReturnedBodies::Followed ReturnedBodies::follow(const Place& place,
                                                std::unique_ptr<quic::PayloadSource> source) {
  return add({.place = place}, std::move(source));
}

ReturnedBodies::Followed ReturnedBodies::hold(const Place& place) {
  const auto most = static_cast<std::size_t>(
      std::min<std::uint64_t>(place.length, quic::HeldPayload::k_max_held));
  if (held_ + most > k_max_held) return {};
  held_ += most;
  auto source = std::make_unique<quic::HeldPayload>(place.start);
  quic::HeldPayload* const held = source.get();
  return add({.place = place, .held = held, .most_held = most}, std::move(source));
}

ReturnedBodies::Followed ReturnedBodies::add(const Body& body,
                                             std::unique_ptr<quic::PayloadSource> source) {
  const Number number = next_++;
  Body& kept = bodies_.emplace(number, body).first->second;
  return {number, std::make_unique<Source>(*this, number, kept, std::move(source))};
}

quic::HeldPayload* ReturnedBodies::held(Number body) {
  const auto found = bodies_.find(body);
  return found == bodies_.end() ? nullptr : found->second.held;
}

void ReturnedBodies::await_room(Number body) {
  const auto found = bodies_.find(body);
  if (found != bodies_.end() && found->second.held) found->second.awaited = true;
}

const ReturnedBodies::Place* ReturnedBodies::find(Number body) const {
  const auto found = bodies_.find(body);
  return found == bodies_.end() ? nullptr : &found->second.place;
}

std::uint64_t ReturnedBodies::sent(Number body) const {
  const auto found = bodies_.find(body);
  return found == bodies_.end() ? 0 : found->second.sent;
}

void ReturnedBodies::report(const Event& event) {
  events_.push_back(event);
  notify_();
}

}  // namespace sheaf::switchboard
