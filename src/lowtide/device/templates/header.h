$comment
#ifndef ${P}_H
#define ${P}_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

${columns}#define ${P}_FEATURES ${n_features}
#define ${P}_LEVELS ${n_levels}
#define ${P}_BITS ${bits}
#define ${P}_CODE_BYTES ${code_bytes}

/* Which frequencies, and which rule that makes levels of phases: what a server compares before it takes a code. */
extern const uint8_t ${p}_fingerprint[16], ${p}_side[16];
$encode$decision
#ifdef __cplusplus
}
#endif

#endif
