#include "report/html/style.hpp"

namespace ako::report {

const char* const k_style = R"css(
:root{color-scheme:light dark;--bg:#fbfbf9;--fg:#1c1f23;--dim:#5f6670;--line:#d9dce0;--card:#fff;--good:#0b6e4f;--bad:#b3261e;--warn:#8a5a00;--warnbg:#fff6e0;--accent:#2456b8}
@media (prefers-color-scheme:dark){:root{--bg:#14171a;--fg:#e6e8ea;--dim:#9aa3ad;--line:#32383f;--card:#1b1f24;--good:#5fd3a4;--bad:#ff8b80;--warn:#ffca6a;--warnbg:#2c2412;--accent:#8fb4ff}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--fg);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:62rem;margin:0 auto;padding:1.5rem 1rem 4rem}
h1{font-size:1.6rem;margin:.2rem 0}h2{font-size:1.15rem;margin:2.2rem 0 .6rem;padding-bottom:.25rem;border-bottom:1px solid var(--line)}
h3{font-size:1rem;margin:0}
p,ul{margin:.5rem 0}ul{padding-left:1.2rem}
.dim,figcaption{color:var(--dim);font-size:.9rem}
.hero{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:1.1rem 1.2rem;margin:1rem 0}
.hero .gain{font-size:2.2rem;font-weight:650;line-height:1.15;font-variant-numeric:tabular-nums}
.hero .gain small{display:block;font-size:1rem;font-weight:400;color:var(--dim)}
.warn{background:var(--warnbg);border-left:4px solid var(--warn);border-radius:4px;padding:.6rem 1rem;margin:1rem 0}
.warn h2{border:0;margin:0;padding:0}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.92rem;font-variant-numeric:tabular-nums}
th,td{padding:.35rem .6rem;text-align:left;border-bottom:1px solid var(--line);vertical-align:top}
th{color:var(--dim);font-weight:550;white-space:nowrap}
td.n,th.n{text-align:right;white-space:nowrap}
figure{margin:1rem 0;overflow-x:auto}
.chart{width:100%;height:auto;background:var(--card);border:1px solid var(--line);border-radius:10px}
.chart text{fill:var(--dim);font-size:12px}.chart .grid{stroke:var(--line)}.chart .zero{stroke:var(--dim)}
.chart .step line{stroke:var(--dim);stroke-width:1.5}.chart .step circle{fill:var(--card);stroke:var(--dim);stroke-width:2}
.chart .step.kept line{stroke:var(--accent)}.chart .step.kept circle{fill:var(--accent);stroke:var(--accent)}
.chart .total{fill:none;stroke:var(--good);stroke-width:2}.chart .sum line{stroke:var(--good);stroke-width:1.5}
.chart .sum circle{fill:var(--good);stroke:none}
.chart .roof{fill:none;stroke:var(--fg);stroke-width:2}.chart .roof.cache{stroke:var(--dim);stroke-dasharray:5 4}
.it{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:.8rem 1rem;margin:.8rem 0}
.it header{display:flex;flex-wrap:wrap;gap:.3rem .7rem;align-items:baseline}
.it dl{display:grid;grid-template-columns:7.5rem 1fr;gap:.15rem .8rem;margin:.5rem 0 0}
.it dt{color:var(--dim)}.it dd{margin:0;overflow-wrap:anywhere}
.tag{font-size:.82rem;border:1px solid currentColor;border-radius:99px;padding:0 .55rem;white-space:nowrap}
.good{color:var(--good)}.bad{color:var(--bad)}.mid{color:var(--dim)}.warned{color:var(--warn)}
.key{display:inline-block;width:.75rem;height:.75rem;border-radius:50%;margin:0 .3rem 0 .8rem;vertical-align:-.05rem}
details{margin:.6rem 0}summary{cursor:pointer;color:var(--dim)}
code,pre{font:0.88em ui-monospace,SFMono-Regular,Menlo,monospace;overflow-wrap:anywhere}
pre{overflow-x:auto;background:var(--card);border:1px solid var(--line);border-radius:8px;padding:.7rem;overflow-wrap:normal}
@media (max-width:34rem){.chart{min-width:36rem}.it dl{grid-template-columns:1fr}.it dt{margin-top:.35rem}.hero .gain{font-size:1.8rem}}
@media print{body{background:#fff}.it{break-inside:avoid}}
)css";

} // namespace ako::report
