#include <cmath>
#include <limits>
#include <random>

#include "check.hpp"
#include "lowtide/json_numbers.hpp"
#include "lowtide/json_rows.hpp"

namespace {

using lowtide::JsonCellKind;
using lowtide::JsonColumn;
using lowtide::JsonFault;
using lowtide::JsonForm;
using lowtide::JsonRows;
using lowtide::read_json_rows;

constexpr double largest = std::numeric_limits<double>::max();

JsonForm plain(std::size_t n) { return {std::vector<JsonColumn>(n, JsonColumn::numbers), {}, 1e38}; }

JsonForm table() {
  return {{JsonColumn::nullable, JsonColumn::categories, JsonColumn::unused}, {"size", "city", "note"}, largest};
}

bool fails(const std::string& text, const JsonForm& form, JsonFault fault, std::size_t most_rows = 100) {
  const JsonRows rows = read_json_rows(text, form, most_rows);
  return rows.problem && rows.problem->fault == fault && rows.n_rows == 0 && rows.numbers.empty();
}

std::string text_of(const JsonRows& rows, std::size_t cell) {
  return rows.texts.substr(rows.cells[cell].begin, rows.cells[cell].size);
}

}  // namespace

LOWTIDE_TEST(json_rows_are_read_as_lists_and_within_an_object) {
  const JsonForm form = plain(2);
  const std::vector<double> expected = {1, -2.5, 3e-7, 4};
  for (const char* text : {"[[1,-2.5],[3e-7,4]]", " [ [1 ,-25e-1 ],\n[3E-7,\t4.0]] ", "{\"rows\":[[1,-2.5],[3e-7,4]]}",
                           "\xef\xbb\xbf[[1,-2.5],[0.3e-6,40e-1]]"}) {
    const JsonRows rows = read_json_rows(text, form, 2);
    CHECK(!rows.problem && rows.n_rows == 2 && lowtide::check::same_bits(rows.numbers, expected), text);
  }
  for (const char* text : {"[]", "{\"rows\" : [ ] }"}) CHECK(!read_json_rows(text, form, 0).problem, text);
}

LOWTIDE_TEST(json_numbers_are_rounded_correctly_and_bounded) {
  const JsonForm form({JsonColumn::numbers}, {}, largest);
  const std::vector<std::pair<std::string, double>> known = {{"9007199254740993", 9007199254740992.0},
                                                             {"0.1", 0.1},
                                                             {"5e-324", 5e-324},
                                                             {"2.4e-324", 0.0},
                                                             {"1e-999999999999999999", 0.0},
                                                             {"-0", -0.0},
                                                             {"0e999999", 0.0},
                                                             {"1.7976931348623157e308", largest},
                                                             {"0." + std::string(400, '0') + "1e401", 1.0},
                                                             {"1" + std::string(400, '0') + "e-400", 1.0}};
  for (const auto& [text, value] : known) {
    const JsonRows rows = read_json_rows("[[" + text + "]]", form, 1);
    CHECK(!rows.problem && lowtide::check::same_bits(rows.numbers, {value}), text);
  }
  for (const char* text : {"1e309", "-1e309", "1e999999999999999999", "1e+400"})
    CHECK(fails("[[" + std::string(text) + "]]", form, JsonFault::large), text);
  CHECK(fails("[[1" + std::string(400, '0') + "]]", form, JsonFault::large));
  CHECK(!read_json_rows("[[0." + std::string(1000, '3') + "]]", form, 1).problem);
  CHECK(fails("[[0." + std::string(1100, '3') + "]]", form, JsonFault::number));
  CHECK(fails("[[2e38]]", plain(1), JsonFault::large));
}

