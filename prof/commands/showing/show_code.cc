#include "show_code.h"

#include <filesystem>
#include <set>

#include "prof/commands/options/message.h"
#include "prof/model/tree/modules.h"
#include "prof/views/code/code_views.h"

namespace prof {

namespace {

SourceText sources_of(const Options& options, const Analysis& analysis) {
  std::vector<std::string> folders = {"."};
  const std::string folder = std::filesystem::path(analysis.program).parent_path().string();
  if (!folder.empty()) folders.push_back(folder);
  folders.insert(folders.end(), options.debug_files.beside.begin(), options.debug_files.beside.end());
  return SourceText(std::move(folders));
}

// Says so if no blocks were counted, of the files that the functions are in or at all.
void say_uncounted(const Analysis& analysis, const std::vector<uint32_t>& functions, const char* what) {
  const std::string why = std::string(" blocks were not counted; ") + what + " need profld -b";
  if (analysis.blocks.empty()) return say_all({analysis.profiles.at(0) + ":" + why});
  std::set<uint32_t> told;  // objects
  for (const BlockCount& block : analysis.blocks) told.insert(block.object);
  for (const uint32_t f : functions) {
    const uint32_t object = analysis.functions.functions()[f].object;
    if (told.insert(object).second) say_all({analysis.functions.objects()[object].name() + ": its" + why});
  }
}

void annotate_source(const Options& options, Analysis& analysis, Output& out) {
  add_uncalled_functions(analysis, !analysis.function_filter.is_empty());
  SourceText sources = sources_of(options, analysis);
  const std::vector<uint32_t> selected = selected_code(analysis);
  const Annotation annotation = annotate(analysis, selected, options.debug_files, sources);
  say_all(annotation.remarks);
  say_uncounted(analysis, selected, "executions of lines");
  for (const AnnotatedFile& file : annotation.files)
    sources.note_program(file.path, file.lines.empty() ? 0 : file.lines.rbegin()->first, file.made);
  say_all(sources.remarks());
  print_annotation(analysis, annotation, sources, options.table.columns, out);
}

void annotate_instructions(const Options& options, Analysis& analysis, Output& out) {
  add_uncalled_functions(analysis, true);
  const std::vector<uint32_t> selected = selected_code(analysis);
  const Disassembly disassembly = disassemble(analysis, selected, options.debug_files);
  say_all(disassembly.remarks);
  say_uncounted(analysis, selected, "executions of instructions");
  SourceText sources = sources_of(options, analysis);
  for (const DisassembledFunction& function : disassembly.functions)
    for (const DisassembledInstruction& instruction : function.instructions)
      if (instruction.line != 0) sources.note_program(instruction.file, instruction.line, function.made);
  say_all(sources.remarks());
  print_disassembly(analysis, disassembly, sources, options.table.columns, out);
}

void show_call_sites(const Options& options, const Analysis& analysis, Output& out) {
  std::vector<std::string> remarks;
  std::vector<CallSite> sites = call_sites(analysis, options.debug_files, remarks);
  const std::vector<bool> selected = selected_functions(analysis, Modules(analysis));
  std::erase_if(sites, [&](const CallSite& site) { return !selected[site.caller] && !selected[site.callee]; });
  say_all(remarks);
  say_all(print_call_sites(analysis, sites, options.debug_files, options.table.columns, out));
}

}  // namespace

void print_code(const Options& options, Analysis& analysis, Output& out) {
  switch (options.view) {
    case Options::View::annotation:
      return annotate_source(options, analysis, out);
    case Options::View::disassembly:
      return annotate_instructions(options, analysis, out);
    case Options::View::call_sites:
      say_all(check_patterns(analysis));
      return show_call_sites(options, analysis, out);
    default:
      break;
  }
}

}  // namespace prof
