#include "lowtide/json_rows.hpp"

#if defined(__APPLE__)
#include <xlocale.h>
#endif

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <system_error>
#include <utility>

#include "lowtide/utf8.hpp"

namespace lowtide {
namespace {

// The number that a text of at most kJsonNumberBytes says, to the last bit; false where it may be beyond float64.
#if defined(__cpp_lib_to_chars)
bool read_number(std::string_view text, double& value) {
  return std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc::result_out_of_range;
}
#else
// libc++, so also Apple's, does not read floats.
bool read_number(std::string_view text, double& value) {
  static const locale_t plain = newlocale(LC_ALL_MASK, "C", nullptr);
  char ended[kJsonNumberBytes + 1] = {};
  text.copy(ended, kJsonNumberBytes);
  value = strtod_l(ended, nullptr, plain);
  return std::isfinite(value) && value != 0.0;
}
#endif

// Integers of up to so many digits are float64 exactly.
constexpr std::size_t kExactDigits = 15;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct Number {
  double value;
  std::string_view text;
  bool is_exact;  // no integer that float64 may round
};

class Reader {
 public:
  Reader(std::string_view text, const JsonForm& form, std::size_t most_rows, JsonRows& out)
      : begin_(text.data()), at_(begin_), end_(begin_ + text.size()), form_(form), most_rows_(most_rows), out_(out) {}

  void read() {
    if (static_cast<std::size_t>(end_ - begin_) > std::numeric_limits<std::uint32_t>::max()) fail(JsonFault::size);
    reserve();
    if (std::string_view(at_, end_ - at_).substr(0, 3) == "\xef\xbb\xbf") at_ += 3;
    if (next() == '{') {
      ++at_;
      // Not with the members that follow: which are there is said by the first that should not be.
      if (next() != '"' || string() != "rows") fail(at_ < end_ ? JsonFault::rows : JsonFault::syntax);
      expect(':');
      rows();
      if (next() == ',') fail(JsonFault::rows);
      expect('}');
    } else {
      rows();
    }
    blanks();
    if (at_ != end_) fail(JsonFault::syntax);
  }

 private:
  [[noreturn]] void fail(JsonFault fault, std::size_t column = 0, std::size_t count = 0) const {
    throw JsonProblem{fault, static_cast<std::size_t>(at_ - begin_), out_.n_rows, column, count};
  }

  // Room for as many rows as the text can have: never more is allocated, and pages that are not used are not taken.
  void reserve() {
    const std::size_t n_columns = form_.columns.size(), bytes = static_cast<std::size_t>(end_ - begin_);
    const std::size_t n_rows = std::min(most_rows_, bytes / (2 * n_columns + 1) + 1);
    out_.numbers.reserve(n_rows * n_columns);
    out_.cells.reserve(n_rows * form_.n_categories);
  }

  void blanks() {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) ++at_;
  }

  // The next character that is no blank, 0 at the end; it stays to be read.
  char next() {
    blanks();
    return at_ < end_ ? *at_ : '\0';
  }

  void expect(char c) {
    if (next() != c || at_ == end_) fail(JsonFault::syntax);
    ++at_;
  }

  // Whether a list or object goes on after one of its members; its end is read.
  bool goes_on(char close) {
    const char c = next();
    if (c != ',' && c != close) fail(JsonFault::syntax);
    ++at_;
    return c == ',';
  }

  // Whether a list or object has no members; then its end is read.
  bool is_empty(char close) {
    ++at_;
    if (next() != close) return false;
    ++at_;
    return true;
  }

  void rows() {
    if (next() != '[') fail(at_ < end_ && is_start(*at_) ? JsonFault::rows : JsonFault::syntax);
    if (is_empty(']')) return;
    do {
      const char c = next();
      if (out_.n_rows == most_rows_) fail(JsonFault::most_rows);
      out_.numbers.resize(out_.numbers.size() + form_.columns.size());
      out_.cells.resize(out_.cells.size() + form_.n_categories);
      if (c == '[')
        row();
      else if (c == '{' && !form_.names.empty())
        named_row();
      else
        fail(is_start(c) ? JsonFault::row : JsonFault::syntax);
      ++out_.n_rows;
    } while (goes_on(']'));
  }

  void row() {
    std::size_t column = 0;
    if (!is_empty(']')) {
      do {
        if (column == form_.columns.size()) fail(JsonFault::many, column);
        cell(column++);
      } while (goes_on(']'));
    }
    if (column != form_.columns.size()) fail(JsonFault::few, column, column);
  }