LOWTIDE_TEST(json_faults_are_found_where_they_are) {
  const JsonForm form = plain(2);
  for (const char* text : {"",
                           " ",
                           "[",
                           "[[",
                           "[[1",
                           "[[1,",
                           "[[1,]]",
                           "[[1,2]",
                           "[[1,2]]x",
                           "[[1,2],]",
                           "[[01,2]]",
                           "[[1.,2]]",
                           "[[.5,2]]",
                           "[[+1,2]]",
                           "[[-,2]]",
                           "[[1e,2]]",
                           "[[NaN,2]]",
                           "[[Infinity,2]]",
                           "[[1 2]]",
                           "[[nul,2]]",
                           "{\"rows\":[[1,2]]",
                           "{\"rows\"[]}",
                           "{\"rows\":[]}}",
                           "\xff\xfe",
                           "{\"rows\xff\":[]}",
                           "{\"ro\nws\":[]}",
                           "{\"\\u12g4\":[]}"})
    CHECK(fails(text, form, JsonFault::syntax), text);
  for (const char* text :
       {"3", "\"rows\"", "{}", "{\"a\":[]}", "{\"rows\":[],\"a\":1}", "{\"rows\":3}", "{\"rows\":{}}"})
    CHECK(fails(text, form, JsonFault::rows), text);
  for (const char* text : {"[1]", "[{}]", "[\"a\"]", "[null]"}) CHECK(fails(text, form, JsonFault::row), text);
  for (const char* text : {"[[]]", "[[1]]"}) CHECK(fails(text, form, JsonFault::few), text);
  CHECK(fails("[[1,2,3]]", form, JsonFault::many));
  for (const char* text : {"[[1,\"2\"]]", "[[1,null]]", "[[1,true]]", "[[1,[2]]]", "[[1,{}]]"})
    CHECK(fails(text, form, JsonFault::value), text);
  CHECK(fails("[[1,2],[3,4],[5,6]]", form, JsonFault::most_rows, 2));
  const JsonRows rows = read_json_rows("[[1,2],[3,\"\"]]", form, 9);
  CHECK(rows.problem && rows.problem->row == 1 && rows.problem->column == 1 && rows.problem->byte == 10);
}

LOWTIDE_TEST(json_rows_by_name_have_texts_and_missing_cells) {
  const JsonForm form = table();
  const JsonRows rows = read_json_rows(
      "[{\"city\":\"B\\u00e4r\\n\\ud83d\\ude00\",\"more\":[{\"a\":[1,{}]},\"x\"],\"size\":null,\"note\":\"\"},"
      "[true,\"\xc3\xa4\",false],[2,12345678901234567890,1],[3,4.5,null],{\"note\":1,\"size\":4,\"city\":false}]",
      form, 9);
  CHECK(!rows.problem && rows.n_rows == 5);
  if (rows.problem) return;
  CHECK(std::isnan(rows.numbers[0]) && rows.numbers[3] == 1.0 && rows.numbers[6] == 2.0 && rows.numbers[10] == 4.5);
  CHECK(rows.cells[0].kind == JsonCellKind::text && text_of(rows, 0) == "B\xc3\xa4r\n\xf0\x9f\x98\x80");
  CHECK(rows.cells[1].kind == JsonCellKind::text && text_of(rows, 1) == "\xc3\xa4");
  CHECK(rows.cells[2].kind == JsonCellKind::integer && text_of(rows, 2) == "12345678901234567890");
  CHECK(rows.cells[3].kind == JsonCellKind::number && rows.cells[4].kind == JsonCellKind::no);
  CHECK(fails("[{\"size\":1,\"city\":2}]", form, JsonFault::missing));
  CHECK(fails("[{\"size\":1,\"size\":2,\"city\":2,\"note\":3}]", form, JsonFault::twice));
  CHECK(fails("[{\"size\":\"1\"}]", form, JsonFault::value));
  CHECK(fails("[{size:1}]", form, JsonFault::syntax));
}

