// libmongoc's and libbson's handles behind RAII, and a few lines that every use of them needs.
// A handle belongs to who holds it; a `Bson` is null only where it was made so or moved from.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "adapters/sink/mongodb/library.h"
#include "base/time.h"

#pragma GCC diagnostic ignored "-Wignored-attributes"  // of bson_t's alignment, in a list of pointers to it

namespace bartleby::mongodb {

struct Destroy {
  void operator()(mongoc_uri_t* u) const { mongoc_uri_destroy(u); }
  void operator()(mongoc_client_t* c) const { mongoc_client_destroy(c); }
  void operator()(mongoc_collection_t* c) const { mongoc_collection_destroy(c); }
  void operator()(mongoc_cursor_t* c) const { mongoc_cursor_destroy(c); }
  void operator()(mongoc_read_prefs_t* p) const { mongoc_read_prefs_destroy(p); }
  void operator()(mongoc_write_concern_t* w) const { mongoc_write_concern_destroy(w); }
};
template <class T>
using Handle = std::unique_ptr<T, Destroy>;

// A document of its own. Not a Handle: as a template's argument bson_t would lose its alignment.
class Bson {
 public:
  Bson() = default;
  explicit Bson(bson_t* owned) : owned_(owned) {}
  Bson(Bson&& other) noexcept : owned_(std::exchange(other.owned_, nullptr)) {}
  Bson& operator=(Bson&& other) noexcept {
    std::swap(owned_, other.owned_);
    return *this;
  }
  ~Bson() {
    if (owned_ != nullptr) bson_destroy(owned_);
  }
  explicit operator bool() const { return owned_ != nullptr; }
  bson_t* get() const { return owned_; }
  bson_t& operator*() const { return *owned_; }
  bson_t* operator->() const { return owned_; }

 private:
  bson_t* owned_ = nullptr;
};
inline Bson empty_bson() { return Bson(bson_new()); }
inline Bson copy_of(const bson_t& from) { return Bson(bson_copy(&from)); }

inline int length(std::string_view text) { return static_cast<int>(text.size()); }

inline void append_text(bson_t& to, std::string_view name, std::string_view text) {
  bson_append_utf8(&to, name.data(), length(name), text.data(), length(text));
}
inline void append_integer(bson_t& to, std::string_view name, std::int64_t value) {
  bson_append_int64(&to, name.data(), length(name), value);
}
inline void append_date(bson_t& to, std::string_view name, Timestamp at) {
  bson_append_date_time(&to, name.data(), length(name), ms(at));
}
inline void append_document(bson_t& to, std::string_view name, const bson_t& document) {
  bson_append_document(&to, name.data(), length(name), &document);
}
// Text where it is UTF-8, else binary.
void append_bytes(bson_t& to, std::string_view name, std::string_view bytes);

}  // namespace bartleby::mongodb
