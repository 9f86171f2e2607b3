// cos(2 pi r) for r in [-1/2, 1/2], in float32, as one fixed sequence of roundings:
//     y = 1/4 - |r|;  z = y y;  p = (((c4 z + c3) z + c2) z + c1) z + c0;  cosine = p y
// every product and sum rounded by itself, so all levels give the same bits. It is sin(2 pi y), y in [-1/4, 1/4]; the
// coefficients are a minimax fit of the odd degree 9. Largest error 1.7e-7; exact at r = 0, 1/4 and 1/2.
#pragma once

namespace lowtide::cosine {

constexpr float c0 = 6.283185005f;
constexpr float c1 = -41.341617584f;
constexpr float c2 = 81.598648071f;
constexpr float c3 = -76.496025085f;
constexpr float c4 = 39.133640289f;

}  // namespace lowtide::cosine
