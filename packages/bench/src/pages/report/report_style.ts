const SERIES = [
  '#e5484d',
  '#8a63d2',
  '#0e9f6e',
  '#d98200',
  '#0ea5c6',
  '#c2418f',
  '#7a8a00',
  '#8d6e63',
  '#64748b',
  '#3f7ee8',
  '#b45309',
  '#4d7c0f',
  '#6d28d9',
  '#0f766e',
  '#be123c',
  '#1d4ed8',
  '#a16207',
  '#475569',
];
const KINDS = {
  html: '#3f7ee8',
  css: '#8a63d2',
  javascript: '#d98200',
  font: '#c2418f',
  xhr: '#0ea5c6',
  image: '#0e9f6e',
  other: '#94a3b8',
};

const series = SERIES.map((colour, index) => `.series-${index}{--colour:${colour}}`).join('');
const kinds = Object.entries(KINDS)
  .map(([kind, colour]) => `.kind-${kind}{--colour:${colour}}`)
  .join('');

export const REPORT_STYLE = `
:root{--ground:#f6f7f9;--panel:#fff;--ink:#16202e;--soft:#5b6778;--line:#dde2ea;--accent:#1d63d8;--good:#0b7a53;--bad:#b4332b;--shade:29,99,216}
@media(prefers-color-scheme:dark){:root{--ground:#0e131a;--panel:#161d27;--ink:#e7ecf3;--soft:#93a0b3;--line:#2a3442;--accent:#7fb0ff;--good:#4cc896;--bad:#ff8a80;--shade:96,156,255}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif;font-variant-numeric:tabular-nums}
main{max-width:1240px;margin:0 auto;padding:40px 24px 80px}
h1{font-size:34px;letter-spacing:-.02em;line-height:1.15;margin:0 0 8px}
h2{font-size:22px;letter-spacing:-.01em;margin:48px 0 8px}
h3{font-size:16px;margin:0 0 8px}
h4{font-size:15px;margin:28px 0 4px}
.lead{font-size:18px;margin:0}
.about,.note,figcaption span{color:var(--soft);font-size:13px}
.about{margin:6px 0 0}
.note{margin:0 0 12px;max-width:80ch}
.warning{color:var(--bad)}
.findings{display:grid;grid-template-columns:repeat(auto-fit,minmax(340px,1fr));gap:14px}
.finding{background:var(--panel);border:1px solid var(--line);border-radius:10px;padding:16px 18px}
.finding h3{margin:6px 0}
.finding ul{margin:0;padding-left:18px;font-size:13px}
.finding p{font-size:13px;color:var(--soft);margin:10px 0 0}
.verdict{font-size:12px;font-weight:600;padding:2px 9px;border-radius:99px;border:1px solid currentColor;color:var(--soft)}
.holds .verdict{color:var(--good)}
.fails .verdict{color:var(--bad)}
.scroll{overflow-x:auto;background:var(--panel);border:1px solid var(--line);border-radius:10px}
table{border-collapse:collapse;width:100%;font-size:13px}
th,td{padding:5px 10px;text-align:right;white-space:nowrap}
thead th{color:var(--soft);font-weight:600;border-bottom:1px solid var(--line)}
tbody th{text-align:left;font-weight:500}
.overview thead th:nth-child(-n+3),.figures thead th:first-child{text-align:left}
.overview tbody tr{cursor:pointer}
.overview tbody td:not(.bound):not(:empty){background:rgba(var(--shade),calc(var(--closeness)*.3))}
.overview .bound{color:var(--soft)}
.overview .least{font-weight:700}
.overview tr:hover th,.overview .chosen th{color:var(--accent)}
.overview .chosen th:first-child{box-shadow:inset 3px 0 var(--accent)}
.overview tbody tr:nth-child(9n):not(:last-child)>*{border-bottom:1px solid var(--line)}
th.ours,tr.ours th,tr.ours td{font-weight:700}
#overview .choice{margin-bottom:12px}
[hidden]{display:none}
nav{position:sticky;top:0;z-index:1;display:flex;flex-wrap:wrap;gap:12px;padding:12px 0;background:var(--ground)}
.choice{display:inline-flex;border:1px solid var(--line);border-radius:8px;overflow:hidden;background:var(--panel)}
.choice button{font:inherit;font-size:14px;padding:6px 14px;border:0;background:none;color:var(--ink);cursor:pointer}
.choice button+button{border-left:1px solid var(--line)}
.choice button[aria-pressed=true]{background:var(--accent);color:var(--panel)}
.choice button:focus-visible{outline:2px solid var(--accent);outline-offset:-2px}
.details>h3{font-size:18px;margin:12px 0;text-transform:capitalize}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(420px,1fr));gap:14px;margin-bottom:14px}
figure{margin:0;background:var(--panel);border:1px solid var(--line);border-radius:10px;padding:14px 16px}
figure.ours{border-color:var(--accent)}
figcaption{margin-bottom:8px}
svg{display:block;width:100%;height:auto;font:12px system-ui,sans-serif;font-variant-numeric:tabular-nums}
.grid{stroke:var(--line);stroke-width:1}
.tick{fill:var(--soft);font-size:11px}
.label,.value{fill:var(--ink)}
.value{font-weight:600}
line.bound{stroke:var(--ink);stroke-dasharray:3 3}
.whisker{stroke:var(--colour);stroke-width:1.5}
.quartiles{fill:var(--colour);fill-opacity:.28;stroke:var(--colour)}
.median{stroke:var(--colour);stroke-width:2.5}
.mean{fill:var(--ink)}
.outlier{fill:none;stroke:var(--colour)}
.reference{fill:none;stroke:var(--soft);stroke-width:1.5}
.curve{fill:none;stroke:var(--colour);stroke-width:1.6}
.curve.emphasized{stroke-width:3.2}
.legend{display:flex;flex-wrap:wrap;gap:2px 14px;margin:0 0 8px;font-size:12px;color:var(--soft)}
.legend span::before{content:"";display:inline-block;width:10px;height:10px;border-radius:2px;margin-right:5px;background:var(--colour)}
.legend .critical::before{width:0;height:12px;border-radius:0;border-left:2px dashed var(--bad);background:none;vertical-align:-2px}
.figures th[class^=series]::before{content:"";display:inline-block;width:10px;height:10px;border-radius:2px;margin-right:7px;background:var(--colour)}
.figures tbody tr+tr>*{border-top:1px solid var(--line)}
.grid-of-charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(280px,1fr));gap:12px}
.grid-of-charts figure{padding:10px 12px}
.bar{stroke:var(--colour);fill:none}
.waiting{stroke:var(--line);stroke-width:1.5;fill:none}
line.critical{stroke:var(--bad);stroke-width:1.5;stroke-dasharray:4 3}
.row{fill:transparent}
.row:hover{fill:var(--ink);fill-opacity:.09}
${series}${kinds}
@media print{nav{position:static}}
`;
