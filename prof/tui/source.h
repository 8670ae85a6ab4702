// The source that a function is in, as prof --annotate prints it.

#ifndef PROF_TUI_SOURCE_H
#define PROF_TUI_SOURCE_H

#include <cstdint>
#include <memory>

#include "look.h"
#include "text_pane.h"

namespace prof::tui {

// The file, with the cursor on the line where the function begins; or why it cannot be shown. What it shows stays as it is
// when the look is gone.
std::unique_ptr<TextPane> source_of(const std::shared_ptr<const Look>& look, uint32_t function,
                                    const DebugSearch& search);

}  // namespace prof::tui

#endif
