// Rows of a table from JSON text that a stranger sent: checked while it is read, refused at the first fault.
//
// The text is a list of rows, or an object whose only member `rows` is one. A row is a list with a cell a column or,
// where columns have names, an object by name, whose other members are passed over. Nothing is built but what the rows
// are: memory is 8 bytes a cell, 12 more a cell of categories, and the bytes of their texts. One pass, no recursion but
// through members that are passed over (at most kJsonDepth deep).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace lowtide {

inline constexpr std::size_t kJsonDepth = 32;
// Of one number: more than any float64 has when all its digits are written out (1074 places and "-0.").
inline constexpr std::size_t kJsonNumberBytes = 1100;
// Of one text that is kept: as an object of Python a longer one would be made, hashed and compared in one piece, with
// its lock held.
inline constexpr std::size_t kJsonTextBytes = std::size_t{1} << 16;

enum class JsonColumn : std::uint8_t {
  numbers,     // numbers alone
  nullable,    // also null, which is NaN, and truth values, which are 1 and 0
  categories,  // also texts; what each cell is is kept
  unused       // anything but lists and objects; passed over, 0
};

// What rows must be. A number of larger size than `largest` is refused, one beyond float64 always.
struct JsonForm {
  JsonForm(std::vector<JsonColumn> kinds, std::vector<std::string> names, double largest_size);

  std::vector<JsonColumn> columns;
  std::vector<std::string> names;  // none where rows must be lists
  double largest;
  std::unordered_map<std::string_view, std::size_t> places;  // of names; views of `names`
  std::vector<std::size_t> category;                         // of each column, its place among those of categories
  std::size_t n_categories = 0;

  JsonForm(const JsonForm&) = delete;
  JsonForm& operator=(const JsonForm&) = delete;
};

// `integer` is one of more digits than float64 keeps: its text is kept too.
enum class JsonCellKind : std::uint8_t { number, integer, null, yes, no, text };

struct JsonCell {
  JsonCellKind kind = JsonCellKind::null;
  std::uint32_t begin = 0, size = 0;  // in `texts`
};

enum class JsonFault : std::uint8_t {
  syntax,     // no JSON text in UTF-8
  depth,      // nested too deep
  rows,       // neither a list nor an object with `rows` alone
  row,        // a row that is no list, and no object where those are taken
  few,        // columns; `count` says how many there were
  many,       // more columns than there are
  missing,    // a name; `column` says which is the first, `count` the byte where the row begins
  twice,      // a name
  value,      // a cell that is not what its column takes
  number,     // of too many characters
  large,      // a number beyond the largest
  most_rows,  // more rows than may be
  size,       // 4 GB of text or more
  text        // of too many bytes
};

struct JsonProblem {
  JsonFault fault;
  std::size_t byte, row = 0, column = 0, count = 0;
};

struct JsonRows {
  std::size_t n_rows = 0;
  std::vector<double> numbers;  // (n_rows, n_columns); NaN where a cell holds no number
  std::vector<JsonCell> cells;  // (n_rows, n_categories)
  std::string texts;            // UTF-8, but lone surrogates that were escaped are three bytes each
  std::optional<JsonProblem> problem;
};

// What a text says under a form; with a `problem` nothing else counts. Never throws but for want of memory.
JsonRows read_json_rows(std::string_view text, const JsonForm& form, std::size_t most_rows);

}  // namespace lowtide
