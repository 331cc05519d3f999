// Edits: nothing crashes, what comes out is JSON within its limit, and an edit that does nothing changes no meaning.
#include "codec/json_patch.h"
#include "codec/json_tree.h"
#include "fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bartleby;
  using namespace bartleby::fuzz;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::size_t end = text.find('\0');
  const std::string document = text.substr(0, end);
  const std::string edit = end == std::string::npos ? "[]" : text.substr(end + 1);
  const auto tree = json_tree(document, kMaxPatchDepth);
  if (tree) {
    std::string written;
    append_tree(written, *tree);
    require(written.size() == tree_size(*tree) && written.size() <= document.size());
    const auto again = json_tree(written, kMaxPatchDepth);
    require(again.has_value() && json_equal(*tree, *again));
    const auto same = JsonPatch::parse("[]")->apply(document);
    require(same.has_value() && *same == written);
  }
  const auto patch = JsonPatch::parse(edit);
  if (!patch) return 0;
  const auto edited = patch->apply(document);
  require(!edited || (tree.has_value() && edited->size() <= kMaxPatched));
  // A document that copies make deep is JSON all the same; only its reader may say that it is too deep.
  if (edited) require(json_tree(*edited, std::size_t{1} << 15).has_value());
  return 0;
}
