/* See ${p}.h, which says what this is and what it takes. */
#include "${p}.h"
$preamble
const uint8_t ${p}_fingerprint[16] = {$fingerprint};
const uint8_t ${p}_side[16] = {$side};
$body
