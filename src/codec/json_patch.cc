#include "codec/json_patch.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "codec/json_text.h"
#include "codec/json_tree.h"

namespace bartleby {
namespace {

enum class Op : std::uint8_t { kAdd, kRemove, kReplace, kMove, kCopy, kTest };
constexpr std::array<std::string_view, 6> kOps = {"add", "remove", "replace", "move", "copy", "test"};

using Pointer = std::vector<std::string>;

struct Step {
  Op op = Op::kTest;
  std::string path_text, from_text;
  Pointer path, from;
  JsonTree value;
};

// `/a~1b/0` as its tokens; nothing: it is no pointer.
std::optional<Pointer> pointer_from(std::string_view text) {
  Pointer pointer;
  if (text.empty()) return pointer;
  if (!text.starts_with('/')) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '/') {
      pointer.emplace_back();
    } else if (text[i] == '~') {
      ++i;
      if (i == text.size() || (text[i] != '0' && text[i] != '1')) return std::nullopt;
      pointer.back() += text[i] == '0' ? '~' : '/';
    } else {
      pointer.back() += text[i];
    }
  }
  return pointer;
}

// The only member of this name; nothing where there is none. Twice: it cannot be said which is meant.
Result<JsonTree*> member_of(JsonTree& object, const std::string& name) {
  JsonTree* found = nullptr;
  for (auto& [quoted, member] : object.members) {
    if (json_unquoted(quoted) != name) continue;
    if (found != nullptr) return fail(ErrorCode::kInvalid, "the name " + name + " stands there twice");
    found = &member;
  }
  return found;
}

// 0 or a number without zeros before it, up to `most`.
std::optional<std::size_t> index_from(const std::string& token, std::size_t most) {
  if (token.empty() || token.size() > 9 || (token.size() > 1 && token[0] == '0')) return std::nullopt;
  std::size_t index = 0;
  for (const char c : token) {
    if (c < '0' || c > '9') return std::nullopt;
    index = index * 10 + static_cast<std::size_t>(c - '0');
  }
  return index <= most ? std::optional(index) : std::nullopt;
}

std::unexpected<Error> absent(const std::string& path) { return fail(ErrorCode::kInvalid, path + " is not there"); }

class Patching {
 public:
  explicit Patching(JsonTree document) : document_(std::move(document)), size_(tree_size(document_)) {}

  Result<void> take(const Step& step) {
    switch (step.op) {
      case Op::kAdd:
        return add(step.path, step.path_text, step.value);
      case Op::kRemove:
        return whether(remove(step.path, step.path_text));
      case Op::kReplace:
        return replace(step);
      case Op::kMove: {
        if (step.path.size() > step.from.size() &&
            std::ranges::equal(step.from, std::span(step.path).first(step.from.size())))
          return fail(ErrorCode::kInvalid, step.from_text + " cannot be moved into itself");
        auto moved = remove(step.from, step.from_text);
        if (!moved) return std::unexpected(moved.error());
        return add(step.path, step.path_text, std::move(*moved));
      }
      case Op::kCopy: {
        const auto found = find(step.from, step.from.size(), step.from_text);
        if (!found) return std::unexpected(found.error());
        // Before the copy is made: a patch that doubles again and again ends here.
        if (auto fits = grow(tree_size(**found)); !fits) return fits;
        JsonTree copy = **found;
        size_ -= tree_size(copy);
        return add(step.path, step.path_text, std::move(copy));
      }
      case Op::kTest: {
        const auto found = find(step.path, step.path.size(), step.path_text);
        if (!found) return std::unexpected(found.error());
        if (!json_equal(**found, step.value)) return fail(ErrorCode::kInvalid, step.path_text + " has another value");
        return {};
      }
    }
    return {};
  }

  std::string text() const {
    std::string out;
    append_tree(out, document_);
    return out;
  }

 private:
  static Result<void> whether(const Result<JsonTree>& result) {
    if (result) return {};
    return std::unexpected(result.error());
  }

