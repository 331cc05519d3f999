#include "adapters/sink/mongodb/library.h"

#include <dlfcn.h>

#include <string>

namespace bartleby::mongodb {

#define BARTLEBY_DEFINE(name) decltype(&::name) name = nullptr;  // NOLINT(bugprone-macro-parentheses)
BARTLEBY_MONGOC_CALLS(BARTLEBY_DEFINE)
#undef BARTLEBY_DEFINE

namespace {

template <class Call>
bool find(void* library, const char* name, Call& call) {
  call = reinterpret_cast<Call>(dlsym(library, name));
  return call != nullptr;
}

Result<void> load() {
  void* const library = dlopen("libmongoc-1.0.so.0", RTLD_NOW | RTLD_LOCAL);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): each thread has its own
  if (library == nullptr) return fail(ErrorCode::kUnsupported, std::string("libmongoc cannot be loaded: ") + dlerror());
#define BARTLEBY_FIND(name) \
  if (!find(library, #name, name)) return fail(ErrorCode::kUnsupported, "libmongoc has no " #name);
  BARTLEBY_MONGOC_CALLS(BARTLEBY_FIND)
#undef BARTLEBY_FIND
  mongoc_init();
  mongoc_log_set_handler(nullptr, nullptr);  // what goes wrong is in the answers
  return {};
}

}  // namespace

Result<void> load_library() {
  static const Result<void> kLoaded = load();
  return kLoaded;
}

}  // namespace bartleby::mongodb
