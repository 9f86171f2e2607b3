#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "bytes.hpp"
#include "checks.hpp"
#include "lowtide/json_numbers.hpp"
#include "lowtide/json_rows.hpp"

using namespace nanobind::literals;

namespace lowtide {
namespace {

// Texts that are read without letting Python's lock go: to get it back may take longer.
constexpr std::size_t kSmallText = std::size_t{1} << 16;
// Cells, and bytes of their texts, that are made objects of at a time: about a millisecond.
constexpr std::size_t kMostCells = 8192, kMostTextBytes = std::size_t{1} << 20;

constexpr std::array kFaults = {"syntax", "depth", "rows",   "row",   "few",       "many", "missing",
                                "twice",  "value", "number", "large", "most_rows", "size", "text"};

// Rows that were read, with the form they were read by; kept by a Python object, whose arrays are views of them.
struct Table {
  JsonRows rows;
  std::size_t n_columns, n_categories;
};

void make_form(JsonForm* self, const std::vector<unsigned>& columns, const std::vector<std::string>& names,
               double largest) {
  require(!columns.empty(), "columns must not be empty");
  require(names.empty() || names.size() == columns.size(), "names must be as many as columns, or none");
  std::vector<JsonColumn> kinds;
  for (unsigned kind : columns) {
    require(kind <= static_cast<unsigned>(JsonColumn::unused), "columns must be from 0 to 3");
    kinds.push_back(static_cast<JsonColumn>(kind));
  }
  new (self) JsonForm(std::move(kinds), names, largest);
}

Table read(const JsonForm& form, nb::handle buffer, std::size_t most_rows) {
  const Bytes bytes(buffer);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  Table table{{}, form.columns.size(), form.n_categories};
  std::optional<nb::gil_scoped_release> nogil;
  if (text.size() > kSmallText) nogil.emplace();
  table.rows = read_json_rows(text, form, most_rows);
  return table;
}

nb::object problem(const Table& table) {
  const auto& found = table.rows.problem;
  if (!found) return nb::none();
  return nb::make_tuple(kFaults[static_cast<std::size_t>(found->fault)], found->byte, found->row, found->column,
                        found->count);
}

nb::object numbers(nb::handle_t<Table> self) {
  Table& table = nb::cast<Table&>(self);
  static double nothing = 0.0;
  double* data = table.rows.numbers.empty() ? &nothing : table.rows.numbers.data();
  return nb::cast(nb::ndarray<nb::numpy, double, nb::ndim<2>>(data, {table.rows.n_rows, table.n_columns}, self),
                  nb::rv_policy::reference);
}

// A text as Python has it; an integer of many digits as an integer.
nb::object spoken(const std::string& texts, const JsonCell& cell) {
  const char* text = texts.data() + cell.begin;
  PyObject* made = nullptr;
  if (cell.kind == JsonCellKind::integer)
    made = PyLong_FromString(std::string(text, cell.size).c_str(), nullptr, 10);
  else
    made = PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(cell.size), "surrogatepass");
  if (made == nullptr) throw nb::python_error();
  return nb::steal(made);
}

// Cells of a category column from a row on, as many as take about a millisecond.
nb::list cells(const Table& table, std::size_t column, std::size_t category, std::size_t begin) {
  require(column < table.n_columns && category < table.n_categories, "column must be one of categories");
  nb::list out;
  std::size_t bytes = 0;
  const std::size_t end = std::min(table.rows.n_rows, begin + kMostCells);
  for (std::size_t i = begin; i < end && bytes <= kMostTextBytes; ++i) {
    const JsonCell& cell = table.rows.cells[i * table.n_categories + category];
    bytes += cell.size;
    switch (cell.kind) {
      case JsonCellKind::number: out.append(table.rows.numbers[i * table.n_columns + column]); break;
      case JsonCellKind::null: out.append(nb::none()); break;
      case JsonCellKind::yes: out.append(true); break;
      case JsonCellKind::no: out.append(false); break;
      default: out.append(spoken(table.rows.texts, cell));
    }
  }
  return out;
}

template <typename T>
nb::object write(Matrix<const T> values, bool nested) {
  require(nested ? values.shape(1) > 0 : values.shape(1) == 1, "values must have columns, one where they are no lists");
  std::string out;
  bool finite = true;
  {
    nb::gil_scoped_release nogil;
    finite = append_json_numbers(out, values.data(), values.shape(0), nested ? values.shape(1) : 0);
  }
  if (!finite) return nb::none();
  return nb::bytes(out.data(), out.size());
}

template <typename T>
void bind_write(nb::module_& m) {
  m.def("json_numbers", &write<T>, "values"_a.noconvert(), "nested"_a);
}

}  // namespace

void bind_json(nb::module_& m) {
  nb::class_<Table>(m, "JsonTable", "Rows of JSON text that were read.")
      .def_prop_ro("problem", &problem)
      .def_prop_ro("numbers", &numbers)
      .def("cells", &cells, "column"_a, "category"_a, "begin"_a);
  nb::class_<JsonForm>(m, "JsonForm", "What rows of JSON text must be.")
      .def("__init__", &make_form, "columns"_a, "names"_a, "largest"_a)
      .def("read", &read, "buffer"_a, "most_rows"_a);
  bind_write<double>(m);
  bind_write<float>(m);
  bind_write<std::int64_t>(m);
}

}  // namespace lowtide
