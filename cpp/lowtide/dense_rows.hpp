// Rows through a dense projection kept in panels: product and op slice by slice, so that projected values never leave
// the caches.
#pragma once

#include "lowtide/rows.hpp"

namespace lowtide {

// As for_each_slice, for rows with panels.
void for_each_dense_slice(const Rows& rows, const std::function<void(const Slice&)>& visit);

}  // namespace lowtide
