"""Reads Prometheus' text format strictly: what a lenient scraper would forgive is an error here."""

import math
import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*"'
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? (-?[0-9.eE+-]+)")
SUFFIXES = {"histogram": ("_bucket", "_sum", "_count")}


class Family:
    def __init__(self, kind):
        self.kind = kind
        self.samples = {}  # (suffix, labels as sorted pairs) -> value


def labels_of(text):
    pairs = re.findall(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"', text or "")
    names = [name for name, _ in pairs]
    assert len(names) == len(set(names)), f"a label twice: {text}"
    return tuple(sorted(pairs))


def parse(page):
    """Families by name. Raises AssertionError with what is wrong."""
    assert page.endswith("\n"), "the last line has no end"
    families, helped, current = {}, set(), None
    for line in page[:-1].split("\n"):
        if line.startswith("# HELP "):
            name = line.split(" ", 3)[2]
            assert name not in helped, f"HELP twice: {name}"
            assert len(line.split(" ", 3)) == 4, f"HELP without words: {name}"
            helped.add(name)
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name in helped and name not in families, f"TYPE without HELP before it, or twice: {name}"
            assert kind in ("counter", "gauge", "histogram"), line
            families[name] = current = Family(kind)
            current.name = name
        else:
            match = SAMPLE.fullmatch(line)
            assert match, f"not a sample: {line}"
            assert current is not None, f"a sample before its TYPE: {line}"
            suffix = match.group(1).removeprefix(current.name)
            allowed = SUFFIXES.get(current.kind, ("",))
            assert match.group(1).startswith(current.name) and suffix in allowed, f"not of {current.name}: {line}"
            key = (suffix, labels_of(match.group(2)))
            assert key not in current.samples, f"twice: {line}"
            value = float(match.group(3))
            assert math.isfinite(value), line
            assert current.kind == "gauge" or value >= 0, line
            current.samples[key] = value
    assert helped == set(families), f"HELP without TYPE: {helped - set(families)}"
    for name, family in families.items():
        if family.kind == "counter":
            assert name.endswith("_total"), f"a counter without _total: {name}"
        if family.kind == "histogram":
            check_histogram(name, family)
    return families


def check_histogram(name, family):
    series = {}
    for (suffix, labels), value in family.samples.items():
        rest = tuple(pair for pair in labels if pair[0] != "le")
        bounds = [pair[1] for pair in labels if pair[0] == "le"]
        one = series.setdefault(rest, {"buckets": []})
        if suffix == "_bucket":
            assert len(bounds) == 1, f"{name}: a bucket without le"
            one["buckets"].append((float(bounds[0].replace("+Inf", "inf")), value))
        else:
            assert not bounds and suffix not in one, f"{name}: {suffix} with le, or twice"
            one[suffix] = value
    for labels, one in series.items():
        buckets = one["buckets"]
        assert buckets == sorted(buckets), f"{name}{labels}: buckets out of order"
        counts = [count for _, count in buckets]
        assert counts == sorted(counts), f"{name}{labels}: buckets do not add up"
        assert buckets and math.isinf(buckets[-1][0]), f"{name}{labels}: no bucket +Inf"
        assert {"_sum", "_count"} <= set(one) and one["_count"] == counts[-1], f"{name}{labels}: _count is not +Inf's"


# Pages that break one rule each.
BROKEN = [
    "# TYPE a gauge\na 1\n", "# HELP a x\n# TYPE a gauge\na 1\na 1\n", "# HELP a x\n# TYPE a gauge\na NaN\n",
    "a 1\n", "# HELP a x\n# TYPE a gauge\nb 1\n", "# HELP a x\n# TYPE a gauge\na{x=\"1\",x=\"2\"} 1\n",
    "# HELP a x\n# TYPE a counter\na 1\n", "# HELP a_total x\n# TYPE a_total counter\na_total -1\n",
    "# HELP a x\n# TYPE a gauge\na{x=\"\n\"} 1\n", "# HELP a x\n# TYPE a gauge\na 1",
    "# HELP h x\n# TYPE h histogram\nh_bucket{le=\"1\"} 1\nh_sum 1\nh_count 1\n",
    "# HELP h x\n# TYPE h histogram\nh_bucket{le=\"1\"} 2\nh_bucket{le=\"+Inf\"} 1\nh_sum 1\nh_count 1\n",
    "# HELP h x\n# TYPE h histogram\nh_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 2\nh_sum 1\nh_count 1\n",
    "# HELP a x\n# TYPE a gauge\n# HELP a x\n# TYPE a gauge\n", "# HELP a x\n",
]


def self_test():
    for page in BROKEN:
        try:
            parse(page)
        except AssertionError:
            continue
        raise AssertionError(f"nothing was found wrong with {page!r}")
    parse("# HELP h x\n# TYPE h histogram\nh_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 2\nh_sum 1\nh_count 2\n")
