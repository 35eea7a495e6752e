import { parse, View } from 'vega';
import { compile, type TopLevelSpec } from 'vega-lite';
import type { Plot } from '../artefact/artefact.js';
import { matchesAxes } from '../verdict/figure.js';
import type { QuantityTable, Row } from './view.js';

/** Eight colors that color-blind readers can distinguish. They follow the page, light or dark. */
const colours = Array.from({ length: 8 }, (_, index) => `var(--series-${index})`);
const ink = 'var(--ink)';
const soft = 'var(--soft)';
const line = 'var(--line)';

/** Width of a panel's plot in pixels, which a phone has room for, and its height */
const panelSize = { width: 300, height: 170 };
/** Length of a name beside bars. Longer ones stand at the left of bars that lie. */
const longestName = 14;
/** Thickness of a bar that lies */
const barStep = 8;

/** One panel of a plot: a value of each axis that divides the plot */
export interface Panel {
  title: string;
  svg: string;
}

/** A plot in panels, so that a page can arrange them in the room that it has */
export interface Drawing {
  panels: Panel[];
  /** Names of the arms and their colors */
  legend: { label: string; colour: string }[];
  /** Number of panels beside each other that belong to one value of the rows' axis */
  columns: number;
  hasPublished: boolean;
  hasIntervals: boolean;
}

/** Draws a table as panels in SVG, with intervals as whiskers and published values as hollow diamonds. */
export async function drawPlot(plot: Plot, table: QuantityTable): Promise<Drawing> {
  const rows = table.rows.filter(({ arm, at }) => plot.arms.includes(arm) && matchesAxes(at, plot.where));
  const valuesOf = (axis: string | undefined): (string | number)[] =>
    axis === undefined ? [''] : [...new Set(rows.map(({ at }) => at[axis] ?? ''))];
  const [columns, lines] = [valuesOf(plot.facet), valuesOf(plot.row)];
  const labels = [...new Set(rows.map(({ label }) => label))];
  const isAt = ({ at }: Row, axis: string | undefined, value: string | number): boolean =>
    axis === undefined || at[axis] === value;
  const panels: Panel[] = [];
  for (const lineValue of lines) {
    for (const column of columns) {
      // Panels of one column share a scale, so that their bars can be compared.
      const scaled = rows.filter((row) => isAt(row, plot.facet, column));
      const own = scaled.filter((row) => isAt(row, plot.row, lineValue));
      if (own.length === 0) continue;
      const title = [column, lineValue].filter((text) => text !== '').join(', ');
      panels.push({ title, svg: await svgOf(specificationOf(plot, { own, scaled, labels })) });
    }
  }
  return {
    panels,
    legend: labels.map((label, index) => ({ label, colour: colours[index] ?? ink })),
    columns: columns.length,
    hasPublished: rows.some(({ published }) => published !== undefined),
    hasIntervals: rows.some(({ ours }) => ours.interval !== undefined),
  };
}

async function svgOf(specification: TopLevelSpec): Promise<string> {
  const view = new View(parse(compile(specification).spec), { renderer: 'none' });
  try {
    return await view.toSVG();
  } finally {
    view.finalize();
  }
}

interface PanelRows {
  own: readonly Row[];
  /** Rows whose values the scale has room for */
  scaled: readonly Row[];
  /** Labels of all arms, in the order of their colors */
  labels: readonly string[];
}

