#include "checks.hpp"

namespace lowtide {
void bind_encode(nb::module_&) {}
}  // namespace lowtide
