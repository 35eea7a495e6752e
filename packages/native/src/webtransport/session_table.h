#pragma once

#include <unordered_map>

#include "webtransport/session.h"

namespace sheaf::webtransport {

// Holds the WebTransport sessions of one HTTP/3 connection by the stream of their CONNECT requests.
class SessionTable {
 public:
  void add(StreamId id, Dialect dialect) { sessions_.try_emplace(id, dialect); }
  void remove(StreamId id) { sessions_.erase(id); }
  // Returns null when there is no such session.
  Session* find(StreamId id) {
    const auto found = sessions_.find(id);
    return found == sessions_.end() ? nullptr : &found->second;
  }
  const Session* find(StreamId id) const {
    const auto found = sessions_.find(id);
    return found == sessions_.end() ? nullptr : &found->second;
  }
  // Returns null unless the session is established.
  Session* find_established(StreamId id) {
    Session* session = find(id);
    return session && session->state() == Session::State::kEstablished ? session : nullptr;
  }
  std::size_t size() const { return sessions_.size(); }
  auto begin() const { return sessions_.begin(); }
  auto end() const { return sessions_.end(); }

 private:
  std::unordered_map<StreamId, Session> sessions_;
};

}  // namespace sheaf::webtransport
