const light = {
  ground: '#f6f7f9',
  panel: '#ffffff',
  ink: '#16202e',
  soft: '#5b6778',
  line: '#dde2ea',
  good: '#0b7a53',
  bad: '#b4332b',
  open: '#8a5a00',
  series: ['#1d63d8', '#e07b00', '#0e9f6e', '#c2418f', '#6d4fc4', '#0a93b0', '#8d6e63', '#64748b'],
};
const dark: typeof light = {
  ground: '#0e131a',
  panel: '#161d27',
  ink: '#e7ecf3',
  soft: '#93a0b3',
  line: '#2a3442',
  good: '#4cc896',
  bad: '#ff8a80',
  open: '#f0b34a',
  series: ['#7fb0ff', '#ffb454', '#4cc896', '#f28cc5', '#b39bff', '#5cd0e8', '#c8a698', '#a3b1c4'],
};

function variables({ series, ...colours }: typeof light): string {
  const named = Object.entries(colours).map(([name, colour]) => `--${name}:${colour}`);
  return [...named, ...series.map((colour, index) => `--series-${index}:${colour}`)].join(';');
}

/** Colors of a page or of a picture, light or dark as the reader's system */
export const colourStyle = `:root{${variables(light)}}@media(prefers-color-scheme:dark){:root{${variables(dark)}}}`;

export const pageStyle = `${colourStyle}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:15px/1.55 system-ui,-apple-system,"Segoe UI",sans-serif;font-variant-numeric:tabular-nums}
main{max-width:1180px;margin:0 auto;padding:40px 24px 80px}
h1{font-size:34px;letter-spacing:-.02em;line-height:1.15;margin:0 0 8px}
h2{font-size:23px;letter-spacing:-.01em;margin:56px 0 12px}
h3{font-size:18px;margin:0}
.lead{font-size:18px;margin:0 0 20px;max-width:70ch}
.note{color:var(--soft);font-size:13px;margin:6px 0}
.lead~h2{font-size:17px;margin:26px 0 8px}.failed .note{margin:3px 0 0}.failed{margin:0 0 20px;padding:0;list-style:none;max-width:95ch}.failed li{padding:7px 0;border-top:1px solid var(--line)}
a{color:inherit;text-decoration-color:var(--soft);text-underline-offset:3px}
.contents{display:flex;flex-wrap:wrap;gap:8px 22px;margin:0;padding:0;list-style:none;font-size:13px}.contents .chip{font-size:11px;padding:1px 8px}
.counts{display:flex;flex-wrap:wrap;gap:10px;margin:20px 0;padding:0;list-style:none}
.counts li{background:var(--panel);border:1px solid var(--line);border-radius:12px;padding:10px 18px;color:var(--soft);font-size:13px}
.counts b{display:block;font-size:26px;line-height:1.2;color:var(--ink)}
article{background:var(--panel);border:1px solid var(--line);border-radius:14px;padding:22px 24px;margin:0 0 18px}
article header{display:flex;flex-wrap:wrap;align-items:baseline;gap:6px 12px}
.chip{font-size:12px;font-weight:600;padding:2px 10px;border-radius:99px;border:1px solid currentColor;color:var(--soft);white-space:nowrap}
.reproduced,.met{color:var(--good)}.contradicted,.missed{color:var(--bad)}.tie,.cannot-be-told,.stale{color:var(--open)}
.claims{margin:14px 0;padding:0;list-style:none}
.claims>li{padding:10px 0;border-top:1px solid var(--line)}
.claims ul{margin:6px 0 0;padding-left:18px;color:var(--soft);font-size:13px;columns:2 300px}.claims details summary{font-size:13px;margin:6px 0 0}
article{scroll-margin-top:16px}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:13px}
th,td{padding:5px 10px;text-align:right;white-space:nowrap;border-bottom:1px solid var(--line)}
th:first-child,td:first-child,th:nth-child(2),td:nth-child(2){text-align:left}
thead th{color:var(--soft);font-weight:600}
.rest td{text-align:left;white-space:normal;vertical-align:top}.rest td:first-child{white-space:nowrap}
summary{cursor:pointer;color:var(--soft);margin:10px 0}
figure{margin:22px 0}
h4{font-size:15px;margin:0 0 6px}
h5{font-size:13px;margin:0 0 4px;color:var(--soft);font-weight:600}
.legend{display:flex;flex-wrap:wrap;gap:4px 18px;margin:0 0 12px;padding:0;list-style:none;font-size:13px}
.legend i{display:inline-block;width:11px;height:11px;border-radius:3px;margin-right:7px}
.panels{display:grid;grid-template-columns:repeat(var(--columns),minmax(0,560px));gap:18px 22px}
.panels svg{display:block;width:100%;max-width:560px;height:auto}
figcaption{color:var(--soft);font-size:13px}
@media(max-width:760px){.panels{grid-template-columns:minmax(0,1fr)}}
@media(max-width:600px){main{padding:24px 14px 60px}article{padding:16px 14px}h1{font-size:27px}}
`;
