// A worker whose handler the program does not have is a mistake of the file, with its place.
#include "wiring/handler_check.h"

#include <gtest/gtest.h>

namespace bartleby {
namespace {

std::string mistakes_of(const std::string& file, const std::string& has = "") {
  ConfigSources sources;
  sources.file = ConfigFile{"f", file};
  const auto config = load(sources);
  EXPECT_TRUE(config) << config.error().front().text();
  Handlers handlers;
  if (!has.empty()) handlers.sync[has] = [](const Message&, Attempt&) { return done(); };
  std::string all;
  for (const Mistake& mistake : missing_handlers(*config, handlers)) all += mistake.text() + "\n";
  return all;
}

std::string with_advice(std::string text) {
  return text.append("; say handler: {http: {url: …}} or {pull: {}}, or build a program that has it\n");
}

TEST(HandlerCheck, AWorkerWithoutAHandlerWantsTheProgramsOwn) {
  EXPECT_EQ(mistakes_of("workers: {orders: {}}"),
            with_advice("f:1:11: workers.orders.handler: this program has no handler \"orders\""));
  EXPECT_EQ(mistakes_of("workers: {orders: {}}", "orders"), "");
  EXPECT_EQ(mistakes_of("workers: {orders: {handler: {pull: {}}}}"), "");
}

TEST(HandlerCheck, TheNameThatIsSaidIsTheOneThatIsWanted) {
  EXPECT_EQ(mistakes_of("workers:\n  orders: {handler: {builtin: ship}}", "orders"),
            with_advice("f:2:31: workers.orders.handler: this program has no handler \"ship\""));
}

TEST(HandlerCheck, EveryCaseIsLookedAt) {
  EXPECT_EQ(mistakes_of("workers: {w: {cases: [{match: {header: h, is: a}, handler: {pull: {}}}, {}]}}"),
            with_advice("f:1:11: workers.w.cases[1].handler: this program has no handler \"w\""));
}

TEST(HandlerCheck, WhoRunsNoWorkersNeedsNone) { EXPECT_EQ(mistakes_of("roles: [office]\nworkers: {orders: {}}"), ""); }

}  // namespace
}  // namespace bartleby
