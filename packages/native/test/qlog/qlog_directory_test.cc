#include "qlog/qlog_directory.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>

namespace sheaf::qlog {
namespace {

namespace files = std::filesystem;

class QlogDirectoryTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = files::temp_directory_path() / "sheaf-qlog-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  void TearDown() override { files::remove_all(path_); }

  static QlogFile::Trace trace(std::uint8_t id) {
    const std::array<std::uint8_t, 8> bytes = {id, 2, 3, 4, 5, 6, 7, 8};
    return {quic::Role::kServer, quic::ConnectionId(quic::Bytes(bytes)), quic::Time{}};
  }
  std::size_t count() const {
    return static_cast<std::size_t>(
        std::distance(files::directory_iterator(path_), files::directory_iterator()));
  }

  std::string path_;
};

TEST_F(QlogDirectoryTest, NeverWritesOverAFileWhoseNameThePeerChose) {
  const std::string name = path_ + "/0102030405060708.sqlog";
  std::ofstream(name) << "precious";
  QlogDirectory directory(path_);
  auto log = directory.create(trace(1));
  ASSERT_TRUE(log);
  directory.release(std::move(log));
  std::string content;
  std::ifstream(name) >> content;
  EXPECT_EQ(content, "precious");
  EXPECT_GT(files::file_size(path_ + "/0102030405060708-1.sqlog"), 0u);
}

TEST_F(QlogDirectoryTest, BoundsTheFilesThatAreOpen) {
  QlogDirectory directory(path_, {.max_open = 2, .max_kept = 10});
  auto first = directory.create(trace(1));
  auto second = directory.create(trace(2));
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(directory.create(trace(3)));
  directory.release(std::move(first));
  EXPECT_TRUE(directory.create(trace(3)));
}

TEST_F(QlogDirectoryTest, OldestFilesMakeRoom) {
  QlogDirectory directory(path_, {.max_open = 10, .max_kept = 3});
  for (std::uint8_t id = 1; id <= 8; ++id) directory.release(directory.create(trace(id)));
  EXPECT_EQ(count(), 3u);
  EXPECT_TRUE(files::exists(path_ + "/0802030405060708.sqlog"));
  EXPECT_FALSE(files::exists(path_ + "/0102030405060708.sqlog"));
}

TEST_F(QlogDirectoryTest, MetricsDoNotTearAReceivedPacketApart) {
  QlogDirectory directory(path_);
  auto log = directory.create(trace(1));
  ASSERT_TRUE(log);
  log->packet_received(quic::Time{}, {});
  log->frame_received(quic::PingFrame{});
  log->metrics_updated(quic::Time{}, {});
  log->frame_received(quic::PingFrame{});
  directory.release(std::move(log));
  std::ifstream file(path_ + "/0102030405060708.sqlog");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_NE(lines[1].find(R"([{"frame_type":"ping"},{"frame_type":"ping"}]}})"), std::string::npos);
  EXPECT_NE(lines[2].find("recovery_metrics_updated"), std::string::npos);
}

}  // namespace
}  // namespace sheaf::qlog
