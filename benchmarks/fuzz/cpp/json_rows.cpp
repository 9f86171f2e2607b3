// Any text under two forms of rows: what is taken has the sizes it says, and every text lies inside those kept.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "lowtide/json_rows.hpp"

namespace {

using lowtide::JsonColumn;
using lowtide::JsonForm;

constexpr std::size_t most_rows = 64;

void check(bool holds) {
  if (!holds) std::abort();
}

void read(std::string_view text, const JsonForm& form) {
  const lowtide::JsonRows rows = lowtide::read_json_rows(text, form, most_rows);
  if (rows.problem) {
    check(rows.problem->byte <= text.size());
    return;
  }
  check(rows.n_rows <= most_rows);
  check(rows.numbers.size() == rows.n_rows * form.columns.size());
  check(rows.cells.size() == rows.n_rows * form.n_categories);
  for (std::size_t i = 0; i < rows.numbers.size(); ++i)
    if (form.columns[i % form.columns.size()] == JsonColumn::numbers) check(std::fabs(rows.numbers[i]) <= form.largest);
  for (const lowtide::JsonCell& cell : rows.cells)
    check(cell.begin <= rows.texts.size() && cell.size <= rows.texts.size() - cell.begin);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const JsonForm lists({JsonColumn::numbers, JsonColumn::numbers, JsonColumn::numbers, JsonColumn::numbers}, {},
                              3.4e38);
  static const JsonForm named({JsonColumn::numbers, JsonColumn::nullable, JsonColumn::categories, JsonColumn::unused},
                              {"a", "b", "c", "d"}, 1e300);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read(text, lists);
  read(text, named);
  return 0;
}
