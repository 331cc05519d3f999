// Numbers that cannot be passed for one another.
//
// `Strong<Tag, T>` wraps one number. It compares with its own kind only; arithmetic is written out
// with `.v`, so that an offset plus a partition does not compile.
#pragma once

#include <compare>

namespace bartleby {

template <class Tag, class T>
struct Strong {
  T v{};

  constexpr Strong() = default;
  constexpr explicit Strong(T value) : v(value) {}
  constexpr auto operator<=>(const Strong&) const = default;
};

}  // namespace bartleby
