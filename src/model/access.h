// Who may do what: scopes, sets of them, and the roles that are names of sets.
//
// Plain data. A caller is whoever a request comes from, as far as the server knows: a key by its name, `local` on a
// machine without keys, `internal`, a person whom a proxy names.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bartleby {

enum class Scope : std::uint8_t {
  kRead,     // everything but what messages hold
  kPayload,  // keys, values and headers of messages
  kReplay,
  kDiscard,
  kApprove,
  kIngest,  // send messages
  kWork,    // claim attempts
  kAdmin,
};

constexpr std::array<std::string_view, 8> kScopeNames = {"read",    "payload", "replay", "discard",
                                                         "approve", "ingest",  "work",   "admin"};

constexpr std::string_view name(Scope scope) { return kScopeNames.at(static_cast<std::size_t>(scope)); }

constexpr std::optional<Scope> scope_named(std::string_view text) {
  for (std::size_t i = 0; i < kScopeNames.size(); ++i)
    if (kScopeNames[i] == text) return static_cast<Scope>(i);
  return std::nullopt;
}

struct Scopes {
  std::uint32_t bits = 0;

  constexpr Scopes() = default;
  constexpr explicit Scopes(std::uint32_t b) : bits(b) {}
  constexpr Scopes(std::initializer_list<Scope> list) {
    for (const Scope scope : list) *this |= scope;
  }
  static constexpr Scopes all() { return Scopes((1U << kScopeNames.size()) - 1); }

  constexpr bool has(Scope scope) const { return (bits >> static_cast<unsigned>(scope) & 1U) != 0; }
  constexpr bool has_any(Scopes other) const { return (bits & other.bits) != 0; }
  constexpr bool has_all(Scopes other) const { return (bits & other.bits) == other.bits; }
  constexpr bool empty() const { return bits == 0; }
  constexpr Scopes& operator|=(Scope scope) {
    bits |= 1U << static_cast<unsigned>(scope);
    return *this;
  }
  constexpr Scopes& operator|=(Scopes other) {
    bits |= other.bits;
    return *this;
  }
  constexpr bool operator==(const Scopes&) const = default;

  std::vector<std::string_view> names() const {
    std::vector<std::string_view> out;
    for (std::size_t i = 0; i < kScopeNames.size(); ++i)
      if (has(static_cast<Scope>(i))) out.push_back(kScopeNames[i]);
    return out;
  }
};

struct Role {
  std::string_view name;
  Scopes scopes;
};
constexpr std::array kRoles = {
    Role{"viewer", {Scope::kRead}},
    Role{"operator", {Scope::kRead, Scope::kPayload, Scope::kReplay, Scope::kDiscard}},
    Role{"admin", Scopes::all()},
};

constexpr std::optional<Scopes> role_named(std::string_view text) {
  for (const Role& role : kRoles)
    if (role.name == text) return role.scopes;
  return std::nullopt;
}

struct Caller {
  std::string name = "local";
  Scopes scopes = Scopes::all();
  bool known = false;  // by a key, a session or a proxy that is trusted

  bool may(Scope scope) const { return scopes.has(scope); }
};

}  // namespace bartleby
