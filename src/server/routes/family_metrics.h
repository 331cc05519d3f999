// The metrics of families that workers are configured with, added up over the workers of this process.
// Any thread; keeps nothing.
#pragma once

#include "server/metrics_text.h"
#include "server/services.h"

namespace bartleby {

void family_metrics(MetricsText& out, const Services& services);

}  // namespace bartleby
