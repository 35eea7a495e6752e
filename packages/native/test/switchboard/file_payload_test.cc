#include "switchboard/file_payload.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "switchboard/test_file.h"

namespace sheaf::switchboard {
namespace {

using quic::PayloadRead;

constexpr std::size_t k_payload_length = 100'000;

TEST(FilePayload, ReadsTheFileAtItsOffsetsAndNothingElse) {
  TestFile file(k_payload_length);
  SharedFiles files(1);
  FilePayload payload(100, files.open(file.descriptor()), 5000, 1000);
  EXPECT_EQ(payload.available(), 1100u);
  std::vector<std::uint8_t> out(10);
  EXPECT_EQ(payload.read(100, out), PayloadRead::kDone);
  EXPECT_EQ(out[3], TestFile::byte_at(5003));
  EXPECT_EQ(payload.read(1090, out), PayloadRead::kDone);
  EXPECT_EQ(out[9], TestFile::byte_at(5999));
  EXPECT_EQ(payload.read(1091, out), PayloadRead::kNotThere);
  EXPECT_EQ(payload.read(99, out), PayloadRead::kNotThere);
  EXPECT_EQ(payload.read(UINT64_MAX - 4, out), PayloadRead::kNotThere);
}

TEST(FilePayload, IsBrokenOnceTheFileHasBecomeShorter) {
  TestFile file(k_payload_length);
  SharedFiles files(1);
  FilePayload payload(0, files.open(file.descriptor()), 0, k_payload_length);
  std::vector<std::uint8_t> out(10);
  EXPECT_EQ(payload.read(995, out), PayloadRead::kDone);
  ASSERT_EQ(ftruncate(file.descriptor(), 1000), 0);
  EXPECT_EQ(payload.read(995, out), PayloadRead::kBroken);
}

TEST(FilePayload, IsBrokenOnceTheFileHasOtherBytes) {
  TestFile file(k_payload_length);
  const timespec old[2]{{1'000'000'000, 0}, {1'000'000'000, 0}};
  ASSERT_EQ(futimens(file.descriptor(), old), 0);
  SharedFiles files(1);
  FilePayload payload(0, files.open(file.descriptor()), 0, k_payload_length);
  std::vector<std::uint8_t> out(10);
  EXPECT_EQ(payload.read(50'000, out), PayloadRead::kDone);
  ASSERT_EQ(pwrite(file.descriptor(), "x", 1, 0), 1);
  EXPECT_EQ(payload.read(50'000, out), PayloadRead::kBroken);
}

// A file that is replaced keeps its bytes, though its count of names changes.
TEST(FilePayload, GoesOnWhenTheNameLeadsToANewFile) {
  TestFile file(k_payload_length);
  SharedFiles files(1);
  FilePayload payload(0, files.open(file.descriptor()), 0, k_payload_length);
  ASSERT_EQ(fchmod(file.descriptor(), 0600), 0);  // changes the inode alone, as `rename` does
  std::vector<std::uint8_t> out(10);
  EXPECT_EQ(payload.read(0, out), PayloadRead::kDone);
}

TEST(SharedFiles, OpensAFileOnceForAllOfItsReaders) {
  TestFile file(k_payload_length);
  SharedFiles files(8);
  auto first = files.open(file.descriptor());
  const auto second = files.open(file.descriptor());
  ASSERT_TRUE(first);
  EXPECT_EQ(first, second);
  EXPECT_NE(first->descriptor(), file.descriptor());
  EXPECT_EQ(files.count(), 1u);
  const int descriptor = first->descriptor();
  first.reset();
  EXPECT_NE(fcntl(descriptor, F_GETFD), -1);
}

TEST(SharedFiles, ClosesAFileAfterItsLastReader) {
  TestFile file(k_payload_length);
  SharedFiles files(8);
  const int descriptor = files.open(file.descriptor())->descriptor();
  EXPECT_EQ(fcntl(descriptor, F_GETFD), -1);
  EXPECT_EQ(files.count(), 0u);
}

TEST(SharedFiles, OpensAFileAnewOnceItHasChanged) {
  TestFile file(k_payload_length);
  SharedFiles files(8);
  const auto before = files.open(file.descriptor());
  ASSERT_EQ(ftruncate(file.descriptor(), 10), 0);
  const auto after = files.open(file.descriptor());
  EXPECT_NE(before, after);
  EXPECT_FALSE(before->unchanged());
  EXPECT_TRUE(after->unchanged());
}

TEST(SharedFiles, AreBounded) {
  TestFile one(10);
  TestFile two(10);
  SharedFiles files(1);
  auto open = files.open(one.descriptor());
  EXPECT_TRUE(open);
  EXPECT_FALSE(files.open(two.descriptor()));
  EXPECT_TRUE(files.open(one.descriptor()));
  open.reset();
  EXPECT_TRUE(files.open(two.descriptor()));
  EXPECT_FALSE(files.open(-1));
}

}  // namespace
}  // namespace sheaf::switchboard
