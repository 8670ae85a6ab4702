#include "connect.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "prof/read/error.h"

namespace prof::remote {

int connect_to(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon + 1 == address.size()) throw Error(address + ": is not HOST:PORT");
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  if (host.empty()) host = "localhost";
  addrinfo hints = {}, *first = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (const int error = getaddrinfo(host.c_str(), address.c_str() + colon + 1, &hints, &first))
    throw Error(address + ": " + gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> found(first, freeaddrinfo);
  int error = 0;
  for (const addrinfo* a = first; a; a = a->ai_next) {
    const int descriptor = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
    if (descriptor >= 0 && connect(descriptor, a->ai_addr, a->ai_addrlen) == 0) return descriptor;
    error = errno;
    if (descriptor >= 0) close(descriptor);
  }
  throw Error(address + ": " + system_error(error));
}

}  // namespace prof::remote
