// The routes, one file per resource. Each adds what it has to the router.
// The services must outlive it.
#pragma once

#include "server/router.h"
#include "server/services.h"

namespace bartleby {

void add_topic_routes(Router& router, const Services& services);
void add_worker_routes(Router& router, const Services& services);
void add_explain_route(Router& router, const Services& services);
void add_attempt_routes(Router& router, const Services& services);
void add_health_routes(Router& router, const Services& services);
void add_metrics_routes(Router& router, const Services& services);
void add_status_routes(Router& router, const Services& services);
// The office; only where there is one.
void add_letter_routes(Router& router, const Services& services);
void add_letter_order_routes(Router& router, const Services& services);
void add_operation_routes(Router& router, const Services& services);
void add_issue_routes(Router& router, const Services& services);
void add_dlq_routes(Router& router, const Services& services);
void add_archive_routes(Router& router, const Services& services);
void add_audit_routes(Router& router, const Services& services);
void add_key_routes(Router& router, const Services& services);
void add_job_routes(Router& router, const Services& services);
void add_channel_routes(Router& router, const Services& services);
void add_broadcast_routes(Router& router, const Services& services);
void add_consumer_job_routes(Router& router, const Services& services);
void add_event_route(Router& router, const Services& services);
// Last: it describes all the others.
void add_openapi_route(Router& router, const Services& services);

void add_all_routes(Router& router, const Services& services);

}  // namespace bartleby
