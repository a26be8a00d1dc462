#!/usr/bin/env python3
"""Writes golden.json: values that scipy and numpy give. Run: pip install scipy numpy; python make_golden.py"""
import json
import pathlib

import numpy as np
import scipy
from scipy import special, stats

rng = np.random.default_rng(20240607)
out = {"made_with": f"scipy {scipy.__version__}, numpy {np.__version__}"}

out["normal_cdf"] = [[z, stats.norm.cdf(z)] for z in (-8.0, -5.5, -3.0, -1.0, -0.1, 0.0, 0.3, 2.0, 6.0)]
out["normal_quantile"] = [[p, stats.norm.ppf(p)] for p in (1e-12, 1e-7, 0.0007, 0.01, 0.3, 0.5, 0.9, 0.999)]
out["student_upper"] = [[t, d, stats.t.sf(t, d)] for d in (1, 2, 3.7, 9, 19, 199) for t in (-3.0, 0.2, 1.5, 4.0, 25.0)]
out["student_upper_quantile"] = [[p, d, stats.t.isf(p, d)] for d in (1, 2, 3, 6.3, 19, 500)
                                 for p in (1e-8, 1e-5, 0.0007, 0.005, 0.2, 0.8)]
out["beta_regularised"] = [[a, b, x, special.betainc(a, b, x)] for a, b in ((0.5, 0.5), (2, 7), (40, 3.5), (300, 200))
                           for x in (0.001, 0.2, 0.55, 0.98)]
out["binomial_cdf"] = [[k, n, p, stats.binom.cdf(k, n, p)] for n, p in ((10, 0.5), (200, 0.5), (1000, 0.001), (50, 0.93))
                       for k in (0, n // 4, n // 2, n - 1)]
out["sign_test"] = [[k, n, stats.binomtest(k, n).pvalue] for k, n in ((0, 8), (3, 20), (50, 100), (130, 200))]
out["proportion"] = []
for k, n in ((0, 300), (3, 400), (57, 100000), (12, 12)):
    limits = stats.binomtest(k, n).proportion_ci(0.95, method="exact")
    out["proportion"].append([k, n, 0.95, limits.low, limits.high])

lists = [[3.0], [1.0, 2.0], [5.0, 1.0, 4.0, 1.5, 9.0, 2.6, 5.3], list(np.round(rng.lognormal(3, 0.4, 40), 6))]
out["summaries"] = []
for v in lists:
    a = np.array(v)
    walsh = [(a[i] + a[j]) / 2 for i in range(len(a)) for j in range(i, len(a))]
    out["summaries"].append({
        "values": v, "mean": a.mean(), "variance": a.var(ddof=1) if len(a) > 1 else 0.0, "median": np.median(a),
        "q05": np.quantile(a, 0.05), "q75": np.quantile(a, 0.75), "trimmed20": stats.trim_mean(a, 0.2),
        "mad": stats.median_abs_deviation(a, scale="normal"), "hodges_lehmann": float(np.median(walsh)),
        "geometric_mean": stats.gmean(a)})

old = [list(np.round(100 * np.exp(rng.normal(0, 0.01) + rng.normal(0, 0.004, 7)), 6)) for _ in range(6)]
new = [list(np.round(96 * np.exp(rng.normal(0, 0.02) + rng.normal(0, 0.004, 7)), 6)) for _ in range(5)]
lo = [float(np.median(np.log(i))) for i in old]
ln = [float(np.median(np.log(i))) for i in new]
ci = stats.ttest_ind(ln, lo, equal_var=False).confidence_interval(0.95)
out["instances"] = {"old": old, "new": new, "level": 0.95, "gain": -np.expm1(np.mean(ln) - np.mean(lo)),
                    "low": -np.expm1(ci.high), "high": -np.expm1(ci.low),
                    "degrees": stats.ttest_ind(ln, lo, equal_var=False).df}

a = np.round(rng.normal(10, 1, 20), 1)
b = np.round(rng.normal(10.6, 1, 20), 1)  # rounded: ties
out["u_test"] = {"a": list(a), "b": list(b),
                 "p": stats.mannwhitneyu(a, b, alternative="two-sided", method="asymptotic").pvalue}

# One placement value each, no outliers possible: a plain one-sample t interval over placements.
values = np.round(rng.normal(-0.02, 0.004, 12), 6)
ci = stats.ttest_1samp(values, 0).confidence_interval(0.99)
out["single_look"] = {"log_ratios": list(values), "level": 0.99, "low": -np.expm1(ci.high), "high": -np.expm1(ci.low)}

path = pathlib.Path(__file__).with_name("golden.json")
path.write_text(json.dumps(out, indent=1, default=float) + "\n")