  void named_row() {
    std::size_t found = 0, likely = 0;
    const auto first = static_cast<std::size_t>(at_ - begin_);
    seen_.resize(form_.columns.size(), 0);
    if (!is_empty('}')) {
      do {
        if (next() != '"') fail(JsonFault::syntax);
        const std::size_t column = place_of(string(), likely);
        expect(':');
        if (column == form_.columns.size()) {
          pass_over(kJsonDepth);
          continue;
        }
        if (seen_[column] == out_.n_rows + 1) fail(JsonFault::twice, column);
        seen_[column] = out_.n_rows + 1;
        cell(column);
        likely = column + 1;
        ++found;
      } while (goes_on('}'));
    }
    if (found == form_.columns.size()) return;
    for (std::size_t column = 0;; ++column)
      if (seen_[column] != out_.n_rows + 1) fail(JsonFault::missing, column, first);
  }

  // The column of a name, the number of columns where it is none of theirs; mostly names come in order.
  std::size_t place_of(std::string_view name, std::size_t likely) const {
    if (likely < form_.names.size() && form_.names[likely] == name) return likely;
    const auto found = form_.places.find(name);
    return found == form_.places.end() ? form_.columns.size() : found->second;
  }

  void cell(std::size_t column) {
    const char c = next();
    const JsonColumn kind = form_.columns[column];
    double& place = out_.numbers[out_.n_rows * form_.columns.size() + column];
    JsonCell* kept = kind == JsonColumn::categories
                         ? &out_.cells[out_.n_rows * form_.n_categories + form_.category[column]]
                         : nullptr;
    if (c == '-' || is_digit(c)) {
      const Number found = number(column);
      if (kind == JsonColumn::unused) return;
      if (!(std::abs(found.value) <= form_.largest)) fail(JsonFault::large, column);
      place = found.value;
      if (kept != nullptr)
        *kept = found.is_exact ? JsonCell{JsonCellKind::number} : keep(JsonCellKind::integer, found.text);
      return;
    }
    place = std::numeric_limits<double>::quiet_NaN();
    if (c == '"') {
      if (kind != JsonColumn::categories && kind != JsonColumn::unused) fail(JsonFault::value, column);
      const std::string_view text = string();
      if (kept == nullptr) return;
      if (text.size() > kJsonTextBytes) fail(JsonFault::text, column);
      *kept = keep(JsonCellKind::text, text);
      return;
    }
    if (c == '[' || c == '{') fail(JsonFault::value, column);
    const JsonCellKind said = word();
    if (kind == JsonColumn::numbers) fail(JsonFault::value, column);
    if (said != JsonCellKind::null) place = said == JsonCellKind::yes ? 1.0 : 0.0;
    if (kept != nullptr) *kept = {said};
  }

  JsonCell keep(JsonCellKind kind, std::string_view text) {
    const std::size_t begin = out_.texts.size();
    out_.texts.append(text);
    return {kind, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(text.size())};
  }

  static bool is_start(char c) {
    return c == '"' || c == '-' || is_digit(c) || c == 't' || c == 'f' || c == 'n' || c == '{' || c == '[';
  }

  JsonCellKind word() {
    const std::string_view left(at_, end_ - at_);
    for (const auto& [name, kind] :
         {std::pair{"null", JsonCellKind::null}, {"true", JsonCellKind::yes}, {"false", JsonCellKind::no}})
      if (left.starts_with(name)) {
        at_ += std::string_view(name).size();
        return kind;
      }
    fail(JsonFault::syntax);
  }

  std::size_t digits() {
    const char* first = at_;
    while (at_ < end_ && is_digit(*at_)) ++at_;
    if (at_ == first) fail(JsonFault::syntax);
    return static_cast<std::size_t>(at_ - first);
  }

  Number number(std::size_t column) {
    const char* first = at_;
    if (*at_ == '-') ++at_;
    const char* whole = at_;
    const std::size_t n_whole = digits();
    if (n_whole > 1 && *whole == '0') fail(JsonFault::syntax);
    bool is_integer = true;
    if (at_ < end_ && *at_ == '.') {
      ++at_;
      is_integer = false;
      digits();
    }
    if (at_ < end_ && (*at_ == 'e' || *at_ == 'E')) {
      ++at_;
      is_integer = false;
      if (at_ < end_ && (*at_ == '+' || *at_ == '-')) ++at_;
      digits();
    }
    const std::string_view text(first, at_ - first);
    if (text.size() > kJsonNumberBytes) fail(JsonFault::number, column);
    double value = 0.0;
    if (!read_number(text, value)) value = out_of_range(text);
    return {value, text, !is_integer || n_whole <= kExactDigits};
  }