LOWTIDE_TEST(json_members_nobody_asked_for_are_read_to_a_depth) {
  const JsonForm form = table();
  const auto nested = [](std::size_t depth) {
    return "[{\"x\":" + std::string(depth, '[') + std::string(depth, ']') + ",\"size\":1,\"city\":2,\"note\":3}]";
  };
  CHECK(!read_json_rows(nested(lowtide::kJsonDepth), form, 1).problem);
  CHECK(fails(nested(lowtide::kJsonDepth + 1), form, JsonFault::depth));
  CHECK(fails("[{\"x\":" + std::string(1'000'000, '['), form, JsonFault::depth));
}

LOWTIDE_TEST(json_texts_are_utf8) {
  const JsonForm form({JsonColumn::categories}, {}, largest);
  for (const char* bad :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80", "\xc3", "\xe2\x82", "\xf0\x9f\x98", "\x1f", "\\x", "\\u12", "\\"})
    CHECK(fails("[[\"" + std::string(bad) + "\"]]", form, JsonFault::syntax), bad);
  for (const char* good : {"\xc2\x80", "\xed\x9f\xbf", "\xee\x80\x80", "\xf4\x8f\xbf\xbf", "\x7f"}) {
    const JsonRows rows = read_json_rows("[[\"" + std::string(good) + "\"]]", form, 1);
    CHECK(!rows.problem && text_of(rows, 0) == good, good);
  }
  const JsonRows alone = read_json_rows("[[\"\\ud800\\u0041\"]]", form, 1);
  CHECK(!alone.problem && text_of(alone, 0) ==
                              "\xed\xa0\x80"
                              "A");
}

LOWTIDE_TEST(json_text_cut_or_changed_anywhere_is_read_or_refused) {
  const JsonForm form = table();
  const std::string whole = "{\"rows\":[{\"size\":-1.5e+3,\"city\":\"\\u00e4\xc3\xa4\",\"note\":[]},[1,null,true]]}";
  std::mt19937 random(0);
  for (std::size_t end = 0; end <= whole.size(); ++end) {
    std::string heap(whole, 0, end);  // whose end a sanitizer watches
    CHECK(end == whole.size() || read_json_rows(heap, form, 9).problem);
    for (int i = 0; i < 200; ++i) {
      std::string changed = heap;
      if (!changed.empty()) changed[random() % changed.size()] = static_cast<char>(random());
      const JsonRows rows = read_json_rows(changed, form, 9);
      CHECK(rows.numbers.size() == 3 * rows.n_rows && rows.cells.size() == rows.n_rows);
    }
  }
}

LOWTIDE_TEST(json_numbers_are_written_so_that_they_read_back) {
  std::mt19937_64 random(1);
  std::vector<double> values = {0.0, -0.0, 1.0, 0.1, 1e15, 1e16, 1e-4, 1e-5, 5e-324, largest, -123456.789};
  while (values.size() < 5000) {
    const std::uint64_t bits = random();
    double value;
    std::memcpy(&value, &bits, sizeof value);
    if (std::isfinite(value)) values.push_back(value);
  }
  std::string text;
  CHECK(lowtide::append_json_numbers(text, values.data(), values.size() / 2, 2));
  const JsonForm form({JsonColumn::numbers, JsonColumn::numbers}, {}, largest);
  const JsonRows rows = read_json_rows(text, form, values.size());
  CHECK(!rows.problem && lowtide::check::same_bits(rows.numbers, values));
  text.clear();
  const double few[] = {1.0, 1e16, 0.0001, 1e-5, 12.5, -0.0};
  CHECK(lowtide::append_json_numbers(text, few, 6, 0) && text == "[1.0,1e+16,0.0001,1e-05,12.5,-0.0]", text);
  text.clear();
  const std::int64_t whole[] = {0, -1, std::numeric_limits<std::int64_t>::min()};
  CHECK(lowtide::append_json_numbers(text, whole, 3, 0) && text == "[0,-1,-9223372036854775808]", text);
  for (double bad : {std::nan(""), std::numeric_limits<double>::infinity()})
    CHECK(!lowtide::append_json_numbers(text, &bad, 1, 1));
  text.clear();
  CHECK(lowtide::append_json_numbers(text, few, 0, 3) && text == "[]");
}
