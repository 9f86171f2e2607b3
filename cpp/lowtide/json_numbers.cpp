#include "lowtide/json_numbers.hpp"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace lowtide {
namespace {

// Powers of ten from which on, and below which, a number is written with an exponent.
constexpr int kLargePower = 16, kSmallPower = -4;

void append(std::string& out, std::int64_t value) {
  char text[24];
  out.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

void append(std::string& out, double value) {
  char text[40];
  const char* end = std::to_chars(text, text + sizeof text, value, std::chars_format::scientific).ptr;
  std::string_view said(text, end - text);
  if (said.front() == '-') {
    out.push_back('-');
    said.remove_prefix(1);
  }
  const std::size_t mark = said.find('e');
  int power = 0;
  std::from_chars(said.data() + mark + (said[mark + 1] == '+' ? 2 : 1), end, power);
  if (power < kSmallPower || power >= kLargePower) {
    out.append(said);
    return;
  }
  std::string digits(said.substr(0, 1));
  if (mark > 2) digits.append(said.substr(2, mark - 2));
  if (power < 0) {
    out.append("0.").append(static_cast<std::size_t>(-power - 1), '0').append(digits);
    return;
  }
  const std::size_t whole = static_cast<std::size_t>(power) + 1;
  if (digits.size() <= whole) {
    out.append(digits).append(whole - digits.size(), '0').append(".0");
    return;
  }
  out.append(digits, 0, whole).push_back('.');
  out.append(digits, whole);
}

}  // namespace

template <typename T>
bool append_json_numbers(std::string& out, const T* values, std::size_t n_rows, std::size_t n_columns) {
  using Wide = std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>;
  const std::size_t width = n_columns == 0 ? 1 : n_columns;
  out.push_back('[');
  for (std::size_t i = 0; i < n_rows * width; ++i) {
    if (i != 0) out.push_back(',');
    if (n_columns != 0 && i % width == 0) out.push_back('[');
    if constexpr (std::is_floating_point_v<T>) {
      if (!std::isfinite(values[i])) return false;
    }
    append(out, static_cast<Wide>(values[i]));
    if (n_columns != 0 && i % width == width - 1) out.push_back(']');
  }
  out.push_back(']');
  return true;
}

template bool append_json_numbers(std::string&, const double*, std::size_t, std::size_t);
template bool append_json_numbers(std::string&, const float*, std::size_t, std::size_t);
template bool append_json_numbers(std::string&, const std::int64_t*, std::size_t, std::size_t);

}  // namespace lowtide
