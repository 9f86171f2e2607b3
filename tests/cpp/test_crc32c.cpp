#include <cstdint>
#include <random>

#include "check.hpp"
#include "lowtide/ops.hpp"

namespace {

using lowtide::Isa;

std::vector<std::uint8_t> draw(std::size_t n) {
  std::mt19937 random(static_cast<unsigned>(n));
  std::vector<std::uint8_t> data(n);
  for (auto& byte : data) byte = static_cast<std::uint8_t>(random());
  return data;
}

// The definition, a bit at a time.
std::uint32_t truth(std::uint32_t sum, const std::uint8_t* data, std::size_t n) {
  std::uint32_t state = ~sum;
  for (std::size_t i = 0; i < n; ++i) {
    state ^= data[i];
    for (int bit = 0; bit < 8; ++bit) state = state & 1 ? state >> 1 ^ 0x82f63b78u : state >> 1;
  }
  return ~state;
}

std::string at(Isa level, std::size_t n) { return std::to_string(n) + " bytes at " + lowtide::isa_name(level); }

// Around the lengths where a level goes from one loop to another.
const std::size_t sizes[] = {0,    1,    7,     8,     9,     255,   256,   767,   768,   769,   1536,
                             4095, 4096, 12287, 12288, 12289, 13055, 13056, 13057, 24576, 25344, 40001};

}  // namespace

LOWTIDE_TEST(crc32c_of_known_bytes_is_the_published_sum_at_every_level) {
  const std::vector<std::uint8_t> digits = {'1', '2', '3', '4', '5', '6', '7', '8', '9'};
  const std::vector<std::uint8_t> zeros(32, 0), ones(32, 255);
  for (Isa level : lowtide::check::runnable_levels()) {
    const auto crc32c = lowtide::ops_at(level).crc32c;
    CHECK(crc32c(0, digits.data(), 9) == 0xe3069283u, lowtide::isa_name(level));
    CHECK(crc32c(0, zeros.data(), 32) == 0x8a9136aau, lowtide::isa_name(level));
    CHECK(crc32c(0, ones.data(), 32) == 0x62a8ab43u, lowtide::isa_name(level));
    CHECK(crc32c(0, nullptr, 0) == 0, lowtide::isa_name(level));
  }
}

LOWTIDE_TEST(crc32c_is_the_definition_for_any_length_and_alignment_at_every_level) {
  for (std::size_t n : sizes) {
    const auto data = draw(n + 7);
    for (std::size_t first = 0; first < 8; first += 3)
      for (Isa level : lowtide::check::runnable_levels())
        CHECK(lowtide::ops_at(level).crc32c(n, data.data() + first, n) == truth(n, data.data() + first, n),
              at(level, n));
  }
}

LOWTIDE_TEST(crc32c_continues_from_a_former_sum_at_every_level) {
  for (std::size_t n : sizes) {
    const auto data = draw(n);
    const std::size_t cut = n / 3;
    for (Isa level : lowtide::check::runnable_levels()) {
      const auto crc32c = lowtide::ops_at(level).crc32c;
      CHECK(crc32c(crc32c(0, data.data(), cut), data.data() + cut, n - cut) == crc32c(0, data.data(), n), at(level, n));
    }
  }
}
