// bartleby: a program without handlers of its own. What it can do is in src/cli; what a server is made of, in
// src/wiring.

#include "wiring/command_line.h"

int main(int argc, char** argv) { return bartleby::run_command_line(argc, argv, {}); }
