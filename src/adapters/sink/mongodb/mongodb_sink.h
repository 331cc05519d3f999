// A collection of MongoDB as a sink, by libmongoc: one document per ticket (adapters/sink/mongodb/document.h).
//
// No transactions and no updates by pipeline, so that it works with whatever speaks MongoDB's protocol: new letters are
// inserted, many at once; where the unique index answers 11000 the document is read, its lives and ours are composed,
// and it is replaced under the condition that its revision is still the one that was read. So racing writers (another
// office, a retry of our own that was thought to be lost) lose nothing and repeat nothing. Opening reaches nobody.
// One thread at a time. A server that does not answer within its limits is kUnavailable; the url says others.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "adapters/sink/mongodb/document.h"
#include "adapters/sink/mongodb/handles.h"
#include "ports/sink.h"

namespace bartleby::mongodb {

struct Options {
  std::string url;  // may hold a password: never shown
  std::string database, collection;
  std::string key;  // the field that there is one document of
  DocumentLimits limits{};
  std::function<void()> before_replace{};  // for tests: what happens between reading a document and writing to it
};

class MongodbSink : public Sink {
 public:
  static Result<std::unique_ptr<MongodbSink>> open(Options options);

  Result<void> prepare() override;
  Result<std::vector<RefusedLetter>> write(std::span<const SinkLetter> letters) override;

  mongoc_read_mode_t read_mode() const {
    return mongoc_read_prefs_get_mode(mongoc_client_get_read_prefs(client_.get()));
  }

 private:
  explicit MongodbSink(Options options) : options_(std::move(options)) {}
  Result<std::vector<RefusedLetter>> write_alone(std::span<const SinkLetter> letters, std::string why);
  Result<void> compose(Life life, std::string& refused);

  const Options options_;
  Handle<mongoc_client_t> client_;  // these two in this order: the collection goes first
  Handle<mongoc_collection_t> collection_;
};

}  // namespace bartleby::mongodb