function specificationOf({ kind, x, logarithmic }: Plot, { own, scaled, labels }: PanelRows): TopLevelSpec {
  const values = own.map(({ at, label, ours, published }) => ({
    ...at,
    arm: label,
    value: ours.value,
    low: ours.interval?.[0] ?? ours.value,
    high: ours.interval?.[1] ?? ours.value,
    published: published ?? null,
  }));
  const places = [...new Set(own.map(({ at, label }) => (x === 'arm' ? label : (at[x] ?? ''))))];
  const isLine = kind === 'lines';
  const isLying = !isLine && places.some((place) => String(place).length > longestName);
  const nominal = { field: x, type: 'nominal' as const, sort: places, title: null };
  const across = isLine
    ? {
        field: x,
        type: 'quantitative' as const,
        title: x,
        scale: { type: 'log' as const, nice: false },
        axis: { values: places, format: '~s', grid: false, labelOverlap: true },
      }
    : { ...nominal, axis: { labelAngle: 0, labelLimit: 260, ticks: false, domain: false } };
  const measure = { type: 'quantitative' as const, scale: scaleOf(scaled, logarithmic) };
  const up = { ...measure, field: 'value', title: null, axis: axisOf(measure.scale) };
  const color = {
    field: 'arm',
    type: 'nominal' as const,
    scale: { domain: labels, range: colours.slice(0, labels.length) },
    legend: null,
  };
  const [main, other, offset, other2] = isLying
    ? (['y', 'x', 'yOffset', 'x2'] as const)
    : (['x', 'y', 'xOffset', 'y2'] as const);
  const beside = isLine || x === 'arm' ? {} : { [offset]: { field: 'arm', sort: labels } };
  const mark = isLine
    ? { type: 'line' as const, point: { size: 34 }, strokeWidth: 2.2 }
    : { type: 'bar' as const, cornerRadiusEnd: 2 };
  const count = places.length * new Set(own.map(({ arm }) => arm)).size;
  return {
    width: panelSize.width,
    height: isLying ? Math.max(panelSize.height, count * barStep) : panelSize.height,
    layer: [
      { mark, encoding: { [main]: across, [other]: up, ...beside, color } },
      {
        mark: { type: 'rule' as const, color: ink, strokeOpacity: 0.75 },
        encoding: { [main]: across, ...beside, [other]: { ...measure, field: 'low' }, [other2]: { field: 'high' } },
      },
      {
        mark: { type: 'point' as const, shape: 'diamond', size: 50, filled: false, stroke: ink, strokeWidth: 1.6 },
        encoding: { [main]: across, ...beside, [other]: { ...measure, field: 'published' } },
      },
    ],
    data: { values },
    background: 'transparent',
    config: theme,
  } as unknown as TopLevelSpec;
}

interface Scale {
  type: 'log' | 'linear';
  domain: [number, number];
  nice: boolean;
}

/** Makes room for all values with their intervals and published values. */
function scaleOf(rows: readonly Row[], logarithmic: boolean): Scale {
  const all = rows.flatMap(({ ours, published }) => [
    ours.value,
    ...(ours.interval ?? []),
    ...(published === undefined ? [] : [published]),
  ]);
  const [least, most] = [Math.min(...all), Math.max(...all)];
  if (logarithmic && least > 0) return { type: 'log', domain: [least * 0.8, most * 1.25], nice: false };
  return { type: 'linear', domain: [Math.min(0, least), most === 0 ? 1 : most], nice: true };
}

/** Chooses round numbers on a logarithmic axis: powers of ten, and steps between a few of them. */
function axisOf({ type, domain: [least, most] }: Scale): { values?: number[]; tickCount?: number; format: string } {
  if (type === 'linear') return { tickCount: 5, format: ',~r' };
  const powers = Array.from(
    { length: Math.ceil(Math.log10(most)) - Math.floor(Math.log10(least)) + 1 },
    (_, index) => 10 ** (Math.floor(Math.log10(least)) + index),
  );
  const steps = Math.log10(most / least) < 2.5 ? [1, 2, 5] : [1];
  const values = powers.flatMap((power) => steps.map((step) => step * power));
  return { values: values.filter((value) => value >= least && value <= most), format: ',~r' };
}

const theme = {
  font: 'system-ui, sans-serif',
  view: { stroke: null },
  axis: {
    labelColor: soft,
    titleColor: soft,
    gridColor: line,
    domainColor: line,
    tickColor: line,
    titleFontWeight: 500,
    labelFontSize: 11,
    titleFontSize: 11,
  },
};
