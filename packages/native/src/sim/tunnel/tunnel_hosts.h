#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "sim/tunnel/inner_packet_delays.h"
#include "sim/tunnel/report_reader.h"
#include "sim/tunnel/tunnel_end.h"
#include "tunnel/feedback_meter.h"

namespace sheaf::quic {

// The end of an inner connection as a host of its own, which notes its packets: the server's, or
// that of a client without a tunnel
class InnerHost final : public Host {
 public:
  InnerHost(ConnectionHost& inner, InnerPacketDelays& delays, bool sends)
      : inner_(inner), delays_(delays), sends_(sends) {}

  void receive(const Datagram& datagram, Time now) override {
    if (!sends_) delays_.on_received(datagram.payload, now);
    inner_.receive(datagram, now);
    if (reports_ != nullptr) reports_->read(now);
  }
  void poll_transmit(TransmitBatch& batch, Time now) override;
  // Makes a server obey reports. `reports` outlives this host.
  void obey(ReportReader& reports) { reports_ = &reports; }
  Time next_timeout() const override { return inner_.next_timeout(); }
  void on_timeout(Time now) override { inner_.on_timeout(now); }

 private:
  ConnectionHost& inner_;
  InnerPacketDelays& delays_;
  bool sends_;
  ReportReader* reports_ = nullptr;
};

// A client whose inner connections run through its tunnel
class TunnelClientHost final : public Host {
 public:
  struct Flow {
    ConnectionHost* inner = nullptr;  // null: another tunnel carries the flow
    AddressPair path;                 // as the inner connection sees it
    InnerPacketDelays* delays = nullptr;
  };
  TunnelClientHost(TunnelEnd& tunnel, std::vector<Flow> flows);

  void receive(const Datagram& datagram, Time now) override {
    tunnel_.outer.receive(datagram, now);
  }
  void poll_transmit(TransmitBatch& batch, Time now) override;
  Time next_timeout() const override;
  void on_timeout(Time now) override;
  // Gives a flow's server the tunnel's rate as the last report told it, about whichever flow.
  void start_warm(std::size_t flow);

 private:
  bool carries(std::size_t flow) const {
    return flow < flows_.size() && flows_[flow].inner != nullptr;
  }

  TunnelEnd& tunnel_;
  std::vector<Flow> flows_;
  std::optional<FeedbackReport> last_report_;
  std::vector<std::uint8_t> buffer_;
};

// The server of a tunnel, with a socket towards the server of each flow
class TunnelServerHost final : public Host {
 public:
  // `targets`: from this server to that of each flow
  TunnelServerHost(TunnelEnd& tunnel, std::vector<AddressPair> targets);

  void receive(const Datagram& datagram, Time now) override;
  void poll_transmit(TransmitBatch& batch, Time now) override;
  Time next_timeout() const override;
  void on_timeout(Time now) override;
  // Reports to the client about each flow; where flows share a queue, about all of them to the one
  // that sent last.
  void start_reports() { meters_.emplace(tunnel_.fair() ? targets_.size() : 1); }

 private:
  struct Outgoing {
    std::size_t flow = 0;
    std::vector<std::uint8_t> packet;
  };
  struct Meter {
    FeedbackMeter of_queue;
    std::size_t flow = 0;  // that sent last
  };
  void report(Meter& meter, Time now);

  TunnelEnd& tunnel_;
  std::vector<AddressPair> targets_;
  std::optional<std::vector<Meter>> meters_;
  std::deque<Outgoing> outgoing_;
};

// Passes packets on between clients and servers (MFT).
class ForwarderHost final : public Host {
 public:
  // Both as the forwarder sees them
  struct Rule {
    AddressPair client;
    AddressPair server;
  };
  explicit ForwarderHost(std::vector<Rule> rules) : rules_(std::move(rules)) {}

  void receive(const Datagram& datagram, Time now) override;
  void poll_transmit(TransmitBatch& batch, Time now) override;
  Time next_timeout() const override { return k_never; }
  void on_timeout(Time) override {}

 private:
  struct Outgoing {
    AddressPair path;
    Ecn ecn = Ecn::kNotEct;
    std::vector<std::uint8_t> packet;
  };
  std::vector<Rule> rules_;
  std::deque<Outgoing> outgoing_;
};

}  // namespace sheaf::quic
