// Where a counted call begins and ends, for whatever runs the program and counts.
#pragma once

#include <string>

#if defined(LOWTIDE_CALLGRIND)
#include <valgrind/callgrind.h>
#else
#include <unistd.h>

#include <cstdio>
#endif

namespace lowtide::opcount {

#if defined(LOWTIDE_CALLGRIND)
inline void begin() { CALLGRIND_TOGGLE_COLLECT; }
inline void end() { CALLGRIND_TOGGLE_COLLECT; }
inline void name(const std::string& label) { CALLGRIND_DUMP_STATS_AT(label.c_str()); }
#else
// Writing to no file is what the plugin of the emulator (qemu_counter.c) listens to; names go to standard output.
inline void mark() { static_cast<void>(!write(-1, "", 1)); }
inline void begin() { mark(); }
inline void end() { mark(); }
inline void name(const std::string& label) { std::printf("count: %s\n", label.c_str()); }
#endif

}  // namespace lowtide::opcount
