#include "multi_end/credit_leases.h"

#include <algorithm>

namespace sheaf::quic {

namespace {

constexpr std::array<Directionality, 2> k_directionalities{Directionality::kBidirectional,
                                                           Directionality::kUnidirectional};

// Bounds totals from another node to what fits into a frame.
std::uint64_t bounded(std::uint64_t total) { return std::min(total, k_max_varint); }

}  // namespace

// --- primary ------------------------------------------------------------------------------------

LeaseGrantor::Lessee* LeaseGrantor::find(BackendId backend) {
  const auto found = std::ranges::find_if(
      lessees_, [&](const Lessee& lessee) { return lessee.backend == backend && !lessee.gone; });
  return found == lessees_.end() ? nullptr : &*found;
}

bool LeaseGrantor::knows(BackendId backend) const {
  return const_cast<LeaseGrantor*>(this)->find(backend) != nullptr;
}

std::optional<LeaseGrantor::Totals> LeaseGrantor::totals(BackendId backend) const {
  const Lessee* lessee = const_cast<LeaseGrantor*>(this)->find(backend);
  if (!lessee) return std::nullopt;
  return Totals{lessee->granted, lessee->returned};
}

void LeaseGrantor::add(BackendId backend, PathId path, const StreamLease& lease) {
  remove(backend);
  Lessee& lessee = lessees_.emplace_back();
  lessee.backend = backend;
  lessee.path = path;
  lessee.granted = lessee.wanted = lease.credit;
  lessee.ids.ids = lease.ids;
}

void LeaseGrantor::remove(BackendId backend) {
  if (Lessee* lessee = find(backend)) lessee->gone = true;
}

void LeaseGrantor::settle(PathId path, const BackendUse& use, Time now) {
  const auto found = std::ranges::find(lessees_, path, &Lessee::path);
  if (found == lessees_.end()) return;
  const Lessee lessee = *found;
  lessees_.erase(found);
  limits_.settle(lessee.granted - lessee.returned, bounded(use.received));
  const auto untold = [](std::uint64_t all, std::uint64_t told) {
    return bounded(all) - std::min(bounded(all), told);
  };
  limits_.count_elsewhere(untold(use.sent, lessee.report.consumed),
                          untold(use.streams, lessee.report.streams_closed), now);
}

LeaseGrant LeaseGrantor::grant_of(const Lessee& lessee) {
  LeaseGrant grant = lessee.ids;
  grant.credit = lessee.granted;
  return grant;
}

std::uint64_t LeaseGrantor::claimants() const {
  const auto backends = static_cast<std::uint64_t>(std::ranges::count_if(lessees_, &Lessee::waits));
  return backends + (limits_.needs_credit() ? 1 : 0);
}

bool LeaseGrantor::give(Lessee& lessee, std::uint64_t claimants) {
  StreamLease wanted;
  wanted.credit = std::min(lessee.wanted - lessee.granted, limits_.credit() / claimants);
  const std::uint64_t given = limits_.lease_out(wanted).credit;
  lessee.granted += given;
  return given > 0;
}

std::optional<LeaseGrant> LeaseGrantor::on_request(BackendId backend, const LeaseRequest& request) {
  Lessee* lessee = find(backend);
  if (!lessee) return std::nullopt;
  lessee->wanted = std::max(
      lessee->wanted, std::min(bounded(request.credit), lessee->granted + k_max_credit_at_once));
  if (lessee->waits()) give(*lessee, claimants());
  for (std::size_t i = 0; i < k_directionalities.size(); ++i) {
    // Answers only if the newest lease is used up. A repeated request asks for a lease that was
    // given already.
    if (request.id_leases[i] != lessee->ids.id_leases[i] + 1) continue;
    StreamLease wanted;
    wanted.ids[i].count = k_ids_at_once;
    const StreamLease::Ids ids = limits_.lease_out(wanted).ids[i];
    if (ids.count == 0) continue;
    lessee->ids.ids[i] = ids;
    ++lessee->ids.id_leases[i];
  }
  return grant_of(*lessee);
}

void LeaseGrantor::on_return(BackendId backend, const LeaseReturn& given_up) {
  Lessee* lessee = find(backend);
  if (!lessee) return;
  // A backend cannot return more than it was given.
  const std::uint64_t returned = std::min(given_up.credit, lessee->granted);
  if (returned <= lessee->returned) return;
  limits_.settle(returned - lessee->returned, 0);
  lessee->returned = returned;
  lessee->wanted = lessee->granted;
}

void LeaseGrantor::on_report(BackendId backend, const ReceivedReport& report, Time now) {
  Lessee* lessee = find(backend);
  if (!lessee) return;
  ReceivedReport& known = lessee->report;
  const std::uint64_t consumed = std::max(known.consumed, bounded(report.consumed));
  const std::uint64_t closed = std::max(known.streams_closed, bounded(report.streams_closed));
  limits_.count_elsewhere(consumed - known.consumed, closed - known.streams_closed, now);
  known.consumed = consumed;
  known.streams_closed = closed;
  if (report.max_data > known.max_data && report.max_data <= k_max_varint) {
    known.max_data = report.max_data;
    limits_.raise_credit(report.max_data);
  }
}

std::vector<LeaseGrantor::Addressed> LeaseGrantor::poll_grants() {
  std::vector<Addressed> grants;
  std::uint64_t left = claimants();
  for (Lessee& lessee : lessees_) {
    if (!lessee.waits()) continue;
    // The last one gets all that is left. The client gives more when it learns that nothing is
    // left.
    if (give(lessee, left--)) grants.push_back({lessee.backend, grant_of(lessee)});
  }
  return grants;
}

std::uint64_t LeaseGrantor::leased() const {
  std::uint64_t sum = 0;
  for (const Lessee& lessee : lessees_) sum += lessee.granted - lessee.returned;
  return sum;
}

// --- backend -------------------------------------------------------------------------------------

LeaseHolder::LeaseHolder(LeasedLimits& limits, const StreamLease& lease)
    : limits_(limits),
      granted_(lease.credit),
      wanted_(lease.credit),
      leases_ids_{lease.ids[0].count > 0, lease.ids[1].count > 0} {}

std::optional<LeaseRequest> LeaseHolder::poll_request(Time now) {
  if (drains_) return std::nullopt;
  const std::uint64_t left = limits_.credit();
  const bool idle = !limits_.needs_credit();
  const bool news = wanted_ <= granted_ && left < (idle ? k_idle_credit : step_) / 2;
  if (news) {
    if (!idle) adapt_step(left, now);
    wanted_ = granted_ + std::max(idle ? k_idle_credit : step_, left + 1) - left;
  }
  LeaseRequest request{.credit = wanted_, .id_leases = id_leases_};
  bool ids_wanted = false;
  for (const Directionality directionality : k_directionalities) {
    const auto i = static_cast<std::size_t>(directionality);
    if (!leases_ids_[i] || limits_.ids_left(directionality) > 0) continue;
    ++request.id_leases[i];
    ids_wanted = true;
  }
  const bool waits = wanted_ > granted_ || ids_wanted;
  if (!waits) {
    repeat_request_at_ = k_never;
    asked_ = false;
    return std::nullopt;
  }
  if (!news && asked_ && now < repeat_request_at_) return std::nullopt;
  asked_ = true;
  repeat_request_at_ = now + k_repeat;
  return request;
}

void LeaseHolder::adapt_step(std::uint64_t left, Time now) {
  const std::uint64_t used = granted_ - returned_ - left;
  const Duration since = std::max(now - step_at_, k_idle);
  const std::uint64_t most = LeaseGrantor::k_max_credit_at_once;
  const auto recent = static_cast<std::uint64_t>(static_cast<double>(used - step_used_) *
                                                 (k_idle / std::chrono::duration<double>(since)));
  step_ = std::clamp(3 * std::min(recent, most), k_first_credit, most);
  step_used_ = used;
  step_at_ = now;
}

void LeaseHolder::on_grant(const LeaseGrant& grant) {
  for (const Directionality directionality : k_directionalities) {
    const auto i = static_cast<std::size_t>(directionality);
    if (grant.id_leases[i] == id_leases_[i] + 1 &&
        limits_.replace_ids(directionality, grant.ids[i])) {
      ++id_leases_[i];
      asked_ = false;
    }
  }
  const std::uint64_t total = std::min(grant.credit, k_max_varint);
  if (total <= granted_) return;
  const std::uint64_t more = total - granted_;
  granted_ = total;
  limits_.extend_credit(more);
  // Credit that arrives after the backend gave up is returned, too.
  if (drains_) returned_ += limits_.give_up_credit(more);
}

void LeaseHolder::trim_memory(Time now) {
  const std::uint64_t closed = limits_.streams_closed();
  if (limits_.in_use() || closed == trimmed_after_) {
    trim_at_ = k_never;
  } else if (trim_at_ == k_never) {
    trim_at_ = now + k_idle;
  } else if (now >= trim_at_) {
    limits_.trim_memory();
    trimmed_after_ = closed;
    trim_at_ = k_never;
  }
}

std::optional<LeaseReturn> LeaseHolder::poll_return(Time now) {
  trim_memory(now);
  const std::uint64_t left = limits_.credit();
  if (limits_.needs_credit() || left <= k_idle_credit || drains_) {
    idle_at_ = k_never;
  } else if (idle_at_ == k_never || left != idle_left_) {
    idle_at_ = now + k_idle;
    idle_left_ = left;
  }
  const bool news = now >= idle_at_;
  if (news) {
    returned_ += limits_.give_up_credit(left - k_idle_credit);
    idle_at_ = k_never;
    step_ = k_first_credit;
  }
  // Sends the last total twice, since the first message may have been lost.
  if (!news && now < repeat_return_at_) return std::nullopt;
  repeat_return_at_ = news ? now + k_repeat : k_never;
  return LeaseReturn{returned_};
}

LeaseReturn LeaseHolder::give_up() {
  drains_ = true;
  repeat_request_at_ = repeat_return_at_ = k_never;
  returned_ += limits_.give_up_credit(limits_.credit());
  return {returned_};
}

ReceivedReport LeaseHolder::present_report() const {
  return {.consumed = limits_.consumed(),
          .streams_closed = limits_.streams_closed(),
          .max_data = limits_.told_max_data()};
}

std::optional<ReceivedReport> LeaseHolder::poll_report(Time now) {
  // Reports often enough to keep the client's window open, whose smallest size is many times this.
  constexpr std::uint64_t k_worth_telling = 32 << 10;
  const ReceivedReport present = present_report();
  const bool urgent = present.consumed - told_.consumed >= k_worth_telling ||
                      present.max_data > told_.max_data ||
                      present.streams_closed >= told_.streams_closed + 16;
  const bool any =
      present.consumed > told_.consumed || present.streams_closed > told_.streams_closed || urgent;
  const bool again = repeat_report_at_ != k_never && now >= repeat_report_at_;
  if (any && repeat_report_at_ == k_never) repeat_report_at_ = now + k_repeat;
  if (!urgent && !again) return std::nullopt;
  // Sends the last report twice, since the first message may have been lost.
  repeat_report_at_ = any ? now + k_repeat : k_never;
  told_ = present;
  return present;
}

Time LeaseHolder::next_timeout() const {
  return std::min({repeat_request_at_, repeat_report_at_, idle_at_, repeat_return_at_, trim_at_});
}

}  // namespace sheaf::quic
