// The pages that people look at: files inside the program, or in a folder while somebody works on them.
//
// Answers the pages' own paths and `/ui/NAME`, and nothing else, so that a wrong path of the API stays a problem
// document. Everybody gets them, also without a key: they are the same for all servers and say nothing of this one.
// Any thread; reads only. Files with a hash in their name may be kept for ever, the page itself is asked for
// each time and mostly not sent (ETag). A browser is told to run only what comes from here, to build no markup from
// text (Trusted Types) and to talk to nobody else. A pack that cannot be read is a mistake of the build and ends the
// process; a file that is missing in a folder is not found.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/http.h"

namespace bartleby {

class Pages {
 public:
  // `pack` as web/scripts/pack.mjs writes it; it must outlive the pages.
  explicit Pages(std::string_view pack);
  explicit Pages(std::filesystem::path folder);

  // Of GET and HEAD; nullopt: no page has this path.
  std::optional<Response> answer(const Request& request) const;

 private:
  struct File {
    std::string type, etag;
    bool forever = false;                                     // its name changes with its bytes
    std::map<std::string, std::string, std::less<>> encoded;  // bytes by encoding; "identity" always
  };

  std::shared_ptr<const File> file(const std::string& name) const;  // null: there is none

  std::map<std::string, std::shared_ptr<File>, std::less<>> files_;
  std::optional<std::filesystem::path> folder_;
};

// The pack inside this program.
std::string_view embedded_pages();

}  // namespace bartleby
