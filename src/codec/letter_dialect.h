// A letter's value in the forms that other programs expect, and back.
//
//   envelope      {"original_topic":…,"original_value":<the value>,"error_details":{…},…}: the value as the JSON text
//                 that it is, or base64 with "original_value_encoding":"base64" beside it; the same for the key
//   dlq_metadata  the value, a JSON object, with ,"dlq_metadata":{…} before its last brace; one that it had is replaced
//
// What headers beside the value say (`WrappedValue::headers`) makes the way back exact: blanks, a null, an earlier
// dlq_metadata. Whoever changed the value on its way is found out by its hash. Pure.
#pragma once

#include "codec/letter.h"

namespace bartleby {

struct WrappedValue {
  Bytes value;
  Headers headers;  // none: the value is as it was, dialect `record`
};

// `error` is what of it shall be told; `published` is never absent.
WrappedValue wrapped_value(LetterDialect dialect, const LetterFacts& facts, const ErrorText& error,
                           const LogRecord& record, Timestamp published);

// What the headers of a letter say about its value.
struct WrappedMark {
  LetterDialect dialect = LetterDialect::kRecord;
  std::string original_sha256;  // `null`: there was no value
  std::string replaced;         // empty: nothing was
};

// The value as it was; kMalformed where this is not what was written.
Result<Bytes> original_value(const Bytes& value, const WrappedMark& mark);

// The member of this name in an object without it, which stands in it once: `,"name":…` as far as it goes. Nothing: it
// is no JSON object, or has two of them. `cut` is empty where there is none.
struct CutObject {
  std::string rest, cut;
  std::size_t at = 0;  // where the cut was
  std::string member;  // its value
};
std::optional<CutObject> without_member(std::string_view object, std::string_view name);

}  // namespace bartleby
