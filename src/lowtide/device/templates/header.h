$comment
#ifndef ${P}_H
#define ${P}_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ${P}_FEATURES ${n_features}
#define ${P}_LEVELS ${n_levels}
#define ${P}_BITS ${bits}
#define ${P}_CODE_BYTES ${code_bytes}

/* Which encoder: what a server compares before it takes a code. */
extern const uint8_t ${p}_fingerprint[16];

/* Writes the code of a row: level j takes bits [jB, (j + 1)B), B = ${stored_bits}, bit i is bit i % 8 of byte i / 8, others are 0.
   Returns 0, or -1 for a row that holds what is no number or whose sums leave the range of float. */
int ${p}_encode(const ${input_type} x[${P}_FEATURES], uint8_t code[${P}_CODE_BYTES]);
$decision
#ifdef __cplusplus
}
#endif

#endif
