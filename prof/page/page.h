// A page to look at a profile with: one file of HTML that needs nothing else.
//
// It is made of three parts. The first and the last are the same for all profiles, and are put together when prof is
// built, of the files beside this one (prof/page/assemble): what the page looks like, and the program in it. Between
// them stands what is of the profile, packed (packed.h), one <template> for each part that is shown apart. A browser
// neither shows nor runs what is in one of these, and what is packed there has no character that means anything in
// HTML. So no name in a profile can be taken for a piece of the page; and the program in the page sets all text as
// text.
//
// With --with-source, another <template> has the source of the program (sources.h). A browser unpacks it when the page
// is shown.
//
// The page forbids itself all else: its content policy allows the one script and the one sheet of styles in it, by
// their SHA-256, and no network at all.

#ifndef PROF_PAGE_PAGE_H
#define PROF_PAGE_PAGE_H

#include <memory>
#include <string>
#include <vector>

#include "prof/export/exports.h"
#include "prof/model/compare/difference.h"
#include "prof/views/text/output.h"
#include "sources.h"

namespace prof {

class PageExport : public Export {
 public:
  // Of the part that was added before, the only one.
  virtual void add_sources(const PageSources& sources) = 0;
};

// Writes to `out`, which must outlive it and is finished by the caller.
std::unique_ptr<PageExport> page_export(Output& out);

// Writes a page of two profiles (two_profiles.h): of a difference with contexts, and what there is to say of the
// profiles. `sources` were settled; null: there are none.
void write_page(const Difference& difference, const std::vector<std::string>& remarks, ComparedSources* sources,
                Output& out);

}  // namespace prof

#endif
