#include "wiring/sinks.h"

#include <cstdlib>

#ifdef BARTLEBY_HAS_MONGODB
#include "adapters/sink/mongodb/mongodb_sink.h"
#endif

namespace bartleby {

// libmongoc counts in shared memory, which a process that is killed would leave behind.
// NOLINTNEXTLINE(concurrency-mt-unsafe): before any thread is there
void prepare_sinks() { ::setenv("MONGOC_DISABLE_SHM", "1", 0); }

#ifdef BARTLEBY_HAS_MONGODB
Result<std::unique_ptr<Sink>> open_sink(const SinkConfig& config) {
  auto opened = mongodb::MongodbSink::open(
      {.url = config.url, .database = config.database, .collection = config.collection, .key = config.key});
  if (!opened) return fail(opened.error().code, "sinks." + config.name + ": " + opened.error().message);
  return std::unique_ptr<Sink>(std::move(*opened));
}
#else
Result<std::unique_ptr<Sink>> open_sink(const SinkConfig& config) {
  return fail(
      ErrorCode::kUnsupported,
      "sinks." + config.name + ": this program was built without MongoDB; scripts/setup test, then build again");
}
#endif

}  // namespace bartleby
