// UTF-8: what is a character, and how one is written.
#pragma once

#include <cstddef>
#include <string>

namespace lowtide {

// Bytes of the UTF-8 sequence at `at`, 0 where there is none: no overlong form, no surrogate, nothing above U+10FFFF.
inline std::size_t utf8_bytes(const char* at, const char* end) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(at[i]); };
  const auto goes_on = [&](std::size_t i) { return (byte(i) & 0xc0) == 0x80; };
  const std::size_t left = static_cast<std::size_t>(end - at);
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return left >= 2 && goes_on(1) ? 2 : 0;
  if (first >= 0xe0 && first < 0xf0) {
    if (left < 3 || !goes_on(1) || !goes_on(2)) return 0;
    if ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) >= 0xa0)) return 0;
    return 3;
  }
  if (first >= 0xf0 && first < 0xf5) {
    if (left < 4 || !goes_on(1) || !goes_on(2) || !goes_on(3)) return 0;
    if ((first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) >= 0x90)) return 0;
    return 4;
  }
  return 0;
}

// Appends a code point; a lone surrogate takes three bytes, as if it were a character.
inline void append_utf8(std::string& out, unsigned code) {
  const auto put = [&](unsigned byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xc0 | code >> 6);
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3f));
  } else {
    put(0xf0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3f));
    put(0x80 | (code >> 6 & 0x3f));
  }
  put(0x80 | (code & 0x3f));
}

}  // namespace lowtide
