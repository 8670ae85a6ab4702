// Which arguments of the standard libraries' templates are those that they have anyway.

#ifndef NAMES_DEFAULT_ARGUMENTS_H
#define NAMES_DEFAULT_ARGUMENTS_H

#include <string>
#include <string_view>
#include <vector>

namespace prof_names {

// Takes the last arguments away if they are the defaults of the template `name', such as std::vector. Names and arguments
// are simplified ones (simplify.h).
void leave_out_defaults(std::string_view name, std::vector<std::string>& arguments);

}  // namespace prof_names

#endif