  Result<void> grow(std::size_t bytes) {
    if (size_ + bytes > kMaxPatched)
      return fail(ErrorCode::kTooLarge, "the result would have more than " + std::to_string(kMaxPatched) + " bytes");
    size_ += bytes;
    return {};
  }

  // What the first `tokens` of the pointer lead to.
  Result<JsonTree*> find(const Pointer& pointer, std::size_t tokens, const std::string& path) {
    JsonTree* at = &document_;
    for (std::size_t i = 0; i < tokens; ++i) {
      if (at->kind == JsonTree::Kind::kObject) {
        const auto member = member_of(*at, pointer[i]);
        if (!member) return std::unexpected(member.error());
        if (*member == nullptr) return absent(path);
        at = *member;
      } else if (at->kind == JsonTree::Kind::kArray && !at->items.empty()) {
        const auto index = index_from(pointer[i], at->items.size() - 1);
        if (!index) return absent(path);
        at = &at->items[*index];
      } else {
        return absent(path);
      }
    }
    return at;
  }

  Result<void> add(const Pointer& pointer, const std::string& path, JsonTree value) {
    if (auto fits = grow(tree_size(value)); !fits) return fits;
    if (pointer.empty()) {
      size_ -= tree_size(document_);
      document_ = std::move(value);
      return {};
    }
    const auto parent = find(pointer, pointer.size() - 1, path);
    if (!parent) return std::unexpected(parent.error());
    JsonTree& at = **parent;
    const std::string& last = pointer.back();
    if (at.kind == JsonTree::Kind::kObject) {
      const auto member = member_of(at, last);
      if (!member) return std::unexpected(member.error());
      if (*member != nullptr) {
        size_ -= tree_size(**member);
        **member = std::move(value);
        return {};
      }
      std::string name = quoted(last);
      if (auto fits = grow(name.size() + 2); !fits) return fits;
      at.members.emplace_back(std::move(name), std::move(value));
      return {};
    }
    if (at.kind != JsonTree::Kind::kArray)
      return fail(ErrorCode::kInvalid, "nothing can be added at " + path + ": what holds it is no object and no array");
    const auto index = last == "-" ? std::optional(at.items.size()) : index_from(last, at.items.size());
    if (!index) return fail(ErrorCode::kInvalid, path + " is not a place in the array");
    if (auto fits = grow(1); !fits) return fits;
    at.items.insert(at.items.begin() + static_cast<std::ptrdiff_t>(*index), std::move(value));
    return {};
  }

  Result<JsonTree> remove(const Pointer& pointer, const std::string& path) {
    if (pointer.empty()) return fail(ErrorCode::kInvalid, "the whole document cannot be removed");
    const auto found = find(pointer, pointer.size(), path);
    if (!found) return std::unexpected(found.error());
    const auto parent = find(pointer, pointer.size() - 1, path);
    if (!parent) return std::unexpected(parent.error());
    size_ -= tree_size(**found);
    JsonTree removed = std::move(**found);
    JsonTree& at = **parent;
    if (at.kind == JsonTree::Kind::kObject)
      std::erase_if(at.members, [&](const auto& member) { return json_unquoted(member.first) == pointer.back(); });
    else
      at.items.erase(at.items.begin() + static_cast<std::ptrdiff_t>(*index_from(pointer.back(), at.items.size() - 1)));
    return removed;
  }

  Result<void> replace(const Step& step) {
    const auto found = find(step.path, step.path.size(), step.path_text);
    if (!found) return std::unexpected(found.error());
    if (auto fits = grow(tree_size(step.value)); !fits) return fits;
    size_ -= tree_size(**found);
    **found = step.value;
    return {};
  }

  static std::string quoted(const std::string& name) {
    std::string out;
    append_json_text(out, name);
    return out;
  }

  JsonTree document_;
  std::size_t size_;  // bytes of the text, or a few more
};

std::unexpected<Error> bad_step(std::size_t number, const std::string& why) {
  return fail(ErrorCode::kMalformed, "step " + std::to_string(number) + " of the edit: " + why);
}

