// Letters to measure with: records of a dlq as a worker writes them, and stores that are full of letters.
//
// Everything lies under build/bench and is deleted by whoever measured. One thread. False, or 0: it could not be made.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/record.h"
#include "ports/store.h"

namespace bartleby::bench {

inline const Timestamp kNow = timestamp_ms(1'800'000'000'000);
constexpr std::int64_t kLettersAtOnce = 1000;  // of one transaction of intake

// An empty folder.
std::string fresh(const std::string& folder);
double seconds_of(const std::function<void()>& work);
// With BARTLEBY_BENCH_KEEP set, letters that were loaded stay and are measured again by the next run.
bool keeps_letters();
// BARTLEBY_BENCH_LETTERS, or so many.
std::int64_t letters_wanted(std::int64_t otherwise);

// `kLettersAtOnce` letters of 450 bytes from `from` on, of one partition.
std::vector<LogRecord> dlq_records(std::int64_t from);
// Taken in as the office does it, in their order.
bool take_in(Store& store, std::vector<std::vector<LogRecord>> batches);

// office.db in the folder with so many letters of 50 consumers and 20 issues, put in by SQL without payloads and
// without a log of the transaction, indexes made afterwards; counters as the office would have them. `words`: for
// searches too.
bool load_letters(const std::string& folder, std::int64_t letters, bool words);

}  // namespace bartleby::bench
