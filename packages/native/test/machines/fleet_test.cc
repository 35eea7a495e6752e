#include "machines/fleet.h"

#include <gtest/gtest.h>

#include <map>

#include "crypto/server_secrets.h"

namespace sheaf::machines {
namespace {

using quic::ConnectionId;
using quic::DatagramHeader;
using quic::RoutableIds;

constexpr std::uint8_t k_machines = 5;

std::vector<std::uint8_t> server(std::uint8_t number) { return {0, number}; }

Machine machine(std::uint8_t number, bool opens = true) {
  return {server(number), {}, opens, false, {}};
}

Fleet fleet_of(std::uint8_t own, bool encrypted = true, std::uint8_t count = k_machines,
               bool shares_first = true) {
  Fleet fleet({.id = server(own), .encrypted = encrypted},
              {quic::server_secret(1), quic::server_secret(2)}, shares_first);
  std::vector<Machine> machines;
  for (std::uint8_t other = 0; other < count; ++other)
    if (other != own) machines.push_back(machine(other));
  fleet.set_machines(std::move(machines));
  return fleet;
}

// Returns the server id of the owner as `own` sees it.
std::vector<std::uint8_t> owner(Fleet& fleet, std::uint8_t own, const ConnectionId& id,
                                bool first) {
  DatagramHeader header{.kind = first ? DatagramHeader::Kind::kLong : DatagramHeader::Kind::kShort,
                        .first_byte = 0xc0,
                        .version = quic::k_version_1,
                        .destination = id.view()};
  const auto found = fleet.owner_of(header);
  return found ? fleet.machines()[*found].server_id : server(own);
}

TEST(Fleet, FindsTheServerInConnectionIds) {
  quic::SeededRandom random(1);
  for (const bool encrypted : {true, false}) {
    for (std::uint8_t made_by = 0; made_by < k_machines; ++made_by) {
      RoutableIds ids({.id = server(made_by), .encrypted = encrypted}, quic::server_secret(2), 2,
                      std::make_shared<RoutableIds::Nonces>());
      const ConnectionId id = ids.make(random);
      for (std::uint8_t own = 0; own < k_machines; ++own) {
        Fleet fleet = fleet_of(own, encrypted);
        EXPECT_EQ(owner(fleet, own, id, false), server(made_by));
        EXPECT_EQ(owner(fleet, own, id, true), server(made_by));
      }
    }
  }
}

TEST(Fleet, AllAgreeOnFirstPacketsAndShareThem) {
  quic::SeededRandom random(2);
  std::map<std::vector<std::uint8_t>, int> shares;
  for (int i = 0; i < 500; ++i) {
    ConnectionId id;
    id.length = static_cast<std::uint8_t>(8 + random.below(13));
    random.fill({id.bytes.data(), id.length});
    Fleet first = fleet_of(0);
    const auto chosen = owner(first, 0, id, true);
    ++shares[chosen];
    for (std::uint8_t own = 1; own < k_machines; ++own) {
      Fleet fleet = fleet_of(own);
      EXPECT_EQ(owner(fleet, own, id, true), chosen);
    }
    // Where the last machine is gone, its ids move, and no others.
    Fleet smaller = fleet_of(0, true, k_machines - 1);
    const auto after = owner(smaller, 0, id, true);
    if (chosen != server(k_machines - 1)) EXPECT_EQ(after, chosen);
  }
  ASSERT_EQ(shares.size(), k_machines);
  for (const auto& [machine, count] : shares) EXPECT_GT(count, 50);
}

TEST(Fleet, FirstPacketsStayWhereMachinesHaveAddressesOfTheirOwn) {
  quic::SeededRandom random(4);
  ConnectionId id;
  id.length = 8;
  for (int i = 0; i < 50; ++i) {
    random.fill({id.bytes.data(), id.length});
    Fleet fleet = fleet_of(1, true, k_machines, false);
    EXPECT_EQ(owner(fleet, 1, id, true), server(1));
  }
}

TEST(Fleet, NewConnectionsGoToMachinesThatTakeThem) {
  quic::SeededRandom random(5);
  Fleet fleet({.id = server(0)}, {quic::server_secret(1)}, true);
  fleet.set_machines({machine(1, false), machine(2)});
  RoutableIds ids({.id = server(1)}, quic::server_secret(1), 1,
                  std::make_shared<RoutableIds::Nonces>());
  for (int i = 0; i < 100; ++i) {
    ConnectionId id;
    id.length = 8;
    random.fill({id.bytes.data(), id.length});
    EXPECT_NE(owner(fleet, 0, id, true), server(1));
    EXPECT_EQ(owner(fleet, 0, ids.make(random), false), server(1));
  }
}

// What a machine that is lost had opened, others may open.
TEST(Fleet, AllAgreeWhoOpensInPlaceOfAnother) {
  quic::SeededRandom random(6);
  RoutableIds ids({.id = server(1)}, quic::server_secret(1), 1,
                  std::make_shared<RoutableIds::Nonces>());
  for (int i = 0; i < 50; ++i) {
    const ConnectionId id = ids.make(random);
    const DatagramHeader first{.kind = DatagramHeader::Kind::kLong,
                               .first_byte = 0xc0,
                               .version = quic::k_version_1,
                               .destination = id.view()};
    DatagramHeader later = first;
    later.kind = DatagramHeader::Kind::kShort;
    std::vector<std::vector<std::uint8_t>> openers;
    for (const std::uint8_t own : {0, 2}) {
      Fleet fleet = fleet_of(own, true, 3);
      auto machines = fleet.machines();
      for (Machine& machine : machines) machine.opens = machine.server_id != server(1);
      fleet.set_machines(machines);
      const auto opener = fleet.opener_of(first);
      openers.push_back(opener ? machines[*opener].server_id : server(own));
      EXPECT_FALSE(fleet.opener_of(later));
      EXPECT_FALSE(fleet_of(own, true, 3, false).opener_of(first));
    }
    EXPECT_EQ(openers[0], openers[1]);
    EXPECT_NE(openers[0], server(1));
  }
}

TEST(Fleet, KeepsWhatNobodyKnows) {
  quic::SeededRandom random(3);
  Fleet fleet = fleet_of(0);
  ConnectionId id;
  id.length = 12;
  for (int i = 0; i < 200; ++i) {
    random.fill({id.bytes.data(), id.length});
    id.bytes[0] = 0xff;  // names no secret
    EXPECT_EQ(owner(fleet, 0, id, false), server(0));
  }
  RoutableIds gone({.id = server(77)}, quic::server_secret(1), 1,
                   std::make_shared<RoutableIds::Nonces>());
  EXPECT_EQ(owner(fleet, 0, gone.make(random), false), server(0));
}

}  // namespace
}  // namespace sheaf::machines
