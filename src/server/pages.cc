#include "server/pages.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <sstream>

#include "base/assert.h"
#include "codec/sha256.h"

namespace bartleby {
namespace {

constexpr std::string_view kIndex = "index.html";
constexpr std::string_view kLicenses = "licenses.txt";
constexpr std::string_view kAssets = "/ui/";
constexpr std::size_t kMaxFile = std::size_t{16} << 20;

// Each may have one more segment where it says so: the thing that the page shows.
struct PagePath {
  std::string_view path;
  bool of_one = false;
};
constexpr std::array<PagePath, 8> kPages = {{{"/", false},
                                             {"/letters", true},
                                             {"/issues", true},
                                             {"/operations", true},
                                             {"/workers", true},
                                             {"/dlqs", false},
                                             {"/activity", false},
                                             {"/status", false}}};

constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types 'none'";

bool is_page(std::string_view path) {
  return std::ranges::any_of(kPages, [path](const PagePath& page) {
    if (path == page.path) return true;
    if (!page.of_one || !path.starts_with(page.path) || path.size() < page.path.size() + 2) return false;
    const std::string_view rest = path.substr(page.path.size());
    return rest.starts_with('/') && rest.find('/', 1) == std::string_view::npos;
  });
}

bool is_file_name(std::string_view name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  };
  return !name.empty() && name.size() <= 200 && !name.starts_with('.') && std::ranges::all_of(name, plain);
}

std::string_view type_of(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kTypes = {
      {{".html", "text/html; charset=utf-8"},
       {".js", "text/javascript; charset=utf-8"},
       {".css", "text/css; charset=utf-8"},
       {".svg", "image/svg+xml"},
       {".txt", "text/plain; charset=utf-8"},
       {".woff2", "font/woff2"}}};
  for (const auto& [ending, type] : kTypes)
    if (name.ends_with(ending)) return type;
  return "application/octet-stream";
}

std::string etag_of(std::string_view bytes) { return "\"" + sha256_hex(bytes).substr(0, 32) + "\""; }

// Whether a header that lists things has this one; what stands behind a semicolon does not matter but for q=0.
bool lists(std::string_view header, std::string_view wanted) {
  while (!header.empty()) {
    const std::size_t comma = header.find(',');
    std::string_view one = header.substr(0, comma);
    header = comma == std::string_view::npos ? std::string_view() : header.substr(comma + 1);
    while (one.starts_with(' ')) one.remove_prefix(1);
    const std::string_view rest = one.substr(std::min(one.size(), one.find(';')));
    one = one.substr(0, one.find_first_of("; "));
    if (one == wanted) return !rest.ends_with("q=0");
  }
  return false;
}

std::size_t number(std::string_view text) {
  std::size_t n = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), n);
  BARTLEBY_ASSERT(failed == std::errc() && end == text.data() + text.size());
  return n;
}

}  // namespace

// The pack is lines `name encoding offset size`, an empty line, and the bytes that the lines point into.
Pages::Pages(std::string_view pack) {
  const std::size_t end = pack.find("\n\n");
  BARTLEBY_ASSERT(end != std::string_view::npos);
  const std::string_view bytes = pack.substr(end + 2);
  std::istringstream lines{std::string(pack.substr(0, end))};
  std::string name, encoding, offset, size;
  while (lines >> name >> encoding >> offset >> size) {
    std::shared_ptr<File>& place = files_[name];
    if (!place) place = std::make_shared<File>();
    File& file = *place;
    std::string content(bytes.substr(number(offset), number(size)));
    if (encoding == "identity") file.etag = etag_of(content);
    file.type = type_of(name);
    file.forever = name != kIndex && name != kLicenses;
    file.encoded[encoding] = std::move(content);
  }
  BARTLEBY_ASSERT(files_.contains(kIndex));
}

Pages::Pages(std::filesystem::path folder) : folder_(std::move(folder)) {}

std::shared_ptr<const Pages::File> Pages::file(const std::string& name) const {
  if (!folder_) {
    const auto found = files_.find(name);
    return found == files_.end() ? nullptr : found->second;
  }
  const std::filesystem::path path = name == kIndex ? *folder_ / name : *folder_ / "ui" / name;
  std::error_code failed;
  const auto size = std::filesystem::file_size(path, failed);
  std::ifstream in(path, std::ios::binary);
  if (failed || size > kMaxFile || !in) return nullptr;
  std::string content((std::istreambuf_iterator<char>(in)), {});
  const auto file = std::make_shared<File>();
  file->type = type_of(name);
  file->etag = etag_of(content);
  file->encoded["identity"] = std::move(content);
  return file;
}

std::optional<Response> Pages::answer(const Request& request) const {
  std::string name(kIndex);
  if (request.path.starts_with(kAssets)) {
    name = request.path.substr(kAssets.size());
    if (!is_file_name(name) || name == kIndex) return std::nullopt;
  } else if (!is_page(request.path)) {
    return std::nullopt;
  }
  const std::shared_ptr<const File> found = file(name);
  if (!found) return std::nullopt;
  Response response;
  response.content_type = found->type;
  response.headers = {{"ETag", found->etag},
                      {"Cache-Control", found->forever ? "public, max-age=31536000, immutable" : "no-cache"},
                      {"Content-Security-Policy", std::string(kPolicy)},
                      {"Cross-Origin-Opener-Policy", "same-origin"},
                      {"Cross-Origin-Resource-Policy", "same-origin"},
                      {"Referrer-Policy", "no-referrer"},
                      {"Vary", "Accept-Encoding"}};
  if (lists(request.header("if-none-match").value_or(""), found->etag)) {
    response.status = 304;
    return response;
  }
  const std::string_view accepted = request.header("accept-encoding").value_or("");
  for (const std::string_view encoding : {std::string_view("br"), std::string_view("gzip")})
    if (const auto at = found->encoded.find(encoding); at != found->encoded.end() && lists(accepted, encoding)) {
      response.headers.emplace_back("Content-Encoding", std::string(encoding));
      response.body = at->second;
      return response;
    }
  response.body = found->encoded.at("identity");
  return response;
}

}  // namespace bartleby
