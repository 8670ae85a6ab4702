#include "error.h"

#include <system_error>

namespace prof {

std::string system_error(int error) { return std::generic_category().message(error); }

}  // namespace prof
