import { element, escapeText } from '../../pages/report/markup.js';
import type { Drawing } from './plot.js';
import { colourStyle } from './style.js';

/** Height of a line of names, and space between panels, in pixels */
const lineHeight = 22;
const gap = 24;
/** Width that a name in the legend takes beside its color */
const nameWidth = 170;

/** Puts the panels of a plot and its legend into one picture, which follows the reader's colors. */
export function pictureOf({ panels, legend, columns }: Drawing): string {
  const sizes = panels.map(({ svg }) => sizeOf(svg));
  const width = Math.max(0, ...sizes.map((size) => size.width)) + gap;
  const height = Math.max(0, ...sizes.map((size) => size.height)) + lineHeight + gap;
  const perLine = Math.max(1, Math.floor((columns * width) / nameWidth));
  const top = Math.ceil(legend.length / perLine) * lineHeight + gap;
  const names = legend.map(({ label, colour }, index) => {
    const [x, y] = [(index % perLine) * nameWidth, Math.floor(index / perLine) * lineHeight];
    return [
      element('rect', { x, y: y + 4, width: 12, height: 12, rx: 3, fill: colour }),
      element('text', { x: x + 18, y: y + 14, fill: 'var(--ink)' }, escapeText(label)),
    ].join('');
  });
  const placed = panels.map(({ title, svg }, index) => {
    const [x, y] = [(index % columns) * width, top + Math.floor(index / columns) * height];
    const heading = element('text', { x, y: y + 14, fill: 'var(--ink)', 'font-weight': 600 }, escapeText(title));
    return `${heading}${svg.replace('<svg ', `<svg x="${x}" y="${y + lineHeight}" `)}`;
  });
  const total = {
    width: Math.max(columns * width, perLine * nameWidth),
    height: top + Math.ceil(panels.length / columns) * height,
  };
  return element(
    'svg',
    { xmlns: 'http://www.w3.org/2000/svg', ...total, 'font-family': 'system-ui, sans-serif', 'font-size': 12 },
    `<style>${colourStyle}</style>`,
    ...names,
    ...placed,
  );
}

/** Reads the size that a picture gives itself. */
function sizeOf(svg: string): { width: number; height: number } {
  const read = (name: string): number => Number(new RegExp(`\\b${name}="([\\d.]+)"`).exec(svg)?.[1] ?? 0);
  return { width: read('width'), height: read('height') };
}
