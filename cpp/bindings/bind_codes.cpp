#include "checks.hpp"
#include "lowtide/ops.hpp"
#include "lowtide/parallel.hpp"

using namespace nanobind::literals;

namespace lowtide {

void bind_codes(nb::module_& m) {
  m.def(
      "pack",
      [](Matrix<const std::uint8_t> levels, unsigned bits, CodeRowsOut out) {
        const std::size_t n = levels.shape(0), n_levels = levels.shape(1);
        check_rows(out.shape(1), out.data(), n_levels, bits);
        require(out.shape(0) == n, "out must have as many rows as levels");
        nb::gil_scoped_release nogil;
        parallel_for(n, 64, [&](std::size_t begin, std::size_t end) {
          for (std::size_t i = begin; i < end; ++i)
            ops().pack(levels.data() + i * n_levels, n_levels, bits,
                       reinterpret_cast<std::uint64_t*>(out.data() + i * out.shape(1)));
        });
      },
      "levels"_a.noconvert(), "bits"_a, "out"_a.noconvert());
}

}  // namespace lowtide
