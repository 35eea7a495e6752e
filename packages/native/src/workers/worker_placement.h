#pragma once

#include <memory>

#include "endpoint/placement.h"
#include "workers/worker_group.h"

namespace sheaf::workers {

// The place of one worker's endpoint in its group
class WorkerPlacement final : public quic::Placement {
 public:
  WorkerPlacement(std::shared_ptr<WorkerGroup> group, unsigned worker)
      : group_(std::move(group)), worker_(worker) {}

  std::optional<quic::SteeringMark> mark() const override {
    return quic::SteeringMark{group_->steering(), worker_};
  }
  void add(const quic::ConnectionId& id, Source source) override;
  void remove(const quic::ConnectionId& id) override;
  quic::Owner pass_on(const quic::Datagram& datagram, const quic::DatagramHeader& header,
                      quic::Origin origin) override;
  std::optional<std::string> scope_of_lost(quic::Bytes server_id) const override {
    return group_->scope_of_lost(server_id);
  }
  void ask_for_room(const std::optional<quic::NetworkKey>& network) override {
    group_->ask_for_room(worker_, network);
  }

 private:
  bool leads_here(const quic::ConnectionId& id) const;
  quic::Owner pass_to_owner(const quic::Datagram& datagram, const quic::DatagramHeader& header);
  unsigned owner_of(quic::Bytes id, const quic::DatagramHeader& header) const;

  std::shared_ptr<WorkerGroup> group_;
  unsigned worker_;
};

}  // namespace sheaf::workers
