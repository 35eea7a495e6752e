#include "fec/kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "fec/field.h"
#include "util/random.h"

namespace sheaf::quic::fec {
namespace {

// Multiplies as the definition says: by polynomials over bits, without a table.
std::uint8_t multiply_by_definition(unsigned left, unsigned right) {
  unsigned product = 0;
  for (unsigned bit = 0; bit < 8; ++bit) {
    if ((right >> bit & 1) != 0) product ^= left << bit;
  }
  for (unsigned bit = 15; bit >= 8; --bit) {
    if ((product >> bit & 1) != 0) product ^= k_field_polynomial << (bit - 8);
  }
  return static_cast<std::uint8_t>(product);
}

std::vector<const Kernel*> kernels_here() {
  std::vector<const Kernel*> found;
  for (const KernelKind kind : k_kernels_by_preference) {
    if (const Kernel* kernel = find_kernel(kind)) found.push_back(kernel);
  }
  return found;
}

TEST(Field, MultipliesAndInvertsByTheDefinition) {
  for (unsigned left = 0; left < 256; ++left) {
    for (unsigned right = 0; right < 256; ++right) {
      ASSERT_EQ(multiply(static_cast<std::uint8_t>(left), static_cast<std::uint8_t>(right)),
                multiply_by_definition(left, right));
    }
    const auto value = static_cast<std::uint8_t>(left);
    if (left == 0) continue;
    ASSERT_EQ(multiply(value, inverse(value)), 1);
  }
}

TEST(Kernel, MultipliesAll65536Pairs) {
  std::vector<std::uint8_t> source(256);
  for (unsigned i = 0; i < 256; ++i) source[i] = static_cast<std::uint8_t>(i);
  for (const Kernel* kernel : kernels_here()) {
    for (unsigned coefficient = 0; coefficient < 256; ++coefficient) {
      std::vector<std::uint8_t> destination(256, 0x5a);
      kernel->multiply_add(destination.data(), source.data(),
                           static_cast<std::uint8_t>(coefficient), 256);
      for (unsigned i = 0; i < 256; ++i) {
        ASSERT_EQ(destination[i], 0x5a ^ multiply_by_definition(coefficient, i)) << kernel->name;
      }
    }
  }
}

// Buffers end where their bytes end, so that AddressSanitizer sees a read behind them, too.
void check_rows(const Kernel& kernel, std::size_t rows, std::size_t length, std::size_t shift,
                Random& random) {
  std::vector<std::uint8_t> source(shift + length);
  random.fill(source);
  std::vector<std::vector<std::uint8_t>> destinations;
  std::uint8_t* targets[k_max_rows_together];
  std::uint8_t coefficients[k_max_rows_together];
  random.fill(coefficients);
  for (std::size_t i = 0; i < rows; ++i) {
    destinations.emplace_back(shift + i + length + 70);
    random.fill(destinations.back());
  }
  const auto before = destinations;
  for (std::size_t i = 0; i < rows; ++i) targets[i] = destinations[i].data() + shift + i;
  kernel.multiply_add_rows(targets, coefficients, rows, source.data() + shift, length);
  for (std::size_t i = 0; i < rows; ++i) {
    auto expected = before[i];
    for (std::size_t at = 0; at < length; ++at) {
      expected[shift + i + at] ^= multiply(coefficients[i], source[shift + at]);
    }
    ASSERT_EQ(destinations[i], expected)
        << kernel.name << ": " << rows << " rows of " << length << " bytes at " << shift;
  }
}

TEST(Kernel, AddsOneToFourRowsOfAnyLengthAtAnyAddress) {
  SeededRandom random{1};
  for (const Kernel* kernel : kernels_here()) {
    for (std::size_t rows = 1; rows <= k_max_rows_together; ++rows) {
      for (std::size_t length = 0; length <= 200; ++length) {
        check_rows(*kernel, rows, length, length % 5, random);
      }
      for (const std::size_t length : {255, 256, 257, 1199, 1337, 1339, 1350, 4001, 8999}) {
        for (std::size_t shift = 0; shift < 4; ++shift) {
          check_rows(*kernel, rows, length, 13 * shift, random);
        }
      }
    }
  }
}

TEST(Kernel, PrefersGfniThenIsal) {
  const auto kernels = kernels_here();
  ASSERT_FALSE(kernels.empty());
  EXPECT_EQ(&best_kernel(), kernels.front());
  std::set<std::string> names;
  for (const Kernel* kernel : kernels) names.insert(kernel->name);
  EXPECT_EQ(names.size(), kernels.size());
  EXPECT_TRUE(names.contains("portable"));
#if SHEAF_HAVE_ISA_L
  EXPECT_TRUE(names.contains("isal"));
#endif
}

}  // namespace
}  // namespace sheaf::quic::fec
