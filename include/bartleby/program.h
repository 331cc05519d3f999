// `bartleby` with your handlers inside: the same commands, the same configuration, the same server.
//
//   int main(int argc, char** argv) {
//     bartleby::Program program;
//     program.handle("orders", [](const bartleby::Message& m, bartleby::Attempt&) { … return bartleby::done(); });
//     return program.main(argc, argv);        // ./orders serve      ./orders parked ls orders
//   }
//
// A handler serves the worker of its name, and reads the topic of that name, unless the configuration says otherwise.
#pragma once

#include <bartleby/message.h>

#include <memory>
#include <string>

namespace bartleby {

struct Handlers;

class Program {
 public:
  Program();
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // On a thread of the worker's pool. A thrown exception is a retry with its type and what().
  void handle(std::string name, SyncHandler code);
  // On the worker's own thread, which must not wait: the reply may be given later, from any thread.
  void handle_async(std::string name, AsyncHandler code);

  int main(int argc, char** argv);

  const Handlers& handlers() const { return *handlers_; }

 private:
  std::unique_ptr<Handlers> handlers_;
};

}  // namespace bartleby
