// The office's families of the metrics page; `metrics.cc` puts it together.
// Any thread; needs services with a store.
#pragma once

#include "server/metrics_text.h"
#include "server/services.h"

namespace bartleby {

void office_metrics(MetricsText& out, const Services& services);

}  // namespace bartleby
