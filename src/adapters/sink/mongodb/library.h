// libmongoc, loaded when the first sink is opened and not before.
//
// Linked in the ordinary way it would begin with the process: every `bartleby`, also one that only asks a server, would
// make a piece of shared memory for its counters, leave it behind when it is killed, and warn about such a piece when
// it meets one. The calls below have libmongoc's own names, in our namespace, and may be used after `load_library` has
// succeeded. Any thread; it is done once. kUnsupported: libmongoc is not on this machine, or lacks a call.
#pragma once

#include <mongoc/mongoc.h>

#include "base/error.h"

#define BARTLEBY_MONGOC_CALLS(CALL)              \
  CALL(mongoc_init)                              \
  CALL(mongoc_log_set_handler)                   \
  CALL(mongoc_uri_new_with_error)                \
  CALL(mongoc_uri_has_option)                    \
  CALL(mongoc_uri_set_option_as_int32)           \
  CALL(mongoc_uri_set_appname)                   \
  CALL(mongoc_uri_get_write_concern)             \
  CALL(mongoc_uri_destroy)                       \
  CALL(mongoc_write_concern_copy)                \
  CALL(mongoc_write_concern_get_wtimeout)        \
  CALL(mongoc_write_concern_get_w)               \
  CALL(mongoc_write_concern_is_acknowledged)     \
  CALL(mongoc_write_concern_journal_is_set)      \
  CALL(mongoc_write_concern_get_journal)         \
  CALL(mongoc_write_concern_set_wmajority)       \
  CALL(mongoc_write_concern_destroy)             \
  CALL(mongoc_read_prefs_new)                    \
  CALL(mongoc_read_prefs_get_mode)               \
  CALL(mongoc_read_prefs_destroy)                \
  CALL(mongoc_client_new_from_uri_with_error)    \
  CALL(mongoc_client_set_error_api)              \
  CALL(mongoc_client_set_write_concern)          \
  CALL(mongoc_client_set_read_prefs)             \
  CALL(mongoc_client_get_read_prefs)             \
  CALL(mongoc_client_get_collection)             \
  CALL(mongoc_client_write_command_with_opts)    \
  CALL(mongoc_client_destroy)                    \
  CALL(mongoc_collection_find_with_opts)         \
  CALL(mongoc_collection_find_indexes_with_opts) \
  CALL(mongoc_collection_insert_one)             \
  CALL(mongoc_collection_insert_many)            \
  CALL(mongoc_collection_replace_one)            \
  CALL(mongoc_collection_update_one)             \
  CALL(mongoc_collection_destroy)                \
  CALL(mongoc_cursor_next)                       \
  CALL(mongoc_cursor_error)                      \
  CALL(mongoc_cursor_destroy)

namespace bartleby::mongodb {

#define BARTLEBY_DECLARE(name) extern decltype(&::name) name;  // NOLINT(bugprone-macro-parentheses)
BARTLEBY_MONGOC_CALLS(BARTLEBY_DECLARE)
#undef BARTLEBY_DECLARE

Result<void> load_library();

}  // namespace bartleby::mongodb
