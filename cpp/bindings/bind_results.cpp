#include "checks.hpp"
#include "lowtide/result_pages.hpp"

using namespace nanobind::literals;

namespace lowtide {
namespace {

using NewBytes = nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>;

NewBytes result_bytes(std::size_t size) {
  require(size >= 1, "a result must have at least one byte");
  ResultPages* pages = take_pages(size);
  const nb::capsule owner(pages, [](void* p) noexcept { give_pages(static_cast<ResultPages*>(p)); });
  return NewBytes(pages->data, {size}, owner);
}

}  // namespace

void bind_results(nb::module_& m) {
  m.attr("large_result") = large_result;
  m.def("result_bytes", &result_bytes, "size"_a,
        "Memory for a large result, of any content; given back, the next result takes it over.");
}

}  // namespace lowtide
