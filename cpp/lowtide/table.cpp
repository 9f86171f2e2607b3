#include "lowtide/ops.hpp"

namespace lowtide {
namespace {

Ops scalar_ops() {
  Ops table{};
  table.pack = scalar::pack;
  table.unpack = scalar::unpack;
  return table;
}

Ops avx2_ops() {
  Ops table = scalar_ops();
  return table;
}

Ops avx512_ops() {
  Ops table = avx2_ops();
  return table;
}

}  // namespace

const Ops& ops_at(Isa level) {
  static const Ops tables[] = {scalar_ops(), avx2_ops(), avx512_ops()};
  return tables[static_cast<int>(level)];
}

const Ops& ops() {
  static const Ops& active = ops_at(active_isa());
  return active;
}

}  // namespace lowtide
