#include <float.h>

#if FLT_EVAL_METHOD != 0
#error "float must be computed as float: on 32-bit x86 compile with -msse2 -mfpmath=sse"
#endif
#ifdef __FAST_MATH__
#error "additions must stay in their order: compile without -ffast-math"
#endif
