// `bartleby` with the payouts inside: ./payouts serve, ./payouts parked ls payouts, …
#include "payouts.h"

int main(int argc, char** argv) {
  bartleby::Program program;
  handle_payouts(program);
  return program.main(argc, argv);
}