  // What a number beyond float64 is: infinite, or 0 where it is too small. Its first digit's power of ten tells which.
  static double out_of_range(std::string_view text) {
    const bool negative = text.front() == '-';
    const std::size_t mark = text.find_first_of("eE"), first = text.find_first_of("123456789");
    const std::size_t point = std::min({text.find('.'), mark, text.size()});
    if (first >= std::min(mark, text.size())) return negative ? -0.0 : 0.0;
    const long power = first < point ? static_cast<long>(point - first) : -static_cast<long>(first - point);
    bool small = power < 0;
    if (mark != std::string_view::npos) {
      std::string_view digits = text.substr(mark + 1);
      const bool down = digits.front() == '-';
      digits.remove_prefix(std::min(digits.find_first_of("0123456789"), digits.size()));
      digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
      long exponent = 0;
      for (std::size_t i = 0; i < std::min<std::size_t>(digits.size(), 9); ++i)
        exponent = 10 * exponent + digits[i] - '0';
      small = power + (down ? -exponent : exponent) < 0;
    }
    const double size = small ? 0.0 : std::numeric_limits<double>::infinity();
    return negative ? -size : size;
  }

  // The text of a string, valid until the next one is read: in place where nothing is escaped.
  std::string_view string() {
    const char* first = ++at_;
    bool escaped = false;
    while (true) {
      if (at_ == end_ || static_cast<unsigned char>(*at_) < 0x20) fail(JsonFault::syntax);
      if (*at_ == '"') break;
      if (*at_ == '\\') {
        if (!escaped) decoded_.assign(first, at_);
        escaped = true;
        escape();
        continue;
      }
      const std::size_t n = utf8_bytes(at_, end_);
      if (n == 0) fail(JsonFault::syntax);
      if (escaped) decoded_.append(at_, n);
      at_ += n;
    }
    const std::string_view plain(first, at_ - first);
    ++at_;
    return escaped ? std::string_view(decoded_) : plain;
  }

  void escape() {
    ++at_;
    if (at_ == end_) fail(JsonFault::syntax);
    constexpr std::string_view letters = "\"\\/bfnrt", meant = "\"\\/\b\f\n\r\t";
    const std::size_t plain = letters.find(*at_);
    if (plain != std::string_view::npos) {
      decoded_.push_back(meant[plain]);
      ++at_;
      return;
    }
    if (*at_ != 'u') fail(JsonFault::syntax);
    ++at_;
    unsigned code = hex();
    if (code >= 0xd800 && code < 0xdc00 && std::string_view(at_, end_ - at_).starts_with("\\u")) {
      const char* second = at_;
      at_ += 2;
      const unsigned low = hex();
      if (low >= 0xdc00 && low < 0xe000)
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
      else
        at_ = second;  // a lone surrogate, and what follows is read by itself
    }
    append_utf8(decoded_, code);
  }

  unsigned hex() {
    unsigned code = 0;
    if (end_ - at_ < 4) fail(JsonFault::syntax);
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = *at_;
      const bool letter = (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
      if (!letter && !is_digit(c)) fail(JsonFault::syntax);
      code = 16 * code + static_cast<unsigned>(letter ? (c | 0x20) - 'a' + 10 : c - '0');
    }
    return code;
  }

  // Reads a value that nobody asked for.
  void pass_over(std::size_t depth) {
    const char c = next();
    if (c == '"') {
      string();
    } else if (c == '-' || is_digit(c)) {
      number(form_.columns.size());
    } else if (c == '[' || c == '{') {
      if (depth == 0) fail(JsonFault::depth);
      const char close = c == '[' ? ']' : '}';
      if (is_empty(close)) return;
      do {
        if (c == '{') {
          if (next() != '"') fail(JsonFault::syntax);
          string();
          expect(':');
        }
        pass_over(depth - 1);
      } while (goes_on(close));
    } else {
      word();
    }
  }

  const char *begin_, *at_, *end_;
  const JsonForm& form_;
  std::size_t most_rows_;
  JsonRows& out_;
  std::string decoded_;
  std::vector<std::size_t> seen_;  // the row, counted from 1, that last had each name
};

}  // namespace

JsonForm::JsonForm(std::vector<JsonColumn> kinds, std::vector<std::string> given, double largest_size)
    : columns(std::move(kinds)), names(std::move(given)), largest(largest_size), category(columns.size(), 0) {
  for (std::size_t i = 0; i < names.size(); ++i) places.emplace(names[i], i);
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (columns[i] == JsonColumn::categories) category[i] = n_categories++;
}

JsonRows read_json_rows(std::string_view text, const JsonForm& form, std::size_t most_rows) {
  JsonRows out;
  try {
    Reader(text, form, most_rows, out).read();
  } catch (const JsonProblem& problem) {
    out = JsonRows{};
    out.problem = problem;
  }
  return out;
}

}  // namespace lowtide
