#include "check.hpp"
#include "lowtide/ops.hpp"

using lowtide::Family;
using lowtide::Isa;

LOWTIDE_TEST(levels_run_where_their_family_has_at_least_their_rank) {
  CHECK(Isa::avx2.runs_on(Isa::avx512));
  CHECK(Isa::avx512.runs_on(Isa::avx512));
  CHECK(!Isa::vbmi.runs_on(Isa::avx512));
  CHECK(Isa::avx512.runs_on(Isa::vbmi));
  CHECK(!Isa::amx.runs_on(Isa::vbmi));
  CHECK(Isa::neon.runs_on(Isa::dotprod));
  CHECK(!Isa::i8mm.runs_on(Isa::dotprod));
  CHECK(!Isa::neon.runs_on(Isa::amx));
  CHECK(!Isa::avx2.runs_on(Isa::i8mm));
}

LOWTIDE_TEST(levels_of_one_family_do_not_run_on_another) {
  const Isa other{static_cast<Family>(1000), 9};
  for (Isa level : lowtide::all_levels()) {
    CHECK(level.runs_on(other) == (level == Isa::scalar), lowtide::isa_name(level));
    CHECK(!other.runs_on(level), lowtide::isa_name(level));
  }
}

LOWTIDE_TEST(scalar_runs_on_every_level) {
  for (Isa level : lowtide::all_levels()) CHECK(Isa::scalar.runs_on(level), lowtide::isa_name(level));
}

LOWTIDE_TEST(an_op_is_fast_where_a_level_has_its_own_form) {
  CHECK(lowtide::is_fast_at(Isa::scalar, "hadamard") == false);
  CHECK(lowtide::is_fast_at(Isa::scalar, "digit_product") == false);
#if defined(LOWTIDE_X86)
  CHECK(lowtide::is_fast_at(Isa::avx2, "hadamard") == true);
  CHECK(lowtide::is_fast_at(Isa::avx512, "pack") == true);
  CHECK(lowtide::is_fast_at(Isa::vbmi, "digit_product") == false);
#endif
#if defined(LOWTIDE_ARM)
  CHECK(lowtide::is_fast_at(Isa::neon, "pack") == true);
  CHECK(lowtide::is_fast_at(Isa::dotprod, "digit_product") == false);
  CHECK(lowtide::is_fast_at(Isa::i8mm, "digit_product") == true);
#endif
#if defined(LOWTIDE_AMX)
  CHECK(lowtide::is_fast_at(Isa::amx, "digit_product") == true);
#endif
}

LOWTIDE_TEST(an_op_that_is_not_in_the_table_is_neither_fast_nor_slow) {
  for (const char* name : {"", "hadamar", "hadamard ", "Hadamard"})
    CHECK(!lowtide::is_fast_at(lowtide::detected_isa(), name).has_value(), name);
}
