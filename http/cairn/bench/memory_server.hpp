// A server whose store is in memory: what the program does not offer, and the bench compares.
#pragma once

namespace cairn::bench {

// Serves with one thread on a free port of this machine, says "listening on URL" on standard
// output, and returns after SIGTERM.
int serve_memory();

}  // namespace cairn::bench
