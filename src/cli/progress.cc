#include "cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "cli/text.h"

namespace bartleby::cli {

std::string so_far_text(std::int64_t done, const JsonValue& page, std::string_view thing) {
  const std::int64_t total = std::max(done, page["count"].integer("value"));
  const bool exact = page["count"].truth("exact");
  return grouped(done) + " of " + (exact ? "" : "more than ") + counted(total, thing);
}

Progress::Progress(std::ostream& err) : Progress(err, &err == &std::cerr && isatty(STDERR_FILENO) == 1) {}

void Progress::tell(const std::string& text) {
  if (!told_ || (text.empty() && !there_)) return;
  err_ << "\r\x1b[K" << text << std::flush;
  there_ = !text.empty();
}

}  // namespace bartleby::cli
