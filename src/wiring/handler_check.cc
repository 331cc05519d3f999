#include "wiring/handler_check.h"

namespace bartleby {
namespace {

void check(const ConfigNode& node, const Origin& otherwise, const std::string& path, const Handlers& handlers,
           Mistakes& mistakes) {
  const ConfigNode* handler = node.find("handler");
  const ConfigNode* name = handler == nullptr ? nullptr : handler->find("builtin");
  if (name == nullptr || handlers.has(name->text)) return;
  mistakes.add(name->origin.name ? name->origin : otherwise, path + ".handler",
               "this program has no handler " + quote(name->text) +
                   "; say handler: {http: {url: …}} or {pull: {}}, or build a program that has it");
}

}  // namespace

std::vector<Mistake> missing_handlers(const Config& config, const Handlers& handlers) {
  Mistakes mistakes;
  const ConfigNode* workers = config.effective.find("workers");
  if (workers == nullptr || !config.runs_workers) return {};
  for (const ConfigEntry& worker : workers->entries) {
    const std::string path = "workers." + worker.key;
    const ConfigNode* cases = worker.value.find("cases");
    if (cases == nullptr || cases->items.empty()) {
      check(worker.value, worker.origin, path, handlers, mistakes);
      continue;
    }
    for (std::size_t i = 0; i < cases->items.size(); ++i)
      check(cases->items[i], worker.origin, path + ".cases[" + std::to_string(i) + "]", handlers, mistakes);
  }
  return mistakes.take();
}

}  // namespace bartleby
