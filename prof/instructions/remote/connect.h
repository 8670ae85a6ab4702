// Reaches a stub over the network.

#ifndef PROF_INSTRUCTIONS_REMOTE_CONNECT_H
#define PROF_INSTRUCTIONS_REMOTE_CONNECT_H

#include <string>

namespace prof::remote {

// "HOST:PORT"; ":PORT" is this host's, "[ADDRESS]:PORT" an address of IPv6. A descriptor that is connected, which the caller
// closes. Throws Error.
int connect_to(const std::string& address);

}  // namespace prof::remote

#endif