Result<Step> step_from(const JsonTree& from, std::size_t number) {
  if (from.kind != JsonTree::Kind::kObject) return bad_step(number, "not an object");
  std::optional<std::string> op, path, source;
  const JsonTree* value = nullptr;
  for (const auto& [quoted, member] : from.members) {
    const std::string name = json_unquoted(quoted);
    std::optional<std::string>* const words = name == "op"     ? &op
                                              : name == "path" ? &path
                                              : name == "from" ? &source
                                                               : nullptr;
    if (words != nullptr) {
      if (member.kind != JsonTree::Kind::kString) return bad_step(number, name + " must be a string");
      if (*words) return bad_step(number, name + " stands there twice");
      *words = json_unquoted(member.text);
    } else if (name == "value") {
      if (value != nullptr) return bad_step(number, "value stands there twice");
      value = &member;
    }  // others are ignored, as RFC 6902 wants it
  }
  Step step;
  const auto known = op ? std::ranges::find(kOps, *op) : kOps.end();
  if (known == kOps.end()) return bad_step(number, "op must be one of add, remove, replace, move, copy, test");
  step.op = static_cast<Op>(known - kOps.begin());
  const auto pointer = path ? pointer_from(*path) : std::nullopt;
  if (!pointer) return bad_step(number, "path must be a JSON pointer such as /order/amount");
  step.path = *pointer;
  step.path_text = *path;
  if (step.op == Op::kMove || step.op == Op::kCopy) {
    const auto source_pointer = source ? pointer_from(*source) : std::nullopt;
    if (!source_pointer) return bad_step(number, "from must be a JSON pointer such as /order/amount");
    step.from = *source_pointer;
    step.from_text = *source;
  } else if (step.op != Op::kRemove) {
    if (value == nullptr) return bad_step(number, "value is missing");
    step.value = *value;
  }
  return step;
}

}  // namespace

struct JsonPatch::Steps {
  std::vector<Step> all;
};

Result<JsonPatch> JsonPatch::parse(std::string_view text) {
  if (text.size() > kMaxPatch)
    return fail(ErrorCode::kTooLarge, "an edit has at most " + std::to_string(kMaxPatch) + " bytes");
  const auto tree = json_tree(text, kMaxPatchDepth);
  if (!tree) return fail(ErrorCode::kMalformed, "the edit is " + tree.error().message);
  if (tree->kind != JsonTree::Kind::kArray)
    return fail(ErrorCode::kMalformed, R"(the edit must be a list such as [{"op":"replace","path":"/a","value":1}])");
  if (tree->items.size() > kMaxPatchSteps)
    return fail(ErrorCode::kTooLarge, "an edit has at most " + std::to_string(kMaxPatchSteps) + " steps");
  Steps steps;
  for (const JsonTree& item : tree->items) {
    auto step = step_from(item, steps.all.size() + 1);
    if (!step) return std::unexpected(step.error());
    steps.all.push_back(std::move(*step));
  }
  return JsonPatch(std::make_shared<const Steps>(std::move(steps)));
}

Result<std::string> JsonPatch::apply(std::string_view document) const {
  if (document.size() > kMaxPatched)
    return fail(ErrorCode::kTooLarge, "more than " + std::to_string(kMaxPatched) + " bytes are not edited");
  auto tree = json_tree(document, kMaxPatchDepth);
  if (!tree) return std::unexpected(tree.error());
  Patching patching(std::move(*tree));
  std::size_t number = 0;
  for (const Step& step : steps_->all) {
    ++number;
    if (auto done = patching.take(step); !done)
      return fail(done.error().code, "step " + std::to_string(number) + ": " + done.error().message);
  }
  return patching.text();
}

Result<std::string> json_member(std::string_view object, std::string_view name) {
  auto tree = json_tree(object, kMaxPatchDepth);
  if (!tree) return std::unexpected(tree.error());
  if (tree->kind != JsonTree::Kind::kObject) return fail(ErrorCode::kMalformed, "not an object");
  std::string out;
  for (const auto& [quoted, member] : tree->members)
    if (json_unquoted(quoted) == name) out.clear(), append_tree(out, member);
  return out;
}

}  // namespace bartleby
