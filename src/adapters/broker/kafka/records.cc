#include "adapters/broker/kafka/records.h"

#include <array>

namespace bartleby::kafka {
namespace {

constexpr std::size_t kBatchOverhead = 61;   // of one record batch, format 2
constexpr std::size_t kRecordOverhead = 30;  // lengths, offsets and times as varints, at most
constexpr std::size_t kHeaderOverhead = 10;

constexpr std::size_t kReusable = 2048;  // longer texts give their memory back

Bytes bytes_of(const void* at, std::size_t size) {
  if (at == nullptr) return std::nullopt;
  return std::string_view(static_cast<const char*>(at), size);
}

void read_into(Bytes& bytes, const void* at, std::size_t size) {
  if (at == nullptr)
    bytes.reset();
  else if (bytes && bytes->capacity() <= kReusable)
    bytes->assign(static_cast<const char*>(at), size);
  else
    bytes.emplace(static_cast<const char*>(at), size);
}

rd_kafka_vu_t vu(rd_kafka_vtype_t type) {
  rd_kafka_vu_t v{};
  v.vtype = type;
  return v;
}

}  // namespace

LogRecord record_of(const rd_kafka_message_t& message) {
  LogRecord record;
  read_into(record, message);
  return record;
}

void read_into(LogRecord& record, const rd_kafka_message_t& message) {
  record.offset = Offset(message.offset);
  record.timestamp = timestamp_ms(rd_kafka_message_timestamp(&message, nullptr));
  read_into(record.key, message.key, message.key_len);
  read_into(record.value, message.payload, message.len);
  record.headers.clear();
  rd_kafka_headers_t* headers = nullptr;
  if (rd_kafka_message_headers(&message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) return;
  const char* name = nullptr;
  const void* value = nullptr;
  std::size_t size = 0;
  for (std::size_t i = 0; rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR; ++i)
    record.headers.emplace_back(name, bytes_of(value, size));
}

rd_kafka_resp_err_t hand_over(rd_kafka_t* producer, const Record& record, std::uint64_t number) {
  HeadersPtr headers(rd_kafka_headers_new(record.headers.size()));
  for (const auto& [name, value] : record.headers)
    rd_kafka_header_add(headers.get(), name.data(), static_cast<ssize_t>(name.size()), value ? value->data() : nullptr,
                        value ? static_cast<ssize_t>(value->size()) : 0);
  std::array<rd_kafka_vu_t, 7> all = {
      vu(RD_KAFKA_VTYPE_TOPIC), vu(RD_KAFKA_VTYPE_PARTITION), vu(RD_KAFKA_VTYPE_MSGFLAGS), vu(RD_KAFKA_VTYPE_KEY),
      vu(RD_KAFKA_VTYPE_VALUE), vu(RD_KAFKA_VTYPE_HEADERS),   vu(RD_KAFKA_VTYPE_OPAQUE)};
  all[0].u.cstr = record.topic.c_str();
  all[1].u.i32 = record.partition ? record.partition->v : RD_KAFKA_PARTITION_UA;
  all[2].u.i = RD_KAFKA_MSG_F_COPY;
  // A null key and an empty one differ by the pointer alone.
  all[3].u.mem.ptr = record.key ? const_cast<char*>(record.key->data()) : nullptr;
  all[3].u.mem.size = record.key ? record.key->size() : 0;
  all[4].u.mem.ptr = record.value ? const_cast<char*>(record.value->data()) : nullptr;
  all[4].u.mem.size = record.value ? record.value->size() : 0;
  all[5].u.headers = headers.get();
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a number that comes back, followed by nobody
  all[6].u.ptr = reinterpret_cast<void*>(static_cast<std::uintptr_t>(number));
  const ErrorPtr error(rd_kafka_produceva(producer, all.data(), all.size()));
  if (error) return rd_kafka_error_code(error.get());
  static_cast<void>(headers.release());  // they belong to the message now
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

std::size_t wire_size(const Record& record) {
  return kBatchOverhead + kRecordOverhead + payload_size(record) + kHeaderOverhead * record.headers.size();
}

}  // namespace bartleby::kafka
