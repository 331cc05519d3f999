#include <string>

#include "wiring/config_environment.h"
#include "wiring/config_keys.h"
#include "wiring/config_text.h"

namespace bartleby {
namespace {

constexpr std::string_view kIntroduction = R"(# Configuration

This page is written by `scripts/config-docs` from the table of keys in `src/wiring/config_keys.cc`; a test holds it
against that table.

Without a file there is one embedded log, no worker, and a server on 127.0.0.1:1853. A worker that sends each message
of the topic `orders` to a service:

```yaml
workers:
  orders:
    handler: {http: {url: "http://localhost:3000/orders"}}
```

## Where a value comes from

A flag wins over a variable, a variable over the file, the file over the default. A key that does not exist, a key
given twice and a value that does not fit are mistakes: all are told at once, with file, line and column, and nothing
starts.

**Variables.** Every key has one: `BARTLEBY__`, then the path in upper case, `__` between levels, `-` and `.` as `_`.
`BARTLEBY__WORKERS__ORDERS__RETRY__MAX_ATTEMPTS=5` sets `workers.orders.retry.max_attempts`. Lists and maps are
written as YAML (`[a, b]`), `null` or nothing takes a value away. Workers, brokers and policies must be in the file: a
variable changes one, it makes none. A variable that fits no key, or two, is a mistake.

**Inside the file**, in keys and values: `${VAR}` (a mistake when it is not set), `${VAR:-default}` (also when it is
empty), `${file:/run/secrets/x}` (its content, without the newline at its end; never shown). A value that is one such
expansion and nothing else gets its type from what came out. `$${` stands for `${`.

**Values.** Durations: `250ms 10s 5m 1h 30d`. Sizes: `512B 64KB 2MB 1GB`, in powers of two. Percentages: `50%`. Rates:
`50/s`. Whole numbers and true or false stand without quotes. Files: at most 1 MB of UTF-8, 32 levels, anchors and
aliases allowed, merge keys (`<<`) and tags not.

## How settings of a worker come together

`defaults` < the policy < the worker < the case. Maps merge by key, lists and single values replace, `null` takes
away. Where one of several alternatives is said (`max_retries` or `max_attempts`; `schedule`, `linear` or
`exponential`; the kinds of handler), it replaces what a lower level chose. `policies` can set `retry`; a case can set
`match`, `handler`, `retry` and `policy`.

`match` compares as text: JSON strings by their content, numbers and true or false as they are written. Of the cases
the first that matches decides.

## A Kafka that wants to know who comes

Properties of librdkafka go through as they are, here SASL over TLS; for a certificate instead of a password,
`security.protocol: SSL` with `ssl.certificate.location` and `ssl.key.location`:

```yaml
brokers:
  main:
    kafka:
      bootstrap: "kafka-1:9093,kafka-2:9093"
      properties: {security.protocol: SASL_SSL, sasl.mechanism: SCRAM-SHA-512, ssl.ca.location: /etc/kafka/ca.pem,
                   sasl.username: bartleby, sasl.password: "${file:/run/secrets/kafka}"}
```

## Reading it again

On SIGHUP the file is read again; with a mistake in it the old configuration stays. The column "A change" says what
becomes of a worker: *live* applies at once, *restarts* stops that worker cleanly and starts it anew, *next start*
waits until the process is started again. Live, parked messages keep the due time they have; schedule, attempts and
time-outs count from the next failure and attempt on. An open outage guard stays open, unless it is turned off.
`concurrency` of a worker with C++ handlers in a pool restarts it.

## Keys

NAME is a name that you give: 1 to 200 letters, digits, `.`, `_`, `-`.

| Key | Wants | Default | A change | Meaning |
|---|---|---|---|---|
)";

std::string readable(std::string_view path) {
  std::string out;
  for (const char c : path) out += c == '*' ? std::string("NAME") : std::string(1, c);
  if (const std::size_t item = out.find(".[]"); item != std::string::npos) out.erase(item, 1);
  return out;
}

std::string_view effect(Applies applies) {
  switch (applies) {
    case Applies::kLive:
      return "live";
    case Applies::kRestartsWorker:
      return "restarts";
    case Applies::kNextStart:
      break;
  }
  return "next start";
}

}  // namespace

std::string config_docs_text() {
  std::string out(kIntroduction);
  for (const Key& key : config_keys()) {
    out += "| `" + readable(key.path) + "` | " + wanted(key) + " | ";
    if (!key.fallback.empty()) out += "`" + std::string(key.fallback) + "`";
    out += " | " + std::string(effect(key.applies)) + " | " + std::string(key.text) + " |\n";
  }
  return out;
}

}  // namespace bartleby
