#include "trace_remarks.h"

#include "prof/commands/options/message.h"

namespace prof {

void say_trace_remarks(const TraceReader& reader, const TraceNames& names) {
  say_all(names.remarks());
  for (const std::string& remark : reader.remarks())
    say(reader.file().path() + ": the trace " + (reader.is_partial() ? "is partial: it " : "") + remark);
}

}  // namespace prof
