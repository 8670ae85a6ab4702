#include "page.h"

#include <string_view>

#include "contents.h"
#include "packed.h"
#include "prof/export/contexts.h"
#include "two_profiles.h"

// What prof/page/assemble made.
extern "C" {
extern const char prof_page_head[], prof_page_head_end[];
extern const char prof_page_tail[], prof_page_tail_end[];
}

namespace prof {

namespace {

class Page : public PageExport {
 public:
  explicit Page(Output& out) : out_(out) {}

  void add(const Analysis& part) override {
    begin();
    // So a reader can choose one without unpacking all.
    out_.text("<template class=\"profile\" data-part=\"" + base64(part_name(part)) + "\">");
    Packed packed(out_);
    pack(part, packed);
    packed.finish();
    out_.text("</template>\n");
  }

  void add(const Difference& difference, const std::vector<std::string>& remarks) {
    begin();
    out_.text("<template class=\"profile\">");
    Packed packed(out_);
    pack(difference, remarks, packed);
    packed.finish();
    out_.text("</template>\n");
  }

  void add_sources(const PageSources& sources) override {
    out_.text("<template class=\"source\">");
    Packed packed(out_);
    pack(sources, packed);
    packed.finish();
    out_.text("</template>\n");
  }

  void add_sources(ComparedSources& sources) {
    out_.text("<template class=\"source\">");
    Packed packed(out_);
    sources.pack(packed);
    packed.finish();
    out_.text("</template>\n");
  }

  void finish() override {
    begin();
    out_.text({prof_page_tail, size_t(prof_page_tail_end - prof_page_tail)});
  }

 private:
  void begin() {
    if (!has_head_) out_.text({prof_page_head, size_t(prof_page_head_end - prof_page_head)});
    has_head_ = true;
  }

  Output& out_;
  bool has_head_ = false;
};

}  // namespace

std::unique_ptr<PageExport> page_export(Output& out) { return std::make_unique<Page>(out); }

void write_page(const Difference& difference, const std::vector<std::string>& remarks, ComparedSources* sources,
                Output& out) {
  Page page(out);
  page.add(difference, remarks);
  if (sources) page.add_sources(*sources);
  page.finish();
}

}  // namespace prof
