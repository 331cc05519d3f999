// A job: one message of a channel at one consumer. Its id is the place of the message, its state is put together from
// the letter, where it died, from the worker that has it, and from the group's commit. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/record.h"
#include "model/stored_letter.h"
#include "office/channels.h"
#include "server/services.h"

namespace bartleby {

constexpr std::string_view kMessageIdHeader = "x-broker-message-id";

enum class JobStatus : std::uint16_t { kQueued = 1001, kInFlight = 1002, kDelivered = 1003, kDead = 1004 };
std::string_view name(JobStatus status);

struct JobState {
  JobStatus status = JobStatus::kQueued;
  std::uint32_t attempts = 0;
  std::optional<StoredLetter> letter;  // of one that has died, also where it was requeued since
  std::string message_id;              // of a letter: that it was broadcast under; empty: it was not
};

// As the letter's headers have it.
Result<std::string> broadcast_id(Connection& connection, const StoredLetter& letter);

std::string job_id(const Place& place);
std::optional<Place> job_place(std::string_view id);

// Nothing: there is no such job, or it was deleted.
Result<std::optional<JobState>> job_state(const Services& services, const Consumer& consumer, const Place& place);

}  // namespace bartleby
