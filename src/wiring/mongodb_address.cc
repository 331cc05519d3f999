#include "wiring/mongodb_address.h"

#include <algorithm>
#include <cctype>

namespace bartleby {

bool is_mongodb_address(std::string_view url) {
  for (const std::string_view scheme : {"mongodb://", "mongodb+srv://"})
    if (url.starts_with(scheme)) {
      const std::string_view rest = url.substr(scheme.size(), url.find('/', scheme.size()) - scheme.size());
      return !rest.empty() && rest.back() != '@';
    }
  return false;
}

std::string unacknowledged(std::string_view url) {
  const std::size_t begin = url.find('?');
  std::string_view options = begin == std::string_view::npos ? "" : url.substr(begin + 1);
  while (!options.empty()) {
    const std::size_t end = std::min(options.find_first_of("&;"), options.size());
    std::string option(options.substr(0, end));
    std::ranges::transform(option, option.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (option == "w=0" || option == "journal=false" || option == "safe=false") return option;
    options.remove_prefix(std::min(end + 1, options.size()));
  }
  return "";
}

}  // namespace bartleby
