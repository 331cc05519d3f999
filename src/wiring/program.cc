#include <bartleby/program.h>

#include "wiring/command_line.h"
#include "wiring/handlers.h"

namespace bartleby {

Program::Program() : handlers_(std::make_unique<Handlers>()) {}
Program::~Program() = default;

void Program::handle(std::string name, SyncHandler code) {
  handlers_->async.erase(name);
  handlers_->sync.insert_or_assign(std::move(name), std::move(code));
}

void Program::handle_async(std::string name, AsyncHandler code) {
  handlers_->sync.erase(name);
  handlers_->async.insert_or_assign(std::move(name), std::move(code));
}

int Program::main(int argc, char** argv) { return run_command_line(argc, argv, *handlers_); }

}  // namespace bartleby
