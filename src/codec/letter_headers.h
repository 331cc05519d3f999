// The names of the headers that carry a letter's story, and the limits that writer and reader share.
//
// They are a format: other programs read them, so a name changes only together with the version.
#pragma once

#include <cstddef>
#include <string_view>

namespace bartleby::letter_header {

constexpr std::string_view kPrefix = "bartleby-";  // every header that begins like this is ours

constexpr std::string_view kVersion = "bartleby-v";
constexpr std::string_view kLetter = "bartleby-letter";
constexpr std::string_view kLineage = "bartleby-lineage";
constexpr std::string_view kReplays = "bartleby-replays";
constexpr std::string_view kCluster = "bartleby-cluster";
constexpr std::string_view kTopic = "bartleby-topic";
constexpr std::string_view kPartition = "bartleby-partition";
constexpr std::string_view kOffset = "bartleby-offset";
constexpr std::string_view kTimestamp = "bartleby-timestamp";
constexpr std::string_view kGroup = "bartleby-group";
constexpr std::string_view kWorker = "bartleby-worker";
constexpr std::string_view kInstance = "bartleby-instance";
constexpr std::string_view kReason = "bartleby-reason";
constexpr std::string_view kErrorKind = "bartleby-error-kind";
constexpr std::string_view kErrorType = "bartleby-error-type";
constexpr std::string_view kErrorMessage = "bartleby-error-message";
constexpr std::string_view kErrorStack = "bartleby-error-stack";
constexpr std::string_view kAttempts = "bartleby-attempts";
constexpr std::string_view kFirstFailure = "bartleby-first-failure-at";
constexpr std::string_view kLastFailure = "bartleby-last-failure-at";
constexpr std::string_view kEncoding = "bartleby-encoding";
constexpr std::string_view kPart = "bartleby-part";
constexpr std::string_view kSha256 = "bartleby-sha256";
constexpr std::string_view kDialect = "bartleby-dialect";                 // absent: `record`
constexpr std::string_view kOriginalSha256 = "bartleby-original-sha256";  // of the value that was put into the dialect
constexpr std::string_view kReplaced = "bartleby-replaced";               // what was taken out of it: `place;base64`

constexpr std::string_view kVersion1 = "1";
constexpr std::string_view kZstd = "zstd";

constexpr std::size_t kMaxBytes = 4096;                           // names and values of ours in one record
constexpr std::size_t kMaxValue = std::size_t{64} * 1024 * 1024;  // of a value that was compressed

}  // namespace bartleby::letter_header
